import Synchronization

/// Random numbers that are the same for the same seed, anywhere: a seed names a test's input.
///
/// Source: SplitMix64, Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators" (2014).
package struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Whether something happens that happens `percent` times in a hundred.
  package mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

  /// Whether something happens that happens once in so many times.
  package mutating func isTrue(oneIn count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }

  /// Bytes of any value, which cannot be compressed.
  package mutating func bytes(_ count: Int) -> [UInt8] {
    let words = (0..<(count + 7) / 8).map { _ in next().littleEndian }
    return words.withUnsafeBytes { Array($0.prefix(count)) }
  }
}

/// The same for several threads.
package final class SharedGenerator: Sendable {
  private let generator: Mutex<SeededGenerator>

  package init(seed: UInt64) { generator = Mutex(SeededGenerator(seed: seed)) }

  package func next() -> UInt64 { generator.withLock { $0.next() } }
}
