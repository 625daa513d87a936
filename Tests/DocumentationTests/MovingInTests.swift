import Foundation
import Heartlog
import HeartlogSync
import HeartlogTesting
import Testing

/// The examples of "Moving in" that need no database.
@Suite("Moving in")
struct MovingInTests {
  nonisolated struct Song: Codable, Identifiable, Sendable, Equatable {
    let id: String
    let title: String
  }

  /// The songs of an array that was stored as JSON, the last one newest.
  func oldSongs(in array: Data) throws -> [(item: Song, since: Date?)] {
    let songs = try JSONDecoder().decode([Song].self, from: array)
    // The array has no dates. A second apart, the songs keep its order.
    let now = Date.now
    return songs.enumerated().map { ($1, now.addingTimeInterval(Double($0 - songs.count))) }
  }

  @Test("an array is taken over once, in its order, and what was taken off since then stays off")
  func defaults() throws {
    let old = [Song(id: "3", title: "Zamba"), Song(id: "1", title: "Musette"), Song(id: "2", title: "Loose")]
    let array = try JSONEncoder().encode(old)
    let songs = try FavoritesStore.inMemory().favorites(of: Song.self, in: "songs")
    try songs.migrate(from: oldSongs(in: array), origin: "import:user-defaults")
    #expect(songs.list() == old.reversed())
    #expect(try songs.library.store.status().commits == 1)
    try songs.remove("2")
    #expect(try songs.migrate(from: oldSongs(in: array), origin: "import:user-defaults") == 0)
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
}
