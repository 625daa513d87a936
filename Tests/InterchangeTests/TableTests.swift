import Heartlog
@testable import HeartlogInterchange
import HeartlogLibraries
import LibraryTestSupport
import Testing

@Suite("tables of a library of an app's own")
struct TableTests {
  private static let values: [FieldValue] = [
    .string(""), .string("x"), .string("12"), .string("-1.5"), .string("true"), .string("null"),
    .string("\"q\""), .string("[1"), .string("[1]"),
    .string("{\"a\":1}"), .string(" 12 "), .string("12 "), .string("1e5"), .string("a;b\t\"c\"\r\n,\n"),
    .string("e\u{301}"), .string("\u{7F}\u{85}"), .string("9223372036854788153"),
    .int64(0), .int64(.min), .int64(.max), .double(0.1), .double(-1e-300), .double(1.7e308), .double(0x1p63),
    .double(-1e19), .double(1e21), .bool(true), .bool(false),
  ]

  @Test("every value comes back with its type")
  func types() throws {
    let store = try FavoritesStore.inMemory()
    let library = try store.library("things")
    for (index, value) in Self.values.enumerated() {
      try library.add(
        "id \(index)",
        fields: [Field(name: "value", value: value), Field(name: "Łabel, \"x\"", value: value)])
    }
    try library.add(
      "nested",
      fields: [Field(name: "value", value: try FieldValue(JSONValue.parse(#"{"b":[null,1.5,"\n"],"a":{}}"#)))]
    )
    try checkRoundTrip(of: "things", as: CSVFormat(), from: store)
    try checkRoundTrip(of: "things", as: BookmarksFormat(), from: store)
    try checkRoundTrip(of: "things", as: JSONFormat(), from: store)
    try checkRoundTrip(of: "things", as: GeoJSONFormat(), from: store)
  }

  @Test("a note and collections have columns of their own, also beside fields of such names")
  func notes() throws {
    for names in [[], ["note"], ["in/x"], ["@other"]] {
      let store = try FavoritesStore.inMemory()
      let library = try store.library("things")
      try library.add("a", fields: names.map { Field(name: $0, value: .string("field")) })
      if names != ["note"] { try library.setNote("noted", of: "a") }
      try library.collection("x").insert("a")
      let bytes = try checkRoundTrip(of: "things", as: CSVFormat(), from: store)
      if names.isEmpty { #expect(bytes.starts(with: "id,favoritedDate,in/x,note\r\n".utf8)) }
    }
  }

  @Test(
    "a field that no column can be named after is refused",
    arguments: ["id", "isFavorite", "ISFAVORITE", " x"])
  func names(name: String) throws {
    let store = try FavoritesStore.inMemory()
    try store.library("things").add("a", fields: [Field(name: name, value: .int64(1))])
    #expect(throws: LibraryError.self) { try store.library("things").exportFile(format: CSVFormat()) }
  }

  @Test("papers: the address and the abstract of another program's table are those of the paper")
  func aliases() throws {
    let store = try FavoritesStore.inMemory()
    let table = "DOI,Url,Abstract Note\n10.1/x,https://doi.org/10.1/x,What it says\n"
    try store.take(table, CSVFormat(), into: "papers")
    let paper = try #require(try store.library("papers").item("doi:10.1/x"))
    #expect(paper.value(of: "linkURL") == .string("https://doi.org/10.1/x"))
    #expect(paper.value(of: "summary") == .string("What it says"))
    // A field of such a name is none of the paper's.
    try store.library("papers").add("2101.00001", fields: [Field(name: "abstract", value: .string("own"))])
    try checkRoundTrip(of: "papers", as: CSVFormat(), from: store)
    let only = try FavoritesStore.inMemory()
    try only.library("papers").add("2101.00001", fields: [Field(name: "URL", value: .string("own"))])
    try checkRoundTrip(of: "papers", as: CSVFormat(), from: only)
    try checkRoundTrip(of: "papers", as: JSONFormat(), from: only)
  }

  @Test("names that differ by their case are columns of their own")
  func cases() throws {
    let store = try FavoritesStore.inMemory()
    let names = ["ID", "FavoritedDate", "name", "Name", "e\u{301}", "é"]
    try store.library("things").add("a", fields: names.map { Field(name: $0, value: .string($0)) })
    try checkRoundTrip(of: "things", as: CSVFormat(), from: store)
  }

  @Test("columns that are there twice, or have no name, are told")
  func columns() throws {
    let store = try FavoritesStore.inMemory()
    let report = try store.take("id,a,a,\n1,2,3,\n2,2,3,4\n", CSVFormat(), into: "things")
    #expect(
      refusals(report) == [
        "1: the column a is there twice, and the second is left out", "3: \"4\" in a column without a name",
      ])
    #expect(try store.library("things").item("1")?.value(of: "a") == .int64(2))
  }
}
