import HeartlogFormat
import HeartlogState
import TestSupport
import Testing

@Suite("Any order of arrival gives the same state")
struct ConvergenceTests {
  /// Everything a state shows, for comparison with the model.
  private func expectEqual(_ state: FavoritesState, _ model: NaiveModel, _ context: String) {
    #expect(state.eventCount == model.eventCount, "\(context)")
    #expect(state.commitCount == model.commitCount, "\(context)")
    #expect(state.libraries == model.libraryEvents.keys.map(\.text).sorted(), "\(context)")
    for library in History.libraries {
      let expected = model.items(in: library)
      #expect(state.counts(of: library) == model.counts(of: library), "\(library), \(context)")
      let found = state.items(in: library).sorted { $0.id.utf8.lexicographicallyPrecedes($1.id.utf8) }
      #expect(found == expected, "\(library), \(context)")
      for item in expected {
        #expect(state.item(item.id, in: library) == item, "\(context)")
        #expect(state.isFavorite(item.id, in: library) == item.isFavorite, "\(context)")
      }
      let newest = state.favorites(in: library).map(\.id)
      #expect(newest == model.favorites(in: library), "\(library), \(context)")
      #expect(
        state.favorites(in: library, order: .oldestFirst).map(\.id) == newest.reversed(),
        "\(library), \(context)")
      #expect(state.all(in: library).count == model.counts(of: library).items, "\(context)")
    }
    #expect(state.conflicts == model.conflicts, "\(context)")
  }

  @Test(
    "permuted, repeated and partitioned commits equal the naive model",
    arguments: 1...40 as ClosedRange<UInt64>)
  func convergence(seed: UInt64) {
    print("convergence: seed \(seed)")
    var generator = SeededGenerator(seed: ~seed)
    let history = History(seed: seed, commitCount: Int.random(in: 5...120, using: &generator))
    let model = NaiveModel(history.commits)

    var inOrder = FavoritesState()
    for commit in history.commits { inOrder.apply(commit) }
    expectEqual(inOrder, model, "seed \(seed), in order")

    for round in 0..<4 {
      var arrivals = history.commits
      arrivals += history.commits.filter { _ in generator.isTrue(oneIn: 2) }
      arrivals.shuffle(using: &generator)
      var state = FavoritesState()
      var seen: Set<Head> = []
      for commit in arrivals {
        let isNew = seen.insert(Head(replica: commit.replica, commit: commit.number)).inserted
        #expect(state.isApplied(commit.replica, commit.number) == !isNew)
        let wasApplied = state.apply(commit)
        #expect(wasApplied == isNew)
      }
      expectEqual(state, model, "seed \(seed), round \(round)")
      #expect(state.digest == inOrder.digest)
      #expect(state.heads == inOrder.heads)
      #expect(state.lastStamp == inOrder.lastStamp)
    }
  }

  @Test(
    "each part of a history, and a copy that got the rest, equal the model",
    arguments: 1...20 as ClosedRange<UInt64>)
  func partition(seed: UInt64) {
    print("partition: seed \(seed)")
    var generator = SeededGenerator(seed: seed &* 77)
    let history = History(seed: seed, commitCount: 80)
    let part = history.commits.filter { _ in generator.isTrue(oneIn: 2) }
    var state = FavoritesState()
    for commit in part.shuffled(using: &generator) { state.apply(commit) }
    let digest = state.digest
    expectEqual(state, NaiveModel(part), "seed \(seed), part")

    for replica in Set(history.commits.map(\.replica)) {
      let numbers = Set(part.filter { $0.replica == replica }.map(\.number.rawValue))
      let head = (1...).first { !numbers.contains($0) }.map { $0 - 1 } ?? 0
      #expect(state.head(of: replica) == (head == 0 ? nil : CommitNumber(rawValue: head)))
    }

    var whole = state
    for commit in history.commits.shuffled(using: &generator) { whole.apply(commit) }
    expectEqual(whole, NaiveModel(history.commits), "seed \(seed), whole")
    // The copy was written to, not the original.
    expectEqual(state, NaiveModel(part), "seed \(seed), part again")
    #expect(state.digest == digest)
  }

  @Test("more fields than are chained are found again, whatever their order")
  func wideItems() {
    var generator = SeededGenerator(seed: 5)
    var writers = [StreamWriter(1), StreamWriter(2)]
    var commits: [Commit] = []
    for step in 0..<600 {
      let name = "f\(Int.random(in: 0..<150, using: &generator))"
      let value: FieldValue = step % 5 == 0 ? .null : .int64(Int64(step))
      commits.append(
        writers[step % 2].commit(
          at: Milliseconds(step), .paper("wide", .changed, [Field(name: name, value: value)])))
    }
    var state = FavoritesState()
    for commit in commits.shuffled(using: &generator) { state.apply(commit) }
    #expect(Array(state.items(in: "papers")) == NaiveModel(commits).items(in: "papers"))
    #expect(state.counts(of: "papers") == LibraryCounts(favorites: 0, items: 1, events: 600))
  }
}
