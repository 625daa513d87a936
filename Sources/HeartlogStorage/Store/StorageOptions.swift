import HeartlogFormat
import HeartlogTracing

/// How a store's log is opened.
package struct StorageOptions: Sendable {
  package enum Access: Sendable {
    case readWrite
    case readOnly
  }

  package var access = Access.readWrite
  /// The longest time that a writer waits for another process's lock.
  package var lockMillisecondsMax = 10_000
  /// The size at which a segment is full; the next commit starts a new one.
  package var segmentBytesMax: UInt64 = 1 << 20
  /// The number of streams from which on no others are received.
  package var streamsMax = Limits.streamsMax
  /// Whether a background thread seals segments as soon as they are full.
  package var sealsInBackground = true
  /// Whether the lock is kept while durable commits follow each other at once. It depends on the time, so tests that compare the order of
  /// operations switch it off.
  package var keepsLockInSeries = true
  /// Where the key is that signs the store's own stream.
  package var keys = DeviceKeys.Place.none
  /// The number of files that logs may keep open between calls, shared by all logs that use it.
  var budget = OpenFileBudget.process
  /// Where the log reports its work.
  package var trace = StoreTrace()
  /// The clock and the threads of the log.
  package var scheduler: any Scheduler = SystemScheduler()
  /// The source of ids and secrets.
  package var random: @Sendable () -> UInt64 = { .random(in: 0 ... .max) }

  package init() {}

  /// `random` as a `RandomNumberGenerator`.
  var generator: some RandomNumberGenerator { Generator(random: random) }

  private struct Generator: RandomNumberGenerator {
    let random: @Sendable () -> UInt64
    mutating func next() -> UInt64 { random() }
  }
}
