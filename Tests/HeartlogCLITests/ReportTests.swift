import Foundation
import Heartlog
import Testing

@testable import HeartlogCLI

@Suite("Evidence report")
struct ReportTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID().uuidString)")
  private let clock = LocalClock(zone: .utc, now: StoreOptions().clock() + 86_400_000)

  /// Runs a command line in a store of the test's own, and returns standard output.
  private func run(_ arguments: String..., clock: LocalClock? = nil) -> String {
    let captured = CapturedOutput()
    let exitCode = HeartlogCLI.run(
      arguments: arguments, environment: ["HEARTLOG_STORE": folder.path], output: captured.output,
      clock: clock ?? self.clock)
    #expect(exitCode == 0, "\(captured.error)")
    return captured.standard
  }

  @Test("text and attributes are escaped, and cannot change the direction of what follows")
  func escaping() {
    let hostile = "<script>\"'&\u{202E}\u{0}\n</title>"
    let html = HTML(.p, ["title": hostile], .name(hostile), "\(hostile)")
    let escaped = "&lt;script&gt;&quot;&#39;&amp;\u{FFFD}\u{FFFD} &lt;/title&gt;"
    #expect(
      String(decoding: html.bytes, as: UTF8.self)
        == "<p title=\"\(escaped)\"><bdi>\(escaped)</bdi>\(escaped)</p>\n")
  }

  @Test("a count and a time can also be read by programs")
  func values() {
    let html = HTML(.p, .count(UInt64(1_234_567)), .time(0))
    #expect(
      String(decoding: html.bytes, as: UTF8.self)
        == "<p><data value=\"1234567\">1,234,567</data><time datetime=\"1970-01-01T00:00:00.000Z\">1970-01-01 00:00</time></p>\n"
    )
  }

  @Test("the same store at the same moment gives the same bytes, and only the clock's line differs later")
  func sameBytes() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    _ = run("init", "--name", "<b>phone</b>")
    for library in ["papers", "cities", "books", "zzz"] {
      _ = run("add", library, "1", "title=<i>\(library)</i>", "--date", "2026-03-01")
    }
    let page = run("report", "--at", "now")
    #expect(run("report", "--at", "now") == page)
    #expect(page.contains("&lt;i&gt;papers&lt;/i&gt;") && !page.contains("<i>") && !page.contains("<b>"))
    #expect(page.contains("&lt;b&gt;phone&lt;/b&gt;"))
    let now = run("report")
    let later = run("report", clock: LocalClock(zone: .utc, now: clock.now + 60_000))
    let differing = zip(now.split(separator: "\n"), later.split(separator: "\n")).filter { $0 != $1 }
    #expect(differing.allSatisfy { $0.0.contains("Made on") })
    #expect(differing.contains { $0.0.contains("Made on") })
  }

  @Test("a store that is written says the format version that reports name")
  func formatVersion() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    _ = run("init")
    let store = try String(contentsOf: folder.appending(path: "store"), encoding: .utf8)
    #expect(store.hasPrefix("heartlog \(Version.storeFormat)\n"))
  }
}
