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
