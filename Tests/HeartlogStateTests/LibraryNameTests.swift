import HeartlogFormat
import Testing

@testable import HeartlogState

@Suite("Names of libraries that are looked up")
struct LibraryNameTests {
  @Test("a name that no library can have finds nothing, before the first library and after it")
  func empty() {
    var state = FavoritesState()
    #expect(state.item("x", in: "") == nil && !state.isFavorite("x", in: ""))
    #expect(FavoritesState.item("x", in: LibraryKey(""), of: &state) == nil)
    state.apply(
      Commit(
        replica: ReplicaID(high: 1, low: 1), number: CommitNumber(rawValue: 1),
        firstSequence: SequenceNumber(rawValue: 1),
        stamp: HybridTimestamp(rawValue: 1 << 16), wallTime: 1,
        records: [.event(Event(library: "papers", item: "x", action: .added))]))
    #expect(state.isFavorite("x", in: "papers"))
    #expect(state.item("x", in: "") == nil && !state.isFavorite("x", in: ""))
    #expect(!FavoritesState.isFavorite("x", in: LibraryKey(""), of: &state))
  }

  @Test("libraries with long names are found, in turns with others")
  func long() {
    let names = [
      "papers", String(repeating: "a", count: 24), String(repeating: "a", count: 25),
      String(repeating: "a", count: 64),
    ]
    var state = FavoritesState()
    for (index, name) in names.enumerated() {
      state.apply(
        Commit(
          replica: ReplicaID(high: 1, low: 1), number: CommitNumber(rawValue: UInt64(index) + 1),
          firstSequence: SequenceNumber(rawValue: UInt64(index) + 1),
          stamp: HybridTimestamp(rawValue: UInt64(index + 1) << 16),
          wallTime: 1, records: [.event(Event(library: name, item: "item \(index)", action: .added))]))
    }
    for _ in 0..<2 {
      for (index, name) in names.enumerated() {
        for (other, _) in names.enumerated() {
          #expect(
            FavoritesState.isFavorite("item \(other)", in: LibraryKey(name), of: &state) == (index == other))
        }
      }
    }
  }
}
