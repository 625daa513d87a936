import HeartlogTesting
import Observation
import TestSupport
import Testing

@testable import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite("Queries", .timeLimit(.minutes(5)))
struct QueryTests {
  private let test = TestStore()

  private func filled(_ records: [Record]) throws -> Favorites<Record> {
    let favorites = try test.open().records
    for record in records {
      test.clock.now += 1
      try favorites.add(record)
    }
    return favorites
  }

  private func titles(_ titles: String...) throws -> Favorites<Record> {
    try filled(titles.enumerated().map { Record(id: $0.offset, title: $0.element) })
  }

  @Test("texts are sorted as people do: without case and diacritics, and numbers in them by value")
  func texts() throws {
    let records = try titles(
      "Part 10", "éclair", "Zebra", "part 9", "Éclair", "apple", "Part 009b", "Straße", "strasse 2", "part",
      "10 more", "9 more", "2")
    let sorted = try records.query.sorted(by: \.title).items().map(\.title)
    #expect(
      sorted == [
        "2", "9 more", "10 more", "apple", "Éclair", "éclair", "part", "part 9", "Part 009b", "Part 10",
        "Straße",
        "strasse 2", "Zebra",
      ])
    // Equal but for case and diacritics: the newest favorite first, in both directions.
    let reverse = try records.query.sorted(by: \.title, order: .reverse).items().map(\.title)
    #expect(
      reverse == [
        "Zebra", "strasse 2", "Straße", "Part 10", "Part 009b", "part 9", "part", "Éclair", "éclair",
      ] + sorted[..<4].reversed())
  }

  @Test(
    "of equal texts and values the newest favorite comes first; items without a value come last in both directions"
  )
  func equals() throws {
    let records = try filled([
      Record(id: 1, title: "b", year: 2020), Record(id: 2, title: "a"), Record(id: 3, title: "b", year: -5),
      Record(id: 4, title: "b", year: 2020), Record(id: 5, title: "c"),
    ])
    #expect(try records.query.sorted(by: \.title).ids() == [2, 4, 3, 1, 5])
    #expect(try records.query.sorted(by: \.year).ids() == [3, 4, 1, 5, 2])
    #expect(try records.query.sorted(by: \.year, order: .reverse).ids() == [4, 1, 3, 5, 2])
    #expect(try records.query.sorted(by: \.id, order: .reverse).first()?.id == 5)
    #expect(try records.query.sorted(by: \.tags.description).count() == 5)
  }

  private struct Reading: Codable, Identifiable, Sendable, Equatable {
    var id: String
    var rating: Double
    var isDone = false
    var due: Date
    var level: UInt8
  }

  @Test("numbers, dates and any other type that can be compared are sorted by value")
  func values() throws {
    let readings = try test.open().favorites(of: Reading.self, in: "readings")
    for (id, rating, due, level) in [("a", 2.5, 3.0, 200), ("b", -1, 1, 3), ("c", 10, 2, 20)]
      as [(String, Double, Double, UInt8)]
    {
      test.clock.now += 1
      try readings.add(Reading(id: id, rating: rating, due: Date(timeIntervalSince1970: due), level: level))
    }
    #expect(try readings.query.sorted(by: \.rating).ids() == ["b", "a", "c"])
    #expect(try readings.query.sorted(by: \.due).ids() == ["b", "c", "a"])
    #expect(try readings.query.sorted(by: \.level).ids() == ["b", "c", "a"])
    #expect(try readings.query.sorted(by: \.id, order: .reverse).ids() == ["c", "b", "a"])
  }

  @Test("a query narrows down, counts, pages and makes sections")
  func narrowing() throws {
    let records = try filled(
      (0..<40).map { Record(id: $0, title: "\($0 % 4 == 0 ? "Nata" : "Soup") \($0)", year: $0 % 3) })
    let query = records.query.filter { $0.year == 1 }.sorted(by: \.id)
    #expect(try query.ids() == stride(from: 1, to: 40, by: 3).map { $0 })
    #expect(try query.filter { $0.id > 20 }.count() == 6)
    #expect(try query.search("nata").ids() == [4, 16, 28])
    #expect(
      try query.limit(2).ids() == [1, 4] && query.limit(0).items().isEmpty && query.limit(-1).first() == nil)
    #expect(try records.query.filter { $0.id < 3 }.limit(2).ids() == [2, 1])
    #expect(try records.query.count() == 40 && records.query.limit(7).count() == 7)
    // Pages.
    for query in [query, records.query, records.query.search("soup"), records.query.sorted(by: .byID)] {
      var ids: [Int] = []
      while true {
        let page = try (ids.last.map { query.after($0) } ?? query).limit(3).ids()
        if page.isEmpty { break }
        ids += page
      }
      #expect(try ids == query.ids())
    }
    let error = #expect(throws: HeartlogError.self) { try query.after(2).items() }
    #expect(error?.code == .notFound)
    let sections = try query.sections { $0.title.prefix(4) }
    #expect(sections.map(\.key) == ["Soup", "Nata"] && sections.map(\.items.count) == [10, 3])
    #expect(try records.query.search("").ids() == records.list().map(\.id))
  }

  @Test("a collection is asked for in its own order, favorites or not; a single item as it is stored")
  func collections() throws {
    let records = try filled((0..<5).map { Record(id: $0, title: "\($0)") })
    let queue = try records.collection("queue")
    for id in [3, 0, 4, 9] { try queue.insert(id) }
    try records.remove(0)
    let query = try records.query.collection("queue")
    #expect(try query.ids() == [3, 0, 4])
    try queue.move(4, to: 0)
    #expect(try query.ids() == [4, 3, 0] && query.sorted(by: \.id).ids() == [0, 3, 4])
    #expect(try query.filter { $0.id > 0 }.limit(1).ids() == [4] && query.search("3").ids() == [3])
    #expect(throws: HeartlogError.self) { try records.query.collection("") }
    // Of the type's ids only: others keep their places.
    let untyped = try records.library.store.library("records").collection("queue")
    try untyped.insert("no number", at: 1)
    #expect(queue.ids == [4, 3, 0, 9] && queue.contains(9) && !queue.contains(1))
    try queue.move(fromOffsets: [3], toOffset: 0)
    try queue.remove(atOffsets: [1])
    #expect(queue.ids == [9, 3, 0] && records.library.collections == ["queue"])
    #expect(untyped.ids.contains("no number"))
    let commits = try records.library.store.status().commits
    let later = try queue.rename(to: "later")
    #expect(later.ids == [9, 3, 0] && queue.ids.isEmpty && records.library.collections == ["later"])
    #expect(try records.library.collection("later").ids.contains("no number"))
    #expect(try records.library.store.status().commits == commits + 1)
    try records.collection("other").insert(3)
    #expect(throws: HeartlogError.self) { try later.rename(to: "other") }
    #expect(throws: HeartlogError.self) { try later.rename(to: "") }
    #expect(try later.rename(to: "later").ids == [9, 3, 0])
    try records.collection("other").removeAll()
    try later.rename(to: "queue")
    try queue.removeAll()
    #expect(try untyped.ids == ["no number"] && query.ids().isEmpty)
    #expect(try records.query.item(0).items().map(\.title) == ["0"])
    #expect(try records.query.item(77).items().isEmpty)
  }

  @Test("items that cannot be decoded are left out and named")
  func failures() async throws {
    let records = try titles("a", "b")
    try records.library.add("7", fields: [Field(name: "title", value: .int64(1))])
    #expect(try records.query.sorted(by: \.title).items().count == 2)
    var updates = records.query.sorted(by: \.title).updates.makeAsyncIterator()
    let first = try #require(await updates.next())
    #expect(first.items.count == 2 && first.failures.map(\.id) == ["7"])
    try records.library.set(
      [Field(name: "title", value: .int64(2)), Field(name: "year", value: .bool(true))], of: "7")
    try await records.update(Record(id: 7, title: "c"))
    let second = try #require(await updates.next())
    #expect(second.items.map(\.id) == [0, 1, 7] && second.failures.isEmpty)
  }

  private struct Share: Codable, Identifiable, Sendable, Equatable {
    var id: String
    var share: Float
    var isFavorite = false
    var favoritedDate: Date?
    /// No number for 0.
    var quotient: Float { share == 0 ? .nan : 1 / share }
  }

  @Test("what is no number comes last in both directions, and what is equal is followed as it is listed")
  func noNumbers() async throws {
    let readings = try test.open().favorites(of: Share.self, in: "shares")
    for (id, share) in [("a", 3), ("b", 0), ("c", 1), ("d", 0)] as [(String, Float)] {
      test.clock.now += 1
      try await readings.add(Share(id: id, share: share))
    }
    for order in [SortOrder.forward, .reverse] {
      let query = readings.query.sorted(by: \.quotient, order: order)
      #expect(try query.ids().suffix(2) == ["d", "b"])
      var updates = query.updates.makeAsyncIterator()
      _ = await updates.next()
      for id in ["b", "c", "a", "d"] {
        try await readings.remove(id)
        #expect(try await updates.next()?.items.map(\.id) == query.ids(), "\(order) without \(id)")
      }
      for id in ["a", "b", "c", "d"] { try await readings.add(id) }
    }
  }

  @Test("items at the same place of a collection are by id, and are followed so")
  func samePlaces() async throws {
    let records = try filled([
      Record(id: 1, title: "a"), Record(id: 2, title: "b"), Record(id: 3, title: "c"),
    ])
    for id in ["1", "2", "3"] {
      try records.library.set([Field(name: "@in/queue", value: .string("V"))], of: id)
    }
    let query = try records.query.collection("queue")
    #expect(try query.ids() == [1, 2, 3])
    var updates = query.updates.makeAsyncIterator()
    _ = await updates.next()
    for id in [1, 3, 2] {
      try records.library.set([Field(name: "@in/queue", value: .null)], of: "\(id)")
      #expect(try await updates.next()?.items.map(\.id) == query.ids())
    }
  }

  @Test("an item that shows whether and since when it is a favorite is another one when that changes")
  func flags() async throws {
    let readings = try test.open().favorites(of: Share.self, in: "shares")
    try await readings.update(Share(id: "a", share: 1))
    var updates = readings.query.item("a").updates.makeAsyncIterator()
    #expect(await updates.next()?.items.first?.isFavorite == false)
    try await readings.add("a")
    let added = try #require(await updates.next())
    #expect(added.items.first?.isFavorite == true && added.changed == [0])
    let date = Date(timeIntervalSince1970: 5)
    var sorted = readings.query.sorted(by: .byID).updates.makeAsyncIterator()
    _ = await sorted.next()
    try await readings.library.store.write {
      try readings.remove("a")
      try readings.add("a", since: date)
    }
    #expect(await sorted.next()?.items.first?.favoritedDate == date)
  }

  // MARK: - Following

  @Test(
    "each update is what a new query returns, another list than the one before, and names the items with other values",
    arguments: 1...16 as ClosedRange<UInt64>)
  func generated(seed: UInt64) async throws {
    print("query: seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let store = try test.open()
    let records = try store.records
    let queue = try records.library.collection("queue")
    var query = records.query
    switch Int.random(in: 0..<6, using: &random) {
    case 0: query = query.sorted(by: \.title)
    case 1: query = query.sorted(by: \.year, order: .reverse)
    case 2: query = try query.collection("queue")
    case 3: query = query.sorted(by: .oldestFirst)
    case 4: query = query.sorted(by: .byID)
    default: break
    }
    if Bool.random(using: &random) { query = query.filter { ($0.year ?? 0) < 7 } }
    if Int.random(in: 0..<3, using: &random) == 0 { query = query.search("1") }
    if Bool.random(using: &random) { query = query.limit(Int.random(in: 0...12, using: &random)) }
    var updates = query.updates.makeAsyncIterator()
    let first = try #require(await updates.next())
    #expect(try first.changed == nil && Array(first.items) == query.items())
    var shown = Array(first.items)
    var dates = shown.map { records.favoritedDate(of: $0.id) }
    var failures = first.failures.map { "\($0.id) \($0.error.message)" }
    for step in 0..<50 {
      test.clock.now += Int64.random(in: 0...2, using: &random)
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let id = Int.random(in: 0..<30, using: &random)
        let record = Record(id: id, title: "\(step % 13)", year: Int.random(in: 0..<10, using: &random))
        switch Int.random(in: 0..<10, using: &random) {
        case 0...3: try await records.toggle(record)
        case 4: try await records.update(record)
        case 5:
          try records.add(contentsOf: (0..<25).map { Record(id: $0, title: "many \($0)", year: $0 % 11) })
        case 6: try records.remove(contentsOf: (0..<20).map { $0 })
        case 7: try queue.insert(id.favoriteID, at: 0)
        case 8: if queue.contains(id.favoriteID) { try queue.move(id.favoriteID, to: 2) }
        default: try records.library.set([Field(name: "title", value: .int64(3))], of: "\(id)")
        }
      }
      let expected = try query.items()
      guard expected != shown else { continue }
      // Nothing else writes, so one update, or one about another failure and then it, has everything.
      while Array(shown) != expected {
        let update = try #require(await updates.next())
        let items = Array(update.items)
        // With the same fields, one that is a favorite since another time.
        let now = items.map { records.favoritedDate(of: $0.id) }
        let changed = items.indices.filter { position in
          guard let old = shown.firstIndex(where: { $0.id == items[position].id }) else { return false }
          return shown[old] != items[position] || dates[old] != now[position]
        }
        #expect(update.changed == changed)
        let named = update.failures.map { "\($0.id) \($0.error.message)" }
        #expect(items != shown || !changed.isEmpty || named != failures)
        (shown, dates, failures) = (items, now, named)
      }
    }
  }

  @Test("thousands of changes are few updates, and one that changes nothing is none")
  func coalescing() async throws {
    let records = try titles("a", "b")
    let query = records.query.filter { $0.year == nil || $0.id >= 0 }.sorted(by: \.title)
    let counted = Task { () -> Int in
      var number = 0
      for await update in query.updates {
        number += 1
        if update.items.count == 4_002 { break }
      }
      return number
    }
    try await records.library.store.run { [records] _ in
      for id in 10..<4_010 { try records.add(Record(id: id, title: "\(id)")) }
    }
    #expect(await counted.value < 2_000)
    var updates = query.updates.makeAsyncIterator()
    _ = await updates.next()
    // The note of an item is no part of it.
    try await records.setNote("n", of: 0)
    try await records.update(Record(id: 0, title: "a", year: 3))
    let update = try #require(await updates.next())
    let place = try #require(update.items.firstIndex { $0.id == 0 })
    #expect(update.changed == [place])
    #expect(update.items[place].year == 3)
  }

  @Test("counts are told when they are others; updates and counts end with the store")
  func counts() async throws {
    let records = try titles("a", "b")
    let (all, few) = (records.query, records.query.search("a"))
    var (allCounts, fewCounts) = (all.counts.makeAsyncIterator(), few.counts.makeAsyncIterator())
    #expect(await allCounts.next() == 2)
    #expect(await fewCounts.next() == 1)
    try await records.update(Record(id: 1, title: "bb"))
    try await records.add(Record(id: 2, title: "abc"))
    #expect(await allCounts.next() == 3)
    #expect(await fewCounts.next() == 2)
    var updates = all.item(0).updates.makeAsyncIterator()
    #expect(await updates.next()?.items.map(\.title) == ["a"])
    try await records.update(Record(id: 0, title: "z"))
    #expect(await updates.next()?.items.map(\.title) == ["z"])
    try records.library.store.close()
    #expect(await updates.next() == nil)
    #expect(await allCounts.next() == nil)
  }

  @Test("a model shows a query in the order of a value, with a filter, and follows it")
  @MainActor
  func model() async throws {
    let records = try filled((0..<300).map { Record(id: $0, title: "Part \($0)", year: $0 % 2) })
    let model = FavoritesModel(records.query.filter { $0.year == 0 }.sorted(by: \.title))
    for await isDone in Observations({ model.items.count == 150 && !model.isLoading }) where isDone { break }
    #expect(model.items.map(\.id) == stride(from: 0, to: 300, by: 2).map { $0 })
    model.toggle(Record(id: 1_000, title: "part 3", year: 0))
    #expect(model.items[2].id == 1_000)
    model.toggle(Record(id: 1_001, title: "part 3", year: 1))
    #expect(!model.items.contains { $0.id == 1_001 } && model.contains(1_001))
    await model.finishWriting()
    #expect(model.items[2].id == 1_000 && model.items.count == 151)
    // What is tapped before the other query is read stands where the first one places it.
    model.query = records.query.filter { $0.year == 1 }.sorted(by: \.id, order: .reverse).limit(2)
    model.toggle(Record(id: 5, title: "b", year: 1))
    model.toggle(Record(id: 5, title: "b", year: 1))
    await model.finishWriting()
    for await isDone in Observations({ !model.isLoading }) where isDone { break }
    #expect(model.items.map(\.id) == [1_001, 299])
    model.search = "part 29"
    for await isDone in Observations({ !model.isLoading }) where isDone { break }
    #expect(model.items.map(\.id) == [299, 297])
    // Another library, and a collection, in which a tap only fills the heart.
    let others = try records.library.store.favorites(of: Record.self, in: "others")
    let queue = try others.collection("queue")
    try await others.add(Record(id: 7, title: "seven"))
    for id in [7, 8] { try queue.insert(id) }
    model.query = try others.query.collection("queue")
    for await isDone in Observations({ !model.isLoading }) where isDone { break }
    #expect(model.items.map(\.id) == [7])
    model.remove(7)
    #expect(model.items.map(\.id) == [7] && !model.contains(7))
    model.toggle(Record(id: 8, title: "eight"))
    #expect(model.items.map(\.id) == [7, 8])
    await model.finishWriting()
    #expect(model.items.map(\.id) == [7, 8] && others.ids == [8])
    try await others.update(Record(id: 7, title: "7"))
    for await isDone in Observations({ model.items.first?.title == "7" }) where isDone { break }
  }
}
