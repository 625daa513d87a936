/// The location of a text in a block's `BlockTexts`.
package struct TextSlice: Sendable, BitwiseCopyable {
  /// The count of bytes in the high 32 bits, the offset in the low 32 bits. One word, so that slices can be stored in place of numbers.
  let word: Int64

  init(word: Int64) { self.word = word }

  /// - Parameters:
  ///   - offset: below 2^32, as `TextBuilder` ensures.
  ///   - count: smaller than 2^32 too, because a column has at most 64 MiB.
  @inline(__always)
  init(offset: Int, count: Int) { word = Int64(truncatingIfNeeded: count &<< 32 | offset) }

  @inline(__always)
  package var offset: Int { Int(truncatingIfNeeded: word & 0xFFFF_FFFF) }

  /// The length in bytes.
  @inline(__always)
  package var count: Int { Int(truncatingIfNeeded: word &>> 32) }
}
