import HeartlogFiles
import HeartlogEngine

/// Reads the log of a store commit by commit. It takes no lock, and can continue after more was written.
package final class LogReader {
  private let log: MergedLog

  init(_ log: MergedLog) { self.log = log }

  /// Opens the log of a store without building its state.
  ///
  /// - Parameters:
  ///   - path: the folder of the store.
  ///   - sealedMax: reads only the ends of the streams: at most so many sealed segments of each, and what follows them.
  ///   - progress: called from time to time on the calling thread, with the bytes read so far and in total.
  /// - Throws: `notAStore`, `newerFormat`, `inputOutput`.
  package convenience init(
    at path: String, lastSealed sealedMax: Int? = nil, progress: LogProgress? = nil
  ) throws(HeartlogError) {
    let log = try MergedLog(at: path, on: POSIXFileSystem(), lastSealed: sealedMax, progress: progress)
    self.init(log)
  }

  /// Opens the ends of a log: everything from a place on, and usually little before it. See `MergedLog.ends`.
  package static func ends(
    at path: String, from mayBegin: (CommitPosition) -> Bool
  ) throws(HeartlogError) -> LogReader {
    LogReader(try MergedLog.ends(at: path, on: POSIXFileSystem(), from: mayBegin))
  }

  /// Returns the next commit in the total order; nil if there is none yet. A later call returns what was written since. Only a commit of
  /// another device that arrives late may belong before commits already returned.
  ///
  /// - Throws: `inputOutput` if a file cannot be read. Damage does not throw: see `findings`.
  package func next() throws(HeartlogError) -> Commit? {
    try log.next()
  }

  /// Returns as many commits of one device as are available and adjacent in the total order; nil if there is none yet.
  func nextRun() throws(HeartlogError) -> MergedLog.Run? {
    try log.nextRun()
  }

  /// Visits the commits that are currently there, in the total order. Commits that are not visited are not assembled.
  ///
  /// - Parameters:
  ///   - item: only commits with an event of this item; all if nil.
  ///   - isWanted: whether to visit a commit, given its position and its time as `lastTime` would report it.
  ///   - body: receives each commit.
  package func forEachCommit(
    of item: (library: String, id: String)? = nil,
    where isWanted: (CommitPosition, Milliseconds) -> Bool, _ body: (Commit) throws -> Void
  ) throws {
    while let run = try nextRun() {
      switch run.commits {
      case .one(let commit):
        guard isWanted(commit.position, lastTime), item.map(commit.names) ?? true else { continue }
        try body(commit)
      case .several(let block, let indices):
        let content = block.content
        var time = run.timeBefore
        var next = indices.lowerBound
        let named = item.map { block.indices(ofItem: $0.id, in: $0.library) }
        func visit(_ index: Int) throws {
          while next <= index {
            time = max(time, content.columns.commits.wallTimes[next])
            next += 1
          }
          if isWanted(content.position(at: index), time) { try body(block.commit(at: index)) }
        }
        guard let named else {
          for index in indices { try visit(index) }
          continue
        }
        let first = named.partitionPoint { $0 >= indices.lowerBound }
        for index in named[first...].prefix(while: { $0 < indices.upperBound }) { try visit(index) }
      }
    }
  }

  /// Returns the last commits that are currently there, in the total order. Only these are assembled.
  ///
  /// - Parameters:
  ///   - count: the maximum number of commits.
  ///   - isWanted: whether a commit at a position counts.
  package func lastCommits(
    _ count: Int, where isWanted: (CommitPosition) -> Bool
  ) throws(HeartlogError) -> [Commit] {
    var found: [(run: MergedLog.Run.Commits, index: Int)] = []
    while let run = try nextRun() {
      switch run.commits {
      case .one(let commit): if isWanted(commit.position) { found.append((run.commits, 0)) }
      case .several(let block, let indices):
        found += indices.filter { isWanted(block.content.position(at: $0)) }.map { (run.commits, $0) }
      }
      // Not at each commit, which would move all others each time.
      if found.count > 1_000, found.count / 2 >= count { found.removeFirst(found.count - count) }
    }
    return found.suffix(count).map { found in
      switch found.run {
      case .one(let commit): commit
      case .several(let block, _): block.commit(at: found.index)
      }
    }
  }

  /// The time of the commit that `next` returned last, for comparison with a moment: the latest wall time of its device up to that commit,
  /// in milliseconds since 1970. If a device's clock was set back, later commits keep the time from before. 0 before the first commit.
  package var lastTime: Milliseconds { log.lastTime }

  /// Where the first commit is from which on none is left out; nil before the first read, and if none is.
  package var completeFrom: CommitPosition? { log.completeFrom }

  /// The replicas whose streams were found so far.
  package var replicas: [ReplicaID] { log.replicas }

  /// Returns the display name of a replica; nil if its stream was not found yet.
  package func name(of replica: ReplicaID) -> String? { log.name(of: replica) }

  /// Returns the position of the commit that a moment names, read or not; nil if the log does not have it, or if the moment is a time.
  package func position(of moment: LogMoment) throws(HeartlogError) -> CommitPosition? {
    try log.position(of: moment)
  }

  /// The damage found so far.
  package var findings: [Finding] { log.findings.damage }
}

extension LogReader {
  /// The events of an item that are currently there, in the total order.
  func changes(of id: String, in library: String) throws -> [Change] {
    var changes: [Change] = []
    try forEachCommit(of: (library, id), where: { _, _ in true }) { commit in
      changes += commit.records.indices.compactMap { Change(at: $0, in: commit) }
        .filter { $0.event.isOf(id, in: library) }
    }
    return changes
  }
}

extension Commit {
  /// Whether an event belongs to that item.
  fileprivate func names(_ item: (library: String, id: String)) -> Bool {
    records.contains { $0.event?.isOf(item.id, in: item.library) ?? false }
  }
}

extension Event {
  fileprivate func isOf(_ id: String, in library: String) -> Bool {
    item.hasSameBytes(as: id) && self.library.hasSameBytes(as: library)
  }
}
