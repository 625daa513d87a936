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
  private static let formats = ["jsonl", "bookmarks", "geojson", "archive-json", "user-defaults", "csv"]

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
