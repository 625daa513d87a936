/// What holds of all texts of a column.
struct TextTraits {
  /// All bytes lie within 20…7E, as far as the encoding says so.
  var isPrintable: Bool
  /// In bytes.
  var shortest = Int.max
  var longest = 0
  /// The bytes of all texts together.
  var byteCount = 0
  /// The same text may stand at many places, in the same memory.
  var isRepeated = false

  @inline(__always)
  mutating func note(_ count: Int) {
    shortest = min(shortest, count)
    longest = max(longest, count)
    byteCount &+= count
  }
}
