import Synchronization
import Testing

@testable import HeartlogCLI

@Suite("Progress")
struct ProgressTests {
  private func line(_ done: Int, of total: Int?, seconds: Double, width: Int) -> String {
    ProgressLine(label: "Replaying", done: done, total: total, seconds: seconds).text(width: width)
  }

  @Test("a line shows bar, share, counts, what is left and the rate")
  func whole() {
    let bar = String(repeating: "━", count: 12) + String(repeating: "┄", count: 18)
    #expect(
      line(42_000, of: 100_000, seconds: 2, width: 120)
        == "Replaying  \(bar)   42%  42,000 of 100,000  3 s left  21,000/s")
  }

  @Test("without a total it counts")
  func counter() {
    #expect(line(42_000, of: nil, seconds: 2, width: 80) == "Replaying  42,000  21,000/s")
    #expect(line(0, of: nil, seconds: 0, width: 80) == "Replaying  0")
    #expect(line(3, of: 0, seconds: 1, width: 80) == "Replaying  3  3/s")
  }

  @Test("it says 100% at the end and not before")
  func ends() {
    #expect(line(999_999, of: 1_000_000, seconds: 1, width: 100).contains(" 99%"))
    let end = line(1_000_000, of: 1_000_000, seconds: 1, width: 100)
    #expect(end.contains("100%") && !end.contains("┄") && !end.contains("left"))
    #expect(line(7, of: 5, seconds: 1, width: 100).contains("100%"))
  }

  @Test("a line is always narrower than its terminal")
  func narrow() {
    for width in 0...140 {
      for (done, total) in [(0, 9), (5, 9), (123_456_789, 987_654_321), (Int.max, Int.max), (7, nil)] {
        let text = line(done, of: total, seconds: 12.5, width: width)
        #expect(DisplayText.width(text) <= max(0, width - 1), "\(text)")
      }
    }
  }

  private final class Clock: Sendable {
    let time = Mutex<UInt64>(0)
    func now() -> UInt64 { time.withLock { $0 } }
    func advance(milliseconds: UInt64) { time.withLock { $0 += milliseconds * 1_000_000 } }
  }

  @Test("short work shows nothing, long work at most twelve lines a second, and the line goes away")
  func throttled() {
    let captured = CapturedOutput(isTerminal: true, width: 80)
    let clock = Clock()
    let progress = Progress("Working", total: 10_000, output: captured.output, isShown: true, now: clock.now)
    for done in 1...150 {
      clock.advance(milliseconds: 1)
      progress.update(done)
    }
    #expect(captured.error.isEmpty)
    for done in 151...1_200 {
      clock.advance(milliseconds: 1)
      progress.update(done)
    }
    let drawings = captured.error.split(separator: "\r").count
    #expect((10...13).contains(drawings), "\(drawings)")
    progress.finish()
    #expect(captured.error.hasSuffix("\r\u{1B}[K"))
    #expect(captured.standard.isEmpty)
  }

  @Test("where it is not shown, nothing is written")
  func hidden() {
    let captured = CapturedOutput()
    let clock = Clock()
    let progress = Progress("Working", output: captured.output, isShown: false, now: clock.now)
    clock.advance(milliseconds: 10_000)
    progress.update(5)
    progress.finish()
    #expect(captured.error.isEmpty)
  }

  @Test("an error wipes the line before it is told")
  func wiped() {
    let captured = CapturedOutput(isTerminal: true, width: 80)
    captured.output.showTransient("Working")
    captured.output.errorLine("heartlog: broken.")
    #expect(captured.error == "\rWorking\u{1B}[K\r\u{1B}[Kheartlog: broken.\n")
  }
}
