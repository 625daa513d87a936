/// A small deterministic generator of random numbers (SplitMix64), so that a seed names a test's input.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Bytes of any value, which cannot be compressed.
  mutating func bytes(_ count: Int) -> [UInt8] {
    let words = (0..<(count + 7) / 8).map { _ in next().littleEndian }
    return words.withUnsafeBytes { Array($0.prefix(count)) }
  }

  /// Bytes of a few words in any order, which can be compressed.
  mutating func text(_ count: Int) -> [UInt8] {
    let words = (0..<8).map { _ in bytes(Int.random(in: 1...30, using: &self)) }
    var text: [UInt8] = []
    while text.count < count { text += words[Int.random(in: 0..<8, using: &self)] }
    return Array(text.prefix(count))
  }
}
