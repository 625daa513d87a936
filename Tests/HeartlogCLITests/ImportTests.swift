import Foundation
import Heartlog
import HeartlogInterchange
import HeartlogLibraries
import Testing

@testable import HeartlogCLI

/// Import and export over files and stores on disk.
@Suite("Import and export")
struct ImportTests {
  /// A store that holds the phone's fortnight, and a folder for files.
  private struct Device {
    let folder: URL
    var store: String { folder.appending(path: "store").path }

    init(isEmpty: Bool = false) throws {
      folder = FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try #require(self("init").exitCode == 0)
      let fortnight = Transcript.package.appending(path: "fixtures/fortnight/phone.jsonl").path
      if !isEmpty { try #require(self("apply", fortnight).exitCode == 0) }
    }

    func callAsFunction(_ arguments: String...) -> (exitCode: Int32, standard: String, error: String) {
      let captured = CapturedOutput()
      let code = HeartlogCLI.run(
        arguments: arguments, environment: ["HEARTLOG_STORE": store], output: captured.output, clock: .test)
      return (code, captured.standard, captured.error)
    }

    func path(_ name: String) -> String { folder.appending(path: name).path }
    func remove() { try? FileManager.default.removeItem(at: folder) }
  }

  private static let libraries = [
    "archives", "tracks", "papers", "cities", "breeds", "books", "settings", "recipes",
  ]
  private static let formats = [
    "jsonl", "bookmarks", "geojson", "archive-json", "user-defaults", "csv", "json",
  ]

  /// The items of a list, without the fields of books that belong to one device: the history that is played logged
  /// them.
  private static func shared(_ list: String) throws -> [String] {
    try list.split(separator: "\n").map { line in
      var item = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      var fields = try #require(item["fields"] as? [String: Any])
      for name in ["fileURL", "isDownloaded", "associatedFiles"] { fields[name] = nil }
      item["fields"] = fields
      let data = try JSONSerialization.data(withJSONObject: item, options: .sortedKeys)
      return String(decoding: data, as: UTF8.self)
    }
  }

  @Test(
    "a format's own export is known by its content alone, comes back as it was, and a second time writes nothing",
    arguments: formats)
  func roundTrip(name: String) throws {
    let phone = try Device()
    let copy = try Device(isEmpty: true)
    defer {
      phone.remove()
      copy.remove()
    }
    let format = try #require(FileFormats.standard.named(name))
    #expect(phone("add", "recipes", "nata", "oven:=250", "--date", "2026-03-01").exitCode == 0)
    for library in Self.libraries
    where FileFormats.standard.formats(for: library).contains(where: { $0.name == name }) {
      // Settings are no bookmarks; recipes are no places, and nothing that an app keeps.
      if ["bookmarks", "user-defaults", "archive-json"].contains(name),
        ["settings", "recipes"].contains(library)
      {
        guard library == "settings", name == "user-defaults" else { continue }
      }
      let file = phone.path("\(library).\(try #require(format.fileExtensions.first))")
      let exported = phone("export", library, file, "--format", name)
      #expect(exported.exitCode == 0, "\(library): \(exported.error)")
      let bytes = Array(try Data(contentsOf: URL(filePath: file)))
      #expect(FileFormats.standard.guess(bytes, name: nil, for: library)?.name == name, "\(library)")
      #expect(FileFormats.standard.guess(bytes, name: file, for: library)?.name == name, "\(library)")
      let imported = copy("import", library, file)
      #expect(imported.exitCode == 0, "\(library): \(imported.standard) \(imported.error)")
      let holdsAll = library == "settings" || name == "jsonl"
      let listed = holdsAll ? phone("list", library, "--all", "--json") : phone("list", library, "--json")
      let items = try Self.shared(listed.standard)
      #expect(!items.isEmpty, "\(library)")
      #expect(try Self.shared(copy("list", library, "--all", "--json").standard) == items, "\(library)")
      #expect(
        copy("import", library, file, "--json").standard.contains("\"events\":0,\"commits\":0"), "\(library)")
      #expect(
        copy("log", library, "-n", "1", "--json").standard.contains("\"origin\":\"import:\(name)\""),
        "\(library)")
    }
  }

  private func write(_ bytes: [UInt8], _ name: String, on device: Device) throws -> String {
    try Data(bytes).write(to: URL(filePath: device.path(name)))
    return device.path(name)
  }

  @Test("of equal lines 20 are printed and the others counted; programs get them all")
  func equalLines() throws {
    let device = try Device(isEmpty: true)
    defer { device.remove() }
    let rows = (1...30).map { "x\($0),A\n" } + ["1,B,C\n", "2,D\n"]
    let file = try write(Array(("id,name\n" + rows.joined()).utf8), "cities.csv", on: device)
    let printed = device("import", "cities", file)
    #expect(printed.exitCode == 65 && printed.standard == "cities from csv: 1 added, 31 refused\n")
    let lines = printed.error.split(separator: "\n")
    #expect(lines.count == 22)
    #expect(lines[19].hasSuffix(":21: \"x20\" is not the id of a city, which is a number"))
    #expect(lines[20].hasSuffix(":32: the row has 3 cells, but the header has 2"))
    #expect(
      lines[21].hasSuffix(": … and 10 more lines like this: \"…\" is not the id of a city, which is a number")
    )
    let json = device("import", "cities", file, "--json").standard
    #expect(json.split(separator: "\n").count == 32)
  }

  @Test("in a file of one line, a refused record is named by its number and id")
  func oneLine() throws {
    let device = try Device(isEmpty: true)
    defer { device.remove() }
    let text = #"[{"id":"a","name":"x"},{"id":"b","favoritedDate":"soon"},{"name":"y"}]"#
    let file = try write(Array(text.utf8), "list.json", on: device)
    let printed = device("import", "recipes", file)
    #expect(printed.exitCode == 65)
    let lines = printed.error.split(separator: "\n")
    #expect(lines.count == 2 && lines[0].contains("list.json: record 2 (b): \"soon\" is not a date"))
    #expect(lines.last?.contains("list.json: record 3: an object without an id") == true)
    #expect(
      device("import", "recipes", file, "--json").standard.contains(
        #"{"line":1,"record":2,"id":"b","refused":"#))
  }

  @Test("an id that is no text and no integer is named, and so is a file without content")
  func idsAndEmptyFiles() throws {
    let device = try Device(isEmpty: true)
    defer { device.remove() }
    let text = #"[{"id":1.5},{"id":true},{"id":null},{"id":7}]"#
    let printed = device("import", "recipes", try write(Array(text.utf8), "ids.json", on: device))
    #expect(printed.exitCode == 65 && printed.standard == "recipes from json: 1 added, 3 refused\n")
    let lines = printed.error.split(separator: "\n")
    #expect(lines.count == 3 && lines[0].hasSuffix("the id \"id\" is a number, not a text or an integer"))
    #expect(lines[1].hasSuffix("the id \"id\" is a bool, not a text or an integer"))
    #expect(lines[2].contains("an object without an id"))
    for name in ["empty.json", "empty"] {
      let printed = device("import", "recipes", try write([], name, on: device))
      #expect(printed.exitCode == 65 && printed.standard.isEmpty)
      #expect(printed.error.contains("is empty") && !printed.error.contains("recognize"))
    }
  }

  @Test("a file whose format is not certain changes nothing, and the message lists what it might be")
  func uncertain() throws {
    let device = try Device(isEmpty: true)
    defer { device.remove() }
    let file = try write(Array(#"{"metadata":{"identifier":"x"}}"#.utf8), "answer.json", on: device)
    let printed = device("import", "recipes", file)
    #expect(printed.exitCode == 65 && printed.error.contains("cannot recognize the format"))
    #expect(printed.error.contains("It might be one of ") && printed.error.contains("archive-json"))
    #expect(device("status", "--json").standard.contains("\"events\":0"))
    #expect(device("import", "recipes", file, "--format", "archive-json").exitCode == 0)
  }

  @Test("an encoding and the column of the ids can be named, and what was assumed of an encoding is said")
  func options() throws {
    let device = try Device(isEmpty: true)
    defer { device.remove() }
    let bytes = Array("slug,name\nnata,".utf8) + [0xE9, 0x0A]
    let file = try write(bytes, "recipes.csv", on: device)
    #expect(device("import", "recipes", file).exitCode == 65)
    let assumed = device("import", "recipes", file, "--id-column", "slug")
    #expect(
      assumed.exitCode == 0
        && assumed.error.contains("recipes.csv:2: this line is not UTF-8 and read as Windows-1252"))
    let named = device("import", "recipes", file, "--id-column", "slug", "--encoding", "koi8-r")
    #expect(named.exitCode == 0 && named.error.isEmpty)
    #expect(device("show", "recipes", "nata", "--json").standard.contains("\"name\":\"И\""))
    let unknown = device("import", "recipes", file, "--encoding", "klingon")
    #expect(unknown.exitCode == 65 && unknown.error.contains("\"klingon\" is unknown"))
  }

  @Test("a table for spreadsheets is written with --spreadsheet, and imported without its marks")
  func spreadsheet() throws {
    let device = try Device(isEmpty: true)
    defer { device.remove() }
    #expect(device("add", "recipes", "nata", "name==1+1").exitCode == 0)
    let file = device.path("recipes.csv")
    #expect(device("export", "recipes", file, "--spreadsheet").exitCode == 0)
    #expect(try String(contentsOfFile: file, encoding: .utf8).contains(",'=1+1\r\n"))
    #expect(device("import", "recipes", file, "--json").standard.contains("\"unchanged\":1"))
    #expect(device("export", "recipes", "--spreadsheet").exitCode == 64)
  }

  @Test("operations are applied with a byte order mark, of UTF-8 and of UTF-16", arguments: [8, 16])
  func marks(bits: Int) throws {
    let device = try Device(isEmpty: true)
    defer { device.remove() }
    let text =
      "{\"op\":\"add\",\"library\":\"lib\",\"id\":\"é\"}\n{\"op\":\"add\",\"library\":\"lib\",\"id\":\"b\"}\n"
    let bytes: [UInt8] =
      bits == 8
      ? [0xEF, 0xBB, 0xBF] + Array(text.utf8)
      : [0xFF, 0xFE] + text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    let file = try write(bytes, "ops.jsonl", on: device)
    #expect(device("apply", file).standard == "2 operations applied: 2 events in 2 commits\n")
    #expect(device("show", "lib", "é").exitCode == 0)
  }

  @Test("a dry run waits for no writer, and writes nothing")
  func dryRun() throws {
    let phone = try Device()
    defer { phone.remove() }
    let file = Transcript.package.appending(path: "fixtures/imports/cities.csv").path
    let before = phone("status", "--json").standard
    let holder = try LockHolder(path: phone.path("store/lock"))
    let report = phone("import", "cities", file, "--dry-run", "--json")
    holder.release()
    #expect(report.exitCode == 65 && report.standard.contains("\"dryRun\":true,\"items\":2,\"added\":2"))
    #expect(
      report.standard.contains("\"events\":3,\"commits\":0")
        || report.standard.contains("\"events\":2,\"commits\":0"))
    #expect(phone("status", "--json").standard == before)
  }

  @Test("an export replaces a file as a whole, and leaves it where it cannot write")
  func replaced() throws {
    let phone = try Device()
    defer { phone.remove() }
    let file = phone.path("cities.csv")
    try "old".write(toFile: file, atomically: true, encoding: .utf8)
    let before = try FileManager.default.attributesOfItem(atPath: file)[.systemFileNumber] as? Int
    #expect(phone("export", "cities", file).exitCode == 0)
    let after = try FileManager.default.attributesOfItem(atPath: file)[.systemFileNumber] as? Int
    #expect(before != after)
    let text = try String(contentsOfFile: file, encoding: .utf8)
    #expect(text.hasPrefix("id,name,country,lat,lon,favoritedDate"))
    // What no app has a form for cannot be written: the file stays.
    #expect(phone("add", "cities", "7", "name=7").exitCode == 0)
    #expect(phone("export", "cities", file, "--format", "user-defaults").exitCode == 65)
    #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: phone.folder.path).sorted() == [
        "cities.csv", "store",
      ])
  }
}

/// Holds the lock that writers take, as another process that writes does.
private final class LockHolder {
  private let descriptor: Int32

  init(path: String) throws {
    descriptor = open(path, O_RDONLY)
    try #require(descriptor >= 0 && flock(descriptor, LOCK_EX) == 0)
  }

  func release() { close(descriptor) }
}
