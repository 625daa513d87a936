import HeartlogStorage

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// How a store is opened.
public struct StoreOptions: Sendable {
  /// Whether a store is opened to be written.
  public enum Access: Sendable {
    /// Reads and writes.
    case readWrite
    /// Reads alone: takes no lock, makes no store, and every write throws `readOnly`.
    case readOnly
  }

  /// What people call this replica, where the store is made: at most 127 bytes without control characters.
  public var name = ""
  /// What commits name as their origin where a write names none: an app's name.
  public var origin: String?
  /// When writes return: after fdatasync, or (`buffered`) after the write, flushed within 100 ms.
  public var durability = Durability.durable
  /// Whether the store is opened to be written; it is unless said otherwise.
  public var access = Access.readWrite
  /// Whether a store is made where there is none.
  public var createsIfMissing = true
  /// When snapshots are written by themselves, from which the store opens at once.
  public var snapshots = SnapshotPolicy.automatic
  /// How long a writer waits for other processes before it throws `locked`.
  public var lockMillisecondsMax = 10_000
  /// Tells the wall time, in milliseconds since 1970.
  public var clock: @Sendable () -> Milliseconds = { Self.systemTime() }

  /// Where ids and secrets come from. Anything but good random numbers is for tests alone.
  public var random: @Sendable () -> UInt64 = { .random(in: 0 ... .max) }

  /// The options that most apps want: durable writes, a store that is made where there is none, the system's clock.
  public init() {}

  var storage: StorageOptions {
    var storage = StorageOptions()
    storage.access = access == .readOnly ? .readOnly : .readWrite
    storage.lockMillisecondsMax = lockMillisecondsMax
    storage.random = random
    return storage
  }

  /// The system's clock, rounded down to milliseconds.
  public static func systemTime() -> Milliseconds {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Milliseconds(time.tv_sec) * 1_000 + Milliseconds(time.tv_nsec / 1_000_000)
  }
}
