import Heartlog
@testable import HeartlogInterchange
import HeartlogLibraries
import LibraryTestSupport
import Testing

@Suite("the encodings of files")
struct EncodingTests {
  private static let text = "id,name\n1,Málaga – “tapas”\n"

  private static func utf16(_ text: String, isBigEndian: Bool) -> [UInt8] {
    text.utf16.flatMap { unit in
      let bytes = [UInt8(truncatingIfNeeded: unit >> 8), UInt8(truncatingIfNeeded: unit)]
      return isBigEndian ? bytes : bytes.reversed()
    }
  }

  @Test("a byte order mark decides, in every format alike")
  func marks() throws {
    let text = Self.text
    var utf32: [UInt8] = [0xFF, 0xFE, 0, 0]
    for scalar in text.unicodeScalars {
      utf32 += [UInt8(scalar.value & 0xFF), UInt8(scalar.value >> 8), 0, 0]
    }
    let files: [[UInt8]] = [
      [0xEF, 0xBB, 0xBF] + Array(text.utf8), [0xFF, 0xFE] + Self.utf16(text, isBigEndian: false),
      [0xFE, 0xFF] + Self.utf16(text, isBigEndian: true), Self.utf16(text, isBigEndian: false),
      Self.utf16(text, isBigEndian: true), utf32,
    ]
    for bytes in files {
      #expect(try FileText(bytes).bytes == Array(text.utf8))
      let store = try FavoritesStore.inMemory()
      let report = try store.take(bytes, CSVFormat(), into: "things")
      #expect(report.added == 1 && report.remarks.isEmpty)
      #expect(try store.library("things").item("1")?.value(of: "name") == .string("Málaga – “tapas”"))
    }
  }

  /// "é “x”" in Windows-1252.
  private static let windows: [UInt8] = [0xE9, 0x20, 0x93, 0x78, 0x94]

  @Test(
    "a declared encoding is honored",
    arguments: [
      #"<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=windows-1252">"#,
      "<!DOCTYPE html>\n<meta charset='ISO-8859-1'>", #"<?xml version="1.0" encoding="latin1"?>"#,
      "% Encoding: Cp1252\n", "This file was created with JabRef 2.3.\nEncoding: ISO8859_1\n",
      "%% Saved with string encoding Western (Windows Latin 1)\n", "@comment{x-kbibtex-encoding=latin1}\n",
      "% -*- coding: latin-1 -*-\n",
    ])
  func declared(head: String) throws {
    let text = try FileText(Array(head.utf8) + Self.windows)
    #expect(String(decoding: text.bytes, as: UTF8.self) == head + "é “x”")
    #expect(text.linesReadAsWindows1252.isEmpty)
  }

  @Test("other declared encodings are converted by iconv, and one that is unknown is no guess")
  func otherDeclared() throws {
    let russian: [UInt8] = [0xCD, 0xC9, 0xD2]
    let text = try FileText(Array("<meta charset=koi8-r>".utf8) + russian)
    #expect(String(decoding: text.bytes, as: UTF8.self).hasSuffix(">мир"))
    #expect(throws: LibraryError.self) { try FileText(Array("<meta charset=klingon>".utf8) + russian) }
    #expect(try FileText(Array("<meta charset=klingon>мир".utf8)).encoding == "UTF-8")
    // A list is no declaration, whatever its texts say.
    let list = Array(#"[{"id":"1","html":"<meta charset=koi8-r>é"}]"#.utf8)
    #expect(try FileText(list).bytes == list)
  }

  @Test("a named encoding outranks what the file says, and must be that of the text")
  func named() throws {
    let bytes = Array("<meta charset=koi8-r>é".utf8)
    #expect(try FileText(bytes, encoding: "utf-8").bytes == bytes)
    #expect(try FileText([0x82, 0xA0], encoding: "shift_jis").bytes == Array("あ".utf8))
    #expect(try FileText([0x41, 0xE9], encoding: "CP1252").bytes == Array("Aé".utf8))
    #expect(throws: LibraryError.self) { try FileText(Self.windows, encoding: "UTF-8") }
    #expect(throws: LibraryError.self) { try FileText([0x82], encoding: "SHIFT_JIS") }
    for name in ["", "klingon", "UTF-16//IGNORE", "a b"] {
      #expect(throws: LibraryError.self, "\(name)") { try FileText([0x41], encoding: name) }
    }
  }

  @Test("a line that is not UTF-8 is read as Windows-1252, which is said; the others stay as they are")
  func undeclared() throws {
    let store = try FavoritesStore.inMemory()
    let bytes = Array("id,a\n1,é\n2,".utf8) + Self.windows + Array("\n3,ü\n4,".utf8) + [0x80, 0x0A]
    let report = try store.take(bytes, CSVFormat(), into: "things")
    #expect(report.added == 4 && report.refusals.isEmpty)
    #expect(
      report.remarks.map { "\($0.line): \($0.reason)" } == [
        "3: this and another line are not UTF-8 and read as Windows-1252; if that is wrong, name the file's encoding"
      ])
    let library = try store.library("things")
    #expect(
      ["1", "2", "3", "4"].map { library.item($0)?.value(of: "a") } == [
        .string("é"), .string("é “x”"), .string("ü"), .string("€"),
      ])
    #expect(try store.take(bytes, CSVFormat(), into: "things").events == 0)
  }

  @Test("what is no text in any of these is refused as a whole", arguments: [[0x81], [0xFF, 0, 0x80, 0x0A]])
  func noText(bytes: [UInt8]) {
    let file = Array("id,a\n1,".utf8) + bytes
    #expect(throws: LibraryError.self) {
      try FavoritesStore.inMemory().take(file, CSVFormat(), into: "things")
    }
  }

  @Test("no replacement character is stored, whatever bytes a file has")
  func noReplacement() throws {
    let seed = SeededRandom.testSeed()
    let random = SeededRandom(seed: seed)
    let formats: [any FileFormat] = [CSVFormat(), BookmarksFormat(), JSONFormat(), JSONLinesFormat()]
    let openings = [
      "id,a\n1,", "<DL><DT><A HREF=\"https://a/\">", #"[{"id":"1","a":""#, #"{"id":"1","fields":{"a":""#,
    ]
    let endings = ["\n", "</A>\n", "\"}]\n", "\"}}\n"]
    for round in 0..<400 {
      let index = round % formats.count
      let noise = (0..<random.next() % 12).map { _ in UInt8(truncatingIfNeeded: random.next() % 128 + 128) }
      let bytes = Array(openings[index].utf8) + noise + Array(endings[index].utf8)
      let store = try FavoritesStore.inMemory()
      guard (try? store.take(bytes, formats[index], into: "things")) != nil else { continue }
      for item in try store.stored("things") {
        for field in item.fields {
          guard case .string(let text) = field.value else { continue }
          #expect(!text.unicodeScalars.contains("\u{FFFD}"), "\(bytes)")
        }
      }
    }
  }
}
