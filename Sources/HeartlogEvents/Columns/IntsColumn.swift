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
}
