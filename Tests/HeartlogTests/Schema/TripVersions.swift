import Heartlog
import HeartlogTesting

/// Three versions of an item type, of one library.
enum Trips {
  static let library = "trips"

  static let renaming = ItemSchema.Step.renamed("desc", to: "description", since: 2)

  static let steps: [ItemSchema.Step] = [
    renaming,
    .split(
      "guide", into: ["first", "last"], since: 3,
      forward: { (guide: String) -> [String?] in
        let words = guide.split(separator: " ", maxSplits: 1).map(String.init)
        return [words.first, words.count > 1 ? words[1] : nil]
      },
      backward: { (names: [String?]) in names.compactMap(\.self).joined(separator: " ") }),
    .retyped(
      "minutes", to: "duration", since: 3, forward: { (minutes: Int) in "\(minutes * 60) s" },
      backward: { (duration: String) in
        duration.hasSuffix(" s") ? Int(duration.dropLast(2)).map { $0 / 60 } : nil
      }),
    .dropped("rating", since: 3),
  ]
}

struct TripV1: FavoriteItem, Equatable {
  static let library = Trips.library

  var id = "rome"
  var title: String?
  var desc: String?
  var guide: String?
  var minutes: Int?
  var rating: Int?
}

struct TripV2: FavoriteItem, Equatable {
  static let library = Trips.library
  static let schema = ItemSchema(version: 2, [Trips.renaming])

  var id = "rome"
  var title: String?
  var description: String?
  var guide: String?
  var minutes: Int?
  var rating: Int?
}

struct TripV3: FavoriteItem, Equatable {
  static let library = Trips.library
  static let schema = ItemSchema(version: 3, Trips.steps)

  var id = "rome"
  var title: String?
  var description: String?
  var first: String?
  var last: String?
  var duration: String?
}

/// A device for each version, with a clock of its own.
struct TripDevices {
  let clocks = [ManualClock(), ManualClock(), ManualClock()]
  let stores: [FavoritesStore]
  let v1: Favorites<TripV1>
  let v2: Favorites<TripV2>
  let v3: Favorites<TripV3>

  init(seed: UInt64 = 1) throws {
    let clocks = clocks
    stores = try (0..<3).map { number throws in
      try FavoritesStore.inMemory(clock: clocks[number], seed: seed &* 3 &+ UInt64(number))
    }
    v1 = try stores[0].favorites(of: TripV1.self)
    v2 = try stores[1].favorites(of: TripV2.self)
    v3 = try stores[2].favorites(of: TripV3.self)
  }

  /// Lets each device write, and all hear of it, so that everyone knows which versions there are.
  func meet() throws {
    try v1.add(TripV1(id: "first of 1"))
    try v2.add(TripV2(id: "first of 2"))
    try v3.add(TripV3(id: "first of 3"))
    try sync()
  }

  /// Ships everything to everyone, and sets all clocks to a later time.
  func sync() throws {
    for _ in 0..<2 {
      for source in stores {
        for target in stores where target !== source { try MergeTests.ship(source, to: target) }
      }
    }
    let latest = clocks.map(\.milliseconds).max() ?? 0
    for clock in clocks { clock.advance(by: Double(latest + 1_000 - clock.milliseconds) / 1_000) }
  }

  /// The names and values that an item has in the first store.
  func stored(_ id: String = "rome") -> [String: FieldValue] {
    let item = v1.library.item(id)
    return Dictionary(uniqueKeysWithValues: (item?.fields ?? []).map { ($0.name, $0.value) })
  }
}
