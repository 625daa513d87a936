/// Times as the text columns write them: `YYYY-MM-DDTHH:MM:SSZ`, with or without milliseconds, and nothing else.
enum CivilTime {
  /// Bytes of a text without and with milliseconds.
  static let secondsLength = 20
  static let millisecondsLength = 24

  /// Reads a real date and time of the years 0000–9999. Milliseconds since 1970; nil for anything else.
  static func milliseconds(_ text: UnsafeRawBufferPointer) -> Int64? {
    guard text.count == secondsLength || text.count == millisecondsLength,
      text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"), text[10] == UInt8(ascii: "T"),
      text[13] == UInt8(ascii: ":"), text[16] == UInt8(ascii: ":"), text[text.count - 1] == UInt8(ascii: "Z"),
      let year = number(text, 0..<4), let month = number(text, 5..<7), let day = number(text, 8..<10),
      let hour = number(text, 11..<13), let minute = number(text, 14..<16),
      let second = number(text, 17..<19),
      (1...12).contains(month), day >= 1, day <= dayCount(year: year, month: month), hour < 24, minute < 60,
      second < 60
    else { return nil }
    var fraction: Int64 = 0
    if text.count == millisecondsLength {
      guard text[19] == UInt8(ascii: "."), let value = number(text, 20..<23) else { return nil }
      fraction = value
    }
    let seconds = days(year: year, month: month, day: day) * 86_400 + hour * 3_600 + minute * 60 + second
    return seconds * 1_000 + fraction
  }

  /// The text of a time; nil outside the years 0000–9999.
  static func text(milliseconds: Int64, withFraction: Bool) -> String? {
    let length = withFraction ? millisecondsLength : secondsLength
    var isWritten = false
    let text = String(unsafeUninitializedCapacity: length) { buffer in
      isWritten = write(
        milliseconds: milliseconds, withFraction: withFraction, to: UnsafeMutableRawBufferPointer(buffer))
      return isWritten ? length : 0
    }
    return isWritten ? text : nil
  }

  /// Writes the text of a time; false, and nothing is written, outside the years 0000–9999.
  ///
  /// - Parameter text: room for the text.
  static func write(
    milliseconds: Int64, withFraction: Bool, to text: UnsafeMutableRawBufferPointer
  ) -> Bool {
    precondition(text.count >= (withFraction ? millisecondsLength : secondsLength), "room for the text")
    guard milliseconds >= Limits.dateMillisecondsMin, milliseconds <= Limits.dateMillisecondsMax else {
      return false
    }
    let seconds = floorDivide(milliseconds, by: 1_000)
    let days = floorDivide(seconds, by: 86_400)
    let time = UInt32(truncatingIfNeeded: seconds - days * 86_400)
    let date = date(days: days)
    func put(_ value: UInt32, at place: Int, _ separator: Unicode.Scalar) {
      // Two digits and what follows them.
      text[place] = UInt8(truncatingIfNeeded: value / 10) + UInt8(ascii: "0")
      text[place + 1] = UInt8(truncatingIfNeeded: value % 10) + UInt8(ascii: "0")
      text[place + 2] = UInt8(ascii: separator)
    }
    put(date.year / 100, at: 0, "-")
    put(date.year % 100, at: 2, "-")
    put(date.month, at: 5, "-")
    put(date.day, at: 8, "T")
    put(time / 3_600, at: 11, ":")
    put(time / 60 % 60, at: 14, ":")
    put(time % 60, at: 17, withFraction ? "." : "Z")
    if withFraction {
      let fraction = UInt32(truncatingIfNeeded: milliseconds - seconds * 1_000)
      text[20] = UInt8(truncatingIfNeeded: fraction / 100) + UInt8(ascii: "0")
      put(fraction % 100, at: 21, "Z")
    }
    return true
  }

  private static func number(_ text: UnsafeRawBufferPointer, _ digits: Range<Int>) -> Int64? {
    var value: Int64 = 0
    for place in digits {
      let digit = text[place] &- UInt8(ascii: "0")
      guard digit < 10 else { return nil }
      value = value * 10 + Int64(digit)
    }
    return value
  }

  private static func dayCount(year: Int64, month: Int64) -> Int64 {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  // Days since 1970 in the proleptic Gregorian calendar, counted in eras of 400 years that begin in March.

  /// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
  private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
    let marchYear = month <= 2 ? year - 1 : year
    let era = floorDivide(marchYear, by: 400)
    let yearOfEra = marchYear - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }

  /// The date of a day of the years 0000–9999, in few divisions of 32 bits.
  ///
  /// Source: Cassio Neri, Lorenz Schneider, "Euclidean affine functions and their application to calendar algorithms" (2022), section 6.
  @inline(__always)
  private static func date(days: Int64) -> (year: UInt32, month: UInt32, day: UInt32) {
    // From an era before that of year 0, so that no day is negative.
    let quarters = 4 &* UInt32(truncatingIfNeeded: days &+ 719_468 &+ 146_097) &+ 3
    let century = quarters / 146_097
    let quartersOfCentury = quarters % 146_097 | 3
    let product = UInt64(quartersOfCentury) &* 2_939_745
    let dayOfYear = UInt32(truncatingIfNeeded: product) / 2_939_745 / 4
    let monthAndDay = 2_141 &* dayOfYear &+ 197_913
    let month = monthAndDay >> 16
    let isNextYear = dayOfYear >= 306
    let marchYear = 100 &* century &+ UInt32(truncatingIfNeeded: product >> 32)
    return (
      marchYear &- 400 &+ (isNextYear ? 1 : 0), isNextYear ? month &- 12 : month,
      (monthAndDay & 0xFFFF) / 2_141 &+ 1
    )
  }

  private static func floorDivide(_ value: Int64, by divisor: Int64) -> Int64 {
    let quotient = value / divisor
    return value % divisor < 0 ? quotient - 1 : quotient
  }
}
