import Heartlog
import Traces

/// What somebody does who collects papers and listens to books on two devices: 18 % adds, the first of each paper with 130 bytes of
/// metadata, 66 % toggles, 6 % removals, 10 % positions in a book; items by Zipf's law, minutes between taps.
struct Trace {
  enum Deed {
    case add, toggle, remove
    case position(Double)
  }

  struct Step {
    let deed: Deed
    let item: Int
    let time: Milliseconds
  }

  private var random: SplitMix
  private let papers: Zipf
  private let books: Zipf
  /// The papers that this device has in its list.
  private var present: Set<Int>
  private var time: Milliseconds

  init(items: Int, seed: UInt64) {
    random = SplitMix(state: seed)
    papers = Zipf(items)
    books = Zipf(max(10, items / 20))
    present = []
    time = 1_700_000_000_000
  }

  /// The same past, another future: what the other device does from here on.
  func forked(seed: UInt64) -> Trace {
    var other = self
    other.random = SplitMix(state: seed)
    other.time += 7
    return other
  }

  mutating func steps(_ count: Int) -> [Step] { (0..<count).map { _ in step() } }

  private mutating func step() -> Step {
    time += 1 + Int64.random(in: 0..<480_000, using: &random)
    if Int.random(in: 0..<100, using: &random) < 10 {
      let value = Double.random(in: 0..<1, using: &random)
      return Step(
        deed: .position((value * 1_000_000).rounded() / 1_000_000), item: books.draw(&random), time: time)
    }
    let item = papers.draw(&random)
    if present.insert(item).inserted { return Step(deed: .add, item: item, time: time) }
    guard Int.random(in: 0..<100, using: &random) < 8 else {
      return Step(deed: .toggle, item: item, time: time)
    }
    present.remove(item)
    return Step(deed: .remove, item: item, time: time)
  }
}
