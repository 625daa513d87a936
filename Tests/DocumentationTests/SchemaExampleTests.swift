import Heartlog
import Testing

/// The examples of "When your item type changes".
@Suite("An item type that changes")
struct SchemaExampleTests {
  enum First {
    nonisolated struct Trip: FavoriteItem {
      static let library = "trips"

      let id: String
      var desc: String?
      var guide: String?
      var minutes: Int?
      var rating: Int?
    }
  }

  enum Second {
    nonisolated struct Trip: FavoriteItem {
      static let library = "trips"
      static let schema = ItemSchema(version: 2, [.renamed("desc", to: "description", since: 2)])

      let id: String
      var description: String?
      var guide: String?
      var minutes: Int?
      var rating: Int?
    }
  }

  nonisolated struct Trip: FavoriteItem {
    static let library = "trips"
    static let schema = ItemSchema(
      version: 3,
      [
        .renamed("desc", to: "description", since: 2),
        .split(
          "guide", into: ["firstName", "lastName"], since: 3,
          forward: { (guide: String) -> [String?]? in
            let names = guide.split(separator: " ", maxSplits: 1).map(String.init)
            return names.count == 2 ? names : nil
          },
          backward: { (names: [String?]) in names.compactMap(\.self).joined(separator: " ") }),
        .retyped(
          "minutes", to: "seconds", since: 3, forward: { (minutes: Double) in minutes * 60 },
          backward: { (seconds: Double) in (seconds / 60).rounded() }),
        .dropped("rating", since: 3),
      ])

    let id: String
    var description: String?
    var firstName: String?
    var lastName: String?
    var seconds: Double?
  }

  @Test("three versions read what each wrote")
  func versions() throws {
    let (old, middle, store) = (
      try FavoritesStore.inMemory(), try FavoritesStore.inMemory(), try FavoritesStore.inMemory()
    )
    let first = try old.favorites(of: First.Trip.self)
    let second = try middle.favorites(of: Second.Trip.self)
    try first.add(First.Trip(id: "rome", desc: "on foot", guide: "Ada Lovelace", minutes: 90, rating: 5))
    try ship(old, to: middle)
    #expect(try second.item("rome")?.description == "on foot")
    try second.add(Second.Trip(id: "oslo", description: "by boat"))
    try ship(old, to: store)
    try ship(middle, to: store)

    let trips = try store.favorites(of: Trip.self)
    if var trip = try trips.item("rome") {
      trip.seconds = 5_430
      try trips.update(trip)
    }
    try ship(store, to: old)
    try ship(store, to: middle)
    #expect(try trips.item("rome")?.firstName == "Ada")
    #expect(try trips.item("rome")?.seconds == 5_430)
    #expect(try first.item("rome")?.minutes == 91)
    #expect(try second.item("rome")?.minutes == 91)
    #expect(try second.item("rome")?.guide == "Ada Lovelace")
    #expect(try second.item("rome")?.rating == 5)
  }

  /// Ships what a store wrote itself.
  private func ship(_ source: FavoritesStore, to target: FavoritesStore) throws {
    let head = try #require(try source.streamHead(of: source.replica))
    let known = try target.streamHead(of: source.replica)?.commit.rawValue ?? 0
    let run = try #require(try source.streamRun(of: source.replica, after: known, upTo: head.commit))
    _ = try target.receive(run)
  }
}
