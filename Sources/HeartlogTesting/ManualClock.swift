import Foundation
import Heartlog
import Synchronization

/// A clock that stands still until a test moves it.
public final class ManualClock: Sendable {
  private let time: Mutex<Milliseconds>

  /// - Parameter start: where it stands; 2026-01-01T00:00:00Z unless said otherwise.
  public init(start: Date = Date(timeIntervalSince1970: 1_767_225_600)) {
    time = Mutex(Milliseconds((start.timeIntervalSince1970 * 1_000).rounded(.down)))
  }

  /// Milliseconds since 1970.
  public var milliseconds: Milliseconds { time.withLock { $0 } }

  /// The time that it shows.
  public var now: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1_000) }

  /// Moves the clock; back, where `seconds` is negative, as a device's clock may.
  public func advance(by seconds: TimeInterval) {
    time.withLock { $0 += Milliseconds((seconds * 1_000).rounded()) }
  }

  /// Moves the clock to a date, earlier or later, rounded down to milliseconds.
  public func set(to date: Date) {
    time.withLock { $0 = Milliseconds((date.timeIntervalSince1970 * 1_000).rounded(.down)) }
  }
}
