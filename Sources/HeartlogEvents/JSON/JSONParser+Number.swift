extension JSONParser {
  /// The maximum length of a number: more than twice what distinguishes any double from its neighbours.
  private static let numberBytesMax = 4_096

  /// 10^0 to 10^22, the powers of ten that a double represents exactly.
  private static let powersOfTen: [Double] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
  ]

  /// Reads a number. An integer keeps its exact value: within Int64 no double is involved; beyond it, only the form in which RFC 8785
  /// writes a double is accepted. A number with a fraction or an exponent becomes the nearest double, or an int64 if `Int64(exactly:)`
  /// accepts that.
  mutating func number() throws(MalformedError) -> JSONValue {
    let start = offset
    let isNegative = current == UInt8(ascii: "-")
    if isNegative { offset += 1 }
    var digits = Digits()
    try integerPart(&digits)
    var isInteger = true
    if current == UInt8(ascii: ".") {
      isInteger = false
      offset += 1
      let integerDigits = offset
      try run(of: &digits)
      digits.exponent = integerDigits - offset
    }
    if current | 0x20 == UInt8(ascii: "e") {
      isInteger = false
      digits.exponent += try exponent()
    }
    guard offset - start <= Self.numberBytesMax else {
      throw malformed("a number of more than \(Self.numberBytesMax) digits", at: start)
    }
    if isInteger, !digits.hasOverflowed {
      if !isNegative, let integer = Int64(exactly: digits.magnitude) { return .int64(integer) }
      if isNegative, digits.magnitude <= 1 << 63 {
        return .int64(Int64(truncatingIfNeeded: 0 &- digits.magnitude))
      }
    }
    let magnitude = digits.exactDouble ?? nearestDouble(from: isNegative ? start + 1 : start)
    guard let value = JSONValue.number(isNegative ? -magnitude : magnitude) else {
      throw malformed("a number too large for a double", at: start)
    }
    if isInteger {
      let text = String(decoding: bytes[start..<offset], as: UTF8.self)
      guard value.jsonText == text else {
        refusedPath = []
        throw malformed(FieldValue.refusal(ofInteger: text).reason, at: start)
      }
    }
    return value
  }

  /// The digits read so far, as magnitude × 10^exponent.
  private struct Digits {
    var magnitude: UInt64 = 0
    var hasOverflowed = false
    var exponent = 0

    @inline(__always)
    mutating func append(_ byte: UInt8) {
      let (tens, overflowed) = magnitude.multipliedReportingOverflow(by: 10)
      let (sum, carried) = tens.addingReportingOverflow(UInt64(byte - UInt8(ascii: "0")))
      magnitude = sum
      hasOverflowed = hasOverflowed || overflowed || carried
    }

    /// The double, if one multiplication or division of exact operands rounds it correctly.
    /// Source: Clinger, "How to Read Floating Point Numbers Accurately" (1990).
    var exactDouble: Double? {
      guard !hasOverflowed, magnitude <= 1 << 53, abs(exponent) <= 22 else { return nil }
      return exponent < 0
        ? Double(magnitude) / JSONParser.powersOfTen[-exponent]
        : Double(magnitude) * JSONParser.powersOfTen[exponent]
    }
  }

  private var isAtDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(current) }

  private mutating func integerPart(_ digits: inout Digits) throws(MalformedError) {
    guard current == UInt8(ascii: "0") else { return try run(of: &digits) }
    offset += 1
    if isAtDigit { throw malformed("a number with a leading zero", at: offset - 1) }
  }

  /// Reads one or more digits.
  private mutating func run(of digits: inout Digits) throws(MalformedError) {
    guard isAtDigit else { throw unexpected("a digit") }
    while isAtDigit {
      digits.append(current)
      offset += 1
    }
  }

  /// Reads the exponent, starting at its letter. Clamped to ±100,000, which is far outside a double's range.
  private mutating func exponent() throws(MalformedError) -> Int {
    offset += 1
    let isNegative = current == UInt8(ascii: "-")
    if isNegative || current == UInt8(ascii: "+") { offset += 1 }
    guard isAtDigit else { throw unexpected("a digit") }
    var exponent = 0
    while isAtDigit {
      exponent = min(100_000, exponent * 10 + Int(current - UInt8(ascii: "0")))
      offset += 1
    }
    return isNegative ? -exponent : exponent
  }

  /// Returns the double nearest to the digits from `start` to `offset`; infinity if they exceed every double.
  private func nearestDouble(from start: Int) -> Double {
    Double(String(decoding: bytes[start..<offset], as: UTF8.self)) ?? .infinity
  }
}
