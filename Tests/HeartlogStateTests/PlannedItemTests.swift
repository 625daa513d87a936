import HeartlogFormat
import TestSupport
import Testing

@testable import HeartlogState

@Suite("The item that was planned last")
struct PlannedItemTests {
  /// Two that are too long to lie in a record, and differ at their end.
  private static let longItems = ["a", "b"].map { String(repeating: "long", count: 20) + $0 }

  @Test(
    "commits make the same state, whatever was planned in front of them",
    arguments: 1...20 as ClosedRange<UInt64>)
  func planned(seed: UInt64) {
    print("planned items: seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    let nothing = WriteOverlay()
    var plain = FavoritesState()
    var planned = FavoritesState()
    var number: UInt64 = 0
    for _ in 0..<300 {
      number += 1
      let ids = History.items + Self.longItems
      func anyItem() -> (library: String, id: String) {
        (
          History.libraries[Int.random(in: 0..<History.libraries.count, using: &generator)],
          ids[Int.random(in: 0..<ids.count, using: &generator)]
        )
      }
      let written = anyItem()
      // Mostly what is planned is written; some plans come to nothing.
      for other in [anyItem(), Bool.random(using: &generator) ? written : anyItem()] {
        _ = planned.plan(
          .toggle(), on: other.id, in: LibraryKey(other.library), under: nothing, and: nothing, wallTime: 1)
      }
      let commit = Commit(
        replica: ReplicaID(high: 1, low: 1), number: CommitNumber(rawValue: number),
        firstSequence: SequenceNumber(rawValue: number), stamp: HybridTimestamp(rawValue: number << 16),
        wallTime: Milliseconds(number),
        records: [
          .event(
            Event(
              library: written.library, item: written.id,
              action: .toggled(on: Bool.random(using: &generator))))
        ])
      plain.apply(commit)
      planned.apply(commit)
    }
    for library in History.libraries { #expect(planned.all(in: library) == plain.all(in: library)) }
  }
}
