import Heartlog
import HeartlogLibraries
import HeartlogTesting
import LibraryTestSupport
import Testing

@Suite("where the records of a JSON text are")
struct JSONDocumentTests {
  /// A value with everything that a scanner may take for an end: brackets, commas and quotation marks in strings.
  private static func value(_ random: SeededRandom, depth: Int) -> JSONValue {
    switch random.next() % (depth < 4 ? 7 : 5) {
    case 0: .null
    case 1: .bool(random.next() % 2 == 0)
    case 2: .int64(Int64(random.next() % 100_000) - 50_000)
    case 3: .double(Double(random.next() % 1_000) / 8 + 0.0625)
    case 4: .string(text(random))
    case 5: .array((0..<random.next() % 4).map { _ in value(random, depth: depth + 1) })
    default:
      .object(
        (0..<random.next() % 4).map {
          JSONMember("\($0)" + text(random), value(random, depth: depth + 1))
        })
    }
  }

  private static func text(_ random: SeededRandom) -> String {
    let pieces = ["a", "\"", "\\", "]", "}", "[", "{", ",", ":", "\n", "é", "\u{0}", "\\\"", " "]
    return (0..<random.next() % 6).map { _ in pieces[Int(random.next() % UInt64(pieces.count))] }.joined()
  }

  private static func bytes(_ value: JSONValue) -> [UInt8] {
    var writer = JSONWriter()
    writer.value(value)
    return writer.bytes
  }

  @Test("elements and members are those that the parser finds")
  func agrees() throws {
    let seed = SeededRandom.testSeed()
    let random = SeededRandom(seed: seed)
    for _ in 0..<500 {
      let values = (0..<random.next() % 5).map { _ in Self.value(random, depth: 0) }
      let list = JSONDocument(Self.bytes(.array(values)))
      let (elements, failure) = list.elements(of: list.root)
      #expect(try failure == nil && elements.map { try list.value($0) } == values)

      let members = values.enumerated().map { JSONMember("\($0.offset)" + Self.text(random), $0.element) }
      let object = JSONDocument(Self.bytes(.object(members)))
      let (found, wrong) = object.members(of: object.root)
      #expect(wrong == nil)
      #expect(try found.map { JSONMember($0.name, try object.value($0.value)) } == members)
    }
  }

  @Test("each record has the line where it begins, whatever is in the others")
  func lines() {
    let document = JSONDocument(Array("\n [\n1,\n {\"a\n\": ]},\n\n\"x\n\",4 5\n]".utf8))
    let (elements, failure) = document.elements(of: document.root)
    #expect(elements.map(\.line) == [3, 4])
    #expect(failure == FileContents.Refusal(line: 5, reason: "the list has no end"))
    let sound = JSONDocument(Array("[\n{\"a\":[1,\n2]},\n\"]\\\"\n,\" ,\n3]\n x".utf8))
    #expect(sound.elements(of: sound.root).elements.map(\.line) == [2, 4, 6])
    #expect(
      sound.elements(of: sound.root).failure
        == FileContents.Refusal(line: 7, reason: "text after the end of the JSON"))
  }

  @Test(
    "what a text lacks is told",
    arguments: [
      ("", "a list should be here"), ("[", "the list has no end"), ("[1", "the list has no end"),
      ("{}", "a list should be here"), ("[1}", "the list has no end"),
    ])
  func broken(text: String, reason: String) {
    let document = JSONDocument(Array(text.utf8))
    #expect(document.elements(of: document.root).failure?.reason == reason)
  }

  @Test(
    "a member that is broken hides none before it",
    arguments: [
      ("{\"a\":1,\"b\"}", "the member \"b\" has no value"), ("{\"a\":1,b:2}", "a member without a name"),
      ("{\"a\":1,\"\\x\":2}", "a member without a name"), ("{\"a\":1", "the object has no end"),
      ("{\"a\":1,\"b", "a member without a name"),
    ])
  func brokenMember(text: String, reason: String) {
    let document = JSONDocument(Array(text.utf8))
    let (members, failure) = document.members(of: document.root)
    #expect(members.first?.name == "a" && failure?.reason == reason)
  }
}
