import Dispatch
import Heartlog
import HeartlogFiles
import HeartlogTesting
import Synchronization
import TestSupport
import Testing

@testable import HeartlogSync

@Suite("Syncs at the same time")
struct ConcurrentSyncTests {
  @Test(
    "stores that sync with each other and through a folder all at once, while they are written to, agree in the end",
    arguments: ObjectPlace.Kind.allCases)
  func rounds(kind: ObjectPlace.Kind) throws {
    let seed = SeededRandom.testSeed()
    let clock = ManualClock()
    let stores = try (1...4).map { try FavoritesStore.inMemory(clock: clock, seed: UInt64($0)) }
    // They are in one vault. Pairs that first meet at the same time found several, which a person has to join.
    for store in stores.dropFirst() {
      _ = try StoreCarrier(store, description: "peer").sync(stores[0], options: SyncOptions())
    }
    let folder = try ObjectPlace(kind)
    let rounds = 40
    let written = Mutex<Set<String>>([])
    let failures = Mutex<[String]>([])
    @Sendable func note(_ body: () throws -> Void) {
      do { try body() } catch { failures.withLock { $0.append("\(error)") } }
    }
    let group = DispatchGroup()
    @Sendable func start(_ label: String, _ body: @escaping @Sendable () -> Void) {
      DispatchQueue(label: label).async(group: group, execute: body)
    }
    for (number, store) in stores.enumerated() {
      start("writing \(number)") {
        for round in 0..<rounds * 3 {
          note {
            let name = "\(number)-\(round)"
            _ = try store.library("papers").add(name)
            written.withLock { _ = $0.insert(name) }
            _ = try store.library("cities").toggle("\(round % 20)")
          }
        }
      }
      for thread in 0..<2 {
        start("syncing \(number) \(thread)") {
          var chance = SeededGenerator(seed: seed &+ UInt64(number * 2 + thread))
          for _ in 0..<rounds {
            note {
              let peer = (number + Int.random(in: 1..<stores.count, using: &chance)) % stores.count
              if Int.random(in: 0..<4, using: &chance) == 0 {
                _ = try folder.sync(store)
              } else {
                let report = try StoreCarrier(stores[peer], description: "").sync(
                  store, options: SyncOptions())
                #expect(report.isComplete && report.forks.isEmpty, "seed \(seed): \(report)")
              }
            }
          }
        }
      }
    }
    group.wait()
    #expect(failures.withLock { $0 }.isEmpty, "seed \(seed)")
    for _ in 0..<2 { for store in stores { _ = try folder.sync(store) } }
    #expect(Set(stores.map(\.digest)).count == 1, "seed \(seed)")
    for store in stores {
      #expect(try store.roots() == stores[0].roots(), "seed \(seed)")
      #expect(try store.verify().streams.allSatisfy { $0.finding == nil }, "seed \(seed)")
      #expect(Set(store.read { $0.favoriteIDs(in: "papers") }) == written.withLock { $0 }, "seed \(seed)")
    }
  }
}
