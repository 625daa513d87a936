/// Reads bits from bytes, each byte from its lowest bit up.
///
/// Past the end it reads zeros, so that loops need no check for each value; `finish` then refuses.
struct BitReader {
  let bytes: UnsafeRawBufferPointer
  /// In bits.
  var position = 0

  /// Reads what is left in `reader`, which `finish` then moves on.
  init(_ reader: ByteReader) { bytes = reader.rest }

  /// 64 bits from a byte on, zeros past the end.
  private func window(at byte: Int) -> UInt64 {
    if byte <= bytes.count - 8 { return word(at: byte) }
    var value: UInt64 = 0
    var place = byte
    while place < bytes.count {
      value |= UInt64(bytes[place]) << UInt64(8 * (place - byte))
      place += 1
    }
    return value
  }

  /// The next `width` bits, 0 to 64 of them.
  mutating func read(_ width: Int) -> UInt64 {
    guard width > 56 else { return readNarrow(width) }
    let low = readNarrow(32)
    return low | readNarrow(width - 32) << 32
  }

  @inline(__always)
  private mutating func readNarrow(_ width: Int) -> UInt64 {
    defer { position += width }
    return window(at: position >> 3) >> UInt64(position & 7) & ~(~0 << UInt64(width))
  }

  /// Counts 1 bits up to the next 0 bit, which is read too; but stops after `most` of them. `most` is below 57.
  mutating func readOnes(atMost most: Int) -> Int {
    let count = (~(window(at: position >> 3) >> UInt64(position & 7))).trailingZeroBitCount
    guard count < most else {
      position += most
      return most
    }
    position += count + 1
    return count
  }

  /// Moves `reader` past the bytes that were read; the bits that fill up the last one must be zeros.
  consuming func finish(_ reader: inout ByteReader) throws(MalformedError) {
    guard position <= 8 * bytes.count else { throw .endOfBytes }
    let used = try reader.take((position + 7) / 8)
    if position & 7 != 0, let last = used.last, last >> UInt8(position & 7) != 0 {
      throw MalformedError("bits after the last value")
    }
  }

  /// Eight bytes from `byte` on, which must be there.
  @inline(__always)
  func word(at byte: Int) -> UInt64 {
    UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: byte, as: UInt64.self))
  }
}

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
