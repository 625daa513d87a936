import Heartlog
@testable import HeartlogInterchange
import HeartlogLibraries
import LibraryTestSupport
import Testing

@Suite("tables for spreadsheets")
struct SpreadsheetTests {
  private static let texts = [
    "=1+1", "+49 30", "-x", "@sum", "\tx", "'=1", "''@x", "'x", "'", "=\"007\"", "=\"\"", "'=\"007\"", "-1.5",
    "=",
    "a=1", " =1", "",
  ]

  private static func filled() throws -> FavoritesStore {
    let store = try FavoritesStore.inMemory()
    let library = try store.library("things")
    for (index, text) in texts.enumerated() {
      try library.add(
        "\(text.filter { $0 != "\t" })\(index)",
        fields: [Field(name: "a", value: .string(text)), Field(name: "=b", value: .double(-1.5))])
    }
    return store
  }

  @Test("no cell begins a formula but a number, and every text comes back")
  func formulas() throws {
    let format = CSVFormat(isForSpreadsheets: true)
    let bytes = try checkRoundTrip(of: "things", as: format, from: Self.filled())
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\r\n") {
      for cell in line.split(separator: ",") {
        let start = cell.drop { $0 == "\"" }.first
        #expect(!"=+-@\t".contains(start ?? "x") || cell == "-1.5" || cell.hasPrefix("\"\"\"-1.5"), "\(cell)")
      }
    }
  }

  @Test("a table that is not for spreadsheets has no marks but where a text would be read as marked")
  func plain() throws {
    let bytes = try checkRoundTrip(of: "things", as: CSVFormat(), from: Self.filled())
    let text = String(decoding: bytes, as: UTF8.self)
    #expect(text.contains("\r\n=1+10,") && text.contains(",-1.5,=1+1\r\n"))
    #expect(text.contains("''=1") && text.contains("'''@x") && !text.contains("'=1+1"))
  }

  @Test("in a known column, too: text, number and id")
  func known() throws {
    let store = try FavoritesStore.inMemory()
    try store.library("cities").add(
      "-5",
      fields: [
        Field(name: "name", value: .string("=HYPERLINK(\"https://a\")")),
        Field(name: "lat", value: .double(-8.5)),
        Field(name: "lon", value: .int64(-9)),
      ])
    let bytes = try checkRoundTrip(of: "cities", as: CSVFormat(isForSpreadsheets: true), from: store)
    let text = String(decoding: bytes, as: UTF8.self)
    #expect(text.contains("\r\n'-5,\"'=HYPERLINK(\"\"https://a\"\")\",,-8.5,-9,"))
  }
}
