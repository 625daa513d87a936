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
