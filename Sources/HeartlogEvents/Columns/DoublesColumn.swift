/// Doubles, as decimal fractions where they all are: see "doubles" in docs/format.md.
enum DoublesColumn {
  static let plain: UInt8 = 0
  static let decimal: UInt8 = 1

  /// The powers of ten that are tried; each is exact as a double.
  private static let powers: [Double] = [
    1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
  ]
  /// Above it, not every whole number is a double.
  private static let mantissaMax: Double = 9_007_199_254_740_992

  /// - Parameter values: at least one; finite, none of them a whole number within int64.
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

  static func decode(from reader: inout ByteReader, count: Int) throws(MalformedError) -> [Double] {
    var values: [Double] = []
    switch try reader.u8() {
    case plain:
      guard count <= reader.remaining / 8 else { throw .endOfBytes }
      values.reserveCapacity(count)
      for _ in 0..<count { values.append(Double(bitPattern: try reader.u64())) }
    case decimal:
      let exponent = Int(try reader.u8())
      guard (1..<powers.count).contains(exponent) else {
        throw MalformedError("decimal fractions of \(exponent) digits")
      }
      let mantissas = try IntsColumn.decode(from: &reader, count: count)
      values.reserveCapacity(count)
      for mantissa in mantissas {
        guard mantissa.magnitude <= UInt64(mantissaMax) else {
          throw MalformedError("a decimal fraction of more than 53 bits")
        }
        values.append(Double(mantissa) / powers[exponent])
      }
    case let encoding: throw MalformedError("doubles in encoding \(encoding)")
    }
    for value in values { try FieldValue.double(value).validate() }
    return values
  }

  /// The whole numbers that give the values again when divided by `power`; nil where one does not.
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
