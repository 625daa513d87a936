import Heartlog
import Testing

@testable import Heartlog
@testable import HeartlogCLI

@Suite("Rendering")
struct RenderingTests {
  @Test(
    "text takes the columns that a terminal gives it",
    arguments: [
      ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("東京", 4), ("서울", 4), ("ｱ", 1), ("Ａ", 2), ("😀", 2),
      ("👨‍👩‍👧", 2),
      ("🇩🇪", 2), ("♥", 1), ("♥\u{FE0F}", 2), ("\u{200B}", 0), ("a\u{AD}", 2), ("ไทย", 3), ("नि", 1), ("…", 1),
      ("\t", 0),
    ])
  func width(text: String, columns: Int) {
    #expect(DisplayText.width(text) == columns)
  }

  @Test("a text is as wide as its characters together, wherever those beyond ASCII stand")
  func widthOfMixtures() {
    let parts = [
      "a", "bc ", "e", "\u{301}", "東", "♥", "\u{FE0F}", "👨‍👩‍👧", "\r", "\n", "~", "1", "\u{20E3}", "…",
    ]
    for first in parts {
      for second in parts {
        for third in parts {
          let text = first + second + third
          #expect(
            DisplayText.width(text) == text.reduce(0) { $0 + DisplayText.width($1) },
            "\(text.debugDescription)")
        }
      }
    }
  }

  @Test("what is too long is cut between characters, and never wider than asked")
  func truncation() {
    #expect(DisplayText.truncated("Berlin", to: 6) == "Berlin")
    #expect(DisplayText.truncated("Berlin", to: 5) == "Berl…")
    #expect(DisplayText.truncated("東京都", to: 4) == "東…")
    #expect(DisplayText.truncated("e\u{301}e\u{301}e\u{301}", to: 2) == "e\u{301}…")
    for text in ["a東b京c", "👨‍👩‍👧x👨‍👩‍👧", "plain"] {
      for columns in 0...8 { #expect(DisplayText.width(DisplayText.truncated(text, to: columns)) <= columns) }
    }
  }

  @Test("what would move the cursor, colour the screen or turn the writing is not shown as such")
  func controls() {
    #expect(DisplayText.visible("a\nb\tc") == "a b c")
    #expect(
      DisplayText.visible("\u{1B}[2Jx\u{9B}y\u{202E}z\u{7F}") == "\u{FFFD}[2Jx\u{FFFD}y\u{FFFD}z\u{FFFD}")
    #expect(DisplayText.visible("Łódź 東京 👨‍👩‍👧") == "Łódź 東京 👨‍👩‍👧")
    #expect(!CommandError.usage("bad \u{1B}[31m").sentence.contains("\u{1B}"))
  }

  @Test("columns are aligned by what is seen")
  func table() {
    var table = Table([
      .init(title: "City", isFlexible: true), .init(title: "Events", alignment: .right), .init(),
    ])
    table.add([.init("東京"), .init("7"), .init("")])
    table.add([.init("Berlin"), .init("1,234"), .init("x")])
    #expect(
      table.lines(style: Style(isEnabled: false)) == [
        "City    Events", "東京         7", "Berlin   1,234  x",
      ])
  }

  @Test("an event tells programs which of its fields were written quietly")
  func quietFields() throws {
    func json(_ fields: [Field]) -> JSONValue? {
      let commit = Commit(
        replica: ReplicaID(high: 1, low: 2), number: CommitNumber(rawValue: 1),
        firstSequence: SequenceNumber(rawValue: 1),
        stamp: HybridTimestamp(milliseconds: 1), wallTime: 1, origin: nil,
        records: [.event(Event(library: "books", item: "1", action: .changed, fields: fields))])
      return try? JSONValue.parse(EventLine(commit: commit, index: 0).json.bytes)
    }
    let position = Field(name: "position", value: .int64(10), isQuiet: true)
    let title = Field(name: "title", value: .string("Dune"))
    #expect(json([position, title])?["quiet"] == .array([.string("position")]))
    #expect(json([title])?["quiet"] == nil)
  }

  @Test("a table is cut to the terminal at its widest flexible columns")
  func fittedTable() {
    var table = Table([.init(), .init(isFlexible: true), .init(isFlexible: true)])
    table.add([
      .init("id-1"), .init(String(repeating: "a", count: 30)), .init(String(repeating: "b", count: 12)),
    ])
    for width in 20...60 {
      let lines = table.lines(style: Style(isEnabled: false), width: width)
      #expect(DisplayText.width(lines[0]) <= width)
      #expect(lines[0].hasPrefix("id-1  aaaaa"))
    }
    #expect(
      table.lines(style: Style(isEnabled: false), width: 32) == ["id-1  aaaaaaaaaaa…  bbbbbbbbbbbb"])
    #expect(DisplayText.width(table.lines(style: Style(isEnabled: false))[0]) == 50)
  }

  @Test("colour changes no width, and is there only when it is wanted")
  func colour() {
    var table = Table([.init(), .init()])
    table.add([.init("♥", .favorite), .init("x")])
    table.add([.init("♡♡", .faint), .init("y")])
    #expect(
      table.lines(style: Style(isEnabled: true)) == [
        "\u{1B}[31m♥\u{1B}[0m   x", "\u{1B}[2m♡♡\u{1B}[0m  y",
      ])
    #expect(Style(isEnabled: true).heart(true) == "\u{1B}[31m♥\u{1B}[0m")
    #expect(Style(isEnabled: false).heart(false) == "♡")
    #expect(Style.isWanted([:]) && Style.isWanted(["NO_COLOR": "", "TERM": "xterm"]))
    #expect(!Style.isWanted(["NO_COLOR": "1"]) && !Style.isWanted(["TERM": "dumb"]))
  }

  @Test("numbers, sizes, spans and dates are written for people")
  func quantities() {
    #expect(Quantity.count(0) == "0" && Quantity.count(999) == "999" && Quantity.count(1_000) == "1,000")
    #expect(Quantity.count(-1_234_567) == "-1,234,567" && Quantity.count(UInt64.max).hasPrefix("18,446,"))
    #expect(Quantity.count(Int.min) == "-9,223,372,036,854,775,808")
    #expect(Quantity.count(1, "event") == "1 event" && Quantity.count(2, "city", "cities") == "2 cities")
    #expect(Quantity.size(bytes: 1) == "1 byte" && Quantity.size(bytes: 1_023) == "1023 bytes")
    #expect(Quantity.size(bytes: 1_536) == "1.5 KiB" && Quantity.size(bytes: 1_048_575) == "1023 KiB")
    #expect(Quantity.size(bytes: 12 << 20) == "12 MiB" && Quantity.size(bytes: .max) == "15 EiB")
    #expect(Quantity.duration(seconds: 0.2) == "1 s" && Quantity.duration(seconds: 125) == "2 min 05 s")
    #expect(
      Quantity.duration(seconds: 3_600) == "1 h 00 min" && Quantity.duration(seconds: 1e9) == "11574 d 01 h")
    #expect(Quantity.duration(seconds: .infinity) == Quantity.duration(seconds: 1e300))
    #expect(Zone.utc.text(1_772_435_700_999) == "2026-03-02 07:15")
    #expect(Zone.utc.text(-1) == "1969-12-31 23:59")
  }

  @Test("ids that are not equal do not look equal")
  func identifiers() {
    for (id, shown) in [
      ("plain id", "plain id"), ("caf\u{E9}", "café"), ("cafe\u{301}", "cafe\\u{301}"),
      ("a\u{200B}", "a\\u{200B}"),
      ("\u{FEFF}a", "\\u{FEFF}a"), ("a\u{AD}b", "a\\u{AD}b"), ("a\u{200D}b", "a\\u{200D}b"),
      ("\u{212B}", "\\u{212B}"),
      ("a\u{202E}b", "a\\u{202E}b"), ("a\u{200E}", "a\\u{200E}"), ("a\u{FE0F}", "a\\u{FE0F}"),
      ("\u{1112}\u{1161}\u{11AB}", "\u{1112}\\u{1161}\\u{11AB}"), ("한", "한"), ("東京", "東京"),
      ("👩\u{200D}🔬", "👩\u{200D}🔬"), ("❤\u{FE0F}", "❤\u{FE0F}"), ("क\u{94D}\u{200D}ष", "क\u{94D}\u{200D}ष"),
    ] {
      #expect(
        Array(DisplayText.identifier(id).unicodeScalars) == Array(shown.unicodeScalars),
        "\(id.debugDescription)")
    }
  }

  @Test("JSON has escapes for what a terminal obeys and for what nobody sees, and the same values")
  func escapedJSON() throws {
    for text in [
      "plain", "café 東京 👩\u{200D}🔬", "\u{9B}31m", "\u{202E}x", "\u{7F}", "\u{2028}", "\u{2066}",
      "\u{200B}\u{FEFF}",
      "\u{200F}", "\u{AD}", "\u{E0001}", "\u{1D173}", "\n\t\u{1B}",
    ] {
      var writer = JSONWriter()
      writer.beginObject()
      writer.member("text", text)
      writer.endObject()
      let line = DisplayText.escapedJSON(writer.bytes)
      #expect(DisplayText.visible(line) == line)
      #expect(
        !line.unicodeScalars.contains { $0.properties.generalCategory == .format && $0.value != 0x200D },
        "\(line.debugDescription)")
      #expect(try JSONValue.parse(Array(line.utf8))["text"] == .string(text))
    }
    #expect(DisplayText.escapedJSON(Array("{\"a\u{9B}\":1}".utf8)) == "{\"a\\u009b\":1}")
  }

  @Test("status counts the events that the digest cannot cover")
  func withoutContent() {
    func status(_ count: UInt64) -> StoreStatus {
      StoreStatus(
        path: "/s", replica: ReplicaID(high: 1, low: 1), name: "",
        digest: Digest([UInt8](repeating: 0, count: 32)),
        events: 5, eventsWithoutContent: count, commits: 5, bytes: 0, conflicts: 0,
        devices: [],
        libraries: [])
    }
    func json(_ count: UInt64) -> String {
      String(decoding: status(count).json().bytes, as: UTF8.self)
    }
    let line = "2 events without content: the digest covers the others"
    let context = CommandContext(output: CapturedOutput().output, environment: [:], clock: .test)
    #expect(status(2).lines(context).contains(line))
    #expect(json(2).contains("\"withoutContent\":2") && !json(0).contains("withoutContent"))
  }
}
