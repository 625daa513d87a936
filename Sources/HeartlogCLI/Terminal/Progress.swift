import HeartlogFiles
import Synchronization

/// A progress bar on standard error for long work. Shows nothing for short work.
final class Progress: Sendable {
  private struct State {
    var done = 0
    /// When to draw next, in nanoseconds.
    var nextDrawing: UInt64
  }

  /// Shorter work shows no bar, which would only flicker.
  private static let delay: UInt64 = 200_000_000
  /// 12 updates per second look smooth at a negligible cost.
  private static let interval: UInt64 = 1_000_000_000 / 12

  private let label: String
  private let total: Int?
  private let output: Output
  private let isShown: Bool
  private let now: @Sendable () -> UInt64
  private let start: UInt64
  private let state: Mutex<State>

  /// - Parameters:
  ///   - total: nil if unknown; a counter is then shown.
  ///   - now: nanoseconds of a monotonic clock.
  init(
    _ label: String, total: Int? = nil, output: Output, isShown: Bool,
    now: @escaping @Sendable () -> UInt64 = MonotonicClock.nanoseconds
  ) {
    self.label = label
    self.total = total
    self.output = output
    self.isShown = isShown
    self.now = now
    start = isShown ? now() : 0
    state = Mutex(State(nextDrawing: start + Self.delay))
  }

  /// Sets how much is done, in the unit of `total`.
  func update(_ done: Int) {
    guard isShown else { return }
    change { $0.done = done }
  }

  func advance(by count: Int = 1) {
    guard isShown else { return }
    change { $0.done += count }
  }

  /// Removes the bar.
  func finish() {
    guard isShown else { return }
    output.clearTransient()
  }

  private func change(_ body: (inout State) -> Void) {
    let time = now()
    let line: String? = state.withLock { state in
      body(&state)
      guard time >= state.nextDrawing else { return nil }
      state.nextDrawing = time + Self.interval
      return ProgressLine(
        label: label, done: state.done, total: total, seconds: Double(time - start) / 1e9
      ).text(width: output.error.width() ?? 80)
    }
    if let line { output.showTransient(line) }
  }
}
