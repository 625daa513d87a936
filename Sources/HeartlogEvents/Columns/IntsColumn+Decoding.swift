extension IntsColumn {
  /// Reads as many numbers as `output` has room for; the caller has bounded them, for a constant claims any number.
  static func decode(
    from reader: inout ByteReader, into output: UnsafeMutableBufferPointer<Int64>
  ) throws(MalformedError) {
    switch try reader.u8() {
    case constant: output.initialize(repeating: try reader.zigzag())
    case varint: try decodeVarints(from: &reader, into: output)
    case let encoding: try decodeBits(encoding, from: &reader, into: output)
    }
  }

  /// The number that all values of a column are, where it says so; else nothing is read.
  static func decodeConstant(from reader: inout ByteReader) throws(MalformedError) -> Int64? {
    guard reader.rest.first == constant else { return nil }
    _ = try reader.u8()
    return try reader.zigzag()
  }

  // MARK: - Varints

  private static func decodeVarints(
    from reader: inout ByteReader, into output: UnsafeMutableBufferPointer<Int64>
  ) throws(MalformedError) {
    guard output.count <= reader.remaining else { throw .endOfBytes }
    var place = 0
    while place < output.count {
      let used = decodeShortVarints(reader.rest, into: output, from: &place)
      _ = try reader.take(used)
      // One that is longer than a word, malformed, or too near to the end.
      if place < output.count {
        output.initializeElement(at: place, to: try reader.zigzag())
        place += 1
      }
    }
  }

  /// Reads varints of up to eight bytes without a branch for each byte, up to the first that is not one of these.
  ///
  /// - Returns: how many bytes were used.
  private static func decodeShortVarints(
    _ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableBufferPointer<Int64>, from place: inout Int
  ) -> Int {
    let highBits: UInt64 = 0x8080_8080_8080_8080
    var offset = 0
    var next = place
    defer { place = next }
    while next < output.count, offset <= bytes.count - 8 {
      let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      let ends = ~word & highBits
      guard ends != 0 else { break }
      let lastBit = ends.trailingZeroBitCount
      // The bytes up to the first end, of which seven bits each are pushed together.
      var value = word & (ends ^ (ends &- 1)) & ~highBits
      // A last byte of 0 after others.
      if lastBit > 7, value >> UInt64(lastBit - 7) == 0 { break }
      value = (value & 0x007F_007F_007F_007F) | (value & 0x7F00_7F00_7F00_7F00) >> 1
      value = (value & 0x0000_3FFF_0000_3FFF) | (value & 0x3FFF_0000_3FFF_0000) >> 2
      value = (value & 0x0000_0000_0FFF_FFFF) | (value & 0x0FFF_FFFF_0000_0000) >> 4
      output.initializeElement(at: next, to: Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1))
      next += 1
      offset += (lastBit + 1) >> 3
    }
    return offset
  }

  // MARK: - Bits

  private static func decodeBits(
    _ encoding: UInt8, from reader: inout ByteReader, into output: UnsafeMutableBufferPointer<Int64>
  ) throws(MalformedError) {
    let smallest = try reader.zigzag()
    let parameter = Int(try reader.u8())
    // Each value takes at least one bit.
    guard output.count <= 8 * reader.remaining else { throw .endOfBytes }
    var bits = BitReader(reader)
    let largestOffset: UInt64
    switch encoding {
    case packed:
      guard (1...64).contains(parameter) else {
        throw MalformedError("packed numbers \(parameter) bits wide")
      }
      largestOffset = bits.readPacked(width: parameter, over: smallest, into: output)
    case rice:
      guard parameter <= riceShiftMax else { throw MalformedError("Rice numbers shifted by \(parameter)") }
      largestOffset = bits.readRice(shift: parameter, over: smallest, into: output)
    case sized:
      guard (1...7).contains(parameter) else { throw MalformedError("lengths \(parameter) bits wide") }
      largestOffset = try bits.readSized(lengthWidth: parameter, over: smallest, into: output)
    default: throw MalformedError("numbers in encoding \(encoding)")
    }
    try bits.finish(&reader)
    // The distance from `smallest` to the largest Int64 is right as an unsigned number, whatever the sign.
    guard largestOffset <= UInt64(bitPattern: Int64.max &- smallest) else {
      throw MalformedError("a number past 64 bits")
    }
  }
}
