import HeartlogFormat
import HeartlogState
import TestSupport
import Testing

@Suite("Listing")
struct ListingTests {
  private func state(_ events: Event...) -> FavoritesState {
    var writer = StreamWriter(1)
    var state = FavoritesState()
    state.apply(writer.commit(at: 500, events.map { .event($0) }))
    return state
  }

  @Test("newest first by favorited date, ties by the order of the writes; oldest first is the reverse")
  func order() {
    let state = state(
      .paper("b", .added, date: 20), .paper("a", .added, date: 20), .paper("z", .added, date: -10),
      .paper("\u{10000}", .added, date: 20), .paper("\u{ff5e}", .added, date: 20),
      .paper("c", .added, date: 30),
      .paper("off", .removed))
    func ids(_ order: ListOrder) -> [String] {
      state.favorites(in: "papers", order: order, limit: nil).map(\.id)
    }
    #expect(ids(.newestFirst) == ["c", "\u{ff5e}", "\u{10000}", "a", "b", "z"])
    #expect(ids(.oldestFirst) == ["z", "b", "a", "\u{10000}", "\u{ff5e}", "c"])
    // U+FF5E before U+10000: their UTF-8 says so, their UTF-16 would not.
    #expect(ids(.byID) == ["a", "b", "c", "z", "\u{ff5e}", "\u{10000}"])
    #expect(state.favorites(in: "nowhere").isEmpty)
  }

  @Test(
    "all lists favorites newest first, then the rest and what was one once, by id; not what holds nothing and never was"
  )
  func all() {
    let state = state(
      .paper("old", .added, date: 1), .paper("zoo", .changed, [Field(name: "f", value: .bool(true))]),
      .paper("gone", .removed), .paper("new", .added, date: 2),
      .paper("cleared", .changed, [Field(name: "f", value: .null)]), .paper("untouched", .changed))
    #expect(state.all(in: "papers").map(\.id) == ["new", "old", "gone", "zoo"])
    #expect(state.all(in: "papers").map(\.isTombstone) == [false, false, true, false])
  }

  @Test("a limit gives the beginning of the whole list", arguments: ListOrder.allCases)
  func limits(order: ListOrder) {
    let seed: UInt64 = 11
    print("limits: seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    var writer = StreamWriter(1)
    var state = FavoritesState()
    var written: [String: Int] = [:]
    for round in 0..<500 {
      let date = Milliseconds.random(in: 0..<40, using: &generator)
      let id = "prefixed-id-\(Int.random(in: 0..<300, using: &generator))"
      written[id] = round
      state.apply(
        writer.commit(at: 1, .paper(id, generator.isTrue(oneIn: 5) ? .removed : .added, date: date)))
    }
    let whole = state.favorites(in: "papers", order: order)
    let expected = state.items(in: "papers").filter(\.isFavorite).sorted { a, b in
      if order == .byID { return a.id.utf8.lexicographicallyPrecedes(b.id.utf8) }
      let (first, second) = (a.favoritedDate ?? 0, b.favoritedDate ?? 0)
      let isEarlier = first != second ? first < second : (written[a.id] ?? 0) < (written[b.id] ?? 0)
      return isEarlier == (order == .oldestFirst)
    }
    #expect(whole == expected)
    for limit in [0, 1, 2, 7, 50, whole.count - 1, whole.count, whole.count + 1, .max] {
      #expect(state.favorites(in: "papers", order: order, limit: limit) == Array(whole.prefix(limit)))
    }
    #expect(state.favorites(in: "papers", order: order, limit: -1).isEmpty)
  }

  @Test("a limit gives the beginning however often items were switched, and whatever their dates")
  func switchedOften() {
    var generator = SeededGenerator(seed: 12)
    for risingOneIn in [1, 2, 1_000] {
      var writer = StreamWriter(1)
      var state = FavoritesState()
      for round in 0..<9_000 {
        let date = round % risingOneIn == 0 ? Milliseconds(round) : .random(in: 0..<12_000, using: &generator)
        let id = "\(Int.random(in: 0..<(round < 7_000 ? 40 : 700), using: &generator))"
        let event = Event.paper(id, generator.isTrue(oneIn: 3) ? .removed : .added, date: date)
        state.apply(writer.commit(at: 1, event.action == .removed ? .paper(id, .removed) : event))
        guard round % 1_499 == 0 else { continue }
        let favorites = Array(state.items(in: "papers")).filter(\.isFavorite)
        for order in ListOrder.allCases {
          let expected = order.sorted(favorites)
          #expect(state.favorites(in: "papers", order: order) == expected)
          for limit in [1, 50, 200] {
            #expect(
              state.favorites(in: "papers", order: order, limit: limit) == Array(expected.prefix(limit)),
              "\(round) \(order) \(limit)")
          }
        }
      }
    }
  }
}
