import Foundation
import HeartlogTesting
import TestSupport
import Testing

@testable import Heartlog

@Suite("Text search")
struct TextSearchTests {
  private static let options = [true, false].map { SearchOptions(isExact: $0) }

  private static func folded(_ text: String) -> [UInt8] {
    text.unicodeScalars.flatMap { FoldedScalar.bytes(of: $0.value) }
  }

  private static func isEmpty(_ needle: String, _ options: SearchOptions) -> Bool {
    options.isExact ? needle.isEmpty : folded(needle).isEmpty
  }

  /// The rule: exact as strings find, otherwise both texts folded, and compared by bytes.
  private static func isFound(_ needle: String, in text: String, _ options: SearchOptions) -> Bool {
    if isEmpty(needle, options) { return true }
    if options.isExact { return text.firstRange(of: needle) != nil }
    let (bytes, wanted) = (folded(text), folded(needle))
    return bytes.indices.contains { bytes[$0...].starts(with: wanted) }
  }

  /// Letters of several ways to write them, marks, what joins and what parts Characters, and what JSON escapes.
  private static let pieces = [
    "a", "A", "b", "e", "E", "k", "K", "\u{212A}", ";", "\u{37E}", "`", "\u{1FEF}", "é", "e\u{301}",
    "\u{301}", "\u{300}",
    "İ", "I", "i", "ı", "i\u{307}", "ß", "ẞ", "ss", "Σ", "σ", "ς", "Å", "\u{212B}", "ﬁ", "fi", "\r", "\n",
    "\r\n", "\t", "\0",
    "\"", "\\", "/", "\u{7F}", " ", "\u{A0}", "\u{200D}", "\u{200B}", "\u{FE0F}", "\u{20DD}", "\u{600}", "👩",
    "👩‍💻", "🇩", "🇪", "한",
    "\u{1112}", "\u{1161}", "अ", "\u{94D}", "क", "ะ", "東", "京", "\u{F900}", "豈", "𐐀", "𐐨", "<", "\u{338}",
    "ł", "æ", "ｋ", "ﬃ", "が", "カ", "\u{3099}", "й", "ё", "ά",
    "\u{64E}", "ك", "\u{5B7}", "ש", "\u{302A}", "\u{A66F}",
    "≮", "=", "ǆ", "Ǆ",
  ]

  @Test("finds what strings find, whatever the texts are made of", arguments: 1...4)
  func equalToStrings(seed: UInt64) throws {
    var chance = SeededGenerator(seed: seed)
    func text(_ counts: ClosedRange<Int>) -> String {
      let isPlain = Int.random(in: 0..<3, using: &chance) == 0
      return (0..<Int.random(in: counts, using: &chance)).map { _ in
        isPlain
          ? ["a", "b", "K", "k", "e", " ", ";"].randomElement(using: &chance)!
          : Self.pieces.randomElement(using: &chance)!
      }
      .joined()
    }
    var found = 0
    for _ in 0..<1_500 {
      let text = text(0...24)
      var needle = self.needle(of: text, &chance)
      if Int.random(in: 0..<3, using: &chance) == 0 { needle = Self.pieces.randomElement(using: &chance)! }
      for options in Self.options {
        let expected = Self.isFound(needle, in: text, options)
        found += expected ? 1 : 0
        let search = TextSearch(needle, options: options)
        #expect(
          search.isFound(in: text) == expected,
          "\(needle.debugDescription) in \(text.debugDescription), \(options), seed \(seed)")
        // In JSON too, which has it escaped, beside what no text of it is.
        let json = try FieldValue(.object([JSONMember(needle + "x", .array([.string(text), .int64(1)]))]))
        #expect(
          json.withBorrowed { search.isFound(in: $0) } == expected,
          "\(needle.debugDescription) in JSON of \(text.debugDescription), \(options), seed \(seed)")
      }
    }
    #expect(found > 750)
  }

  /// A piece of a text, in capitals or small letters.
  private func needle(of text: String, _ chance: inout SeededGenerator) -> String {
    let scalars = Array(text.unicodeScalars)
    let start = Int.random(in: 0...scalars.count, using: &chance)
    let end = Int.random(in: start...min(scalars.count, start + 6), using: &chance)
    var needle = String.UnicodeScalarView()
    needle.append(contentsOf: scalars[start..<end])
    return Bool.random(using: &chance) ? String(needle).uppercased() : String(needle)
  }

  @Test("what is skipped around ASCII neither vanishes nor has ASCII in it")
  func skipped() {
    for value in UInt32(0x80)..<0x2_0000 {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let bytes = FoldedScalar.bytes(of: value)
      if String(scalar).utf8.allSatisfy(FoldedScalar.isNeverASCII) {
        #expect(!bytes.isEmpty && bytes.allSatisfy { $0 >= 0x80 }, "U+\(String(value, radix: 16))")
      }
      #expect(bytes.count <= 16, "U+\(String(value, radix: 16))")
    }
  }

  @Test(
    "a search finds what a person means, whatever the case and the diacritics",
    arguments: [
      ("sao", "São Paulo"), ("SÃO", "Sao Paulo"), ("são", "Sa\u{303}o Paulo"), ("zurich", "Zürich"),
      ("istanbul", "İstanbul"), ("İSTANBUL", "istanbul"), ("diyarbakir", "Diyarbakır"), ("lodz", "Łódź"),
      ("Łódź", "LODZ"), ("strasse", "Straße"), ("STRASSE", "straße"), ("straße", "STRASSE"),
      ("GROẞ", "gross"),
      ("fi", "ﬁ"), ("ofﬁce", "OFFICE"), ("office", "oﬃce"), ("oresund", "Øresund"),
      ("aeroe", "Ærø, or Aeroe"),
      ("œuvre", "Oeuvre"), ("odysseia", "odysseia"), ("ΣΊΣΥΦΟΣ", "σισυφος"), ("елка", "Ёлка"),
      ("kelvin", "\u{212A}elvin"), ("ａｂｃ", "ABC"), ("ﬀ", "Jeff"), ("dvorak", "Dvořák"), ("nguyen", "Nguyễn"),
      ("nguy\u{1EC5}n", "Nguyen"), ("한", "\u{1112}\u{1161}\u{11AB}"),
    ])
  func finds(needle: String, text: String) {
    let isFound = TextSearch(needle).isFound(in: text)
    #expect(isFound)
    #expect(TextSearch(text, options: SearchOptions(isExact: true)).isFound(in: text))
    if needle != text {
      let isFoundExactly = TextSearch(needle, options: SearchOptions(isExact: true)).isFound(in: text)
      #expect(isFoundExactly == (text.firstRange(of: needle) != nil))
    }
  }

  @Test("what makes another word is no diacritic: vowel signs and voicing marks")
  func otherWords() {
    for (needle, text) in [("が", "か"), ("की", "का"), ("ปี", "ปา"), ("sao", "so"), ("o", "e\u{301}")] {
      let isFound = TextSearch(needle).isFound(in: text)
      #expect(!isFound, "\(needle) in \(text)")
    }
  }

  private struct Link: Codable, Identifiable {
    let id: UUID
    var title: String
    var pages: Int
    var address: URL
    var added: Date
    var tags: [String]
    var sources: [URL]
  }

  @Test(
    "what people read is searched: no numbers, dates, addresses and ids of machines, unless a field is named")
  func readTexts() throws {
    let links = try TestStore().open().favorites(of: Link.self, in: "links")
    let address = try #require(URL(string: "https://example.org/2026/3"))
    try links.add(
      Link(
        id: try #require(UUID(uuidString: "3F2504E0-4F89-41D3-9A0C-0305E82C3301")), title: "Sete mares",
        pages: 2_026,
        address: address, added: Date(timeIntervalSince1970: 1_770_000_000), tags: ["São Tomé"],
        sources: [address]))
    for text in ["2026", "3", "https", "example", "Z"] {
      #expect(try links.query.search(text).items().isEmpty, "\(text)")
    }
    #expect(
      try links.query.search("MARES").items().count == 1 && links.query.search("sao tome").items().count == 1)
    for (text, field) in [
      ("2026", "pages"), ("https", "address"), ("2026-02", "added"), ("4f89", "id"), ("2026/3", "sources"),
    ] {
      #expect(
        try links.query.search(text, options: SearchOptions(fields: [field])).items().count == 1,
        "\(text) in \(field)")
    }
    // A title is read, whatever it looks like.
    let books = try TestStore().open().library("books")
    try books.add("12", fields: [Field(name: "title", value: .string("1984"))])
    try books.add("MoonlightSonata_755")
    #expect(books.search("1984").map(\.id) == ["12"] && books.search("12").isEmpty)
    #expect(books.search("sonata").map(\.id) == ["MoonlightSonata_755"])
  }

  @Test("long texts hold what stands anywhere in them, and nothing that nearly does")
  func longTexts() {
    for count in 1...40 {
      let text = String(repeating: "ab", count: count)
      for needle in ["a", "b", "ba", "abab", "bb", "aa", text, text + "a", "B" + text.dropFirst()] {
        for options in Self.options {
          #expect(
            TextSearch(needle, options: options).isFound(in: text) == Self.isFound(needle, in: text, options))
        }
        for place in 0...count {
          let text =
            String(repeating: "-", count: place) + needle + String(repeating: "+", count: count - place)
          #expect(TextSearch(needle).isFound(in: text))
          #expect(!TextSearch(needle + "!").isFound(in: text))
        }
      }
    }
  }

  @Test(
    "a library's favorites are searched as their states are, from memory, from a snapshot and inside of write"
  )
  func inStore() throws {
    var chance = SeededGenerator(seed: 5)
    let test = TestStore()
    var store = try test.open()
    func write(_ count: Int) throws {
      let library = try store.library("things")
      for _ in 0..<count {
        let id = Self.pieces.filter { !$0.utf8.contains { $0 < 0x20 || $0 == 0x7F } }.shuffled(
          using: &chance)[..<3].joined()
        let text = Self.pieces.shuffled(using: &chance)[..<6].joined()
        test.clock.now += 1
        try library.add(
          id,
          fields: [
            Field(name: "t", value: .string(text)), Field(name: "n", value: .int64(4)),
            Field(
              name: "list",
              value: try FieldValue(.array([.string(Self.pieces.randomElement(using: &chance)!)]))),
          ])
        if Bool.random(using: &chance) { try library.set([Field(name: "t", value: .null)], of: id) }
        if Int.random(in: 0..<5, using: &chance) == 0 { try library.remove(id) }
      }
    }
    try write(60)
    for pass in 0..<3 {
      if pass == 1 {
        _ = try store.snapshot()
        try store.close()
        store = try test.open()
      }
      if pass == 2 { try write(30) }
      let library = try store.library("things")
      for needle in Self.pieces.shuffled(using: &chance)[..<20] + ["ab", "4"] {
        for order in [ListOrder.newestFirst, .byID] {
          for var options in Self.options {
            // An empty text is in all of them.
            if Self.isEmpty(needle, options) { continue }
            let isAll = Bool.random(using: &chance)
            options.fields = isAll ? nil : ["t", "none"]
            let expected = library.favorites(order: order).filter { item in
              (isAll ? [item.id] : []).contains { Self.isFound(needle, in: $0, options) }
                || item.fields.contains { field in
                  guard isAll || field.name == "t" else { return false }
                  switch field.value {
                  case .string(let text): return Self.isFound(needle, in: text, options)
                  case .json(let json):
                    return json.value.array?.contains { Self.isFound(needle, in: $0.string ?? "", options) }
                      ?? false
                  default: return false
                  }
                }
            }
            let found = library.search(needle, options: options, order: order)
            #expect(found.map(\.id) == expected.map(\.id), "\(needle), \(options)")
            #expect(found == expected || found.count != expected.count, "an item that is not as it is stored")
          }
        }
      }
      let needles = ["k", "東", "é"]
      let outside = needles.map { library.search($0) }
      try store.write {
        #expect(needles.map { library.search($0) } == outside)
        try library.add("k in here")
        #expect(library.search("K IN HERE").map(\.id) == ["k in here"])
        try library.remove("k in here")
      }
    }
  }
}
