import HeartlogFiles
import HeartlogFormat

/// Reads all streams of a store without a lock, one after the other, to their ends or up to a moment.
///
/// For callers that do not depend on the order between streams: it is much faster than `MergedLog` because it passes on whole blocks.
/// Stamps and time rise along a stream, so each stream is read up to its first commit outside the bound.
package final class LogReplay {
  private let directory: StoreDirectory
  private let identity: StoreIdentity
  private let lock: StoreLock
  private let progress: LogProgress?

  /// The next commits of a stream, passed to the visitor.
  package enum Piece {
    /// Consecutive commits, valid until the visitor returns.
    case rows([CommitRow])
    case block(ColumnBlock)
  }

  /// The result of a replay.
  package struct Outcome {
    /// The end positions of all streams that have a commit, sorted by replica; empty unless requested.
    package fileprivate(set) var positions: [StreamPosition] = []
    /// Everything found that differs from what was written, sorted by replica.
    package fileprivate(set) var findings: [Finding] = []
    /// The number of events passed to the visitor.
    package fileprivate(set) var eventCount: UInt64 = 0
    /// Whether the commit that defines the bound was reached; true for any other bound.
    package fileprivate(set) var reachedBound = true
    /// The start positions that are now elsewhere, because their segment was sealed since, with their new locations. Finding them
    /// required comparing trees, which took time.
    package fileprivate(set) var movedPositions: [StreamPosition] = []
  }

  package init(at path: String, on fileSystem: any FileSystem, progress: LogProgress? = nil)
    throws(HeartlogError)
  {
    directory = StoreDirectory(fileSystem: fileSystem, path: path)
    identity = try StoreIdentity.read(directory)
    lock = try StoreLock(directory)
    self.progress = progress
  }

  /// Returns the bound of a moment; nil if nothing is before it: the log does not have that commit, or the time is before 1970.
  ///
  /// For an event or a commit, this reads the segment that contains it.
  package func bound(of moment: LogMoment) throws(HeartlogError) -> ReplayBound? {
    if case .milliseconds(let time) = moment { return time >= 0 ? .time(time) : nil }
    return try directory.position(of: moment).map { .commit($0) }
  }

  /// Reads all streams.
  ///
  /// - Parameters:
  ///   - positions: The positions to start at, at most one per stream, all within the bound. Streams without a position start at
  ///     their first commit.
  ///   - bound: The last commits to be visited; nil for all.
  ///   - givesPositions: Whether the outcome contains positions. This costs hashing everything read.
  ///   - visit: Receives the commits of each stream in order, one stream after the other.
  /// - Throws: `otherLog` or `otherHistory` if a position is not in this log, before `visit` is called; `misuse` if a position is
  ///   after the bound.
  package func run(
    from positions: [StreamPosition] = [], upTo bound: ReplayBound? = nil, givesPositions: Bool = false,
    _ visit: (Piece) throws -> Void
  ) throws(HeartlogError) -> Outcome {
    try heartlogErrors {
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
      if let last = bound?.lastCommit {
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

  /// Makes everything before positions durable: commits that were read may have been acknowledged as buffered by any process.
  ///
  /// - Throws: `inputOutput` if that fails, or failed before, or if the receiver of a run was killed: then the next writer copies the
  ///   tail, and until then nothing tells whether it is on disk.
  package func makeDurable(_ positions: [StreamPosition]) throws(HeartlogError) {
    for position in positions {
      func path(_ state: SegmentFile.State) -> String {
        let segment = SegmentFile(firstCommit: position.location.firstCommit, state: state)
        return directory.path(of: segment, in: position.replica)
      }
      let isSuspect = try heartlogErrors {
        do throws(HeartlogError) {
          try directory.fileSystem.open(path(.open), .read).synchronizeData()
          return false
        } catch {
          // A sealed segment is durable, and so is one that was sealed since.
          guard error.isNotFound else { throw error }
          return try directory.fileSystem.info(path(.suspect)) != nil
        }
      }
      guard !isSuspect, !lock.isReceiving(position.replica) else {
        throw HeartlogError(
          .inputOutput,
          "cannot tell whether the last commits are on disk; the next write to the store makes them durable",
          file: path(isSuspect ? .suspect : .open))
      }
    }
  }

  /// Whether positions belong to this log, whatever has happened to it since.
  ///
  /// - Returns: false if they belong to another store, or to a stream that was ended before one of them.
  package func isOfUse(_ positions: [StreamPosition]) throws(HeartlogError) -> Bool {
    do { _ = try StreamStart(directory: directory).readers(at: positions, own: identity.replica) } catch {
      if error.mismatch == .otherLog { return false }
      guard error.mismatch == .otherHistory else { throw error }
    }
    return true
  }

  private func streams(from positions: [StreamPosition], upTo bound: ReplayBound?) throws -> [ReplayedStream]
  {
    guard bound.map({ positions.allSatisfy($0.contains) }) ?? true else {
      throw HeartlogError(.misuse, "a replay that starts after its end")
    }
    let found = try StreamStart(directory: directory).readers(at: positions, own: identity.replica)
    var streams = zip(positions, found).map { position, found in
      ReplayedStream(
        found.reader, from: position, moved: found.moved, upTo: bound?.bound(of: position.replica))
    }
    // The replica's own stream may be missing completely; only the lock page tells.
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
  /// `start` with its new location, if that has changed.
  let moved: StreamPosition?
  private let bound: StreamBound?
  /// The last commit visited; 0 for none.
  private(set) var lastCommit: UInt64
  /// The stream's time at that commit.
  private(set) var time: StreamTime
  private(set) var eventCount: UInt64 = 0

  init(
    _ reader: StreamReader, from start: StreamPosition?, moved: StreamPosition? = nil,
    upTo bound: StreamBound?
  ) {
    self.reader = reader
    self.start = start
    self.moved = moved
    self.bound = bound
    lastCommit = start?.commit.rawValue ?? 0
    time = start?.time ?? StreamTime()
  }

  /// Reads to the end of the stream, or to its first commit outside the bound.
  func read(
    page: StoreLock.Page, _ meter: inout ProgressMeter, _ visit: (LogReplay.Piece) throws -> Void
  ) throws -> Finding? {
    try reader.forEachPiece(page: page, &meter) { piece in
      switch piece {
      case .rows(let rows):
        let count = rows.prefix { row in
          let header = row.header
          return pass(header.number, header.stamp, header.wallTime, events: header.eventCount)
        }.count
        if count > 0 { try visit(.rows(count == rows.count ? rows : Array(rows[..<count]))) }
        return count == rows.count
      case .block(let block):
        guard let part = part(of: block) else { return false }
        assert(part.firstCommit.rawValue == lastCommit + 1, "the commits of a stream are visited in order")
        eventCount += UInt64(part.eventCount)
        time.pass(part)
        lastCommit = part.lastCommit.rawValue
        try visit(.block(part))
        return part.lastCommit == block.lastCommit
      }
    }
  }

  /// Counts a commit; returns false if it is outside the bound.
  private func pass(
    _ number: CommitNumber, _ stamp: HybridTimestamp, _ wallTime: Milliseconds, events: Int
  ) -> Bool {
    assert(number.rawValue == lastCommit + 1, "the commits of a stream are visited in order")
    var time = time
    time.pass(wallTime)
    if let bound, !bound.contains(stamp: stamp, time: time) { return false }
    self.time = time
    eventCount += UInt64(events)
    lastCommit = number.rawValue
    return true
  }

  /// Returns the part of a block within the bound; nil if that is empty.
  private func part(of block: ColumnBlock) -> ColumnBlock? {
    guard let bound else { return block }
    var time = time
    time.pass(block)
    if bound.contains(stamp: block.lastStamp, time: time) { return block }
    let commits = block.columns.commits
    time = self.time
    let first = block.commitIndices.first { index in
      time.pass(commits.wallTimes[index])
      return !bound.contains(stamp: commits.stamps[index], time: time)
    }
    guard let first, first > block.commitIndices.lowerBound else { return nil }
    return block.cut(to: block.firstCommit...block.number(at: first - 1))
  }
}

/// Called from time to time during a long read with the bytes read so far and the total.
package typealias LogProgress = (_ doneBytes: UInt64, _ totalBytes: UInt64) -> Void

/// Adds up the bytes read from the segments.
struct ProgressMeter {
  private let report: LogProgress?
  private let total: UInt64
  private var done: UInt64 = 0
  private var segment: SegmentID?
  private var offset: UInt64 = 0

  init(_ report: LogProgress?, total: UInt64) {
    self.report = report
    self.total = total
  }

  /// Adds what `cursor` read of its segment since the last call, and reports the sum.
  mutating func advance(_ cursor: SegmentCursor) {
    guard let report else { return }
    if segment != cursor.header.id {
      segment = cursor.header.id
      offset = 0
    }
    done += cursor.offset - offset
    offset = cursor.offset
    report(min(done, total), total)
  }
}

extension CommitLog {
  /// The size of the segments that begin after these positions: most of what is read if a log is opened at them. Streams without a position
  /// count as a whole. Reads no file and takes no lock; nil if there is no store, or none that can be opened without creating a file.
  package static func bytes(
    behind positions: [StreamPosition], at path: String, on fileSystem: any FileSystem
  ) throws(HeartlogError) -> UInt64? {
    let directory = StoreDirectory(fileSystem: fileSystem, path: path)
    let lock = try fileSystem.info(directory.lockPath)
    guard let lock, lock.size >= UInt64(lockPageBytes) else { return nil }
    var bytes: UInt64 = 0
    for replica in try directory.replicas() {
      let known = positions.first { $0.replica == replica }?.commit
      for segment in try directory.segments(of: replica) where known.map({ segment.firstCommit > $0 }) ?? true
      {
        bytes += try fileSystem.info(directory.path(of: segment, in: replica))?.size ?? 0
      }
    }
    return bytes
  }
}
