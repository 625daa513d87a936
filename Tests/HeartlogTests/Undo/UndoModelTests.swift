import HeartlogTesting
import TestSupport
import Testing

@testable import Heartlog

@Suite("Undo and restore, against a model")
struct UndoModelTests {
  /// Devices that write, sync in pieces, and have clocks that go wrong.
  private struct Devices {
    let clocks: [ManualClock]
    let stores: [FavoritesStore]
    var chance: SeededGenerator

    init(seed: UInt64) throws {
      chance = SeededGenerator(seed: seed)
      clocks = (0..<3).map { _ in ManualClock() }
      stores = try clocks.enumerated().map { index, clock in
        try .inMemory(clock: clock, seed: seed * 10 + UInt64(index))
      }
    }

    mutating func write(_ store: FavoritesStore) throws {
      let library = try store.library(["papers", "books"].randomElement(using: &chance) ?? "papers")
      // Two of the ids are equal to a comparison of strings.
      let item = ["a", "b", "c", "d", "e\u{301}", "\u{e9}"].randomElement(using: &chance) ?? "a"
      let date = Milliseconds(chance.number(0...5) * 1_000)
      switch chance.number(0...9) {
      case 0...1: try library.toggle(item)
      case 2: try library.add(item, fields: [Field(name: "n", value: .int64(date))], favoritedDate: date)
      case 3: try library.remove(item)
      case 4: try library.setNote(chance.isTrue(oneIn: 3) ? nil : "note \(date)", of: item)
      case 5:
        try library.set([Field(name: "position", value: .int64(date), isQuiet: true)], of: item)
      case 6: try library.collection("list").insert(item, at: chance.number(0...5))
      case 7: try library.collection("list").remove(item)
      default:
        let collection = try library.collection("list")
        if let moved = collection.ids.randomElement(using: &chance) {
          try collection.move(moved, to: chance.number(0...5))
        }
      }
    }

    mutating func step() throws {
      let index = chance.number(0...stores.count - 1)
      let store = stores[index]
      switch chance.number(0...9) {
      case 0...5: try write(store)
      case 6:
        let count = chance.number(2...6)
        try store.write { for _ in 0..<count { try write(store) } }
      case 7: clocks[index].advance(by: Double(chance.number(-1...3)))
      case 8: if chance.isTrue(oneIn: 5) { try store.seal() }
      default:
        let source = stores[chance.number(0...stores.count - 1)]
        if source !== store { try MergeTests.ship(source, to: store) }
      }
    }

    /// Anything that can be undone in a store.
    mutating func target(_ model: UndoModel) -> UndoScope {
      let commits = model.commits
      guard let last = commits.last else { return .lastCommits(1) }
      let commit = commits.randomElement(using: &chance) ?? last
      let event = commit.eventID(at: chance.number(0...commit.records.count - 1))
      let moment: LogMoment =
        switch chance.number(0...2) {
        case 0: .event(event)
        case 1: .commit(commit.replica, commit.number)
        default: .milliseconds(commit.wallTime + Milliseconds(chance.number(-1...1)))
        }
      let library = chance.isTrue(oneIn: 3) ? commit.records[0].event?.library : nil
      switch chance.number(0...3) {
      case 0:
        let more = (0..<chance.number(0...4)).compactMap { _ in
          commits.randomElement(using: &chance)?.eventID(at: 0)
        }
        return .events([event] + more)
      case 1: return .lastCommits(chance.number(1...4))
      case 2:
        return .since(moment, library: library, replica: chance.isTrue(oneIn: 3) ? commit.replica : nil)
      default: return .after(moment, library: library)
      }
    }
  }

  private func check(
    _ target: UndoScope, in store: FavoritesStore, _ model: UndoModel, eventsMax: Int
  ) throws {
    let undone = model.events(of: target, own: store.replica)
    let (digest, before) = (store.digest, store.visible())
    #expect(before == model.visible())
    let expected = model.visible(without: undone)

    let dry = try store.undo(target, isDryRun: true, progress: nil, eventsMax: eventsMax) { _ in }
    #expect(try store.allCommits() == model.commits, "a dry run writes nothing")
    let plan = try store.undo(target, isDryRun: false, progress: nil, eventsMax: eventsMax) { _ in }
    #expect(dry.writes == plan.writes && dry.kept == plan.kept && dry.events.isEmpty)
    #expect(plan.unreadable.isEmpty)

    let after = store.visible()
    #expect(after == expected, "\(target)")
    let changed = Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }
    let written = plan.writes.map { UndoModel.Register($0.library, $0.item, $0.register) }
    #expect(Set(written) == changed && written.count == changed.count, "nothing is written in vain")
    #expect(plan.events.isEmpty == changed.isEmpty)
    let kept = model.kept(without: undone)
    #expect(plan.kept.count == kept.count)
    for entry in plan.kept {
      let found = kept[UndoModel.Register(entry.library, entry.item, entry.register)]
      #expect(found?.undone == entry.undone && found?.later == entry.later.event)
    }
    if case .after(let moment, let library, _) = target {
      let then = try store.state(at: moment)
      #expect(
        library.map { then.digest(of: $0) == store.read(\.self).digest(of: $0) }
          ?? (then.digest == store.digest))
    }
    let log = try store.allCommits()
    #expect(Array(log.prefix(model.commits.count)) == model.commits, "nothing in the log is rewritten")
    #expect(log.dropFirst(model.commits.count).allSatisfy { $0.records.count <= eventsMax })

    // Undoing the undo, and undoing that.
    let again = try store.undo(.events(plan.events))
    #expect(store.digest == digest && store.visible() == before)
    #expect(again.kept.isEmpty && again.writes.count == plan.writes.count)
    try store.undo(.events(again.events))
    #expect(store.visible() == expected)
  }

  @Test(
    "an undo leads to what the log would show without the undone events, and its own undo back, on devices that merge",
    arguments: 1...12 as ClosedRange<UInt64>)
  func anyTarget(seed: UInt64) throws {
    print("undo: seed \(seed)")
    var devices = try Devices(seed: seed)
    for _ in 0..<12 {
      for _ in 0..<devices.chance.number(5...25) { try devices.step() }
      let store = devices.stores[devices.chance.number(0...devices.stores.count - 1)]
      let model = try UndoModel(store)
      guard !model.commits.isEmpty else { continue }
      try check(devices.target(model), in: store, model, eventsMax: devices.chance.number(1...20))
    }
    for _ in 0..<2 {
      for source in devices.stores {
        for target in devices.stores where source !== target { try MergeTests.ship(source, to: target) }
      }
    }
    for store in devices.stores {
      #expect(store.digest == devices.stores[0].digest)
      #expect(store.conflicts == devices.stores[0].conflicts)
      #expect(try store.state().digest == store.digest)
    }
  }
}

extension SeededGenerator {
  fileprivate mutating func number(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &self) }
}
