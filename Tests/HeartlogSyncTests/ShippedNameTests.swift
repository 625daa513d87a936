import Testing

@testable import Heartlog
@testable import HeartlogSync

@Suite("Names and paths from elsewhere")
struct ShippedNameTests {
  @Test("a replica's name has at most 127 bytes, and no control characters")
  func names() {
    for name in ["", "Anna's phone", String(repeating: "x", count: 127), String(repeating: "é", count: 63)] {
      #expect(throws: Never.self) { try ShippedName.check(name) }
    }
    for name in [String(repeating: "x", count: 128), String(repeating: "é", count: 64), "a\nb", "\u{85}"] {
      #expect(throws: MalformedError.self) { try ShippedName.check(name) }
    }
  }
}
