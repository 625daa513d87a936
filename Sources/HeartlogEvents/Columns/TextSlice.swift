/// Where a text stands in a block's `BlockTexts`.
package struct TextSlice: Sendable, BitwiseCopyable {
  /// The number of bytes above the offset, 32 bits each, so that a slice takes the place of a number.
  let word: Int64

  init(word: Int64) { self.word = word }

  /// - Parameter offset: below 2^32, as `TextBuilder` sees to. `count` is smaller: a column has 64 MiB at most.
  @inline(__always)
  init(offset: Int, count: Int) { word = Int64(truncatingIfNeeded: count &<< 32 | offset) }

  @inline(__always)
  package var offset: Int { Int(truncatingIfNeeded: word & 0xFFFF_FFFF) }

  /// In bytes.
  @inline(__always)
  package var count: Int { Int(truncatingIfNeeded: word &>> 32) }
}
