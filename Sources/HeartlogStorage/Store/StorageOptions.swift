/// How a store's log is opened.
package struct StorageOptions: Sendable {
  package enum Access: Sendable {
    case readWrite
    case readOnly
  }

  package var access = Access.readWrite
  /// How long a writer waits for the lock of another process before it gives up.
  package var lockMillisecondsMax = 10_000
  /// A segment that has reached this size is full: the next commit starts a new one.
  package var segmentBytesMax: UInt64 = 1 << 20
  /// Full segments are sealed by a thread of their own as soon as they are full.
  package var sealsInBackground = true
  /// How many files logs may keep open between their calls, in all that share it.
  var budget = OpenFileBudget.process
  /// Where ids and secrets come from.
  package var random: @Sendable () -> UInt64 = { .random(in: 0 ... .max) }

  package init() {}

  /// `random` as the standard library wants it.
  var generator: some RandomNumberGenerator { Generator(random: random) }

  private struct Generator: RandomNumberGenerator {
    let random: @Sendable () -> UInt64
    mutating func next() -> UInt64 { random() }
  }
}
