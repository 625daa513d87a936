/// The next bits of a `BitReader` in a register, for loops over values that are at most 56 bits long.
///
/// A refill does not wait for the length of the value before it: the bytes that it loads were chosen by the refill
/// before. Source: Fabian Giesen, "Reading bits in far too many ways (part 2)" (2018), variant 4.
struct BitWindow {
  /// The next bits, from the lowest up; those above `count` may be true bits of the stream too, or zeros.
  private(set) var bits: UInt64
  /// At least 56 after a refill.
  private var count: Int
  /// The byte that the next refill loads from.
  private var next: Int
  private let reader: BitReader
  private let lastWord: Int

  /// The bits at the reader's position; nil where fewer than eight bytes are left there.
  @inline(__always)
  init?(_ reader: BitReader) {
    let byte = reader.position >> 3
    guard byte <= reader.bytes.count - 8 else { return nil }
    let used = reader.position & 7
    self.reader = reader
    bits = reader.word(at: byte) >> UInt64(used)
    count = 56 - used
    next = byte + 7
    lastWord = reader.bytes.count - 8
  }

  /// Makes sure that 56 bits are there; false where the reader's bytes do not have so many.
  @inline(__always)
  mutating func refill() -> Bool {
    guard next <= lastWord else { return false }
    bits |= reader.word(at: next) &<< UInt64(count)
    next += (63 &- count) >> 3
    count |= 56
    return true
  }

  /// Passes over bits: at most as many as there are since the last refill.
  @inline(__always)
  mutating func skip(_ width: Int) {
    bits &>>= UInt64(width)
    count &-= width
  }

  /// Where the bits begin, as a reader's position.
  @inline(__always)
  var position: Int { 8 * next - count }
}
