import HeartlogEvents
import HeartlogFiles

/// Reads all streams of a store without a lock, one after the other, to their ends or up to a moment.
///
/// For those to whom the order between streams does not matter: it is much faster than `MergedLog`, since blocks stay blocks. Stamps and
/// time rise along a stream, so each is read to its first later commit and no further.
package final class LogReplay {
  private let directory: StoreDirectory
  private let identity: StoreIdentity
  private let lock: StoreLock
  private let progress: LogProgress?

  /// What is passed on: the next commits of some stream.
  package enum Piece {
    case commit(Commit)
    /// Commits that follow each other, and are there until the visitor returns.
    case rows([CommitRow])
    case block(ColumnBlock)
  }

  /// What a replay came to.
  package struct Outcome {
    /// Where the streams stand that have a commit, sorted by replica; empty unless asked for.
    package fileprivate(set) var positions: [StreamPosition] = []
    /// What is not as it was written, as far as it was read, sorted by replica.
    package fileprivate(set) var findings: [Finding] = []
    /// How many events were passed on.
    package fileprivate(set) var eventCount: UInt64 = 0
    /// The log was read to the event that the bound was made of; true for any other bound.
    package fileprivate(set) var reachedBound = true
    /// Of the positions that it started at, those that lie elsewhere now, in a segment that was sealed since, with their new places:
    /// comparing their trees took time.
    package fileprivate(set) var movedPositions: [StreamPosition] = []
  }

  package init(at path: String, on fileSystem: any FileSystem, progress: LogProgress? = nil)
    throws(StorageError)
  {
    directory = StoreDirectory(fileSystem: fileSystem, path: path)
    identity = try StoreIdentity.read(directory)
    lock = try StoreLock(directory)
    self.progress = progress
  }

  /// Where a moment lies; nil where nothing lies before it: the log does not have that event, or the time is before 1970.
  ///
  /// For an event, the segment is read that it stands in.
  package func bound(of moment: ReplayMoment) throws(StorageError) -> ReplayBound? {
    switch moment {
    case .milliseconds(let milliseconds): return ReplayBound(upTo: milliseconds)
    case .event(let id): return try storageErrors { try EventSearch(directory: directory).bound(of: id) }
    }
  }

  /// Reads all streams.
  ///
  /// - Parameters:
  ///   - positions: where to start, at most one a stream; all of them within the bound. Streams that none names start at their first commit.
  ///   - bound: the last commits to be passed on; all where nil.
  ///   - givesPositions: whether the outcome is to have positions. Costs the hashing of what was read.
  ///   - visit: gets the commits of each stream in order; of several streams, one after the other.
  /// - Throws: `otherLog` and `otherHistory` where a position does not stand in this log, before `visit` is called; `misuse` where one lies behind the bound.
  package func run(
    from positions: [StreamPosition] = [], upTo bound: ReplayBound? = nil, givesPositions: Bool = false,
    _ visit: (Piece) throws -> Void
  ) throws(StorageError) -> Outcome {
    try storageErrors {
      let page = lock.page()
      let streams = try streams(from: positions, upTo: bound)
      var meter = ProgressMeter(progress, total: progress == nil ? 0 : try directory.logBytes())
      var outcome = Outcome()
      outcome.movedPositions = streams.compactMap(\.moved)
      for stream in streams {
        let isOwn = stream.reader.replica == identity.replica
        if let finding = try stream.read(page: isOwn ? page : StoreLock.Page(), &meter, visit) {
          outcome.findings.append(finding)
        }
        stream.reader.rest()
        outcome.eventCount += stream.eventCount
      }
      if let last = bound?.commit {
        outcome.reachedBound = streams.contains {
          $0.reader.replica == last.replica && $0.lastCommit >= last.number.rawValue
        }
      }
      if givesPositions {
        outcome.positions = try streams.filter { $0.lastCommit > 0 }.map {
          try MerkleCache.position(
            behind: $0.lastCommit, at: $0.time, of: $0.reader.replica, in: directory, from: $0.start)
        }
      }
      return outcome
    }
  }

  /// Makes all in front of positions durable: what was read may have been acknowledged as buffered, by whatever process.
  package func makeDurable(_ positions: [StreamPosition]) throws(StorageError) {
    try onFiles { () throws(FileError) in
      for position in positions {
        let tail = SegmentFile(firstCommit: position.place.firstCommit, state: .open)
        do throws(FileError) {
          try directory.fileSystem.open(directory.path(of: tail, in: position.replica), .read)
            .synchronizeData()
        } catch {
          // A sealed one, or one that was sealed meanwhile, is durable.
          guard error.isNotFound else { throw error }
        }
      }
    }
  }

  /// Whether positions are those of this log, whatever became of it since.
  ///
  /// - Returns: false where they are another store's, or of a stream that was ended in front of one.
  package func isOfUse(_ positions: [StreamPosition]) throws(StorageError) -> Bool {
    do { _ = try StreamStart(directory: directory).readers(at: positions, own: identity.replica) } catch {
      if error.code == .otherLog { return false }
      guard error.code == .otherHistory else { throw error }
    }
    return true
  }

  private func streams(from positions: [StreamPosition], upTo bound: ReplayBound?) throws -> [ReplayedStream]
  {
    guard bound.map({ positions.allSatisfy($0.contains) }) ?? true else {
      throw StorageError(.misuse, "a replay that starts behind its end")
    }
    let found = try StreamStart(directory: directory).readers(at: positions, own: identity.replica)
    var streams = zip(positions, found).map { position, found in
      ReplayedStream(
        found.reader, from: position, moved: found.moved, upTo: bound?.bound(of: position.replica))
    }
    // The own stream may be gone altogether, which only the lock's page can tell.
    let others = Set(try directory.replicas()).union([identity.replica]).subtracting(positions.map(\.replica))
    streams += others.map { replica in
      ReplayedStream(
        StreamReader(directory, replica: replica), from: nil, upTo: bound?.bound(of: replica))
    }
    return streams.sorted { $0.reader.replica < $1.reader.replica }
  }
}

/// One stream of a replay.
private final class ReplayedStream {
  let reader: StreamReader
  let start: StreamPosition?
  /// `start` with where it is now, if that is not where it says.
  let moved: StreamPosition?
  private let bound: StreamBound?
  /// The last commit that was passed on; 0 for none.
  private(set) var lastCommit: UInt64
  /// The stream's time at that commit.
  private(set) var time: StreamTime
  private(set) var eventCount: UInt64 = 0

  init(
    _ reader: StreamReader, from start: StreamPosition?, moved: StreamPosition? = nil,
    upTo bound: StreamBound?
  ) {
    self.reader = reader
    reader.borrowsRows = true
    self.start = start
    self.moved = moved
    self.bound = bound
    lastCommit = start?.commit.rawValue ?? 0
    time = start?.time ?? StreamTime()
  }

  /// Reads to the stream's end, or to its first commit behind the bound.
  func read(
    page: StoreLock.Page, _ meter: inout ProgressMeter, _ visit: (LogReplay.Piece) throws -> Void
  ) throws -> Finding? {
    let frames = ReadAhead(reader, page: page)
    defer { frames.end() }
    while true {
      let found = try frames.next()
      switch found.next {
      case .end(.whole): return nil
      case .end(.unfinished(let finding)), .end(.corrupt(let finding)): return finding
      case .frame(let frame, let cursor):
        meter.advance(cursor, to: found.offset)
        switch frame {
        case .record: break
        case .row(let commit, _):
          guard pass(commit.number, commit.stamp, commit.wallTime, events: commit.eventCount) else {
            return nil
          }
          try visit(.commit(commit))
        case .rows(let rows, _):
          let isWhole = try rows.withRows { all in
            let count = all.prefix { pass($0.number, $0.stamp, $0.wallTime, events: $0.eventCount) }.count
            if count == all.count, rows.mayReadAhead { frames.readAhead() }
            if count > 0 { try visit(.rows(count == all.count ? all : Array(all[..<count]))) }
            return count == all.count
          }
          guard isWhole else { return nil }
        case .block(let block):
          guard let part = part(of: block) else { return nil }
          let isWhole = part.lastCommit == block.lastCommit
          if isWhole { frames.readAhead() }
          eventCount += UInt64(part.eventCount)
          time.pass(part)
          lastCommit = part.lastCommit.rawValue
          try visit(.block(part))
          if !isWhole { return nil }
        }
      }
    }
  }

  /// Counts a commit; false where it lies behind the bound.
  private func pass(
    _ number: CommitNumber, _ stamp: HybridTimestamp, _ wallTime: Milliseconds, events: Int
  ) -> Bool {
    var time = time
    time.pass(wallTime)
    if let bound, !bound.contains(stamp: stamp, time: time) { return false }
    self.time = time
    eventCount += UInt64(events)
    lastCommit = number.rawValue
    return true
  }

  /// What of a block lies within the bound.
  private func part(of block: ColumnBlock) -> ColumnBlock? {
    guard let bound else { return block }
    var time = time
    time.pass(block)
    if bound.contains(stamp: block.lastStamp, time: time) { return block }
    let commits = block.columns.commits
    time = self.time
    let first = block.places.first { place in
      time.pass(commits.wallTimes[place])
      return !bound.contains(stamp: commits.stamps[place], time: time)
    }
    guard let first, first > block.places.lowerBound else { return nil }
    return block.cut(to: block.firstCommit...block.number(at: first - 1))
  }
}
