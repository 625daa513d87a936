extension IntsColumn {
  /// Fills `output` with numbers. The caller must limit the count, because a constant column can claim any.
  static func decode(
    from reader: inout ByteReader, into output: UnsafeMutableBufferPointer<Int64>
  ) throws(MalformedError) {
    switch try reader.u8() {
    case constant: output.initialize(repeating: try reader.zigzag())
    case varint: try decodeVarints(from: &reader, into: output)
    case let encoding: try decodeBits(encoding, from: &reader, into: output)
    }
  }

  /// Reads the value of a column in constant encoding; nil, without reading anything, for any other encoding.
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
    var index = 0
    while index < output.count {
      let used = decodeShortVarints(reader.rest, into: output, from: &index)
      _ = try reader.take(used)
      // A varint longer than a word, malformed, or too close to the end.
      if index < output.count {
        output.initializeElement(at: index, to: try reader.zigzag())
        index += 1
      }
    }
  }

  /// Reads varints of up to eight bytes, without a branch per byte, until one is longer or malformed.
  ///
  /// A second decoder besides `ByteReader.varint`. Measured: 51 instructions for a number of two to four bytes, instead of 77 to 113.
  /// `ColumnTests` checks that both are equal.
  ///
  /// - Returns: the number of bytes used.
  private static func decodeShortVarints(
    _ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableBufferPointer<Int64>, from index: inout Int
  ) -> Int {
    let highBits: UInt64 = 0x8080_8080_8080_8080
    var offset = 0
    var next = index
    defer { index = next }
    while next < output.count, offset <= bytes.count - 8 {
      let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      let ends = ~word & highBits
      guard ends != 0 else { break }
      let lastBit = ends.trailingZeroBitCount
      // Keep the bytes up to the first end, and join their groups of seven bits.
      var value = word & (ends ^ (ends &- 1)) & ~highBits
      // A final byte of 0 after others is not the shortest form.
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
    // As an unsigned number, the distance from `smallest` to Int64.max is correct for either sign.
    guard largestOffset <= UInt64(bitPattern: Int64.max &- smallest) else {
      throw MalformedError("a number past 64 bits")
    }
  }
}
