import Foundation
import Heartlog
import Synchronization

/// A clock that changes only when a test moves it.
public final class ManualClock: Sendable {
  private let time: Mutex<Milliseconds>

  /// Creates a clock.
  ///
  /// - Parameter start: the initial time; 2026-01-01T00:00:00Z by default.
  public init(start: Date = Date(timeIntervalSince1970: 1_767_225_600)) {
    time = Mutex(Milliseconds((start.timeIntervalSince1970 * 1_000).rounded(.down)))
  }

  /// The current time in milliseconds since 1970.
  public var milliseconds: Milliseconds { time.withLock { $0 } }

  /// The current time.
  public var now: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1_000) }

  /// Moves the clock by `seconds`, which may be negative: clocks of devices are set back, too.
  public func advance(by seconds: TimeInterval) {
    time.withLock { $0 += Milliseconds((seconds * 1_000).rounded()) }
  }

  /// Sets the clock to an earlier or later date, rounded down to milliseconds.
  public func set(to date: Date) {
    time.withLock { $0 = Milliseconds((date.timeIntervalSince1970 * 1_000).rounded(.down)) }
  }
}
