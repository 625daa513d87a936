/// Reads bits from bytes, starting at the lowest bit of each byte.
///
/// Reads zeros past the end, so that loops need no bounds check per value; `finish` throws in that case.
struct BitReader {
  let bytes: UnsafeRawBufferPointer
  /// The position in bits.
  var position = 0

  /// Reads the rest of `reader`. `finish` advances `reader`.
  init(_ reader: ByteReader) { bytes = reader.rest }

  /// Returns 64 bits from a byte on, with zeros past the end.
  private func window(at byte: Int) -> UInt64 {
    if byte <= bytes.count - 8 { return word(at: byte) }
    var value: UInt64 = 0
    var offset = byte
    while offset < bytes.count {
      value |= UInt64(bytes[offset]) << UInt64(8 * (offset - byte))
      offset += 1
    }
    return value
  }

  /// Reads the next `width` bits, 0 to 64.
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

  /// Counts 1 bits up to the next 0 bit and skips that too. Stops after `most` 1 bits; `most` must be below 57.
  mutating func readOnes(atMost most: Int) -> Int {
    let count = (~(window(at: position >> 3) >> UInt64(position & 7))).trailingZeroBitCount
    guard count < most else {
      position += most
      return most
    }
    position += count + 1
    return count
  }

  /// Advances `reader` past the bytes that were read. Throws if reading went past the end, or if the unused bits of the last byte are not
  /// zero.
  consuming func finish(_ reader: inout ByteReader) throws(MalformedError) {
    guard position <= 8 * bytes.count else { throw .endOfBytes }
    let used = try reader.take((position + 7) / 8)
    if position & 7 != 0, let last = used.last, last >> UInt8(position & 7) != 0 {
      throw MalformedError("bits after the last value")
    }
  }

  /// Returns eight bytes from `byte` on, which must exist.
  @inline(__always)
  func word(at byte: Int) -> UInt64 {
    UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: byte, as: UInt64.self))
  }
}
