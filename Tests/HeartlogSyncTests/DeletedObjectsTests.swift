import HeartlogSimulator
import Heartlog
import Synchronization
import Testing

@testable import HeartlogSync

@Suite("Objects that their writer deleted")
struct DeletedObjectsTests {
  @Test("are not asked for again and again")
  func askedOnce() throws {
    let objects = MemoryPlace()
    let stores = try (0..<2).map { _ in try FavoritesStore.inMemory() }
    let carriers = stores.map { _ in PlaceCarrier(objects) }
    func syncAll() throws {
      for (store, carrier) in zip(stores, carriers) {
        _ = try carrier.sync(store, options: SyncOptions())
      }
    }
    for number in 0..<12 {
      let fields = [Field(name: "title", value: .string("\(number)"))]
      try stores[0].library("papers").set(fields, of: "paper \(number)")
      try syncAll()
    }
    // The newest checkpoint replaces the one before, and merged files replace small ones.
    #expect(objects.putCount > objects.objects.count)
    // Both have cosigned the last checkpoint after these.
    for _ in 0..<3 { try syncAll() }
    let before = objects.missCount
    for _ in 0..<3 { try syncAll() }
    #expect(objects.missCount == before)
    #expect(try stores[1].library("papers").item("paper 11") != nil)
  }

  @Test(
    "are found merged with others in the same sync, also after many files that are damaged",
    arguments: [0, 9])
  func mergedMeanwhile(damagedCount: Int) throws {
    let objects = MemoryPlace()
    let (writer, reader) = (try FavoritesStore.inMemory(), try FavoritesStore.inMemory())
    @Sendable func write(_ numbers: Range<Int>) throws {
      for number in numbers {
        try writer.library("papers").add("paper \(number)")
        _ = try PlaceCarrier(objects).sync(writer, options: SyncOptions())
      }
    }
    try write(0..<3)
    let last = try #require(objects.objects.keys.filter { $0.hasSuffix(RunFileName.ending) }.max())
    for number in 0..<damagedCount {
      // They reach further, so they are read first.
      try objects.put(
        "\(writer.replica)/\(writer.replica)/0000000000000001-000000000000090\(number)-0000000000000000-0000000000000000.run",
        [1])
    }
    let watched = WatchedObjects(objects, before: last) { try? write(3..<12) }
    _ = try PlaceCarrier(watched).sync(reader, options: SyncOptions())
    #expect(objects.missCount > 0)
    #expect(reader.digest == writer.digest)
  }
}

/// Objects at a place, and what happens there before one of them is read.
private final class WatchedObjects: Place {
  private let objects: any Place
  private let name: String
  private let happens: Mutex<(@Sendable () -> Void)?>

  var description: String { objects.description }

  init(_ objects: any Place, before name: String, _ happens: @escaping @Sendable () -> Void) {
    self.objects = objects
    self.name = name
    self.happens = Mutex(happens)
  }

  func list(after cursor: PlaceCursor?) throws(HeartlogError) -> ObjectList {
    try objects.list(after: cursor)
  }

  func get(_ name: String, bytesMax: Int) throws(HeartlogError) -> ObjectContent {
    if name == self.name {
      let body = happens.withLock { happens in
        defer { happens = nil }
        return happens
      }
      body?()
    }
    return try objects.get(name, bytesMax: bytesMax)
  }

  func put(_ name: String, _ bytes: [UInt8]) throws(HeartlogError) { try objects.put(name, bytes) }

  func delete(_ name: String) throws(HeartlogError) { try objects.delete(name) }
}
