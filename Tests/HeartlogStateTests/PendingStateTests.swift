import HeartlogEvents
import HeartlogState
import Testing

@Suite("What is pending, seen over what is published")
struct PendingStateTests {
  @Test(
    "an overlay over any base shows what the state shows once its commits are applied",
    arguments: 1...20 as ClosedRange<UInt64>)
  func readThrough(seed: UInt64) {
    print("read through: seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    let history = History(seed: seed, commitCount: 60)
    var base = FavoritesState()
    var older = PendingState()
    var newer = PendingState()
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

  @Test("a later write of an overlay wins over an earlier one of the same commit")
  func ownWrites() {
    var pending = PendingState()
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
