import Heartlog
import HeartlogTesting
import TestSupport
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
  /// A store with the commits of three devices whose clocks go wrong, partly sealed and with snapshots.
  private static func store(using generator: inout SeededGenerator, seed: UInt64) throws -> FavoritesStore {
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

  private static func moment(_ commits: [Commit], using generator: inout SeededGenerator) throws -> LogMoment
  {
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
    var generator = SeededGenerator(seed: seed)
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

  @Test(
    "the history of each item ends with what the state shows and has its conflicts, and what lost was not seen",
    arguments: 1...4 as ClosedRange<UInt64>)
  func histories(seed: UInt64) throws {
    print("SEED=\(seed)")
    var generator = SeededGenerator(seed: seed)
    let store = try Self.store(using: &generator, seed: seed)
    var conflicts: [Conflict] = []
    var losses = 0
    for library in store.read(\.libraries) {
      for item in store.read({ Array($0.items(in: library)) }).sorted(by: { $0.id < $1.id }) {
        let history = try ItemHistory(of: item.id, in: library, from: try store.readLog(), of: store)
        for register in history.registers {
          let shown = register.shown
          switch (register.register, shown.value) {
          case (.membership, .membership(let isFavorite, let date)):
            #expect(item.isFavorite == isFavorite && item.favoritedDate == (isFavorite ? date : nil))
            #expect(store.read { $0.membershipPosition(of: item.id, in: library) } == shown.position)
          case (.field(let name), .field(let value)):
            #expect(item.value(of: name) ?? .null == value)
            #expect(store.read { $0.position(ofField: name, of: item.id, in: library) } == shown.position)
          default: Issue.record("a value of another register")
          }
          #expect(zip(register.writes, register.writes.dropFirst()).allSatisfy { $0.position < $1.position })
          var order = store.read(\.replicas)
          for (lost, winner) in register.losses {
            losses += 1
            let wasSeen = order.supersedes(register.writes[winner].position, register.writes[lost].position)
            #expect(!wasSeen)
            #expect(register.writes[lost].value != register.writes[winner].value)
          }
          guard !register.sides.isEmpty else { continue }
          conflicts.append(
            Conflict(
              library: library, item: item.id, register: register.register,
              writes: register.sides.map { Conflict.Write(position: $0.position, value: $0.value) }))
          for side in register.sides {
            let fate = try #require(history.fates(of: side.event).first { $0.register == register.register })
            #expect(fate.opponents.count == register.sides.count - 1)
            #expect(fate.isShown == (side.event == shown.event))
          }
        }
      }
    }
    #expect(conflicts == store.conflicts && !conflicts.isEmpty && losses > 0)
  }

  @Test(
    "a write that lost stays lost after the conflict was resolved; one that its own device overwrote never was"
  )
  func lost() throws {
    let clocks = [ManualClock(), ManualClock()]
    let phone = try FavoritesStore.inMemory(clock: clocks[0], seed: 1)
    let tablet = try FavoritesStore.inMemory(clock: clocks[1], seed: 2)
    func write(_ text: String, at store: FavoritesStore) throws -> EventID {
      let library = try store.library("papers")
      let commit = try store.commit {
        try library.set([Field(name: "@note", value: .string(text))], of: "a")
      }.commit
      return try #require(commit).eventID(at: 0)
    }
    func history() throws -> ItemHistory {
      try MergeTests.ship(tablet, to: phone)
      return try ItemHistory(of: "a", in: "papers", from: try phone.readLog(), of: phone)
    }
    let overwritten = try write("1", at: phone)
    let loser = try write("2", at: phone)
    clocks[1].advance(by: 10)
    let winner = try write("3", at: tablet)
    let open = try history()
    #expect(open.fates(of: overwritten).isEmpty)
    #expect(open.fates(of: loser).map(\.lostTo) == [winner])
    #expect(open.fates(of: loser).map(\.opponents) == [[winner]])
    #expect(open.fates(of: winner).map(\.isShown) == [true])
    #expect(open.registers[0].rivals.map(\.event) == [loser])
    clocks[0].advance(by: 20)
    try phone.resolveConflicts(inFavorOf: loser)
    let resolved = try history()
    #expect(resolved.fates(of: loser).map(\.lostTo) == [winner])
    #expect(resolved.fates(of: loser).map(\.opponents) == [[]])
    #expect(resolved.fates(of: winner).isEmpty && resolved.registers[0].rivals.isEmpty)
    #expect(resolved.registers[0].overridden?.event == winner)
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
