import HeartlogCrashModel
import Heartlog
import HeartlogFiles
import HeartlogTesting
import TestSupport
import Testing

@testable import HeartlogSync

@Suite("Stores that sync")
struct StoreSyncTests {
  @Test("a signed stream that continues in several runs is taken by the serving store in one sync")
  func severalRuns() throws {
    let (one, other) = (try FavoritesStore.inMemory(), try FavoritesStore.inMemory())
    let papers = try one.library("papers")
    try papers.add("first")
    let carrier = StoreCarrier(other)
    _ = try carrier.sync(one, options: SyncOptions())
    let known = try #require(try other.streamHead(of: one.replica))
    #expect(known.checkpoint != nil)
    // A run has at most 16 MiB.
    let note = Field(name: "note", value: .string(String(repeating: "x", count: 1_000_000)))
    for commit in 1...3 {
      try one.write { for item in 1...8 { try papers.add("\(commit)-\(item)", fields: [note]) } }
    }
    let run = try one.streamRun(
      of: one.replica, after: known.commit.rawValue, upTo: CommitNumber(rawValue: 4))
    #expect(run?.lastCommit == CommitNumber(rawValue: 3))
    let report = try carrier.sync(one, options: SyncOptions())
    #expect(report.sent.commits == 3 && report.isComplete)
    #expect(other.digest == one.digest)
  }

  private func store(_ seed: UInt64, _ clock: ManualClock) throws -> FavoritesStore {
    try .inMemory(clock: clock, seed: seed)
  }

  private func sync(_ one: FavoritesStore, _ other: FavoritesStore) throws -> SyncReport {
    try StoreCarrier(other, description: "other").sync(one, options: SyncOptions())
  }

  @Test("two stores that wrote apart hold the same favorites afterwards, and the last tap won")
  func bothWays() throws {
    let clock = ManualClock()
    let (one, other) = (try store(1, clock), try store(2, clock))
    for number in 0..<50 {
      clock.advance(by: 1)
      _ = try one.library("papers").add("\(number)")
      clock.advance(by: 1)
      _ = try other.library("papers").toggle("\(number % 30)")
    }
    let report = try sync(one, other)
    #expect(report.received.events == 50 && report.sent.events == 50 && report.changedItems > 0)
    #expect(one.digest == other.digest)
    let again = try sync(other, one)
    #expect(again.received.commits == 0 && again.sent.commits == 0)
  }

  @Test("what one process receives from another device is announced to the other processes of its store")
  func announced() async throws {
    let files = MemoryFileSystem()
    let receiver = try FavoritesStore(at: "/store", on: files, options: StoreOptions())
    let observer = try FavoritesStore(at: "/store", on: files, options: StoreOptions())
    let device = try store(1, ManualClock())
    var changes = observer.changes.makeAsyncIterator()
    #expect(files.watchCount == 1)
    for round in 0..<3 {
      _ = try device.library("papers").add("\(round)")
      _ = try sync(receiver, device)
      guard case .change(let change)? = await changes.next() else { throw CancellationError() }
      #expect(change.event.item == "\(round)" && change.id.replica == device.replica)
    }
  }

  @Test(
    "three stores that sync in random pairs, and through a folder, agree",
    arguments: ObjectPlace.Kind.allCases, [1, 2, 3] as [UInt64])
  func pairs(kind: ObjectPlace.Kind, seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let clock = ManualClock()
    let stores = [try store(1, clock), try store(2, clock), try store(3, clock)]
    let files = try ObjectPlace(kind)
    for _ in 0..<40 {
      for store in stores {
        for _ in 0..<Int.random(in: 0...4, using: &random) {
          clock.advance(by: Double.random(in: -5...10, using: &random))
          _ = try store.library("cities").toggle("\(Int.random(in: 0..<20, using: &random))")
        }
      }
      let one = Int.random(in: 0..<3, using: &random)
      if Bool.random(using: &random) {
        _ = try sync(stores[one], stores[(one + 1) % 3])
      } else {
        _ = try files.sync(stores[one])
      }
    }
    for _ in 0..<2 { for store in stores { _ = try files.sync(store) } }
    #expect(Set(stores.map(\.digest)).count == 1, "seed \(seed)")
    #expect(try stores[0].roots() == stores[1].roots(), "seed \(seed)")
  }

  @Test(
    "one new event between stores of two streams moves at most 400 bytes, and 1,300 more if it is signed and cosigned",
    arguments: [(false, UInt64(400)), (true, 1_700)])
  func budget(isSigned: Bool, bytesMax: UInt64) throws {
    let clock = ManualClock()
    func store(_ seed: UInt64) throws -> FavoritesStore {
      var options = StoreOptions()
      options.clock = { clock.milliseconds }
      if !isSigned { options.deviceKey = .none }
      return try .inMemory(options: options)
    }
    let (one, other) = (try store(1), try store(2))
    for store in [one, other] {
      for number in 0..<500 {
        clock.advance(by: 60)
        _ = try store.library("papers").toggle("2403.\(number)v1")
      }
    }
    _ = try sync(one, other)
    clock.advance(by: 60)
    _ = try one.library("cities").add("2950159")
    let report = try Dialogue.between(one, other).report()
    let bytes = report.received.bytes + report.sent.bytes
    print("one new event: \(bytes) bytes")
    #expect(report.sent.commits == 1 && bytes <= bytesMax)
  }
}
