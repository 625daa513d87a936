import TestSupport

extension SeededGenerator {
  /// Bytes of a few words in any order, which can be compressed.
  mutating func text(_ count: Int) -> [UInt8] {
    let words = (0..<8).map { _ in bytes(Int.random(in: 1...30, using: &self)) }
    var text: [UInt8] = []
    while text.count < count { text += words[Int.random(in: 0..<8, using: &self)] }
    return Array(text.prefix(count))
  }
}
