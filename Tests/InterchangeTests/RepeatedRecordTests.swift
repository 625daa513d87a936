import Heartlog
@testable import HeartlogInterchange
import HeartlogLibraries
import LibraryTestSupport
import Testing

@Suite("several records of one item in a file")
struct RepeatedRecordTests {
  @Test(
    "the last record is imported whole, and a second import writes nothing",
    arguments: [
      ("csv", "id,name,rating\n1,Rome,5\n2,Nata,\n1,Roma,\n"),
      ("json", #"[{"id":1,"name":"Rome","rating":5},{"id":2,"name":"Nata"},{"id":"1","name":"Roma"}]"#),
      (
        "jsonl",
        #"{"id":"1","fields":{"name":"Rome","rating":5}}"# + "\n" + #"{"id":"2","fields":{"name":"Nata"}}"#
          + "\n" + #"{"id":"1","fields":{"name":"Roma"}}"#
      ),
      (
        "geojson",
        #"{"type":"FeatureCollection","features":[{"type":"Feature","id":1,"geometry":null,"properties":"#
          + #"{"name":"Rome","rating":5}},{"type":"Feature","id":2,"geometry":null,"properties":{"name":"Nata"}},"#
          + #"{"type":"Feature","id":1,"geometry":null,"properties":{"name":"Roma"}}]}"#
      ),
    ])
  func last(name: String, text: String) throws {
    let format = try #require(FileFormats.standard.named(name))
    for library in ["things", "cities"] {
      let store = try FavoritesStore.inMemory()
      let report = try store.take(text, format, into: library)
      #expect(report.added == 2 && report.repeated == 1 && report.unchanged == 0 && report.refusals.isEmpty)
      let item = try #require(store.library(library).item("1"))
      #expect(item.value(of: "name") == .string("Roma") && item.value(of: "rating") == nil)
      let again = try store.take(text, format, into: library)
      #expect(again.events == 0 && again.unchanged == 2 && again.repeated == 1)
    }
  }

  @Test("spellings of one id are one item")
  func spellings() throws {
    let store = try FavoritesStore.inMemory()
    let id = "6F9619FF-8B86-D011-B42D-00C04FC964FF"
    let report = try store.take(
      "id,title\n\(id),One\n\(id.lowercased()),Two\n", CSVFormat(), into: "books")
    #expect(report.added == 1 && report.repeated == 1)
    #expect(try store.library("books").item(id.lowercased())?.value(of: "title") == .string("Two"))
  }

  @Test("a bookmark in two folders is one item in two collections")
  func folders() throws {
    let store = try FavoritesStore.inMemory()
    let text = """
      <DL><p>
      <DT><H3>One</H3><DL><p><DT><A HREF="https://a/">old</A></DL><p>
      <DT><H3>Two</H3><DL><p><DT><A HREF="https://a/">new</A><DT><A HREF="https://b/">b</A></DL><p>
      </DL>
      """
    let report = try store.take(text, BookmarksFormat(), into: "links")
    #expect(report.added == 2 && report.repeated == 1)
    let library = try store.library("links")
    #expect(library.item("https://a/")?.value(of: "title") == .string("new"))
    #expect(try library.collection("One").ids == ["https://a/"])
    #expect(try library.collection("Two").ids == ["https://a/", "https://b/"])
    #expect(try store.take(text, BookmarksFormat(), into: "links").events == 0)
  }

  @Test("an item that the file neither makes a favorite nor gives fields is not counted as unchanged")
  func leftOut() throws {
    let store = try FavoritesStore.inMemory()
    let text = "{\"id\":\"a\",\"isFavorite\":false}\n{\"id\":\"b\",\"fields\":{\"x\":1}}\n"
    let report = try store.take(text, JSONLinesFormat(), into: "things")
    #expect(report.added == 1 && report.unchanged == 0 && report.leftOut == 1 && report.items == 1)
    let liked = #"[{"url":"https://a/b.jpg","isFavorite":false}]"#
    #expect(try store.take(liked, UserDefaultsFormat(), into: "breeds").leftOut == 1)
    try store.library("breeds").add("https://a/b.jpg")
    #expect(try store.take(liked, UserDefaultsFormat(), into: "breeds").unchanged == 1)
  }
}
