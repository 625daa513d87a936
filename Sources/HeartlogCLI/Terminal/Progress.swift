import HeartlogFiles
import Synchronization

/// A bar on standard error for work that takes long. Shows nothing for work that does not.
final class Progress: Sendable {
  private struct State {
    var done = 0
    /// The time of the next drawing, in nanoseconds.
    var nextDrawing: UInt64
  }

  /// Work that ends sooner shows no bar at all: it would only flicker.
  private static let delay: UInt64 = 200_000_000
  /// 12 drawings a second look alive and cost nothing.
  private static let interval: UInt64 = 1_000_000_000 / 12

  private let label: String
  private let total: Int?
  private let output: Output
  private let isShown: Bool
  private let now: @Sendable () -> UInt64
  private let start: UInt64
  private let state: Mutex<State>

  /// - Parameters:
  ///   - total: nil where it is not known; a counter is shown then.
  ///   - now: nanoseconds of a clock that never goes back.
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

  /// Says how much is done by now, in the units of `total`.
  func update(_ done: Int) {
    guard isShown else { return }
    change { $0.done = done }
  }

  func advance(by count: Int = 1) {
    guard isShown else { return }
    change { $0.done += count }
  }

  /// Takes the bar away.
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
