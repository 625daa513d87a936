import Heartlog

/// How a sync is held.
public struct SyncOptions: Sendable {
  /// Only receive: nothing is written at the peer's.
  public var isPull = false
  /// Only find out what would go each way: nothing is written anywhere.
  public var isDryRun = false
  /// This end takes nothing: its store cannot be written. Only the serving end may say so.
  public var isReadOnly = false
  /// How long the dialogue may stand still, neither end sending a byte, before it is given up.
  public var inactivityMillisecondsMax = 30_000
  /// Tells the wall time, in milliseconds since 1970.
  public var clock: @Sendable () -> Milliseconds = { StoreOptions.systemTime() }
  /// Asked several times a second; once it is true, the sync ends with `timedOut`.
  public var isCancelled: @Sendable () -> Bool = { false }
  /// Told as runs come and go, from more than one thread.
  public var progress: (@Sendable (SyncProgress) -> Void)?

  /// Both ways, for good, and with a time-out of 30 seconds.
  public init() {}
}

/// How far a sync is.
public struct SyncProgress: Hashable, Sendable {
  /// Commits that came.
  public var receivedCommits: UInt64 = 0
  /// All that are to come; 0 where that is not known, as with folders.
  public var commitsToReceive: UInt64 = 0
  /// Commits that went.
  public var sentCommits: UInt64 = 0
  /// All that are to go; 0 where that is not known.
  public var commitsToSend: UInt64 = 0

  /// Nothing yet.
  public init() {}
}
