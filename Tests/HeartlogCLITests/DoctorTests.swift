import Foundation
import Heartlog
import Testing

@testable import HeartlogCLI

@Suite("What the doctor says")
struct DoctorTests {
  private static let page =
    (try? String(contentsOf: Transcript.package.appending(path: "docs/cli.md"), encoding: .utf8)) ?? ""

  @Test("the manual has every fault with its cause and what to do", arguments: Fault.Kind.allCases)
  func documented(kind: Fault.Kind) {
    let advice = FaultAdvice.of(kind)
    let row = "\n| `\(kind.rawValue)` | \(advice.severity.rawValue) | \(advice.what) | \(advice.next) |\n"
    #expect(Self.page.contains(row), "\(row)")
    #expect(!advice.what.hasSuffix("."))
    #expect(advice.why.hasSuffix(".") && (advice.next.hasSuffix(".") || advice.next.hasSuffix("\".")))
  }

  @Test("only commands that exist are advised", arguments: Fault.Kind.allCases)
  func commands(kind: Fault.Kind) {
    let advice = FaultAdvice.of(kind)
    for match in (advice.why + advice.next).matches(of: /heartlog ([a-z]+)/) {
      #expect(CommandTable[String(match.1)] != nil || match.1 == "as", "\(match.0)")
    }
  }
}
