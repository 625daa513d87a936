import Foundation
import Observation
import Testing

@testable import Heartlog

@Suite("Changes as they come")
struct ChangesTests {
  private let test = TestStore()

  @Test("own writes and those of another handle come alike, in order, with event and origin")
  func ownAndForeign() async throws {
    let store = try test.open { $0.origin = "app" }
    let other = try test.open { $0.origin = "other" }
    let changes = try store.records.changes
    try await store.records.add(Record(id: 1, title: "a"))
    try store.library("elsewhere").add("x")
    try await other.records.toggle(Record(id: 2, title: "b"))
    try store.refresh()
    var iterator = changes.makeAsyncIterator()
    var seen: [Change] = []
    for _ in 0..<2 {
      guard case .change(let change)? = await iterator.next() else { break }
      seen.append(change)
    }
    #expect(seen.map(\.event.item) == ["1", "2"] && seen.map(\.origin) == ["app", "other"])
    #expect(seen.map(\.id.sequence.rawValue) == [1, 3])
  }

  @Test("what another process writes comes without being asked for")
  func polling() async throws {
    let store = try test.open()
    let other = try test.open()
    var iterator = store.changes.makeAsyncIterator()
    try other.library("papers").add("a")
    guard case .change(let change)? = await iterator.next() else { throw Missing() }
    #expect(change.event.item == "a")
  }

  private struct Missing: Error {}

  @Test("a slow reader is told once that it missed some; then all is complete again")
  func slowReader() async throws {
    let store = try test.open { $0.durability = .buffered }
    let library = try store.library("papers")
    let changes = store.changes
    let many = ChangeSubscription.changesMax + 100
    for number in 0..<many { try library.add("\(number)") }
    var iterator = changes.makeAsyncIterator()
    var count = 0
    var hasMissed = false
    while !hasMissed {
      switch await iterator.next() {
      case .change: count += 1
      case .missed: hasMissed = true
      case nil: throw Missing()
      }
    }
    #expect(count == ChangeSubscription.changesMax)
    try library.add("last")
    guard case .change(let change)? = await iterator.next() else { throw Missing() }
    #expect(change.event.item == "last" && change.commit.rawValue == UInt64(many) + 1)
  }

  @Test("a stream ends when its task is cancelled, and when the store is closed")
  func ending() async throws {
    let store = try test.open()
    let cancelled = Task { [changes = store.changes] in for await _ in changes {} }
    let closed = Task { [changes = store.changes] in for await _ in changes {} }
    cancelled.cancel()
    await cancelled.value
    try store.close()
    await closed.value
  }

  @Test("a stream of a store that is closed ends at once")
  func closedBefore() async throws {
    let store = try FavoritesStore.inMemory()
    try store.close()
    for await notice in store.changes { Issue.record("\(notice) was told") }
  }

  @MainActor
  @Test("a model's views hear of taps, of other handles, and of nothing else")
  func model() async throws {
    let store = try test.open()
    let other = try test.open()
    let model = FavoritesModel(try store.records)
    let titles = Observations { model.items.map(\.title) }
    var iterator = titles.makeAsyncIterator()
    #expect(await iterator.next() == [])
    model.toggle(Record(id: 1, title: "a"))
    #expect(await iterator.next() == ["a"])
    // Written later, it would have another date.
    await model.finishWriting()
    test.clock.now += 1
    try await other.records.add(Record(id: 2, title: "b"))
    #expect(await iterator.next() == ["b", "a"])
    #expect(model.contains(2) && model.lastError == nil)
    try store.close()
    model.remove(2)
    await model.finishWriting()
    #expect(model.lastError?.code == .misuse)
  }
}
