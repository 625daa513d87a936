import Heartlog

/// Options for a sync.
public struct SyncOptions: Sendable {
  /// Only receive: nothing is written to the peer's store.
  public var isPull = false
  /// Only determine what would be sent and received: nothing is written to either store.
  public var isDryRun = false
  /// Join the vault of the other store, although this one belongs to another. Only the calling end may set this.
  public var joinsVault = false
  /// Encrypt the vault, if it is not: objects of it are encrypted from now on, wherever it syncs.
  public var encrypts = false
  /// This end receives nothing, because its store cannot be written. Only the serving end may set this.
  public var isReadOnly = false
  /// When the sync ends, whatever the other side does; `nil` for no limit. What has come by then is kept, `SyncReport.unfinished` says what
  /// is left, and the next sync continues from there.
  public var deadline: ContinuousClock.Instant?
  /// How long neither end may send a byte before the dialogue is given up.
  public var inactivityMillisecondsMax = 30_000
  /// Returns the wall time, in milliseconds since 1970.
  public var clock: @Sendable () -> Milliseconds = { StoreOptions.systemTime() }
  /// Called many times a second; once it returns true, the sync ends as at its deadline.
  public var isCancelled: @Sendable () -> Bool = { false }
  /// Called as runs are received and sent, from more than one thread.
  public var progress: (@Sendable (SyncProgress) -> Void)?
  /// Returns the time that `deadline` is compared with.
  package var now: @Sendable () -> ContinuousClock.Instant = { .now }
  /// Everything is sent before anything is received, on one thread. Only for channels that never make a writer wait.
  package var sendsFirst = false

  /// Creates options for a sync in both directions that is written, with a time-out of 30 seconds.
  ///
  /// - Parameter deadline: when the sync ends, finished or not: `.now + .seconds(25)`.
  public init(deadline: ContinuousClock.Instant? = nil) { self.deadline = deadline }
}

extension SyncOptions {
  /// Whether the deadline has come, or the sync was cancelled.
  package var isOver: Bool { isCancelled() || deadline.map { now() >= $0 } ?? false }

  /// How long a wait of at most `most` milliseconds may last, rounded up; 0 once the sync is over.
  func millisecondsLeft(atMost most: Int) -> Int {
    if isCancelled() { return 0 }
    guard let deadline else { return most }
    let left = (deadline - now()) / .milliseconds(1)
    return Int(max(0, min(Double(most), left.rounded(.up))))
  }

  func checkTime() throws(HeartlogError) { if isOver { throw .endedEarly } }
}

extension HeartlogError {
  /// Ends a sync that is over. Sessions and folders turn it into a report.
  package static let endedEarly = HeartlogError(.timedOut, "the sync was ended before it was done")

  package var isEarlyEnd: Bool { code == Self.endedEarly.code && message == Self.endedEarly.message }
}

/// The progress of a sync.
public struct SyncProgress: Hashable, Sendable {
  /// Commits received so far.
  public var receivedCommits: UInt64 = 0
  /// All commits to receive; 0 if the number is not known, as with folders.
  public var commitsToReceive: UInt64 = 0
  /// Commits sent so far.
  public var sentCommits: UInt64 = 0
  /// All commits to send; 0 if the number is not known.
  public var commitsToSend: UInt64 = 0

  /// Creates a progress of nothing sent or received.
  public init() {}
}
