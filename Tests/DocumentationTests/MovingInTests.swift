import Foundation
import Heartlog
import HeartlogShipping
import HeartlogTesting
import Testing

/// The examples of "From UserDefaults" and "From SwiftData or Core Data".
@Suite("Moving in")
struct MovingInTests {
  nonisolated struct Song: Codable, Identifiable, Sendable, Equatable {
    let id: String
    let title: String
  }

  /// Takes over what the app kept until now: an array of songs as JSON.
  ///
  /// - Returns: how many were new.
  func takeOver(_ array: Data, into songs: Favorites<Song>) throws -> Int {
    let old = try JSONDecoder().decode([Song].self, from: array)
    // The array has no dates. A second apart, and the last one newest, the songs are listed in its order.
    let now = Date.now
    let favorites = old.enumerated().map { position, song in
      (item: song, since: Date?.some(now.addingTimeInterval(Double(position - old.count))))
    }
    return try songs.takeOver(favorites, origin: "import:user-defaults")
  }

  @Test("an array is taken over once, in its order, and what was taken off since then stays off")
  func defaults() throws {
    let folder = URL.temporaryDirectory.appending(path: "heartlog-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let old = [Song(id: "3", title: "Zamba"), Song(id: "1", title: "Musette"), Song(id: "2", title: "Loose")]
    let defaults = try #require(UserDefaults(suiteName: folder.lastPathComponent))
    defaults.register(defaults: ["favorites": try JSONEncoder().encode(old)])

    let store = try FavoritesStore(at: folder)
    let songs = try store.favorites(of: Song.self, in: "songs")
    if let array = defaults.data(forKey: "favorites") {
      print(try takeOver(array, into: songs), songs.list().map(\.title))
    }
    #expect(songs.list() == old.reversed())
    #expect(try songs.library.store.status().commits == 1)
    try songs.remove("2")
    #expect(try takeOver(try #require(defaults.data(forKey: "favorites")), into: songs) == 0)
    #expect(songs.list().map(\.id) == ["1", "3"])
  }

  nonisolated struct Settings: Codable, Identifiable, Sendable {
    var id = "player"
    /// Nil until the user has chosen one.
    var speed: Double?
    var skipSeconds: Int?
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
    print(try settings.item("player")?.speed ?? 1.0)  // 1.5
    try change(settings, speed: 1.5)
    #expect(try settings.item("player")?.speed == 1.5)
    #expect(settings.count == 0)
    #expect(store.read { $0.eventCount } == 1)
  }

  @Test("two devices that each change their first setting keep both")
  func settingsOfTwoDevices() throws {
    let clock = ManualClock()
    let phone = try FavoritesStore.inMemory(clock: clock, seed: 1)
    let tablet = try FavoritesStore.inMemory(clock: clock, seed: 2)
    try phone.favorites(of: Settings.self, in: "settings").update(Settings(skipSeconds: 10))
    clock.advance(by: 60)
    try change(tablet.favorites(of: Settings.self, in: "settings"), speed: 1.5)
    _ = try StoreCarrier(tablet).sync(phone, options: SyncOptions())
    let both = try #require(try phone.favorites(of: Settings.self, in: "settings").item("player"))
    #expect(both.speed == 1.5 && both.skipSeconds == 10)
  }

  nonisolated struct FavoritePaper: Codable, Identifiable, Sendable {
    let id: String
    let title: String
  }

  func takeOver(
    _ old: [(paper: FavoritePaper, favoritedDate: Date?)], into papers: Favorites<FavoritePaper>
  ) throws {
    try papers.takeOver(
      old.map { (item: $0.paper, since: $0.favoritedDate) }, origin: "import:swift-data"
    ) { items in print("\(items) of \(old.count) favorites") }
  }

  struct Row {
    let paperID: String
    var isFavorite: Bool
  }

  func withHearts(_ rows: [Row], from papers: Favorites<FavoritePaper>) -> [Row] {
    let merge = papers.merge(into: rows, id: \.paperID) { row, isFavorite, _ in
      row.isFavorite = isFavorite
    }
    return merge.catalog
  }

  @Test("dates and order come along, and a flag is replaced, not or-ed")
  func database() throws {
    let papers = try FavoritesStore.inMemory().favorites(of: FavoritePaper.self, in: "papers")
    let day = Date(timeIntervalSince1970: 1_600_000_000)
    let old = [
      (paper: FavoritePaper(id: "a", title: "A"), favoritedDate: Date?.some(day)),
      (paper: FavoritePaper(id: "b", title: "B"), favoritedDate: day.addingTimeInterval(60)),
    ]
    try takeOver(old, into: papers)
    #expect(papers.list().map(\.id) == ["b", "a"])
    #expect(papers.favoritedDate(of: "a") == day)
    let rows = [Row(paperID: "a", isFavorite: false), Row(paperID: "c", isFavorite: true)]
    #expect(withHearts(rows, from: papers).map(\.isFavorite) == [true, false])
  }
}
