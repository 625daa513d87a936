import HeartlogFiles
import HeartlogFormat
import HeartlogEngine

/// How a store is opened.
public struct StoreOptions: Sendable {
  /// The display name of this replica, used when the store is created: at most 127 bytes without control characters.
  public var name = ""
  /// The origin of commits whose write names none, such as an app's name.
  public var origin: String?
  /// When a write returns: after fdatasync (`durable`), or after the write itself (`buffered`), flushed within 100 ms.
  public var durability = Durability.durable
  /// Whether the store is opened for writing; by default it is.
  public var access = StoreAccess.readWrite
  /// Whether to create a store if there is none.
  public var createsIfMissing = true
  /// When snapshots are written automatically. Opening from a snapshot is fast.
  public var snapshots = SnapshotPolicy.automatic
  /// Whether a read first reads what other processes wrote, if they wrote anything. If false, the state changes only by the store's own
  /// writes, by `refresh()`, and while there are streams of changes.
  ///
  /// The lock page tells a read whether there is anything new, at the cost of two loads from memory. It neither waits for a process that is
  /// writing, nor throws: if the new commits cannot be read, it returns what was read before, and the next write or `refresh()` throws the
  /// error. On a network file system, and in a folder whose file `lock` cannot be read, nothing tells: call `refresh()` there.
  public var refreshesAutomatically = true
  /// How long a write waits for other processes before it throws `locked`.
  public var lockTimeout: Duration = .seconds(10)
  /// Where the key is that signs this device's checkpoints: by default in the store's folder.
  public var deviceKey = DeviceKeyPlace.folder
  #if Tracing
    /// What the store measures of itself goes there; nil if nobody wants to know. With the trait `Tracing` only.
    public var tracer: (any StoreTracer)?
  #endif
  /// Returns the wall time in milliseconds since 1970.
  public var clock: @Sendable () -> Milliseconds = { Self.systemTime() }

  /// The source of ids and secrets. Replace it with anything but a good random number generator only in tests.
  package var random: @Sendable () -> UInt64 = { .random(in: 0 ... .max) }

  /// Creates the options that most apps want: durable writes, a store that is created if there is none, the system's clock.
  ///
  /// - Parameter origin: what writes, such as `share extension`.
  public init(origin: String? = nil) { self.origin = origin }

  /// Whether the store shows what a snapshot knows of commits that the log has lost. `repair` writes that anew, and sees the log alone.
  package var showsLostCommits = true

  package var trace: StoreTrace {
    #if Tracing
      StoreTrace(tracer)
    #else
      StoreTrace()
    #endif
  }

  package var storage: StorageOptions {
    var storage = StorageOptions()
    storage.access = access
    // A year is for ever.
    storage.lockMillisecondsMax = Int(min(lockTimeout.wholeMilliseconds, 365 * 86_400_000))
    storage.random = random
    storage.trace = trace
    storage.keys = deviceKey
    changeStorage(&storage)
    return storage
  }

  /// Changes what only tests of rare moments need, such as small segments.
  package var changeStorage: @Sendable (inout StorageOptions) -> Void = { _ in }

  /// Returns the system's wall time in milliseconds since 1970, rounded down.
  package static func systemTime() -> Milliseconds {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Milliseconds(time.tv_sec) * 1_000 + Milliseconds(time.tv_nsec / 1_000_000)
  }
}

extension FavoritesStore {
  /// Returns whether other users of this machine can read the store in a folder, or hold its lock. Stores are created for their owner only.
  /// The next write to a store that an older Heartlog created removes the access of others.
  ///
  /// - Returns: whether they can; false also if there is no store, or if it belongs to another user.
  /// - Throws: `inputOutput` if the permissions cannot be read.
  package static func isOpenToOthers(at path: String) throws(HeartlogError) -> Bool {
    try CommitLog.isOpenToOthers(at: path, on: POSIXFileSystem())
  }

  /// Whether other users of this machine could read the store, or hold its lock, until this object first wrote to it. That write removed
  /// their access.
  package var wasOpenToOthers: Bool { log.hasTakenPermissions }
}
