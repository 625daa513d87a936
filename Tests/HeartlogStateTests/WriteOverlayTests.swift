import HeartlogFormat
import TestSupport
@testable import HeartlogState
import Testing

@Suite("What is pending, seen over what is published")
struct WriteOverlayTests {
  @Test(
    "an overlay over any base shows what the state shows once its commits are applied",
    arguments: 1...20 as ClosedRange<UInt64>)
  func readThrough(seed: UInt64) {
    print("read through: seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    let history = History(seed: seed, commitCount: 60)
    var base = FavoritesState()
    var older = WriteOverlay()
    var newer = WriteOverlay()
    // Not only one's own late writes: the base may have taken in later ones of others.
    for commit in history.commits {
      switch Int.random(in: 0..<3, using: &generator) {
      case 0: base.apply(commit)
      case 1: older.apply(commit)
      default: newer.apply(commit)
      }
    }
    older.merge(newer)
    var published = base
    for commit in history.commits { published.apply(commit) }
    for library in History.libraries {
      for item in History.items {
        #expect(older.item(item, in: library, over: base) == published.item(item, in: library))
      }
    }
    older.removeAll()
    #expect(older.isEmpty)
    for item in History.items {
      #expect(older.item(item, in: "papers", over: base) == base.item(item, in: "papers"))
    }
  }

  @Test(
    "a plan over two overlays is the plan over the state that they make",
    arguments: 1...20 as ClosedRange<UInt64>)
  func planning(seed: UInt64) {
    print("planning: seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    let history = History(seed: seed, commitCount: 60)
    var base = FavoritesState()
    var pending = WriteOverlay()
    var draft = WriteOverlay()
    for commit in history.commits {
      switch Int.random(in: 0..<3, using: &generator) {
      case 0: base.apply(commit)
      case 1: pending.apply(commit)
      default: draft.apply(commit)
      }
    }
    var published = base
    for commit in history.commits { published.apply(commit) }
    let fields = [
      Field(name: "year", value: .int64(Int64(seed % 3))), Field(name: "title", value: .string("one")),
      Field(name: "title", value: .string("two")), Field(name: "gone", value: .null),
    ]
    let operations: [HeartlogState.Operation] = [
      .add(fields: fields, favoritedDate: 7), .toggle(fields: fields), .remove, .set(fields: fields), .add(),
      .set(fields: []),
    ]
    for library in History.libraries {
      for item in History.items + ["never written to"] {
        for operation in operations {
          let current = published.item(item, in: library)
          let found = base.plan(
            operation, on: item, in: LibraryKey(library), under: pending, and: draft, wallTime: 1_000)
          let expected = operation.plan(item: item, in: library, current: current, wallTime: 1_000)
          #expect(found.event == expected.event && found.result == expected.result)
          #expect(
            found.result.isFavorite == found.event?.action.isFavorite ?? current?.isFavorite ?? false)
        }
      }
    }
  }

  #if DEBUG
    /// Plans and drafts one operation a name, all on one item, over what is pending of it.
    ///
    /// - Returns: how often a pending field was looked at.
    private func visits(toDraft names: [String], over pending: WriteOverlay) -> Int {
      let counter = FieldVisits.Counter()
      FieldVisits.$counter.withValue(counter) {
        var base = FavoritesState()
        var draft = WriteOverlay()
        for (place, name) in names.enumerated() {
          let plan = base.plan(
            .set(fields: [Field(name: name, value: .int64(1))]), on: "wide", in: LibraryKey("papers"),
            under: pending,
            and: draft, wallTime: 9)
          if let event = plan.event { draft.apply(event, at: Self.position(UInt64(place) + 1), wallTime: 9) }
          _ = pending.isFavorite("wide", in: "papers", over: base, under: draft)
        }
        let item = pending.item("wide", in: "papers", over: base, under: draft)
        #expect(item?.fields.map(\.name) == names.sorted())
      }
      return counter.count
    }

    private static func position(_ sequence: UInt64) -> EventPosition {
      EventPosition(
        stamp: HybridTimestamp(milliseconds: 9), replica: ReplicaID(high: 0, low: 1),
        sequence: SequenceNumber(rawValue: sequence))
    }

    @Test("names that one commit writes to one item cost as many looks as there are names, not their square")
    func manyNames() {
      let names = (0..<4_000).map { "name\($0 * 7_919 % 4_000)" }
      var pending = WriteOverlay()
      pending.apply(
        .paper("wide", .changed, [Field(name: names[0], value: .int64(0))]), at: Self.position(0), wallTime: 9
      )
      let few = visits(toDraft: Array(names.prefix(1_000)), over: pending)
      let many = visits(toDraft: names, over: pending)
      // Four times as many names; the square would be sixteen times as many looks.
      #expect(many < 6 * few, "\(few) looks for 1,000 names, \(many) for 4,000")
      #expect(many < 20 * names.count)
    }
  #endif

  @Test("an overlay of ten thousand items finds each, and none after it forgot them")
  func many() {
    var pending = WriteOverlay()
    func event(_ index: Int) -> Event {
      Event(library: "l\(index % 3)", item: "item-\(index)", action: index % 2 == 0 ? .added : .removed)
    }
    let position = EventPosition(
      stamp: HybridTimestamp(milliseconds: 9), replica: ReplicaID(high: 0, low: 1),
      sequence: SequenceNumber(rawValue: 1))
    for index in 0..<10_000 { pending.apply(event(index), at: position, wallTime: 9) }
    let base = FavoritesState()
    for index in 0..<10_000 {
      let item = pending.item("item-\(index)", in: "l\(index % 3)", over: base)
      #expect(item?.isFavorite == (index % 2 == 0))
      #expect(pending.item("item-\(index)", in: "l\((index + 1) % 3)", over: base) == nil)
    }
    #expect(pending.ids(in: "l0").count == 3_334)
    pending.removeAll()
    #expect(pending.isEmpty && pending.item("item-0", in: "l0", over: base) == nil)
  }

  @Test("a later write of an overlay wins over an earlier one of the same commit")
  func ownWrites() {
    var pending = WriteOverlay()
    #expect(pending.isEmpty)
    func position(_ sequence: UInt64) -> EventPosition {
      EventPosition(
        stamp: HybridTimestamp(milliseconds: 9), replica: ReplicaID(high: 0, low: 1),
        sequence: SequenceNumber(rawValue: sequence))
    }
    pending.apply(.paper("x", .added, [Field(name: "f", value: .int64(1))]), at: position(1), wallTime: 9)
    #expect(
      pending.item("x", in: "papers", over: FavoritesState())
        == ItemState(
          id: "x", isFavorite: true, favoritedDate: 9, fields: [Field(name: "f", value: .int64(1))]))
    pending.apply(
      .paper("x", .toggled(on: false), [Field(name: "f", value: .null)]), at: position(2), wallTime: 9)
    #expect(
      pending.item("x", in: "papers", over: FavoritesState()) == ItemState(id: "x", isFavorite: false))
    #expect(pending.item("y", in: "papers", over: FavoritesState()) == nil)
  }
}
