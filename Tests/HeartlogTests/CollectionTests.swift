import Foundation
import HeartlogTesting
import TestSupport
import Testing

@testable import Heartlog

@Suite("Collections, notes, batches, search, statistics")
struct CollectionTests {
  private let test = TestStore()

  @Test(
    "a key lies between its neighbours, wherever they are, and stays short when one is put behind the other")
  func orderKeys() {
    var generator = SystemRandomNumberGenerator()
    let seed = UInt64.random(in: 0 ... .max, using: &generator)
    print("order keys: seed \(seed)")
    var random = SeededGenerator(seed: seed)
    var keys: [OrderKey] = []
    for _ in 0..<2_000 {
      let place = Int.random(in: 0...keys.count, using: &random)
      let key = OrderKey.between(place > 0 ? keys[place - 1] : nil, place < keys.count ? keys[place] : nil)
      keys.insert(key, at: place)
      #expect(OrderKey(key.text) == key)
    }
    #expect(zip(keys, keys.dropFirst()).allSatisfy { $0 < $1 })
    let low = OrderKey.between(nil, nil)
    var high = OrderKey.between(low, nil)
    for _ in 0..<2_000 {
      let key = OrderKey.between(low, high)
      #expect(low < key && key < high)
      high = key
    }
    var behind: OrderKey?
    for _ in 0..<1_000 { behind = OrderKey.between(behind, nil) }
    #expect(behind?.text.utf8.count ?? .max <= 40)
    for text in ["", "0", "a0", "a b", "é"] { #expect(OrderKey(text) == nil) }
  }

  @Test("items keep the order they are given, in several collections, favorite or not")
  func collections() throws {
    let store = try test.open()
    let papers = try store.library("papers")
    let trip = try papers.collection("trip to Rome")
    let later = try papers.collection("later")
    for id in ["a", "b", "c"] { try trip.insert(id) }
    #expect(try trip.insert("d", at: 0) && !trip.insert("a"))
    #expect(trip.ids == ["d", "a", "b", "c"])
    #expect(try trip.move("c", to: 1) && !trip.move("c", to: 1))
    #expect(trip.ids == ["d", "c", "a", "b"])
    #expect(try trip.move("d", to: 99))
    #expect(try trip.remove("a") && !trip.remove("a"))
    try later.insert("b")
    #expect(trip.ids == ["c", "b", "d"] && later.ids == ["b"])
    #expect(papers.collections == ["later", "trip to Rome"])
    #expect(papers.counts.favorites == 0 && later.contains("b") && !later.contains("c"))
    #expect(throws: HeartlogError.self) { try trip.move("a", to: 0) }
    #expect(throws: HeartlogError.self) { try papers.collection("") }
    try store.write {
      for id in ["x", "y"] { try later.insert(id) }
      #expect(later.ids == ["b", "x", "y"])
    }
    #expect(later.ids == ["b", "x", "y"])
  }

  @Test(
    "five hundred items into one gap, and two at one place: the order is still the one that was asked for")
  func crowdedGap() throws {
    let store = try test.open { $0.durability = .buffered }
    let library = try store.library("papers")
    let collection = try library.collection("c")
    let same = [Field(name: "@in/c", value: .string("V"))]
    for id in ["first", "last"] { try library.set(same, of: id) }
    for number in 0..<500 { try collection.insert("\(number)", at: 1) }
    let between: [String] = (0..<500).reversed().map { "\($0)" }
    #expect(collection.ids == ["first"] + between + ["last"])
  }

  @Test("a note is written, changed and cleared, and is never part of the item")
  func notes() throws {
    let records = try test.open().records
    #expect(records.note(of: 1) == nil)
    #expect(try records.setNote("read again", of: 1))
    #expect(try !records.setNote("read again", of: 1))
    try records.add(Record(id: 1, title: "t"))
    #expect(records.note(of: 1) == "read again" && records.list() == [Record(id: 1, title: "t")])
    #expect(try records.setNote("", of: 1) && records.note(of: 1) == nil)
  }

  @Test("a batch is one commit, and counts what it changed")
  func batches() throws {
    let store = try test.open()
    let records = try store.records
    let items = (1...5).map { Record(id: $0, title: "\($0)") }
    #expect(try records.add(contentsOf: items[..<3]) == 3)
    #expect(try records.add(contentsOf: items) == 2)
    #expect(try records.remove(contentsOf: [1, 9, 2]) == 2)
    #expect(try records.update(contentsOf: items.map { Record(id: $0.id, title: "new") }) == 5)
    #expect(try store.allCommits().map(\.records.count) == [3, 2, 2, 5])
    #expect(records.list(order: .byID).map(\.title) == ["new", "new", "new"])
  }

  @Test("all favorites are removed, also those that cannot be read, and their fields stay")
  func removingAll() throws {
    let records = try test.open().records
    try records.add(contentsOf: (1...3).map { Record(id: $0, title: "\($0)") })
    try records.library.store.library(records.library.name).add("no number")
    #expect(try records.removeAll() == 4)
    #expect(try records.count == 0 && records.removeAll() == 0)
    #expect(try records.item(2)?.title == "2")
  }

  @Test("a batch that is too large for a commit is several, and the same call completes one that broke off")
  func largeBatches() throws {
    let store = try test.open()
    let records = try store.records
    let items = (1...60_000).map { Record(id: $0, title: "\($0)") }
    var broken = items
    broken[55_000].title = String(repeating: "x", count: 1 << 21)
    // Nothing of the commit in which it breaks off is written.
    #expect(throws: HeartlogError.self) { try records.add(contentsOf: broken) }
    #expect(records.count == 50_000)
    #expect(try records.add(contentsOf: items) == 10_000)
    #expect(records.count == 60_000)
    #expect(try records.remove(contentsOf: items.map(\.id)) == 60_000)
    #expect(try records.add(contentsOf: []) == 0)
    #expect(try store.allCommits().map(\.records.count) == [50_000, 10_000, 50_000, 10_000])
    // In a commit of the caller's it cannot be several.
    #expect(throws: HeartlogError.self) { try store.write { try records.add(contentsOf: items) } }
    #expect(records.count == 0)
  }

  @Test("a batch of large items is several commits, too")
  func batchesOfLargeItems() throws {
    let store = try test.open()
    let text = String(repeating: "x", count: 60_000)
    let items = (1...300).map { Record(id: $0, title: text + "\($0)") }
    #expect(try store.records.add(contentsOf: items) == 300)
    #expect(try store.allCommits().map(\.records.count) == [140, 140, 20])
  }

  @Test(
    "what a list hands over moves and goes as SwiftUI shows it, in one commit",
    arguments: 1...3 as ClosedRange<UInt64>)
  func offsets(seed: UInt64) throws {
    var chance = SeededGenerator(seed: seed)
    let store = try test.open()
    let collection = try store.library("papers").collection("c")
    for number in 0..<9 { try collection.insert("\(number)") }
    for _ in 0..<60 {
      var shown = collection.ids
      let source = IndexSet(shown.indices.filter { _ in Int.random(in: 0..<3, using: &chance) == 0 })
      let commits = try store.status().commits
      if shown.count < 3 || Int.random(in: 0..<4, using: &chance) > 0 {
        let destination = Int.random(in: 0...shown.count, using: &chance)
        let isMoved = try collection.move(fromOffsets: source, toOffset: destination)
        // As MutableCollection.move(fromOffsets:toOffset:) does.
        let moved = source.map { shown[$0] }
        let start = destination - source.count { $0 < destination }
        for index in source.reversed() { shown.remove(at: index) }
        shown.insert(contentsOf: moved, at: start)
        #expect(try store.status().commits == commits + (isMoved ? 1 : 0))
      } else {
        let removed = IndexSet(source.prefix(1))
        try collection.remove(atOffsets: removed)
        for index in removed { shown.remove(at: index) }
        #expect(try store.status().commits == commits + UInt64(removed.count))
        try collection.insert("new \(commits)", at: 0)
        shown.insert("new \(commits)", at: 0)
      }
      #expect(collection.ids == shown, "seed \(seed)")
    }
    let count = collection.ids.count
    for wrong in [IndexSet([count]), IndexSet([0, 99])] {
      #expect(throws: HeartlogError.self) { try collection.remove(atOffsets: wrong) }
      #expect(throws: HeartlogError.self) { try collection.move(fromOffsets: wrong, toOffset: 0) }
    }
    #expect(throws: HeartlogError.self) { try collection.move(fromOffsets: [0], toOffset: count + 1) }
    #expect(collection.ids.count == count)
  }

  @Test("what is taken over is added once, and what was removed since then stays removed")
  func takingOver() throws {
    let store = try test.open()
    let records = try store.records
    let day = Date(timeIntervalSince1970: 1_600_000_000)
    let old = (1...3).map { (item: Record(id: $0, title: "\($0)"), since: $0 == 2 ? day : nil) }
    #expect(try records.migrate(from: old[..<2], origin: "import:defaults") == 2)
    #expect(records.favoritedDate(of: 2) == day && records.list().map(\.id) == [1, 2])
    try records.remove(1)
    #expect(try records.migrate(from: old, origin: "import:defaults") == 1)
    #expect(try records.migrate(from: old, origin: "import:defaults") == 0)
    #expect(records.ids.sorted() == [2, 3])
    #expect(try store.allCommits().map(\.origin) == ["import:defaults", nil, "import:defaults"])
  }

  @Test("search looks exactly or not, in all fields or some")
  func search() throws {
    let records = try test.open().records
    try records.add(Record(id: 1, title: "Élan vital", tags: ["philosophie"]))
    test.clock.now += 1
    try records.add(Record(id: 2, title: "The elan of Éire"))
    func ids(_ text: String, _ options: SearchOptions = SearchOptions()) throws -> [Int] {
      try records.query.search(text, options: options).sorted(by: .byID).items().map(\.id)
    }
    #expect(
      try ids("ÉLAN") == [1, 2] && ids("élan", .init(isExact: true)) == []
        && ids("elan", .init(isExact: true)) == [2])
    #expect(try ids("SOPHIE") == [1] && ids("sophie", .init(fields: ["title"])) == [])
    #expect(try ids("") == [1, 2] && ids("zzz") == [])
  }

  @Test("statistics count each day, week and month with an event, and end with what is favorite now")
  func statistics() throws {
    let store = try test.open()
    let library = try store.library("papers")
    let day: Milliseconds = 86_400_000
    // 2026-02-27, a Friday, then the Saturday, the Monday after it, and a day in April.
    let friday: Milliseconds = 1_772_150_400_000
    try store.write(time: friday + 5) { for id in ["a", "b"] { try library.add(id) } }
    try store.write(time: friday + day) { try library.set([Field(name: "f", value: .bool(true))], of: "a") }
    try store.write(time: friday + 3 * day) { try library.toggle("a") }
    try store.write(time: friday + 40 * day) { try library.toggle("c") }
    try store.write(time: friday + 40 * day + 1) { try store.library("books").add("a") }
    let days = try library.statistics(by: .day).intervals
    #expect(days.map(\.start) == [0, 1, 3, 40].map { friday + $0 * day })
    #expect(days.map(\.emptyPeriodsBefore) == [0, 0, 1, 36])
    #expect(days.map(\.favorited) == [2, 0, 0, 1] && days.map(\.changed) == [0, 1, 0, 0])
    #expect(days.map(\.unfavorited) == [0, 0, 1, 0] && days.map(\.favoritesAtEnd) == [2, 2, 1, 2])
    let weeks = try library.statistics(by: .week).intervals
    #expect(weeks[0].start == friday - 4 * day && weeks[0].changed == 1 && weeks[1].unfavorited == 1)
    #expect(weeks.map(\.emptyPeriodsBefore) == [0, 0, 4])
    let months = try library.statistics(by: .month).intervals
    #expect(months.map { RFC3339.text($0.start).prefix(10) } == ["2026-02-01", "2026-03-01", "2026-04-01"])
    #expect(months.map(\.favoritesAtEnd) == [2, 1, 2] && months.allSatisfy { $0.emptyPeriodsBefore == 0 })
    // All libraries; and only what was written from the Monday on, after which there is one favorite less.
    let all = try Statistics(reading: try store.readLog(), by: .month)
    #expect(all.intervals.map(\.favoritesAtEnd) == [2, 1, 3])
    #expect(all.mostTapped.map(\.taps) == [2, 1, 1, 1] && all.mostTapped.first?.item.id == "a")
    #expect(
      all.mostTapped.dropFirst().map { "\($0.library) \($0.item.id)" } == ["books a", "papers b", "papers c"])
    #expect(all.sources.map(\.events) == [6])
    let late = try Statistics(reading: try store.readLog(), library: "papers", by: .day, of: .utc) {
      _, time in
      time >= friday + 3 * day
    }
    #expect(late.intervals.map(\.emptyPeriodsBefore) == [0, 36] && late.intervals[0].favorited == 0)
    #expect(late.intervals[0].unfavorited == 1 && late.intervals[0].favoritesAtEnd == 1)
    #expect(late.mostTapped.map(\.taps) == [1, 1] && late.sources.map(\.events) == [2])
  }
}
