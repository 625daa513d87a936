import Heartlog

/// Options for a sync.
public struct SyncOptions: Sendable {
  /// Only receive: nothing is written to the peer's store.
  public var isPull = false
  /// Only determine what would be sent and received: nothing is written to either store.
  public var isDryRun = false
  /// Join the vault of the other store, although this one belongs to another. Only the calling end may set this.
  public var joinsVault = false
  /// This end receives nothing, because its store cannot be written. Only the serving end may set this.
  public var isReadOnly = false
  /// How long neither end may send a byte before the dialogue is given up.
  public var inactivityMillisecondsMax = 30_000
  /// Returns the wall time, in milliseconds since 1970.
  public var clock: @Sendable () -> Milliseconds = { StoreOptions.systemTime() }
  /// Called several times a second; when it returns true, the sync ends with `timedOut`.
  public var isCancelled: @Sendable () -> Bool = { false }
  /// Called as runs are received and sent, from more than one thread.
  public var progress: (@Sendable (SyncProgress) -> Void)?
  /// Everything is sent before anything is received, on one thread. Only for channels that never make a writer wait.
  package var sendsFirst = false

  /// Creates options for a sync in both directions that is written, with a time-out of 30 seconds.
  public init() {}
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
