import HeartlogCrashModel
import Foundation
import HeartlogFiles
import Testing

@testable import Heartlog

@Suite("Reads see what others wrote")
struct ReadingOthersTests {
  private let test = TestStore()

  @Test(
    "two handles on one store see each other's writes, in memory and on a disk", arguments: [false, true])
  func twoHandles(onDisk: Bool) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    func open() throws -> FavoritesStore { try onDisk ? FavoritesStore(at: folder) : test.open() }
    let a = try open()
    let b = try open()
    try a.records.add(Record(id: 1, title: "a"))
    #expect(try b.records.contains(1) && b.records.item(1)?.title == "a")
    #expect(try b.records.toggle(Record(id: 1, title: "a")) == false)
    #expect(try !a.records.contains(1))
    #expect(try a.allCommits().map(\.number.rawValue) == [1, 2])
    #expect(a.digest == b.digest)
  }

  @Test(
    "every kind of read looks first",
    arguments: [
      { try $0.records.contains(1) }, { try $0.records.item(1) != nil }, { try $0.records.count == 1 },
      { try $0.records.ids == [1] }, { try $0.records.list(limit: 1).count == 1 },
      { try $0.records.query.search("a").items().count == 1 }, { try $0.library("records").all().count == 1 },
      { try $0.library("records").items().count == 1 }, { $0.read { $0.eventCount == 1 } },
      { store in try store.dryRun { try store.records.add(Record(id: 1, title: "a")) }.events.isEmpty },
    ] as [@Sendable (FavoritesStore) throws -> Bool])
  func kinds(_ read: @Sendable (FavoritesStore) throws -> Bool) throws {
    let reader = try test.open()
    try test.open().records.add(Record(id: 1, title: "a"))
    #expect(try read(reader))
  }

  @Test("an app may ask that only refresh and writes look")
  func manual() throws {
    let writer = try test.open()
    let reader = try test.open { $0.refreshesAutomatically = false }
    try writer.records.add(Record(id: 1, title: "a"))
    #expect(try !reader.records.contains(1) && reader.records.count == 0)
    try reader.refresh()
    #expect(try reader.records.contains(1))
    try writer.records.add(Record(id: 2, title: "b"))
    try reader.records.add(Record(id: 3, title: "c"))
    #expect(try reader.records.contains(2))
  }

  @Test("a read does not wait for a writer that holds the lock")
  func lockedStore() throws {
    let writer = try test.open()
    let reader = try test.open { $0.lockTimeout = .zero }
    try writer.records.add(Record(id: 1, title: "a"))
    try writer.write {
      try writer.records.add(Record(id: 2, title: "b"))
      #expect(throws: HeartlogError.self) { try reader.records.remove(1) }
      #expect(try reader.records.ids == [1])
    }
    #expect(try reader.records.count == 2)
  }

  @Test("a read does not wait for a closure of its own store that another thread runs")
  func ownClosure() throws {
    let store = try test.open()
    let other = try test.open()
    try other.records.add(Record(id: 1, title: "a"))
    try store.write {
      try store.records.add(Record(id: 2, title: "b"))
      let seen = Monitor<[Int]>([])
      let reader = Thread { seen.withLock { $0 = (try? store.records.ids) ?? [] } }
      reader.start()
      while !reader.isFinished { Thread.sleep(forTimeInterval: 0.001) }
      #expect(seen.withLock { $0 } == [1])
    }
  }

  @Test("what a closure sees does not change while it runs")
  func closures() throws {
    let store = try test.open()
    let other = try test.open()
    let outcome = try store.dryRun {
      try other.records.add(Record(id: 1, title: "a"))
      return try store.records.contains(1) || store.records.count > 0 || !store.records.ids.isEmpty
    }
    #expect(!outcome.result)
    #expect(try store.records.contains(1))
  }

  @Test(
    "what cannot be read leaves what was read before; refresh throws why, and the next commit is tried again")
  func unreadable() throws {
    let writer = try test.open()
    let reader = try test.open()
    try writer.records.add(Record(id: 1, title: "a"))
    #expect(try reader.records.contains(1))
    try writer.records.add(Record(id: 2, title: "b"))
    test.files.failNext(.read, code: EIO, times: 2)
    #expect(try reader.records.ids == [1])
    // Not tried again until there is something new.
    #expect(try reader.records.ids == [1])
    let error = #expect(throws: HeartlogError.self) { try reader.refresh() }
    #expect(error?.code == .inputOutput)
    try writer.records.add(Record(id: 3, title: "c"))
    #expect(try Set(reader.records.ids) == [1, 2, 3])
  }

  @Test("a reader that cannot write to the folder sees what is written there, and its subscribers are told")
  func withoutPermission() async throws {
    let writer = try test.open()
    try await writer.records.add(Record(id: 1, title: "a"))
    test.files.isReadOnly = true
    let reader = try test.open { $0.access = .readOnly }
    test.files.isReadOnly = false
    #expect(try reader.records.contains(1))
    var changes = reader.changes.makeAsyncIterator()
    #expect(test.files.watchCount == 0)
    try await writer.records.add(Record(id: 2, title: "b"))
    #expect(try reader.records.contains(2))
    try await writer.records.add(Record(id: 3, title: "c"))
    for id in ["2", "3"] {
      guard case .change(let change)? = await changes.next() else { throw CancellationError() }
      #expect(change.event.item == id)
    }
  }

  @Test("a change is told once, whether a read or a refresh found it")
  func toldOnce() async throws {
    let store = try test.open()
    let other = try test.open()
    var changes = store.changes.makeAsyncIterator()
    for id in 1...3 {
      try await other.records.add(Record(id: id, title: "a"))
      #expect(try store.records.contains(id))
      try store.refresh()
    }
    try await store.records.remove(1)
    var told: [String] = []
    for _ in 1...4 { if case .change(let change)? = await changes.next() { told.append(change.event.item) } }
    #expect(told == ["1", "2", "3", "1"])
  }

  @Test("own writes leave nothing to look for")
  func ownWrites() throws {
    let store = try test.open()
    let buffered = try test.open { $0.durability = .buffered }
    for id in 1...3 {
      try store.records.add(Record(id: id, title: "a"))
      #expect(store.seen.isCurrent)
    }
    try buffered.records.add(Record(id: 4, title: "b"))
    // The lock is kept as a lease.
    #expect(buffered.seen.isCurrent && !store.seen.isCurrent)
    try buffered.seal()
    #expect(buffered.seen.isCurrent)
  }

  @Test("many threads of two handles read while both write, and none sees a commit disappear")
  func manyThreads() throws {
    let stores = [try test.open(), try test.open()]
    let failures = Monitor(0)
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      let store = stores[thread % 2]
      var last = 0
      for round in 0..<20 {
        if thread < 2 { _ = try? store.records.add(Record(id: thread * 1_000 + round, title: "a")) }
        let count = (try? store.records.count) ?? 0
        if count < last || (thread < 2 && count <= round) { failures.withLock { $0 += 1 } }
        last = count
      }
    }
    #expect(failures.withLock { $0 } == 0)
    #expect(try stores[0].records.count == 40 && stores[1].records.count == 40)
  }
}
