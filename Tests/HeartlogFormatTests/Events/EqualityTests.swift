import TestSupport
import Testing

@testable import HeartlogFormat

@Suite("Equality by bytes")
struct EqualityTests {
  private let composed = "caf\u{E9}"
  private let decomposed = "cafe\u{301}"

  @Test("two spellings of é are two ids, two names and two values")
  func spellings() {
    #expect(composed == decomposed)
    #expect(FieldValue.string(composed) != .string(decomposed))
    #expect(Field(name: composed, value: .null) != Field(name: decomposed, value: .null))
    func event(_ item: String) -> Event { Event(library: "cities", item: item, action: .added) }
    #expect(event(composed) != event(decomposed))
    #expect(event(composed) == event("caf" + "\u{E9}"))
    #expect(UTF8Key(composed) != UTF8Key(decomposed))
  }

  @Test("texts are ordered and compared as their bytes are", arguments: 0..<50)
  func order(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    let letters = ["a", "b", "é", "e\u{301}", "𝕏", "\u{0}"]
    func text() -> String {
      String(repeating: "x", count: Int.random(in: 0...17, using: &random))
        + (0..<Int.random(in: 0...2, using: &random)).map { _ in letters.randomElement(using: &random)! }
        .joined()
    }
    for _ in 0..<100 {
      let (a, b) = (text(), text())
      let (aBytes, bBytes) = (Array(a.utf8), Array(b.utf8))
      #expect(a.hasSameBytes(as: b) == (aBytes == bBytes))
      #expect(a.bytesPrecede(b) == aBytes.lexicographicallyPrecedes(bBytes))
    }
  }
}
