import HeartlogFiles

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// How a client waits. Tests do not.
package struct HubTime: Sendable {
  /// Waits for so many milliseconds, or until it is over.
  package var pause: @Sendable (_ milliseconds: Int, _ isOver: () -> Bool) -> Void
  /// A number from 0 to 1, so that clients that lost a hub at once do not come back at once.
  package var random: @Sendable () -> Double
  /// Nanoseconds since some fixed point.
  package var now: @Sendable () -> UInt64

  package init(
    pause: @escaping @Sendable (_ milliseconds: Int, _ isOver: () -> Bool) -> Void,
    random: @escaping @Sendable () -> Double,
    now: @escaping @Sendable () -> UInt64 = MonotonicClock.nanoseconds
  ) {
    self.pause = pause
    self.random = random
    self.now = now
  }

  /// The clock of the machine.
  package static let system = HubTime(
    pause: { milliseconds, isOver in
      let end = MonotonicClock.nanoseconds() + UInt64(max(0, milliseconds)) * 1_000_000
      while !isOver() {
        let now = MonotonicClock.nanoseconds()
        guard now < end else { return }
        usleep(UInt32(clamping: min((end - now) / 1_000, 100_000)))
      }
    }, random: { .random(in: 0...1) })
}

/// Pauses that double, each shortened at random by up to a half.
package struct HubPauses: Sendable {
  private let first: Int
  private let largest: Int
  private var current: Int

  /// - Parameters:
  ///   - first: The first pause, in milliseconds.
  ///   - largest: The pause that all others are at most.
  package init(first: Int = 1_000, largest: Int = 60_000) {
    self.first = first
    self.largest = largest
    current = first
  }

  package mutating func next(_ random: () -> Double) -> Int {
    defer { current = min(current * 2, largest) }
    return current - Int(Double(current) / 2 * random())
  }

  package mutating func reset() { current = first }
}
