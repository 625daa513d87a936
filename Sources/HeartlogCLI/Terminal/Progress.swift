import HeartlogFiles
import Synchronization

/// A progress bar on standard error for long work. Shows nothing for short work.
final class Progress: Sendable {
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
  /// When to draw next, in nanoseconds.
  private let nextDrawing: Mutex<UInt64>

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
    nextDrawing = Mutex(start + Self.delay)
  }

  /// Sets how much is done, in the unit of `total`.
  func update(_ done: Int) {
    guard isShown else { return }
    let time = now()
    let isDue = nextDrawing.withLock { next in
      guard time >= next else { return false }
      next = time + Self.interval
      return true
    }
    guard isDue else { return }
    output.showTransient(
      ProgressLine(label: label, done: done, total: total, seconds: Double(time - start) / 1e9)
        .text(width: output.error.width() ?? 80))
  }

  /// Removes the bar.
  func finish() {
    if isShown { output.clearTransient() }
  }
}

/// The text of a progress bar at one moment.
struct ProgressLine: Equatable, Sendable {
  let label: String
  let done: Int
  /// nil if unknown.
  let total: Int?
  /// The time since the work began.
  let seconds: Double

  private static let barWidthMax = 30
  private static let barWidthMin = 8

  /// The line, at least one column narrower than `width`, so that no terminal wraps it. If it is too long, leaves out the
  /// rate first, then the counts, then the bar.
  func text(width: Int) -> String {
    let room = max(0, width - 1)
    let numbers: [String]
    if let total, total > 0 {
      let counts = "\(Quantity.count(done)) of \(Quantity.count(total))"
      numbers = [percentage(of: total), counts, remaining(of: total) ?? "", rate ?? ""]
    } else {
      numbers = [Quantity.count(done), rate ?? ""]
    }
    for count in stride(from: numbers.count, through: 1, by: -1) {
      let tail = numbers.prefix(count).filter { !$0.isEmpty }.joined(separator: "  ")
      let text = "\(label)  \(tail)"
      let free = room - DisplayText.width(text)
      guard free >= 0 else { continue }
      guard let total, total > 0 else { return text }
      if free >= Self.barWidthMin + 2 {
        return "\(label)  \(bar(width: min(Self.barWidthMax, free - 2), total: total))  \(tail)"
      }
      if count == 1 { return text }
    }
    return DisplayText.truncated(label, to: room)
  }

  private func bar(width: Int, total: Int) -> String {
    let filled = min(width, Int(Double(width) * fraction(of: total)))
    return String(repeating: "━", count: filled) + String(repeating: "┄", count: width - filled)
  }

  private func fraction(of total: Int) -> Double { min(1, max(0, Double(done) / Double(total))) }

  /// Rounded down, so that 100% appears only at the end.
  private func percentage(of total: Int) -> String {
    let text = "\(Int(fraction(of: total) * 100))%"
    return String(repeating: " ", count: 4 - text.utf8.count) + text
  }

  private var perSecond: Double? {
    guard seconds > 0, done > 0 else { return nil }
    return Double(done) / seconds
  }

  private var rate: String? { perSecond.map { "\(Quantity.count(Int($0.rounded())))/s" } }

  private func remaining(of total: Int) -> String? {
    guard let perSecond, done < total else { return nil }
    return "\(Quantity.duration(seconds: Double(total - done) / perSecond)) left"
  }
}
