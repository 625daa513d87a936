import HeartlogTesting
import Testing

@testable import Heartlog

@Suite("Text search")
struct TextSearchTests {
  private static let options = [SearchOptions.Match.substring, .prefix].flatMap { match in
    [true, false].map { SearchOptions(match: match, diacriticsCount: $0) }
  }

  /// The rule: both texts folded, and compared as strings.
  private static func isFound(_ needle: String, in text: String, _ options: SearchOptions) -> Bool {
    let needle = options.folded(needle)
    return needle.isEmpty || options.matches(needle, in: text)
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
    "≮", "=", "ǆ", "Ǆ",
  ]

  @Test("finds what strings find, whatever the texts are made of", arguments: 1...4)
  func equalToStrings(seed: UInt64) throws {
    var chance = Chance(source: SeededRandom(seed: seed))
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
  private func needle(of text: String, _ chance: inout Chance) -> String {
    let scalars = Array(text.unicodeScalars)
    let start = Int.random(in: 0...scalars.count, using: &chance)
    let end = Int.random(in: start...min(scalars.count, start + 6), using: &chance)
    var needle = String.UnicodeScalarView()
    needle.append(contentsOf: scalars[start..<end])
    return Bool.random(using: &chance) ? String(needle).uppercased() : String(needle)
  }

  @Test("no scalar but three is a Character of ASCII when it is folded")
  func equivalents() {
    for value in Array(0x80..<UInt32(0x3400)) + Array(0xA000..<0xAC00) + Array(0xF900..<0x1_0000)
      + Array(0x1_D400..<0x1_D800)
      + Array(0x1_F100..<0x1_F200)
    {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let text = String(scalar)
      let ascii = Set(text.lowercased().decomposed.filter(\.isASCII).map(String.init) + ["k", ";", "`"])
      for needle in ascii {
        for options in Self.options {
          for text in [text, "a" + text + "b"] {
            let expected = Self.isFound(needle, in: text, options)
            #expect(
              TextSearch(needle, options: options).isFound(in: text) == expected,
              "\(needle) in U+\(String(value, radix: 16)), \(options)")
          }
        }
      }
    }
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
    var chance = Chance(source: SeededRandom(seed: 5))
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
            if options.folded(needle).isEmpty { continue }
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
            #expect(found.map(\.id) == expected.map(\.id))
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
