import Heartlog
@testable import HeartlogInterchange
import HeartlogLibraries
import LibraryTestSupport
import Testing

/// Files that mix everything that a table, a list or a page of bookmarks may have. Each record is imported, refused by its
/// line, or replaced by a later one of the file; nothing else happens to it.
@Suite("files of everything at once")
struct MixedFileTests {
  private let random: SeededRandom

  init() {
    let seed = SeededRandom.testSeed()
    random = SeededRandom(seed: seed)
  }

  private func pick<T>(_ values: [T]) -> T { values[Int(random.next() % UInt64(values.count))] }

  private func text() -> String {
    let pieces = [
      "a", "é", "“x”", "=1", "'", "@", "\t", "-2", "12", "\"", ", ", "; ", "|", "&amp;", "<b>", "日本", "/",
      " ", "[1]", "{",
    ]
    return (0..<random.next() % 5).map { _ in pick(pieces) }.joined()
  }

  private func id() -> String { pick(["1", "2", "3", "x", "https://a/\(random.next() % 9)", ""]) }

  private func date() -> String {
    pick([
      "", "1585881748", "1585881748123", "13230355348000000", "2020-04-03", "2020-04-03 02:42",
      "Fri Apr 3 02:42:28 UTC 2020",
      "2020-04-03T02:42:28+0200", "soon",
    ])
  }

  private func quoted(_ text: String) -> String { "\"\(text.replacing("\"", with: "\"\""))\"" }

  private func table() -> (text: String, count: Int) {
    let columns = pick([
      ["id", "name", "favoritedDate"], ["url", "title", "time_added", "tags", "folder"],
      ["doi", "link", "created", "labels"],
      ["Book Id", "Title", "Date Added", "Bookshelves", "ISBN"], ["ID", "note", "in/x", "@other"],
    ])
    let count = Int(random.next() % 12)
    let rows = (0..<count).map { _ in
      columns.enumerated().map { index, name in
        let isDate = ["favoritedDate", "time_added", "created", "Date Added"].contains(name)
        return quoted(
          index == 0 ? id() : isDate ? date() : name == "ISBN" ? "=\"0\(random.next() % 9)\"" : text())
      }.joined(separator: ",")
    }
    return (([columns.joined(separator: ",")] + rows).joined(separator: pick(["\n", "\r\n"])) + "\n", count)
  }

  private func value() -> JSONValue {
    pick([
      .null, .bool(true), .int64(12), .double(0.5), .string(text()), .array([.string(text()), .int64(1)]),
      .object([JSONMember("a", .string(text()))]),
    ])
  }

  private func list() -> (text: String, count: Int) {
    let count = 1 + Int(random.next() % 10)
    let idName = pick(["id", "url", "_id", "doi"])
    let records = (0..<count).map { index in
      let identifier: JSONValue = pick([.string(id()), .int64(Int64(random.next() % 4)), .string("x")])
      var members = [JSONMember(idName, index == 0 ? .string("first") : identifier)]
      for name in ["favoritedDate", "tags", "name", "fields", "@note"] where random.next() % 2 == 0 {
        members.append(
          JSONMember(
            name, name == "favoritedDate" ? .string(date()) : name == "@note" ? .string("n") : value()))
      }
      return JSONValue.object(members).jsonText
    }
    let isLines = count > 1 && random.next() % 2 == 0
    return (
      isLines ? records.joined(separator: "\n") : "[\(records.joined(separator: pick([",", ",\n"])))]", count
    )
  }

  private func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
  }

  private func page() -> (text: String, count: Int) {
    var (text, count, depth) = ("<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<H1>Bookmarks</H1>\n<DL><p>\n", 0, 0)
    for _ in 0..<random.next() % 20 {
      switch random.next() % 6 {
      case 0:
        text += "<DT><H3>\(escaped(self.text()))</H3>\n<DL><p>"
        depth += 1
      case 1 where depth > 0:
        text += "</DL><p>\n"
        depth -= 1
      case 2: text += "<HR>"
      default:
        count += 1
        let address = pick(["https://a/\(random.next() % 6)", "https://b/?q=\(escaped(self.text()))", ""])
        text +=
          "<DT><A HREF=\"\(address)\" ADD_DATE=\"\(date())\" TAGS=\"\(escaped(self.text()))\">\(escaped(self.text()))</A>\n"
        if random.next() % 3 == 0 { text += "<DD>\(escaped(self.text())) <a href=\"https://c/\">link</a>\n" }
      }
    }
    return (text, count)
  }

  @Test("no record vanishes, a second import writes nothing, and every format brings all of it back")
  func everything() throws {
    for round in 0..<150 {
      let (format, file): (any FileFormat, (text: String, count: Int)) =
        switch round % 3 {
        case 0: (CSVFormat(), table())
        case 1: (JSONFormat(), list())
        default: (BookmarksFormat(), page())
        }
      let store = try FavoritesStore.inMemory()
      let report = try store.take(file.text, format, into: "things")
      #expect(
        report.items + report.refusals.count + report.repeated + report.leftOut == file.count,
        "\(file.text)\n\(report)")
      #expect(report.leftOut == 0)
      #expect(try store.stored("things").count == report.added, "\(file.text)")
      #expect(try store.take(file.text, format, into: "things").events == 0, "\(file.text)")
      guard report.added > 0 else { continue }
      for other in [
        CSVFormat(), CSVFormat(isForSpreadsheets: true), JSONFormat(), JSONLinesFormat(), BookmarksFormat(),
      ]
        as [any FileFormat]
      {
        try checkRoundTrip(of: "things", as: other, from: store)
      }
    }
  }
}
