import Foundation
import Heartlog
import Testing

/// The examples of "From UserDefaults" and "From SwiftData or Core Data".
@Suite("Moving in")
struct MovingInTests {
  struct Song: Codable, Identifiable, Sendable, Equatable {
    let id: String
    let title: String
  }

  /// What the app kept until now: an array of songs as JSON.
  func takeOver(_ defaults: Data, into songs: Favorites<Song>) throws -> Int {
    let old = try JSONDecoder().decode([Song].self, from: defaults)
    return try songs.takeOver(old.map { (item: $0, since: nil) }, origin: "import:user-defaults")
  }

  @Test("an array is taken over once, and what was taken off since then stays off")
  func defaults() throws {
    let songs = try FavoritesStore.inMemory().favorites(of: Song.self, in: "songs")
    let defaults = try JSONEncoder().encode([Song(id: "1", title: "Musette"), Song(id: "2", title: "Loose")])
    #expect(try takeOver(defaults, into: songs) == 2)
    #expect(try songs.library.store.status().commits == 1)
    try songs.remove("2")
    #expect(try takeOver(defaults, into: songs) == 0)
    #expect(songs.list() == [Song(id: "1", title: "Musette")])
  }

  struct Settings: Codable, Identifiable, Sendable {
    var id = "player"
    var speed = 1.0
    var skipSeconds = 30
  }

  func change(_ settings: Favorites<Settings>, speed: Double) throws {
    var current = try settings.item("player") ?? Settings()
    current.speed = speed
    try settings.update(current)
  }

  @Test("a setting is a field of its own, and no favorite")
  func settings() throws {
    let store = try FavoritesStore.inMemory()
    let settings = try store.favorites(of: Settings.self, in: "settings")
    try change(settings, speed: 1.5)
    try change(settings, speed: 1.5)
    #expect(try settings.item("player")?.speed == 1.5)
    #expect(settings.count == 0)
    #expect(store.read { $0.eventCount } == 1)
  }

  struct Paper: Codable, Identifiable, Sendable, Equatable {
    let id: String
    let title: String
  }

  func takeOver(_ old: [(paper: Paper, favoritedDate: Date?)], into papers: Favorites<Paper>) throws {
    try papers.takeOver(
      old.map { (item: $0.paper, since: $0.favoritedDate) }, origin: "import:swift-data"
    ) { items in print("\(items) of \(old.count) favorites") }
  }

  struct Row {
    let paperID: String
    var isFavorite: Bool
  }

  func withHearts(_ rows: [Row], from papers: Favorites<Paper>) -> [Row] {
    let merge = papers.merge(into: rows, id: \.paperID) { row, isFavorite, _ in
      row.isFavorite = isFavorite
    }
    return merge.catalog
  }

  @Test("dates and order come along, and a flag is replaced, not or-ed")
  func database() throws {
    let papers = try FavoritesStore.inMemory().favorites(of: Paper.self, in: "articles")
    let day = Date(timeIntervalSince1970: 1_600_000_000)
    let old = [
      (paper: Paper(id: "a", title: "A"), favoritedDate: Date?.some(day)),
      (paper: Paper(id: "b", title: "B"), favoritedDate: day.addingTimeInterval(60)),
    ]
    try takeOver(old, into: papers)
    #expect(papers.list().map(\.id) == ["b", "a"])
    #expect(papers.favoritedDate(of: "a") == day)
    let rows = [Row(paperID: "a", isFavorite: false), Row(paperID: "c", isFavorite: true)]
    #expect(withHearts(rows, from: papers).map(\.isFavorite) == [true, false])
  }
}
