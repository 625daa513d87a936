import HeartlogFiles
import HeartlogTesting
import Observation
import TestSupport
import Testing

@testable import Heartlog

@MainActor
@Suite("A model of favorites", .timeLimit(.minutes(5)))
struct FavoritesModelTests {
  private let test = TestStore()

  /// Waits until what a view reads fulfills a condition.
  private func wait(until condition: @escaping @MainActor @Sendable () -> Bool) async {
    for await isFulfilled in Observations({ condition() }) where isFulfilled { return }
  }

  @Test(
    "it shows what the favorites list, whatever happens to them", arguments: 1...12 as ClosedRange<UInt64>)
  func generated(seed: UInt64) async throws {
    print("model: seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let store = try test.open()
    let other = try test.open()
    let records = try store.records
    let order = ListOrder.allCases.randomElement(using: &random) ?? .byID
    let limits: [Int?] = [nil, 1, 5, 20]
    let limit = limits[Int.random(in: 0..<4, using: &random)]
    let model = FavoritesModel(records.query.sorted(by: order).limit(limit))
    for step in 0..<60 {
      test.clock.now += Int64.random(in: 0...2, using: &random)
      let id = Int.random(in: 0..<30, using: &random)
      let record = Record(id: id, title: "\(step)")
      switch Int.random(in: 0..<12, using: &random) {
      case 0...3: model.toggle(record)
      case 4: model.remove(id)
      case 5: try await other.records.toggle(record)
      case 6: try await other.records.update(record)
      case 7:
        // Cannot be decoded until it is written again.
        try other.library("records").add("\(id)", fields: [Field(name: "title", value: .int64(1))])
      case 8: try other.records.add(contentsOf: (0..<25).map { Record(id: $0, title: "many") })
      case 9: try other.records.remove(contentsOf: (0..<20).map { $0 })
      case 10: model.search = model.search.isEmpty ? "\(id % 10)" : ""
      default: await Task.yield()
      }
      if Int.random(in: 0..<4, using: &random) == 0 { try store.refresh() }
      guard Int.random(in: 0..<6, using: &random) == 0 else { continue }
      await model.finishWriting()
      try store.refresh()
      let page =
        model.search.isEmpty
        ? records.page(order: order, limit: limit)
        : records.read(records.library.search(model.search, order: order), upTo: limit)
      // With a limit, or in a search, it depends on what was looked at.
      let failures =
        model.search.isEmpty && limit == nil ? page.failures.map { $0.id }.sorted() : nil
      await wait {
        !model.isLoading && Array(model.items) == page.items
          && (failures == nil || failures == model.failures.map { $0.id }.sorted())
      }
      #expect(page.items.allSatisfy { model.contains($0.id) })
    }
  }

  @Test("a tap shows before it is written, also for items that are not in the list")
  func optimistic() async throws {
    let files = GatedFiles()
    var options = StoreOptions()
    options.clock = { [test] in test.clock.now }
    let store = try FavoritesStore(at: "/store", on: files, options: options)
    let records = try store.records
    try await records.add(Record(id: 1, title: "a"))
    let model = FavoritesModel(records.query.limit(1))
    files.shut()
    model.remove(1)
    model.toggle(Record(id: 2, title: "b"))
    test.clock.now += 1
    model.toggle(Record(id: 3, title: "c"))
    #expect(model.items.map(\.id) == [3] && !model.contains(1) && model.contains(2) && model.contains(3))
    // Nothing is written yet.
    #expect(records.contains(1) && !records.contains(2))
    model.toggle(Record(id: 3, title: "c"))
    #expect(!model.contains(3))
    files.open()
    await model.finishWriting()
    #expect(records.ids == [2] && model.lastError == nil)
    await wait { model.items.map(\.id) == [2] }
  }

  @Test("a tap that cannot be written is taken back and told")
  func failure() async throws {
    let store = try test.open()
    let records = try store.records
    try await records.add(Record(id: 1, title: "a"))
    let model = FavoritesModel(records)
    try store.close()
    model.remove(1)
    model.toggle(Record(id: 2, title: "b"))
    #expect(model.items.map(\.id) == [2])
    await model.finishWriting()
    await wait { model.items.map(\.id) == [1] }
    #expect(model.lastError?.code == .misuse && model.contains(1) && !model.contains(2))
  }

  private struct Reading: Codable, Identifiable {
    let id: String
    var value = 1.0
  }

  @Test("a failed tap is kept with its item until it is dismissed, or until the same item is written")
  func failedTaps() async throws {
    let readings = try test.open().favorites(of: Reading.self, in: "readings")
    let model = FavoritesModel(readings)
    for id in ["a", "b", "c"] { model.toggle(Reading(id: id, value: .nan)) }
    model.toggle(Reading(id: "d"))
    await model.finishWriting()
    #expect(model.failedTaps.map(\.id) == ["a", "b", "c"] && model.items.map(\.id) == ["d"])
    #expect(
      model.failedTaps.allSatisfy { $0.error.code == .invalidItem } && model.lastError?.code == .invalidItem)
    model.toggle(Reading(id: "c"))
    model.toggle(Reading(id: "a", value: .nan))
    await model.finishWriting()
    #expect(model.failedTaps.map(\.id) == ["b", "a"])
    model.dismissFailure(of: "b")
    #expect(model.failedTaps.map(\.id) == ["a"])
    // As the binding of an alert does.
    model.lastError = nil
    #expect(model.failedTaps.isEmpty && model.lastError == nil)
  }

  @Test("a tap is written with its own time, however late it is written")
  func timesOfTaps() async throws {
    let files = GatedFiles()
    var options = StoreOptions()
    options.clock = { [test] in test.clock.now }
    let store = try FavoritesStore(at: "/store", on: files, options: options)
    let records = try store.records
    let model = FavoritesModel(records)
    let start = test.clock.now
    files.shut()
    for id in [3, 1, 2] {
      model.toggle(Record(id: id, title: "\(id)"))
      test.clock.now += 1_000
    }
    model.remove(3)
    test.clock.now += 60_000
    let shown = model.items.map(\.id)
    files.open()
    await model.finishWriting()
    #expect(shown == [2, 1] && records.list().map(\.id) == shown && model.items.map(\.id) == shown)
    #expect(try store.allCommits().map { $0.wallTime - start } == [0, 1_000, 2_000, 3_000])
  }

  @Test("items of the same millisecond are listed in the order of the writes, here and by a model")
  func sameMillisecond() async throws {
    let store = try test.open()
    let records = try store.records
    let ids = [5, 1, 9, 3, 7]
    try records.add(contentsOf: ids.map { Record(id: $0, title: "") })
    let models = [FavoritesModel(records), FavoritesModel(records.query.sorted(by: .oldestFirst))]
    for id in [2, 8] {
      models[0].toggle(Record(id: id, title: ""))
      await models[0].finishWriting()
    }
    // What is a favorite already stays where it is.
    try await records.add(Record(id: 9, title: ""))
    let expected = ids + [2, 8]
    await wait {
      models[1].items.map(\.id) == expected && Array(models[0].items.map(\.id).reversed()) == expected
    }
    @Sendable nonisolated func check(_ records: Favorites<Record>, _ expected: [Int]) {
      #expect(records.list(order: .oldestFirst).map(\.id) == expected)
      #expect(records.list().map(\.id) == Array(expected.reversed()))
      #expect(records.list(limit: 3).map(\.id) == Array(expected.reversed().prefix(3)))
    }
    check(records, expected)
    try await store.write {
      try records.add(Record(id: 4, title: ""))
      check(records, expected + [4])
      try records.remove(5)
      try records.add(Record(id: 5, title: ""))
      check(records, [1, 9, 3, 7, 2, 8, 4, 5])
    }
    check(records, [1, 9, 3, 7, 2, 8, 4, 5])
    _ = try store.snapshot()
    try await records.add(Record(id: 6, title: ""))
    try store.close()
    check(try test.open().records, [1, 9, 3, 7, 2, 8, 4, 5, 6])
  }

  @Test("a tap is written although its model is gone")
  func modelIsGone() async throws {
    let records = try test.open().records
    let changes = records.changes
    var model: FavoritesModel? = FavoritesModel(records)
    weak let gone = model
    model?.toggle(Record(id: 1, title: "a"))
    model = nil
    #expect(gone == nil)
    for await notice in changes {
      if case .change = notice { break }
    }
    #expect(records.contains(1))
  }

  @Test("a long list begins with its first items, and what changes meanwhile is in it at the end")
  func longList() async throws {
    let records = try test.open().records
    try records.add(contentsOf: (0..<3_000).map { Record(id: $0, title: "\($0)") })
    test.clock.now += 1
    let model = FavoritesModel(records)
    #expect(model.items.count == 200 && model.isLoading)
    model.toggle(Record(id: 9_999, title: "new"))
    model.remove(17)
    #expect(model.items.first?.id == 9_999)
    await model.finishWriting()
    await wait { !model.isLoading && model.items.count == 3_000 }
    #expect(Array(model.items) == records.list())
  }

  @Test("order, limit and search can change")
  func settings() async throws {
    let records = try test.open().records
    for (id, title) in [(1, "Ode"), (2, "Elegy"), (3, "ode to joy")] {
      test.clock.now += 1
      try await records.add(Record(id: id, title: title))
    }
    let model = FavoritesModel(records)
    #expect(model.items.map(\.id) == [3, 2, 1])
    model.query = model.query.sorted(by: .oldestFirst)
    await wait { model.items.map(\.id) == [1, 2, 3] }
    model.query = model.query.limit(2)
    await wait { model.items.map(\.id) == [1, 2] }
    model.search = "ode"
    await wait { model.items.map(\.id) == [1, 3] }
    model.toggle(Record(id: 4, title: "Ode IV"))
    model.remove(1)
    #expect(model.items.map(\.id) == [3])
    await wait { model.items.map(\.id) == [3, 4] }
    model.search = ""
    await wait { model.items.map(\.id) == [2, 3] }
  }

  @Test(
    "while it reads, a model has the items that were there before; a short list is complete from the start")
  func loading() async throws {
    let records = try test.open().records
    try records.add(contentsOf: (0..<300).map { Record(id: $0, title: "\($0)") })
    let model = FavoritesModel(records.query.sorted(by: .byID).limit(3))
    let first = Array(model.items)
    #expect(first == records.list(order: .byID, limit: 3) && !model.isLoading)
    model.query = model.query.limit(nil)
    #expect(model.isLoading && Array(model.items) == first)
    await wait { !model.isLoading && model.items.count == 300 }
    model.search = "29"
    #expect(model.isLoading && model.items.count == 300)
    await wait { !model.isLoading }
    #expect(try Array(model.items) == records.query.search("29").sorted(by: .byID).items())
  }

  @Test("whether an item is a favorite is told to views that do not list it, whoever writes it")
  func containing() async throws {
    let store = try test.open()
    let model = FavoritesModel(try store.records.query.sorted(by: .oldestFirst).limit(1))
    let other = try test.open().records
    let isTold = Task { await wait { model.contains(2) } }
    await Task.yield()
    for id in [1, 2] {
      test.clock.now += 1
      try await other.add(Record(id: id, title: ""))
    }
    try store.refresh()
    await isTold.value
    await wait { model.items.map(\.id) == [1] }
    #expect(model.contains(1) && model.favorites.contains(2))
    // A tap on what is none is no error.
    model.remove(7)
    await model.finishWriting()
    #expect(model.failedTaps.isEmpty && !model.contains(7))
    model.lastError = HeartlogError(.misuse, "cannot be set")
    #expect(model.lastError == nil)
  }

  @Test("while a lower limit is being applied, a tap moves no other item")
  func lowerLimit() async throws {
    let records = try test.open().records
    let items = [1, 2, 3, 5, 6].map { Record(id: $0, title: "t") }
    try records.add(contentsOf: items)
    let model = FavoritesModel(records.query.sorted(by: .byID))
    model.query = model.query.limit(2)
    model.toggle(Record(id: 4, title: "t"))
    model.remove(4)
    #expect(Array(model.items) == items)
    await model.finishWriting()
    await wait { !model.isLoading && model.items.map(\.id) == [1, 2] }
  }

  @Test("ids that look alike are two items")
  func looksAlike() async throws {
    struct Named: Codable, Identifiable, Sendable { var id: String }
    let named = try test.open().favorites(of: Named.self, in: "named")
    let model = FavoritesModel(named.query.sorted(by: .byID))
    model.toggle(Named(id: "e\u{301}"))
    model.toggle(Named(id: "\u{e9}"))
    #expect(model.items.count == 2)
    await model.finishWriting()
    model.remove("\u{e9}")
    #expect(model.items.map { Array($0.id.unicodeScalars).count } == [2])
  }
}
