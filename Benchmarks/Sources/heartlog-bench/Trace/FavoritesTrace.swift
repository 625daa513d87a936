import Traces

/// What somebody does over years: events over papers and books, items by Zipf's law, minutes between taps.
///
/// 14 % adds, of which the first of each paper brings 130 bytes of metadata; 70 % toggles, 6 % removals, 10 % positions in a book. Every
/// step changes something.
struct FavoritesTrace {
  struct Step {
    enum Deed {
      case addNew, addAgain
      case toggle(on: Bool)
      case remove
      case position(Double)
    }

    let deed: Deed
    let item: Int
    let time: Int64
  }

  private enum Presence { case unseen, off, on, removed }

  private var random = SplitMix(state: 7)
  private let papers: Zipf
  private let books: Zipf
  private var presence: [Presence]
  private var unseen: [Int]
  /// The items that are there, and those that were removed: each is left where it stands until it is drawn in vain.
  private var seen: [Int] = []
  private var removed: [Int] = []
  private var time: Int64 = 1_600_000_000_000

  init(items: Int) {
    papers = Zipf(items)
    books = Zipf(max(10, items / 20))
    presence = Array(repeating: .unseen, count: items)
    unseen = Array(0..<items).shuffled(using: &random)
  }

  mutating func next() -> Step {
    time += 1 + Int64.random(in: 0..<480_000, using: &random)
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<10:
      let value = Double.random(in: 0..<1, using: &random)
      return Step(
        deed: .position((value * 1_000_000).rounded() / 1_000_000), item: books.draw(&random), time: time)
    case 10..<24: return add()
    case 24..<30:
      guard let item = draw(where: { $0 == .on }) else { return add() }
      presence[item] = .removed
      removed.append(item)
      return Step(deed: .remove, item: item, time: time)
    default:
      guard let item = draw(where: { $0 == .on || $0 == .off }) else { return add() }
      let on = presence[item] == .off
      presence[item] = on ? .on : .off
      return Step(deed: .toggle(on: on), item: item, time: time)
    }
  }

  /// Five of seven adds are of a new item while there are any.
  private mutating func add() -> Step {
    if removed.isEmpty || (!unseen.isEmpty && Int.random(in: 0..<7, using: &random) < 5),
      let item = unseen.popLast()
    {
      presence[item] = .on
      seen.append(item)
      return Step(deed: .addNew, item: item, time: time)
    }
    removed.swapAt(Int.random(in: removed.indices, using: &random), removed.count - 1)
    let item = removed.removeLast()
    presence[item] = .on
    return Step(deed: .addAgain, item: item, time: time)
  }

  /// A popular item in that state; where there are few, any of them.
  private mutating func draw(where isWanted: (Presence) -> Bool) -> Int? {
    for _ in 0..<20 {
      let item = papers.draw(&random)
      if isWanted(presence[item]) { return item }
    }
    for _ in 0..<200 {
      guard let item = seen.randomElement(using: &random) else { return nil }
      if isWanted(presence[item]) { return item }
    }
    return nil
  }
}
