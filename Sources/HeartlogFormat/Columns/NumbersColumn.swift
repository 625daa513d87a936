/// Signed 64-bit numbers in the smallest of several encodings: see "ints" in docs/format.md.
enum IntsColumn {
  static let constant: UInt8 = 0
  static let varint: UInt8 = 1
  static let packed: UInt8 = 2
  static let rice: UInt8 = 3
  static let sized: UInt8 = 4

  /// After this many 1 bits, a Rice value is stored as plain 64 bits.
  static let riceEscape = 24
  static let riceShiftMax = 56

  /// - Parameter values: at least one.
  static func encode(_ values: [Int64], to writer: inout ByteWriter) {
    guard let first = values.first else { preconditionFailure("a column without a value is left out") }
    var smallest = first
    var largest = first
    for value in values {
      smallest = min(smallest, value)
      largest = max(largest, value)
    }
    if smallest == largest {
      writer.u8(constant)
      writer.zigzag(first)
      return
    }
    let offsets = values.map { UInt64(bitPattern: $0 &- smallest) }
    let width = bitCount(UInt64(bitPattern: largest &- smallest))
    let shift = riceShift(offsets)
    let lengthWidth = bitCount(UInt64(width))
    // The size of each encoding, not counting its first byte. Packed, Rice and sized share the smallest value and one byte.
    let common = ByteWriter.varintByteCount(ByteWriter.zigzag(smallest)) + 1
    let sizes = [
      (varint, values.reduce(0) { $0 + ByteWriter.varintByteCount(ByteWriter.zigzag($1)) }),
      (packed, common + (values.count * width + 7) / 8),
      (rice, common + (shift.bits + 7) / 8),
      (sized, common + (offsets.reduce(0) { $0 + sizedBitCount($1, lengthWidth: lengthWidth) } + 7) / 8),
    ]
    // On a tie, the encoding with the lowest number wins.
    let best = sizes.reduce(sizes[0]) { $1.1 < $0.1 ? $1 : $0 }
    writer.u8(best.0)
    let start = writer.count
    guard best.0 != varint else {
      for value in values { writer.zigzag(value) }
      return
    }
    writer.zigzag(smallest)
    var bits = BitWriter(bitCount: 8 * best.1)
    switch best.0 {
    case packed:
      writer.u8(UInt8(width))
      for offset in offsets { bits.write(offset, width: width) }
    case rice:
      writer.u8(UInt8(shift.shift))
      for offset in offsets { write(offset, riceShift: shift.shift, to: &bits) }
    default:
      writer.u8(UInt8(lengthWidth))
      for offset in offsets {
        let length = bitCount(offset)
        bits.write(UInt64(length), width: lengthWidth)
        bits.write(offset, width: max(0, length - 1))
      }
    }
    writer.raw(bits.finish())
    assert(writer.count - start == best.1, "an encoding takes the bytes that were counted")
  }

  // MARK: - Sizes

  /// Returns the number of significant bits, 0 for 0.
  static func bitCount(_ value: UInt64) -> Int { 64 - value.leadingZeroBitCount }

  private static func sizedBitCount(_ offset: UInt64, lengthWidth: Int) -> Int {
    lengthWidth + max(0, bitCount(offset) - 1)
  }

  /// Returns the best of three shifts around the mean, and the number of bits it takes.
  private static func riceShift(_ offsets: [UInt64]) -> (shift: Int, bits: Int) {
    let sum = offsets.reduce(UInt128(0)) { $0 + UInt128($1) }
    let meanBits = bitCount(UInt64(truncatingIfNeeded: sum / UInt128(offsets.count)))
    var best = (shift: 0, bits: Int.max)
    for candidate in meanBits - 2...meanBits {
      let shift = min(max(candidate, 0), riceShiftMax)
      let bits = offsets.reduce(0) { $0 + riceBitCount($1, shift: shift) }
      if bits < best.bits { best = (shift, bits) }
    }
    return best
  }

  private static func riceBitCount(_ offset: UInt64, shift: Int) -> Int {
    let ones = offset >> UInt64(shift)
    return ones < UInt64(riceEscape) ? Int(ones) + 1 + shift : riceEscape + 64
  }

  private static func write(_ offset: UInt64, riceShift shift: Int, to bits: inout BitWriter) {
    let ones = offset >> UInt64(shift)
    if ones < UInt64(riceEscape) {
      // That many 1 bits, followed by a 0 bit.
      bits.write(~(~0 << ones), width: Int(ones) + 1)
      bits.write(offset, width: shift)
    } else {
      bits.write(~0, width: riceEscape)
      bits.write(offset, width: 64)
    }
  }

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
    assert(offset <= bytes.count && next <= output.count, "numbers end within the bytes")
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

/// Doubles, stored as decimal fractions if all of them can be: see "doubles" in docs/format.md.
enum DoublesColumn {
  static let plain: UInt8 = 0
  static let decimal: UInt8 = 1

  /// The powers of ten to try; each is exact as a double.
  private static let powers: [Double] = [
    1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
  ]
  /// 2^53. Above it, not every integer is a double.
  private static let mantissaMax: Double = 9_007_199_254_740_992

  /// - Parameter values: at least one; finite, and no integer within Int64.
  static func encode(_ values: [Double], to writer: inout ByteWriter) {
    assert(!values.isEmpty, "a column without a value is left out")
    for exponent in 1..<powers.count {
      guard let mantissas = mantissas(values, power: powers[exponent]) else { continue }
      writer.u8(decimal)
      writer.u8(UInt8(exponent))
      IntsColumn.encode(mantissas, to: &writer)
      return
    }
    writer.u8(plain)
    for value in values { writer.u64(value.bitPattern) }
  }

  /// Fills `output` with doubles, as their bits.
  static func decode(
    from reader: inout ByteReader, into output: UnsafeMutableBufferPointer<Int64>
  ) throws(MalformedError) {
    switch try reader.u8() {
    case plain:
      guard output.count <= reader.remaining / 8 else { throw .endOfBytes }
      let bytes = try reader.take(8 * output.count)
      for index in output.indices {
        let bits = Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8 * index, as: Int64.self))
        output.initializeElement(at: index, to: bits)
      }
    case decimal:
      let exponent = Int(try reader.u8())
      guard (1..<powers.count).contains(exponent) else {
        throw MalformedError("decimal fractions of \(exponent) digits")
      }
      try IntsColumn.decode(from: &reader, into: output)
      let power = powers[exponent]
      for index in output.indices {
        let mantissa = output[index]
        guard mantissa.magnitude <= UInt64(mantissaMax) else {
          throw MalformedError("a decimal fraction of more than 53 bits")
        }
        output[index] = Int64(bitPattern: (Double(mantissa) / power).bitPattern)
      }
    case let encoding: throw MalformedError("doubles in encoding \(encoding)")
    }
    for bits in output {
      let value = Double(bitPattern: UInt64(bitPattern: bits))
      // Most values are fractions far below 2^63 and need no further checks.
      if value.magnitude < 0x1p62, Double(Int64(value)) != value { continue }
      try MalformedError.check(BorrowedValue.double(value).problem)
    }
  }

  /// Returns the integers that yield the values again when divided by `power`; nil if one does not.
  private static func mantissas(_ values: [Double], power: Double) -> [Int64]? {
    var mantissas: [Int64] = []
    for value in values {
      let mantissa = (value * power).rounded(.toNearestOrEven)
      guard mantissa.magnitude <= mantissaMax, mantissa / power == value else { return nil }
      mantissas.append(Int64(mantissa))
    }
    return mantissas
  }
}
