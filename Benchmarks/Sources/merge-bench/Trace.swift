import Heartlog

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

/// SplitMix64, so that a run is the same twice.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

/// Numbers of which the k-th most frequent comes 1/k as often as the first; which is which is shuffled.
struct Zipf {
  private var sums: [Double] = []
  private let order: [Int]

  init(_ count: Int) {
    var sum = 0.0
    for place in 1...count {
      sum += 1 / Double(place)
      sums.append(sum)
    }
    var random = SplitMix(state: UInt64(count))
    order = (0..<count).shuffled(using: &random)
  }

  func draw(_ random: inout SplitMix) -> Int {
    let place = Double.random(in: 0..<sums[sums.count - 1], using: &random)
    var low = 0
    var high = sums.count - 1
    while low < high {
      let middle = (low + high) / 2
      if sums[middle] > place { high = middle } else { low = middle + 1 }
    }
    return order[low]
  }
}
