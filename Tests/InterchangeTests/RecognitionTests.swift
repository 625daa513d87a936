import Heartlog
@testable import HeartlogInterchange
import HeartlogLibraries
import LibraryTestSupport
import Testing

@Suite("the recognition of files")
struct RecognitionTests {
  private static func guess(_ text: String, _ name: String?, _ library: String) -> String? {
    FileFormats.standard.guess(Array(text.utf8), name: name, for: library)?.name
  }

  @Test("a list of objects with an id keeps all its fields, whatever they are called")
  func ownLists() throws {
    for text in [
      #"[{"id":"7","name":"Ribollita","minutes":90}]"#,
      #"[{"id":"7","url":"https://example.org/a","title":"A","tags":["x"]}]"#,
      #"[{"id":"7","type":"book","title":"A","author":"B","minutes":3}]"#,
      #"[{"id":"7","identifier":"x","metadata":{},"members":[]}]"#,
      #"[{"id":"7","fileURL":"/a","dateAdded2":1,"duration":2}]"#,
      #"[{"id":7,"_id":8,"coord":{"lat":1},"fields":{"a":1}}]"#,
      "{\"id\":\"7\",\"isFavorite\":true,\"name\":\"A\"}\n{\"id\":\"8\",\"name\":\"B\"}\n",
    ] {
      #expect(Self.guess(text, "list.json", "recipes") == "json", "\(text)")
      #expect(Self.guess(text, nil, "recipes") == "json", "\(text)")
      let store = try FavoritesStore.inMemory()
      #expect(try store.take(text, JSONFormat(), into: "recipes").refusals.isEmpty)
      let item = try #require(store.library("recipes").item("7"))
      let first = text.hasPrefix("[") ? text : String(text.split(separator: "\n")[0])
      let value = try JSONValue.parse(first)
      let record = value.array.map { $0[0] } ?? value
      for member in try #require(record.object)
      where !["id", "isFavorite"].contains(member.name) {
        #expect(item.value(of: member.name)?.jsonValue == member.value, "\(text)")
      }
      #expect(try store.take(text, JSONFormat(), into: "recipes").events == 0)
    }
  }

  @Test(
    "what may be of several formats is not guessed",
    arguments: [
      ("{\"a\":1}", "a.json"), (#"["one","two"]"#, "a.json"), ("12", "a.json"), ("{\"metadata\":{}}", nil),
      (#"{"message":["https://a/b.jpg"],"status":"success"}"#, "answer.json"), (#"{"books":[]}"#, nil),
      (#"{"id":"7","name":"One object"}"#, "a.json"), (#"[{"name":"no id"}]"#, "a.json"),
      ("Hello, link\nThis, is, prose\n", nil),
    ] as [(String, String?)])
  func uncertain(text: String, name: String?) {
    #expect(Self.guess(text, name, "recipes") == nil)
    let possible = FileFormats.standard.possible(Array(text.utf8), name: name, for: "recipes")
    #expect(name == nil || possible.map(\.name).contains("json"))
  }

  @Test("an app's list is one of its library only if nothing of it would be lost")
  func appLists() {
    #expect(Self.guess(#"[{"url":"https://a/b.jpg","isFavorite":true}]"#, nil, "breeds") == "user-defaults")
    #expect(Self.guess(#"[{"id":"7","url":"https://a/b.jpg","title":"A"}]"#, "a.json", "breeds") == nil)
    #expect(
      Self.guess(#"[{"_id":1,"name":"A","country":"PT","coord":{}}]"#, nil, "cities") == "user-defaults")
    #expect(Self.guess(#"[{"id":1,"name":"A","visits":3}]"#, "a.json", "cities") == nil)
    #expect(Self.guess(#"[{"id":1,"name":"A"}]"#, nil, "cities") == "json")
    #expect(Self.guess(#"["one"]"#, nil, "archives") == "archive-json")
  }

  @Test("CSL is known by its types, in a library of one's own by its names and dates, too")
  func csl() {
    #expect(Self.guess(#"[{"id":"a","type":"book","title":"T"}]"#, nil, "papers") == "csl-json")
    #expect(Self.guess(#"[{"id":"a","kind":{"type":"book"},"title":"T"}]"#, nil, "papers") == nil)
    #expect(
      Self.guess(#"[{"id":"a","type":"book","author":[{"family":"F"}]}]"#, nil, "things") == "csl-json")
    #expect(
      Self.guess(#"[{"id":"a","type":"book","issued":{"date-parts":[[2020]]}}]"#, nil, "things") == "csl-json"
    )
  }

  @Test("a line of JSON Lines with other members is refused, because they would be lost")
  func otherMembers() throws {
    let store = try FavoritesStore.inMemory()
    let report = try store.take(
      "{\"id\":\"1\",\"fields\":{}}\n{\"id\":\"2\",\"name\":\"x\"}\n", JSONLinesFormat(), into: "things")
    #expect(
      refusals(report) == ["2: the member \"name\" is none of the format jsonl; try the format json"])
    #expect(report.added == 1)
  }

  @Test("a library of one's own is written to a file of JSON as json, the others as their own formats")
  func writing() {
    #expect(FileFormats.standard.forWriting(name: "a.json", of: "recipes")?.name == "json")
    #expect(FileFormats.standard.forWriting(name: "a.json", of: "papers")?.name == "csl-json")
    #expect(FileFormats.standard.forWriting(name: "a.json", of: "archives")?.name == "archive-json")
  }

  @Test("an empty file holds nothing, by whatever name")
  func empty() throws {
    #expect(Self.guess("", "a.json", "recipes") != nil && Self.guess(" \n", "a.csv", "recipes") == "csv")
    #expect(Self.guess("[]", "a.json", "recipes") == "json")
    #expect(try FavoritesStore.inMemory().take("\n", JSONFormat(), into: "recipes").items == 0)
  }
}
