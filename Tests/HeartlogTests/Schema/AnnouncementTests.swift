import HeartlogTesting
import Testing

@testable import Heartlog

@Suite("Versions of item types that devices announce")
struct AnnouncementTests {
  private func announced(by store: FavoritesStore) throws -> FieldValue? {
    try store.library("settings").item(FavoritesStore.settingsItem(of: store.replica))?
      .value(of: "schema/trips")
  }

  @Test("a device announces its version with its first write, and writes nothing before")
  func first() throws {
    let store = try FavoritesStore.inMemory()
    let trips = try store.favorites(of: TripV3.self)
    #expect(trips.list().isEmpty && !trips.contains("rome"))
    #expect(try !trips.remove("rome"))
    #expect(store.read(\.eventCount) == 0)
    try trips.add(TripV3(description: "one"))
    #expect(store.read(\.commitCount) == 1)
    let value = try #require(try announced(by: store))
    #expect(
      value.jsonValue.jsonText
        == #"{"oldNames":{"desc":[1,1],"guide":[1,2],"minutes":[1,2]},"version":3}"#)
    try trips.add(TripV3(id: "paris"))
    #expect(store.read(\.eventCount) == 3)
  }

  @Test("the first version announces nothing, unless the device announced another")
  func firstVersion() throws {
    let store = try FavoritesStore.inMemory()
    try store.favorites(of: TripV1.self).add(TripV1())
    #expect(try announced(by: store) == nil)
    try store.favorites(of: TripV2.self).add(TripV2(id: "paris"))
    #expect(try announced(by: store) != nil)
    let again = try store.favorites(of: TripV1.self)
    try again.remove("paris")
    #expect(SchemaAnnouncement(try announced(by: store))?.version == 1)
    let events = store.read(\.eventCount)
    try again.add(TripV1(id: "oslo"))
    #expect(store.read(\.eventCount) == events + 1)
  }

  @Test("a type without a schema of its own says nothing of its version")
  func plainType() throws {
    struct Slim: Codable, Identifiable, Sendable { var id: String }
    let store = try FavoritesStore.inMemory()
    try store.favorites(of: TripV2.self).add(TripV2())
    try store.favorites(of: Slim.self, in: Trips.library).add(Slim(id: "oslo"))
    #expect(SchemaAnnouncement(try announced(by: store))?.version == 2)
  }

  @Test("favorites can be opened and written inside write { }, and in a dry run")
  func insideWrite() throws {
    let store = try FavoritesStore.inMemory()
    let dry = try store.dryRun { try store.favorites(of: TripV3.self).add(TripV3(description: "one")) }
    #expect(dry.events.map(\.library) == ["trips", "settings"])
    try store.write { try store.favorites(of: TripV3.self).add(TripV3(description: "one")) }
    #expect(store.read(\.commitCount) == 1)
    #expect(SchemaAnnouncement(try announced(by: store))?.version == 3)
    try store.write { _ = try store.favorites(of: TripV1.self).item("rome") }
  }

  @Test("a device that announced nothing counts as version 1, until it is retired")
  func silent() throws {
    let (store, other) = (try FavoritesStore.inMemory(), try FavoritesStore.inMemory())
    let trips = try store.favorites(of: TripV2.self)
    try trips.add(TripV2(description: "one"))
    #expect(trips.library.item("rome")?.value(of: "desc") == nil)
    try other.library("papers").add("x")
    try MergeTests.ship(other, to: store)
    try trips.update(TripV2(description: "two"))
    #expect(trips.library.item("rome")?.value(of: "desc") == .string("two"))
    try store.retire(other.replica)
    try trips.update(TripV2(description: "three"))
    #expect(trips.library.item("rome")?.value(of: "desc") == .string("two"))
    #expect(try trips.item("rome")?.description == "three")
  }

  @Test("the version that this device ran before needs no older names")
  func ownPast() throws {
    let store = try FavoritesStore.inMemory()
    try store.favorites(of: TripV1.self).add(TripV1(desc: "one"))
    let trips = try store.favorites(of: TripV2.self)
    #expect(try trips.item("rome")?.description == "one")
    try trips.update(TripV2(description: "two"))
    #expect(try trips.item("rome")?.description == "two")
    #expect(trips.library.item("rome")?.value(of: "desc") == .string("one"))
  }

  @Test("running schemas tell which device keeps which old names in use")
  func running() throws {
    let devices = try TripDevices()
    try devices.meet()
    let store = devices.stores[2]
    func running() -> [ReplicaID: RunningSchema] {
      Dictionary(uniqueKeysWithValues: store.runningSchemas.map { ($0.device.replica, $0) })
    }
    let replicas = devices.stores.map(\.replica)
    #expect(running().values.allSatisfy { $0.library == "trips" })
    #expect(replicas.map { running()[$0]?.version } == [1, 2, 3])
    #expect(replicas.map { running()[$0]?.isAnnounced } == [false, true, true])
    #expect(
      replicas.map { running()[$0]?.oldNames } == [["desc", "guide", "minutes"], ["guide", "minutes"], []])
    try store.retire(replicas[0])
    #expect(replicas.map { running()[$0]?.oldNames } == [[], ["guide", "minutes"], []])
  }

  @Test("an announcement that is none counts as none")
  func malformed() {
    for value in [FieldValue.null, .int64(3), .string("3")] { #expect(SchemaAnnouncement(value) == nil) }
  }

  @Test("a commit that is full leaves the announcement to the next")
  func full() throws {
    let store = try FavoritesStore.inMemory()
    let trips = try store.favorites(of: TripV2.self)
    let library = try store.library("papers")
    try store.write {
      for number in 0..<Limits.commitEventsMax - 1 { try library.add("\(number)") }
      try trips.add(TripV2())
    }
    #expect(try announced(by: store) == nil)
    try trips.add(TripV2(id: "paris"))
    #expect(try announced(by: store) != nil)
  }
}
