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
