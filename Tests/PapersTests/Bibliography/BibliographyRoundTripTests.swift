import Heartlog
import HeartlogLibraries
import HeartlogFormat
import HeartlogTesting
import LibraryTestSupport
import Testing

@testable import HeartlogInterchange

@Suite("papers: what is exported is imported as it was")
struct BibliographyRoundTripTests {
  @Test("papers of the API come back as they are", arguments: Bibliography.written.map(\.name))
  func fixtures(name: String) throws {
    let format = try #require(FileFormats.standard.named(name))
    var papers: [Paper] = []
    for name in ["feed-10", "single", "old-style-id-versioned"] {
      papers += try Paper.papers(atom: Bibliography.fixture("papers-\(name).atom.xml"))
    }
    try Bibliography.expectRoundTrip(try Bibliography.items(papers), format)
    try Bibliography.expectRoundTrip([], format)
  }

  @Test(
    "three hundred real papers come back as they are", .needsRealData,
    arguments: Bibliography.written.map(\.name))
  func realPapers(name: String) throws {
    let format = try #require(FileFormats.standard.named(name))
    var papers: [Paper] = []
    for name in ["feed-100", "feed-10", "old-style-id", "old-style-id-versioned", "single", "empty"] {
      papers += try Paper.papers(atom: RealData.bytes("papers/\(name).atom.xml"))
    }
    for line in try RealData.bytes("papers/metadata-200.jsonl").split(separator: UInt8(ascii: "\n")) {
      papers.append(try Paper(snapshot: JSONValue.parse(Array(line))))
    }
    papers = Dictionary(papers.map { ($0.id, $0) }, uniquingKeysWith: { $1 }).values.sorted { $0.id < $1.id }
    #expect(papers.count > 300)
    try Bibliography.expectRoundTrip(try Bibliography.items(papers), format)
  }

  static let texts = [
    "", " ", "  two  spaces  ", "line\nfeed\n\nand\n more\n",
    "\r\n\ttabs\u{0}and\u{1F}controls\u{7F}\u{85}\u{2028}",
    "{braces} {{in}} }pairs{ and } not {", "$O(n^2)$ and $\\{0,1\\}^*$, $$\\sum_{i}$$, 5$ and $ 6",
    "$\\{0, 1\\)$ $a\nb$ $x  y$",
    "\\", "\\\\", "\\'e \\\"o \\ss \\emph{oracle} \\unknown{a}{b} \\$ \\% \\{ \\}",
    "100% of A&B #1 snake_case ^up ~tilde",
    "\"quoted\" 'single' ``TeX'' -- dash --- long", "Ünïcödé é (combining e\u{301}) ｆｕｌｌ", "機械学習のテスト",
    "اختبار البرمجيات", "Тестирование 🧪",
    "no\u{A0}break", "ER  - ", "line\nER  - \nTY  - JOUR\nend", "@article{x, title={y}}\n@misc{z,",
    "<i>italic</i> &amp; <b", "$", "$$", "$$$", "a$$b$c",
    "ends with backslash\\", "\\ space", "heartlog = {x}", "arXiv:2006.08594", "}", "{",
  ]

  static let names = [
    "Aurora Ramírez", "Ludwig van Beethoven", "Plato", "", " ", "C. Balázs Jr.", "Martin Luther King III",
    "Barnes and Noble, Inc.",
    "ATLAS Collaboration", "The Team", "others", "and", "José  Two", " leading", "Jean-Pierre de la Fontaine",
    "García Márquez, Gabriel",
    "bell hooks", "李 小龙", "O'Neil {Jr}", "A \\'e $x$", "X Æ A-12", "Line\nFeed", "e\u{301}mile Zola",
    "AND Gate", "Ana and", "~ %", ",", "{", "a\\",
  ]

  @Test("any text and any name comes back as it is", arguments: Bibliography.written.map(\.name))
  func texts(name: String) throws {
    let format = try #require(FileFormats.standard.named(name))
    var items: [FileItem] = []
    for (index, text) in Self.texts.enumerated() {
      var item = try Bibliography.items([FavoritePapersTests.paper("2006.\(10_000 + index)v1")])[0]
      item.fields = item.fields.filter { !["title", "summary", "authors", "categories"].contains($0.name) }
      item.fields += [
        Field(name: "title", value: .string(text)), Field(name: "summary", value: .string(text)),
        Field(name: "@note", value: .string(text)),
        Field(name: "authors", value: try Self.list([text, text])),
        Field(name: "categories", value: try Self.list([text, "cs.PL"])),
      ]
      items.append(item)
    }
    for (index, person) in Self.names.enumerated() {
      items.append(
        FileItem(
          id: "2007.\(10_000 + index)v2",
          fields: [Field(name: "authors", value: try Self.list([person, "Second Author", person]))],
          favoritedDate: -1))
    }
    items.append(
      FileItem(
        id: "2008.00001", fields: [Field(name: "authors", value: try Self.list(Self.names))], favoritedDate: 0
      ))
    try Bibliography.expectRoundTrip(items, format)
  }

  @Test(
    "any item comes back as it is: other ids, fields, values, and what is missing",
    arguments: Bibliography.written.map(\.name))
  func items(name: String) throws {
    let format = try #require(FileFormats.standard.named(name))
    var items = [
      "x", "1v1", "doi:10.1000/xyz", "doi:", "DOI:10.1/A", "a b,c={}", "https://example.org/?q=1", "ключ",
      "клуч", "k", "K", "hep-th/9901001",
    ]
    .map { FileItem(id: $0, favoritedDate: 1_700_000_000_001) }
    let whole = try Bibliography.items([FavoritePapersTests.paper("2006.08594v1")])[0]
    for field in whole.fields {
      var item = whole
      item.id = "without-\(field.name)"
      item.fields.removeAll { $0.name == field.name }
      items.append(item)
      item.id = "2006.0000\(items.count % 10)v\(items.count)"
      items.append(item)
    }
    var odd = whole
    odd.id = "2006.08595v12"
    odd.fields.removeAll { ["publishedDate", "linkURL", "pdfURL", "title"].contains($0.name) }
    odd.fields += [
      Field(name: "publishedDate", value: .string("yesterday")),
      Field(name: "linkURL", value: .string("no {URL} \\ at all")),
      Field(name: "pdfURL", value: .string("https://example.org/a_b%20c~d#e?f=$g&h={i}")),
      Field(name: "title", value: .int64(7)),
      Field(name: "doi", value: .string("10.1000/ABC")), Field(name: "rating", value: .double(4.5)),
      Field(name: "nested", value: try FieldValue(JSONValue.parse(#"{"a":["}{",{"b":"\\\" } {"}]}"#))),
      Field(name: "@in/Weekend } {", value: .string("a5")), Field(name: "isRead", value: .bool(true)),
    ]
    items.append(odd)
    odd.id = "2006.08596v12"
    odd.isFavorite = false
    odd.favoritedDate = nil
    items.append(odd)
    try Bibliography.expectRoundTrip(items, format)
  }

  @Test("generated text comes back as it is", arguments: Bibliography.written.map(\.name))
  func generated(name: String) throws {
    let format = try #require(FileFormats.standard.named(name))
    let seed = SeededRandom.testSeed()
    var random = SeededRandom(seed: seed)
    let pieces = [
      "\\", "{", "}", "$", "$$", " ", "  ", "\n", "%", "a", "é", "e\u{301}", "'", "\"", "~", "and", ",",
      "\\'", "\\c", "#", "_", "^", "\t", "-", "ER  - ", "@a{b,", "newline",
    ]
    var items: [FileItem] = []
    for index in 0..<300 {
      func text() -> String {
        (0..<Int.random(in: 0...14, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }
          .joined()
      }
      items.append(
        FileItem(
          id: "2101.\(10_000 + index)v1",
          fields: [
            Field(name: "title", value: .string(text())), Field(name: "summary", value: .string(text())),
            Field(name: "@note", value: .string(text())),
            Field(name: "authors", value: try Self.list([text(), text()])),
            Field(name: "pdfURL", value: .string("https://example.org/" + text())),
          ], favoritedDate: Milliseconds(index)))
    }
    try Bibliography.expectRoundTrip(items, format)
  }

  static func list(_ texts: [String]) throws -> FieldValue {
    try FieldValue(.array(texts.map(JSONValue.string)))
  }
}
