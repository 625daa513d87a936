/// Properties that hold for all texts of a column.
struct TextTraits {
  /// Whether all bytes are known from the encoding to be within 20…7E.
  var isPrintable: Bool
  /// The length of the shortest text in bytes.
  var shortest = Int.max
  var longest = 0
  /// The total length of all texts in bytes.
  var byteCount = 0
  /// Whether several entries may share the same text in memory.
  var isRepeated = false

  @inline(__always)
  mutating func note(_ count: Int) {
    shortest = min(shortest, count)
    longest = max(longest, count)
    byteCount &+= count
  }
}
