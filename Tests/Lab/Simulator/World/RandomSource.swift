import HeartlogTesting

/// The random choices of one simulation.
struct RandomSource: RandomNumberGenerator {
  private let random: SeededRandom

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  mutating func next() -> UInt64 { random.next() }

  /// Whether something happens that happens `percent` times in a hundred.
  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

  mutating func number(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &self) }

  mutating func element<T>(of list: [T]) -> T? { list.randomElement(using: &self) }
}

extension String {
  /// Text that cannot be compressed; the same for the same length.
  static func noise(_ bytes: Int) -> String {
    var random = RandomSource(seed: UInt64(bytes))
    return String(decoding: (0..<bytes).map { _ in UInt8(random.number(35...126)) }, as: UTF8.self)
  }
}
