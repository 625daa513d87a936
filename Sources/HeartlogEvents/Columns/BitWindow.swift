/// The next bits of a `BitReader` in a register, for loops over values of at most 56 bits.
///
/// A refill does not depend on the length of the previous value, because the previous refill chose the bytes that it loads. Source: Fabian
/// Giesen, "Reading bits in far too many ways (part 2)" (2018), variant 4.
struct BitWindow {
  /// The next bits, lowest first. Bits above `count` may be bits of the stream, or zeros.
  private(set) var bits: UInt64
  /// At least 56 after a refill.
  private var count: Int
  /// The offset of the byte that the next refill loads.
  private var next: Int
  private let reader: BitReader
  private let lastWord: Int

  /// Starts at the reader's position; nil if fewer than eight bytes remain.
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

  /// Ensures that at least 56 bits are available; false if the reader does not have enough bytes.
  @inline(__always)
  mutating func refill() -> Bool {
    guard next <= lastWord else { return false }
    bits |= reader.word(at: next) &<< UInt64(count)
    next += (63 &- count) >> 3
    count |= 56
    return true
  }

  /// Skips bits, at most as many as the last refill provided.
  @inline(__always)
  mutating func skip(_ width: Int) {
    bits &>>= UInt64(width)
    count &-= width
  }

  /// The position of the next bit, as a position of the reader.
  @inline(__always)
  var position: Int { 8 * next - count }
}
