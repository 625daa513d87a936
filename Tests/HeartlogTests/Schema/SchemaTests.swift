import HeartlogTesting
import Testing

@testable import Heartlog

@Suite("Item types that change")
struct SchemaTests {
  @Test("every version reads what every other wrote, under its own names")
  func reading() throws {
    let devices = try TripDevices()
    try devices.meet()
    try devices.v1.add(
      TripV1(id: "a", title: "A", desc: "one", guide: "Ada Lovelace", minutes: 90, rating: 4))
    try devices.v2.add(
      TripV2(id: "b", title: "B", description: "two", guide: "Grace Hopper", minutes: 5, rating: 3))
    try devices.v3.add(
      TripV3(id: "c", title: "C", description: "three", first: "Mary Ann", last: "Evans", duration: "90 s"))
    try devices.sync()
    #expect(
      try devices.v3.item("a")
        == TripV3(id: "a", title: "A", description: "one", first: "Ada", last: "Lovelace", duration: "5400 s")
    )
    #expect(
      try devices.v2.item("a")
        == TripV2(id: "a", title: "A", description: "one", guide: "Ada Lovelace", minutes: 90, rating: 4))
    #expect(
      try devices.v1.item("b")
        == TripV1(id: "b", title: "B", desc: "two", guide: "Grace Hopper", minutes: 5, rating: 3))
    #expect(
      try devices.v1.item("c")
        == TripV1(id: "c", title: "C", desc: "three", guide: "Mary Ann Evans", minutes: 1))
    // A version that can express more keeps it.
    #expect(
      try devices.v3.item("c")
        == TripV3(
          id: "c", title: "C", description: "three", first: "Mary Ann", last: "Evans", duration: "90 s")
    )
    #expect(
      devices.v3.list(order: .byID).map(\.id) == ["a", "b", "c", "first of 1", "first of 2", "first of 3"])
  }

  @Test("the latest write of all names wins, and a null written last clears the field")
  func latest() throws {
    let devices = try TripDevices()
    try devices.meet()
    try devices.v3.update(TripV3(description: "new"))
    try devices.sync()
    try devices.v1.update(TripV1(desc: "newer"))
    try devices.sync()
    #expect(try devices.v3.item("rome")?.description == "newer")
    try devices.v2.update(TripV2())
    try devices.sync()
    #expect(try devices.v3.item("rome")?.description == nil)
    #expect(try devices.v1.item("rome")?.desc == nil)
    try devices.v3.update(TripV3(description: "newer"))
    try devices.v3.update(TripV3(description: "new"))
    try devices.sync()
    #expect(try devices.v1.item("rome")?.desc == "new")
    try devices.v1.update(TripV1(desc: "newer"))
    try devices.sync()
    // Its own name has this value already, but does not show it.
    try devices.v3.update(TripV3(description: "new"))
    #expect(try devices.v3.item("rome")?.description == "new")
  }

  @Test("only what differs from what is read is written, with the older names that are in use")
  func writing() throws {
    let devices = try TripDevices()
    try devices.meet()
    try devices.v1.add(TripV1(title: "Rome", desc: "one", guide: "Ada Lovelace", minutes: 90, rating: 4))
    try devices.sync()
    let item = try #require(try devices.v3.item("rome"))
    #expect(try !devices.v3.update(item))
    func fields(_ change: (inout TripV3) -> Void) throws -> [String] {
      var changed = item
      change(&changed)
      let events = try devices.stores[2].dryRun { try devices.v3.update(changed) }.events
      return try #require(events.first).fields.map(\.name)
    }
    #expect(try fields { $0.title = "Roma" } == ["title"])
    #expect(try fields { $0.description = "two" } == ["desc", "description"])
    #expect(try fields { $0.duration = "60 s" } == ["duration", "minutes"])
    // The parts of a split field are written together, while its old name is in use.
    #expect(try fields { $0.last = "Byron" } == ["first", "guide", "last"])
    // No version before has a value for it.
    #expect(try fields { $0.duration = "a while" } == ["duration"])

    try devices.stores[2].retire(devices.stores[0].replica)
    #expect(try fields { $0.description = "two" } == ["description"])
    #expect(try fields { $0.last = "Byron" } == ["first", "guide", "last"])
    try devices.stores[2].retire(devices.stores[1].replica)
    #expect(try fields { $0.last = "Byron" } == ["last"])
    #expect(try fields { $0.duration = "60 s" } == ["duration"])
  }

  @Test("a part of a split field keeps what its old name cannot express")
  func lossless() throws {
    let devices = try TripDevices()
    try devices.meet()
    try devices.v3.add(TripV3(first: "Mary Ann", last: "Evans"))
    try devices.v3.update(TripV3(first: "Mary Ann", last: "Cross"))
    try devices.sync()
    #expect(try devices.v3.item("rome") == TripV3(first: "Mary Ann", last: "Cross"))
    #expect(try devices.v1.item("rome")?.guide == "Mary Ann Cross")
    try devices.v1.update(TripV1(guide: "George Eliot"))
    try devices.sync()
    #expect(try devices.v3.item("rome") == TripV3(first: "George", last: "Eliot"))
  }

  @Test("once no older version is in use, parts that two devices change at once both count")
  func parts() throws {
    let store = try FavoritesStore.inMemory(clock: ManualClock(), seed: 7)
    let other = try FavoritesStore.inMemory(clock: ManualClock(), seed: 8)
    let (here, there) = (try store.favorites(of: TripV3.self), try other.favorites(of: TripV3.self))
    try here.add(TripV3(first: "Ada", last: "Lovelace"))
    try there.add(TripV3(id: "paris"))
    try MergeTests.ship(store, to: other)
    try MergeTests.ship(other, to: store)
    try here.update(TripV3(first: "Augusta", last: "Lovelace"))
    try there.update(TripV3(first: "Ada", last: "Byron"))
    try MergeTests.ship(store, to: other)
    try MergeTests.ship(other, to: store)
    #expect(try here.item("rome") == TripV3(first: "Augusta", last: "Byron"))
    #expect(try there.item("rome") == TripV3(first: "Augusta", last: "Byron"))
    #expect(store.conflicts.isEmpty)
  }

  @Test("a value that cannot be converted is passed over, and stays")
  func unreadable() throws {
    let devices = try TripDevices()
    try devices.meet()
    try devices.v3.add(TripV3(title: "Rome", duration: "60 s"))
    try devices.sync()
    try devices.v1.library.set([Field(name: "minutes", value: .string("an hour"))], of: "rome")
    try devices.v1.library.set([Field(name: "minutes", value: .string("two"))], of: "paris")
    try devices.sync()
    #expect(try devices.v3.item("rome")?.duration == "60 s")
    #expect(try devices.v3.item("paris") == TripV3(id: "paris"))
    try devices.v3.update(TripV3(title: "Roma", duration: "60 s"))
    try devices.v3.update(TripV3(id: "paris", title: "Paris"))
    #expect(devices.v3.library.item("rome")?.value(of: "minutes") == .string("an hour"))
    #expect(devices.v3.library.item("paris")?.value(of: "minutes") == .string("two"))
    try devices.v3.update(TripV3(title: "Roma", duration: "120 s"))
    #expect(devices.v3.library.item("rome")?.value(of: "minutes") == .int64(2))
  }

  /// Version 3 with a property that must have a value.
  private struct Strict: FavoriteItem {
    static let library = Trips.library
    static let schema = TripV3.schema
    static var template: Self? { Strict(id: "", title: "", duration: "0 s") }
    var id: String
    var title: String
    var duration: String
  }

  @Test("the template's value does not replace one that cannot be converted")
  func template() throws {
    let store = try FavoritesStore.inMemory()
    let strict = try store.favorites(of: Strict.self)
    try strict.library.add("rome", fields: [Field(name: "minutes", value: .string("an hour"))])
    var item = try #require(try strict.item("rome"))
    #expect(item.duration == "0 s")
    item.title = "Rome"
    try strict.update(item)
    #expect(strict.library.item("rome")?.value(of: "duration") == nil)
    item.duration = "5 s"
    try strict.update(item)
    #expect(try strict.item("rome")?.duration == "5 s")
  }

  @Test("a dropped field stays, for the versions that have it; unknown fields too")
  func dropped() throws {
    let devices = try TripDevices()
    try devices.meet()
    try devices.v1.add(TripV1(desc: "one", rating: 4))
    try devices.v1.library.set([Field(name: "mood", value: .string("calm"))], of: "rome")
    try devices.sync()
    try devices.v3.update(TripV3(title: "Rome", description: "two"))
    try devices.sync()
    #expect(try devices.v2.item("rome")?.rating == 4)
    #expect(devices.stored()["mood"] == .string("calm"))
  }

  @Test("one write is one value of a field inside write { } too")
  func transaction() throws {
    let devices = try TripDevices()
    try devices.meet()
    try devices.stores[2].write {
      try devices.v3.add(TripV3(description: "one", first: "Ada"))
      #expect(try devices.v3.item("rome") == TripV3(description: "one", first: "Ada"))
      // Of one commit the newest name counts.
      try devices.v3.library.set([Field(name: "desc", value: .string("two"))], of: "rome")
      #expect(try devices.v3.item("rome")?.description == "one")
      try devices.v3.update(TripV3(description: "three", first: "Ada"))
      #expect(devices.v3.list().first?.description == "three")
    }
    #expect(try devices.v3.item("rome") == TripV3(description: "three", first: "Ada"))
    try devices.sync()
    #expect(try devices.v1.item("rome") == TripV1(desc: "three", guide: "Ada"))
  }

  @Test("undo brings back what an older version wrote")
  func undo() throws {
    let devices = try TripDevices()
    try devices.meet()
    try devices.v1.add(TripV1(desc: "one", guide: "Ada Lovelace"))
    try devices.sync()
    try devices.v3.update(TripV3(description: "two", first: "Mary Ann", last: "Evans"))
    try devices.stores[2].undo(.lastCommits(1))
    #expect(try devices.v3.item("rome") == TripV3(description: "one", first: "Ada", last: "Lovelace"))
    try devices.sync()
    #expect(try devices.v1.item("rome") == TripV1(desc: "one", guide: "Ada Lovelace"))
  }

  @Test("a chosen side of a conflict is read whole, although several names are in conflict")
  func conflict() throws {
    let (store, other) = (
      try FavoritesStore.inMemory(clock: ManualClock(), seed: 7),
      try FavoritesStore.inMemory(clock: ManualClock(), seed: 8)
    )
    let old = try FavoritesStore.inMemory(clock: ManualClock(), seed: 9)
    let (here, there) = (try store.favorites(of: TripV3.self), try other.favorites(of: TripV3.self))
    try old.favorites(of: TripV1.self).add(TripV1(id: "oslo"))
    for store in [store, other] { try MergeTests.ship(old, to: store) }
    try here.update(TripV3(duration: "90 s"))
    try there.update(TripV3(duration: "150 s"))
    try MergeTests.ship(store, to: other)
    try MergeTests.ship(other, to: store)
    #expect(store.conflicts.map(\.register) == [.field("duration"), .field("minutes")])
    let lost = try #require(store.conflicts.first?.writes.last)
    try store.resolveConflicts(inFavorOf: lost.event)
    #expect(store.conflicts.isEmpty)
    #expect(lost.value == .field(.string(try #require(try here.item("rome")?.duration))))
  }

  @Test("batches, toggles and takeovers write as single changes do")
  func batches() throws {
    let devices = try TripDevices()
    try devices.meet()
    try devices.v3.add(contentsOf: [TripV3(id: "a", description: "a"), TripV3(id: "b", description: "b")])
    try devices.v3.update(contentsOf: [TripV3(id: "a", description: "aa"), TripV3(id: "b", description: "b")])
    try devices.v3.toggle(TripV3(id: "c", description: "c"))
    try devices.v3.migrate(from: [(TripV3(id: "d", description: "d"), nil)], origin: "import:test")
    try devices.sync()
    #expect(try ["a", "b", "c", "d"].map { try devices.v1.item($0)?.desc } == ["aa", "b", "c", "d"])
    try devices.v3.toggle(TripV3(id: "c", description: "other"))
    #expect(try devices.v3.item("c")?.description == "c")
    #expect(!devices.v3.contains("c"))
  }

  @Test("search finds what is stored under an older name, and decodes it under the newest")
  func search() throws {
    let devices = try TripDevices()
    try devices.v1.add(TripV1(desc: "eternal"))
    try devices.sync()
    #expect(try devices.v3.query.search("ETERNAL").items().map(\.description) == ["eternal"])
  }

  @Test("a tap on a model shows the item as it was tapped, before and after it is written")
  @MainActor
  func tap() async throws {
    let trips = try FavoritesStore.inMemory().favorites(of: TripV3.self)
    try await trips.update(TripV3(title: "Rome", description: "old", first: "Ann"))
    let model = FavoritesModel(trips)
    let tapped = TripV3(title: "Rome", description: "eternal", first: "Ada", last: "B", duration: "60 s")
    model.toggle(tapped)
    #expect(Array(model.items) == [tapped])
    await model.finishWriting()
    #expect(Array(model.items) == [tapped] && trips.list() == [tapped])
    model.remove("rome")
    #expect(model.items.isEmpty)
    await model.finishWriting()
    #expect(model.items.isEmpty && model.lastError == nil)
  }

  @Test("an item that encodes a replaced name is refused, with the new one")
  func replacedName() throws {
    struct Forgetful: FavoriteItem {
      static let library = Trips.library
      static let schema = TripV2.schema
      var id = "rome"
      var desc = "one"
    }
    let store = try FavoritesStore.inMemory()
    let trips = try store.favorites(of: Forgetful.self)
    let error = #expect(throws: HeartlogError.self) { try trips.add(Forgetful()) }
    #expect(error?.code == .invalidItem)
    #expect(error?.message.contains("replaced it with \"description\"") == true)
  }
}
