import Heartlog
import Testing

@testable import HeartlogShipping

@Suite("Objects that their writer deleted")
struct DeletedObjectsTests {
  @Test("are not asked for again and again")
  func askedOnce() throws {
    let objects = MemoryObjects()
    let stores = try (0..<2).map { _ in try FavoritesStore.inMemory() }
    let carriers = stores.map { _ in ObjectCarrier(objects) }
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
}
