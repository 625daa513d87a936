import HeartlogFiles
import HeartlogStorage

/// The log of a store, commit by commit. It takes no lock, and can go on when more was written.
public final class LogReader {
  private let log: MergedLog

  init(_ log: MergedLog) { self.log = log }

  /// Opens the log of a store without building its state.
  ///
  /// - Throws: `notAStore`, `newerFormat`, `inputOutput`.
  public convenience init(at path: String, progress: LogProgress? = nil) throws(HeartlogError) {
    let log = try heartlogErrors { try MergedLog(at: path, on: POSIXFileSystem(), progress: progress) }
    self.init(log)
  }

  /// The next commit in the total order; nil where there is none at the moment. Asked again, it gives what has come since, of which some
  /// may belong before what was given already: only another device's commits that arrive late do.
  ///
  /// - Throws: `inputOutput` where a file cannot be read. Damage is no error here: see `findings`.
  public func next() throws(HeartlogError) -> Commit? {
    try heartlogErrors { try log.next() }
  }

  /// As many commits as are at hand and follow each other in the total order, all of one device; nil where there is none at the moment.
  func nextRun() throws(HeartlogError) -> MergedLog.Run? {
    try heartlogErrors { try log.nextRun() }
  }

  /// Visits the commits that are there at the moment, in the total order. Of those that are not visited, nothing is put together.
  ///
  /// - Parameters:
  ///   - item: only commits that have an event of this item; all where nil.
  ///   - isWanted: whether to visit a commit: its position, and its time as `lastTime` would tell it.
  ///   - body: gets each commit.
  package func forEachCommit(
    of item: (library: String, id: String)? = nil,
    where isWanted: (CommitPosition, Milliseconds) -> Bool, _ body: (Commit) throws -> Void
  ) throws {
    while let run = try nextRun() {
      switch run.commits {
      case .one(let commit):
        guard isWanted(commit.position, lastTime), item.map(commit.names) ?? true else { continue }
        try body(commit)
      case .several(let block, let places):
        let content = block.content
        var time = run.timeBefore
        var next = places.lowerBound
        let named = item.map { block.places(ofItem: $0.id, in: $0.library) }
        func visit(_ place: Int) throws {
          while next <= place {
            time = max(time, content.columns.commits.wallTimes[next])
            next += 1
          }
          if isWanted(content.position(at: place), time) { try body(block.commit(at: place)) }
        }
        guard let named else {
          for place in places { try visit(place) }
          continue
        }
        let first = named.partitionPoint { $0 >= places.lowerBound }
        for place in named[first...].prefix(while: { $0 < places.upperBound }) { try visit(place) }
      }
    }
  }

  /// The time of the commit that `next` gave last, as moments go by it: the latest wall time of its device up to it, in milliseconds since
  /// 1970. So a device whose clock was set back goes on as of when it was. 0 before the first commit.
  public var lastTime: Milliseconds { log.lastTime }

  /// The replicas whose streams were met so far.
  public var replicas: [ReplicaID] { log.replicas }

  /// What people call a replica; nil for one that was not met so far.
  public func name(of replica: ReplicaID) -> String? { log.name(of: replica) }

  /// What is damaged, as far as the log was read.
  public var findings: [Finding] { log.findings.damage.map(Finding.init) }
}

extension Commit {
  /// Whether an event is of that item.
  fileprivate func names(_ item: (library: String, id: String)) -> Bool {
    records.contains { record in
      record.event.map { $0.item.hasSameBytes(as: item.id) && $0.library.hasSameBytes(as: item.library) }
        ?? false
    }
  }
}
