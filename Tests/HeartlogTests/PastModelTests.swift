import Heartlog
import HeartlogTesting
import Testing

@testable import HeartlogState

/// What a moment contains by its definition: its commits, folded in the total order, the last write of each register last.
private struct PastModel {
  struct Item: Equatable {
    var favoritedDate: Milliseconds?
    var fields: [String: FieldValue] = [:]

    var isVisible: Bool { favoritedDate != nil || !fields.isEmpty }
  }

  struct Name: Hashable, Comparable {
    let library: String
    let id: String

    static func < (a: Name, b: Name) -> Bool { (a.library, a.id) < (b.library, b.id) }
  }

  /// Visible items only.
  private(set) var items: [Name: Item] = [:]

  /// - Parameter commits: all commits of a log, those of a device in their order.
  init(_ commits: [Commit], at moment: LogMoment) throws {
    var latest: [ReplicaID: Milliseconds] = [:]
    let last = commits.first { commit in
      switch moment {
      case .milliseconds: false
      case .event(let id): commit.contains(id)
      case .commit(let replica, let number): commit.replica == replica && commit.number == number
      }
    }
    let selected = commits.filter { commit in
      latest[commit.replica] = max(latest[commit.replica] ?? 0, commit.wallTime)
      guard case .milliseconds(let time) = moment else {
        return last.map { commit.position <= $0.position } ?? false
      }
      return latest[commit.replica] ?? 0 <= time
    }
    for commit in selected.sorted(by: { $0.position < $1.position }) {
      for event in commit.records.compactMap(\.event) {
        let name = Name(library: event.library, id: event.item)
        var item = items[name] ?? Item()
        if let isFavorite = event.action.isFavorite {
          item.favoritedDate = isFavorite ? event.favoritedDate ?? commit.wallTime : nil
        }
        for field in event.fields { item.fields[field.name] = field.value == .null ? nil : field.value }
        items[name] = item
      }
    }
    items = items.filter { $0.value.isVisible }
  }

  init(_ state: FavoritesState) {
    for library in state.libraries {
      for item in state.items(in: library) where item.isVisible {
        items[Name(library: library, id: item.id)] = Item(item)
      }
    }
  }
}

extension PastModel.Item {
  fileprivate init(_ item: ItemState) {
    favoritedDate = item.favoritedDate
    for field in item.fields { fields[field.name] = field.value }
  }
}

@Suite("The past of several devices")
struct PastModelTests {
  private struct Chance: RandomNumberGenerator {
    let source: SeededRandom
    mutating func next() -> UInt64 { source.next() }
  }

  /// A store with the commits of three devices whose clocks go wrong, partly sealed and with snapshots.
  private static func store(using generator: inout Chance, seed: UInt64) throws -> FavoritesStore {
    let clocks = (0..<3).map { _ in ManualClock() }
    let stores = try clocks.enumerated().map { index, clock in
      try FavoritesStore.inMemory(clock: clock, seed: seed * 10 + UInt64(index))
    }
    for round in 0..<300 {
      let index = Int.random(in: 0..<3, using: &generator)
      let library = try stores[index].library(
        ["papers", "books"].randomElement(using: &generator) ?? "papers")
      let item = "item-\(Int.random(in: 0..<10, using: &generator))"
      switch Int.random(in: 0..<12, using: &generator) {
      case 0...3: try library.toggle(item)
      case 4: try library.add(item, favoritedDate: Milliseconds.random(in: 0...9, using: &generator))
      case 5: try library.remove(item)
      case 6, 7:
        let value: FieldValue = Bool.random(using: &generator) ? .int64(Int64(round)) : .null
        try library.set([Field(name: ["note", "place"][round % 2], value: value)], of: item)
      case 8:
        try stores[index].write {
          try library.toggle(item)
          try library.set([Field(name: "place", value: .bool(true))], of: "other")
        }
      case 9, 10: clocks[index].advance(by: Double(Int.random(in: -1...2, using: &generator)) * 60)
      default: try MergeTests.ship(stores[Int.random(in: 0..<3, using: &generator)], to: stores[index])
      }
      if round == 150 {
        try stores[0].seal()
        _ = try stores[0].snapshot()
      }
    }
    for store in stores[1...] { try MergeTests.ship(store, to: stores[0]) }
    return stores[0]
  }

  private static func moment(_ commits: [Commit], using generator: inout Chance) throws -> LogMoment {
    let commit = try #require(commits.randomElement(using: &generator))
    switch Int.random(in: 0..<3, using: &generator) {
    case 0: return .milliseconds(commit.wallTime + Milliseconds.random(in: -1...1, using: &generator))
    case 1: return .commit(commit.replica, commit.number)
    default:
      return .event(commit.eventID(at: Int.random(in: 0..<commit.records.count, using: &generator)))
    }
  }

  @Test(
    "the state at each of 1,000 random moments, and the difference between any two of them, are those of a simple model",
    arguments: 1...4 as ClosedRange<UInt64>)
  func model(seed: UInt64) throws {
    print("SEED=\(seed)")
    var generator = Chance(source: SeededRandom(seed: seed))
    let store = try Self.store(using: &generator, seed: seed)
    var commits: [Commit] = []
    let log = try store.readLog()
    while let commit = try log.next() { commits.append(commit) }
    var previous = (state: FavoritesState(), model: PastModel(FavoritesState()))
    for _ in 0..<250 {
      let moment = try Self.moment(commits, using: &generator)
      let state = try store.state(at: moment)
      let model = try PastModel(commits, at: moment)
      #expect(PastModel(state).items == model.items, "\(moment)")
      try check(state.difference(from: previous.state), from: previous.model, to: model)
      let papers = state.difference(from: previous.state, in: "papers")
      #expect(papers == state.difference(from: previous.state).filter { $0.library == "papers" })
      #expect(state.difference(from: previous.state).isEmpty == (state.digest == previous.state.digest))
      previous = (state, model)
    }
  }

  private func check(_ found: [ItemDifference], from earlier: PastModel, to later: PastModel) throws {
    let names = Set(earlier.items.keys).union(later.items.keys).sorted()
      .filter { earlier.items[$0] != later.items[$0] }
    #expect(found.map { PastModel.Name(library: $0.library, id: $0.id) } == names)
    for (item, name) in zip(found, names) {
      let before = earlier.items[name] ?? PastModel.Item()
      let after = later.items[name] ?? PastModel.Item()
      #expect(PastModel.Item(item.before) == before && PastModel.Item(item.after) == after)
      let fields = Set(before.fields.keys).union(after.fields.keys).sorted()
        .filter { before.fields[$0] != after.fields[$0] }
      #expect(item.fields.map(\.name) == fields)
      #expect(item.fields.map(\.before) == fields.map { before.fields[$0] })
      #expect(item.fields.map(\.after) == fields.map { after.fields[$0] })
    }
  }

  @Test("an item that is seen in neither state is no difference, however it was written")
  func invisible() throws {
    let store = try FavoritesStore.inMemory(clock: ManualClock())
    let papers = try store.library("papers")
    try papers.add("a")
    try papers.remove("a")
    #expect(store.read { $0.difference(from: FavoritesState()) }.isEmpty)
    #expect(FavoritesState().difference(from: store.read { $0 }).isEmpty)
    try papers.set(
      [Field(name: "é", value: .bool(true)), Field(name: "e\u{301}", value: .bool(true))], of: "a")
    let both = store.read { FavoritesState().difference(from: $0) }
    #expect(both.map(\.fields.count) == [2] && both[0].fields[0].after == nil)
  }
}
