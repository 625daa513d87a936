import Foundation
import Heartlog
@testable import HeartlogInterchange
import HeartlogLibraries
import LibraryTestSupport
import Testing

/// A sixth library is one folder, which is `Episode.swift`, and one registration, which is `formats`.
@Suite("podcasts: a library of an app's own, with a descriptor of its own")
struct EpisodeFileTests {
  private static let formats = FileFormats(libraries: .standard.adding(Episode.descriptor))

  private static func filled() throws -> Favorites<Episode> {
    let episodes = try FavoritesStore.inMemory().favorites(of: Episode.self)
    for number in 1...3 {
      let url = try #require(URL(string: "https://cdn.example/\(number).mp3"))
      try episodes.add(
        Episode(
          id: "night-talk/000\(number)", title: "Talk, \"\(number)\"", show: "Night Talk", audioURL: url,
          duration: 1_800.5, position: 60.25),
        since: Date(timeIntervalSince1970: 1_772_438_400.123 + Double(number)))
    }
    return episodes
  }

  private static func format(_ name: String) throws -> any FileFormat {
    try #require(formats.formats(for: Episode.library).first { $0.name == name })
  }

  @Test("the registry lists it beside the others, and the formats that can hold it are told")
  func registered() {
    #expect(Self.formats.libraries.names == LibraryRegistry.standard.names + ["podcasts"])
    #expect(
      Self.formats.formats(for: "podcasts").map(\.name)
        == ["jsonl", "bookmarks", "podcast-index", "user-defaults", "csv", "json"])
    #expect(FileFormats.standard.named("podcast-index") == nil && Self.formats.named("podcast-index") != nil)
    #expect(!Self.formats.formats(for: "papers").contains { $0.name == "podcast-index" })
    #expect(Self.formats.formats(for: "recipes").contains { $0.name == "podcast-index" })
  }

  @Test(
    "what is exported is known by its content, comes back as it was, and a second import writes nothing",
    arguments: ["jsonl", "bookmarks", "csv", "json"])
  func roundTrip(name: String) throws {
    let format = try Self.format(name)
    let episodes = try Self.filled()
    let bytes = try episodes.exportFile(format: format)
    #expect(Self.formats.guess(bytes, name: nil, for: Episode.library)?.name == name)
    let copy = try FavoritesStore.inMemory().favorites(of: Episode.self)
    let report = try copy.importFile(bytes, format: format)
    #expect(report.added == 3 && report.refusals.isEmpty)
    #expect(try copy.library.store.stored("podcasts") == episodes.library.store.stored("podcasts"))
    #expect(copy.list() == episodes.list())
    #expect(try copy.importFile(bytes, format: format).events == 0)
  }

  @Test("a table has its columns in the order of the schema, and is read by other names for them")
  func table() throws {
    let bytes = try Self.filled().exportFile(format: CSVFormat())
    #expect(bytes.starts(with: "id,title,show,audioURL,duration,position,favoritedDate\r\n".utf8))
    let empty = try FavoritesStore.inMemory().favorites(of: Episode.self).exportFile(format: CSVFormat())
    #expect(empty == Array("id,title,favoritedDate\r\n".utf8))

    let text = "GUID,Podcast,Enclosure,duration,position\nNight-Talk/7,Night Talk,https://a/7.mp3,10.5,12.5\n"
    #expect(Self.formats.guess(Array(text.utf8), name: nil, for: Episode.library)?.name == "csv")
    let episodes = try FavoritesStore.inMemory().favorites(of: Episode.self)
    #expect(try episodes.importFile(Array(text.utf8), format: CSVFormat()).added == 1)
    let item = try #require(episodes.library.item("night-talk/7"))
    #expect(item.value(of: "show") == .string("Night Talk"))
    #expect(item.value(of: "audioURL") == .string("https://a/7.mp3"))
    #expect(item.value(of: "position") == .double(10.5), "brought to the end of the episode")
  }

  @Test("what no episode can be is refused by its line")
  func refused() throws {
    let text = "id,title,duration\nnothing,A,1\na/1,B,-1\na/2,C,long\na/3,D,1\n"
    let episodes = try FavoritesStore.inMemory().favorites(of: Episode.self)
    let report = try episodes.importFile(Array(text.utf8), format: CSVFormat())
    #expect(
      refusals(report) == [
        "2: \"nothing\" is no id of an episode, a show and a number",
        "3: duration is -1, which must be 0 or more", "4: duration is not a number: \"long\"",
      ])
    #expect(report.added == 1)
  }

  @Test("a position is a quiet write: two devices that play never disagree")
  func quiet() throws {
    let bytes = try Self.filled().exportFile(format: JSONLinesFormat())
    let copy = try FavoritesStore.inMemory().favorites(of: Episode.self)
    var fields: [Field] = []
    let report = try copy.library.importFile(
      FileText(bytes), format: JSONLinesFormat(), describedBy: Episode.descriptor,
      onCommit: { commit in
        for case .event(let event) in commit.records { fields += event.fields }
      })
    #expect(report.commits == 1)
    #expect(fields.count == 15 && fields.allSatisfy { $0.isQuiet == ($0.name == "position") })
  }

  @Test(
    "a bookmark has the address and the title that the library gives it, and is known by the address alone")
  func bookmarks() throws {
    let text = try String(decoding: Self.filled().exportFile(format: BookmarksFormat()), as: UTF8.self)
    #expect(text.contains("<A HREF=\"https://podcasts.example/night-talk/0003\""))
    #expect(text.contains(">Talk, &quot;3&quot; — Night Talk</A>"))
    let browser = "<DL><DT><A HREF=\"https://podcasts.example/a/9\">Nine</A><DT><A HREF=\"https://b/\">B</A>"
    let episodes = try FavoritesStore.inMemory().favorites(of: Episode.self)
    let report = try episodes.importFile(Array(browser.utf8), format: BookmarksFormat())
    #expect(report.added == 1 && episodes.library.item("a/9")?.value(of: "title") == .string("Nine"))
    #expect(refusals(report) == ["1: \"https://b/\" is not the address of an item of podcasts"])
  }

  @Test("the title line is that of its descriptor")
  func titleLine() throws {
    let item = try #require(Self.filled().library.item("night-talk/0001"))
    #expect(Self.formats.libraries["podcasts"].titleLine(of: item) == "Talk, \"1\" — Night Talk")
    #expect(Self.formats.libraries["podcasts"].titleLine(of: FileItem(id: "a/1")) == "")
  }

  @Test("an answer of its service is known by its content; a bad record takes no other with it")
  func answer() throws {
    let text = """
      {"status":"true","episodes":[
        {"guid":"a/1","title":"One","feedTitle":"A","enclosureUrl":"https://a/1.mp3","duration":61},
        {"guid":"a/2","title":"Two","duration":NaN},
        {"guid":"a/3","title":"Three"},
        {"guid":"a/4","title":"Four","feedTitle":"A","enclosureUrl":"https://a/4.mp3"}]}
      """
    let format = try #require(Self.formats.guess(Array(text.utf8), name: nil, for: Episode.library))
    #expect(format.name == "podcast-index" && !format.isWritten)
    let episodes = try FavoritesStore.inMemory().favorites(of: Episode.self)
    let report = try episodes.importFile(Array(text.utf8), format: format)
    #expect(report.added == 2 && report.refusals.map(\.line) == [3, 4])
    #expect(Set(episodes.list().map(\.title)) == ["One", "Four"])
  }

  @Test("what the app itself keeps is read and written")
  func appRecords() throws {
    let format = try Self.format("user-defaults")
    let episodes = try Self.filled()
    let bytes = try episodes.exportFile(format: format)
    #expect(
      bytes == Array("{\"queue\":[\"night-talk/0003\",\"night-talk/0002\",\"night-talk/0001\"]}\n".utf8))
    #expect(Self.formats.guess(bytes, name: nil, for: Episode.library)?.name == "user-defaults")
    let copy = try FavoritesStore.inMemory().favorites(of: Episode.self)
    #expect(try copy.importFile(bytes, format: format).added == 3)
  }
}
