/// Times in the format of RFC 3339, in whole milliseconds and the proleptic Gregorian calendar.
package enum RFC3339 {
  /// Returns the time in UTC with milliseconds: `2024-03-01T12:00:00.000Z`.
  ///
  /// The format covers only the years 0000 to 9999. Times outside are clamped.
  package static func text(_ time: Milliseconds) -> String {
    var output: [UInt8] = []
    output.reserveCapacity(24)
    append(time, to: &output)
    return String(decoding: output, as: UTF8.self)
  }

  /// The nearest time in the years 0000 to 9999.
  package static func clamped(_ time: Milliseconds) -> Milliseconds {
    min(max(time, Limits.dateMillisecondsMin), Limits.dateMillisecondsMax)
  }

  /// Appends the result of `text` as UTF-8.
  package static func append(_ time: Milliseconds, to output: inout [UInt8]) {
    let time = clamped(time)
    withUnsafeTemporaryAllocation(byteCount: CivilTime.millisecondsLength, alignment: 1) { text in
      let isWritten = CivilTime.write(milliseconds: time, withFraction: true, to: text)
      precondition(isWritten, "a time of the years 0000 to 9999 has a text")
      output.append(contentsOf: text)
    }
  }

  /// Parses a time with its offset: `2024-03-01T13:00:00.25+01:00`. Fractions of a second are rounded down to the millisecond. A leap
  /// second counts as the second after it.
  ///
  /// - Throws: `MalformedError` for any other format, for a day or time that does not exist, and for a time outside the years 0000 to 9999
  ///   in UTC.
  package static func parse(_ text: String) throws(MalformedError) -> Milliseconds {
    // Computed, so that it is created only when thrown.
    var malformed: MalformedError {
      MalformedError("\"\(text.prefix(64))\" is no RFC 3339 time like 2024-03-01T12:00:00Z")
    }
    var scanner = Scanner(text)
    guard let day = scanner.date(), scanner.take("T", or: "t"), let hour = scanner.digits(2), hour < 24,
      scanner.take(":"), let minute = scanner.digits(2), minute < 60,
      scanner.take(":"), let second = scanner.digits(2), second <= 60,
      let fraction = scanner.fraction(), let offsetMinutes = scanner.offsetMinutes(), scanner.isAtEnd
    else { throw malformed }
    let minutes = day * 1_440 + hour * 60 + minute - offsetMinutes
    // Leap seconds are the last second of a UTC day.
    if second == 60, (minutes + 1) % 1_440 != 0 { throw malformed }
    let time = minutes * 60_000 + second * 1_000 + fraction
    guard (Limits.dateMillisecondsMin...Limits.dateMillisecondsMax).contains(time) else {
      throw MalformedError("\"\(text)\" is outside the years 0000 to 9999 in UTC")
    }
    return time
  }

  /// Parses a time in UTC with all its digits, as `text` writes it, with or without milliseconds; nil for anything else.
  package static func milliseconds(_ text: UnsafeRawBufferPointer) -> Milliseconds? {
    CivilTime.milliseconds(text)
  }

  /// Parses a day, `2024-03-01`, as its first millisecond in UTC. It ends 86,400,000 milliseconds later.
  package static func parseDay(_ text: String) throws(MalformedError) -> Milliseconds {
    var scanner = Scanner(text)
    guard let day = scanner.date(), scanner.isAtEnd else {
      throw MalformedError("\"\(text.prefix(64))\" is no day like 2024-03-01")
    }
    return day * CivilDate.dayMilliseconds
  }

  /// Reads the parts of a time from the front of a text.
  private struct Scanner {
    private var rest: Substring.UTF8View

    init(_ text: String) { rest = text[...].utf8 }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func take(_ character: Unicode.Scalar, or other: Unicode.Scalar? = nil) -> Bool {
      guard let first = rest.first else { return false }
      guard first == UInt8(ascii: character) || other.map({ first == UInt8(ascii: $0) }) == true else {
        return false
      }
      rest.removeFirst()
      return true
    }

    mutating func digit() -> Int64? {
      guard let first = rest.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
        return nil
      }
      rest.removeFirst()
      return Int64(first - UInt8(ascii: "0"))
    }

    mutating func digits(_ count: Int) -> Int64? {
      var number: Int64 = 0
      for _ in 0..<count {
        guard let digit = digit() else { return nil }
        number = number * 10 + digit
      }
      return number
    }

    /// The number of days since 1970 of a date like `2024-03-01`.
    mutating func date() -> Int64? {
      guard let year = digits(4), take("-"), let month = digits(2), take("-"), let day = digits(2) else {
        return nil
      }
      return CivilDate(year: Int(year), month: Int(month), day: Int(day))?.daysSince1970
    }

    /// The whole milliseconds of a fraction of a second, 0 if there is none; nil for a point without digits.
    mutating func fraction() -> Int64? {
      guard take(".") else { return 0 }
      guard let first = digit() else { return nil }
      var milliseconds = first * 100
      var weight: Int64 = 10
      while let digit = digit() {
        milliseconds += digit * weight
        weight /= 10
      }
      return milliseconds
    }

    /// Minutes east of UTC.
    mutating func offsetMinutes() -> Int64? {
      if take("Z", or: "z") { return 0 }
      let isEast = take("+")
      guard isEast || take("-"), let hours = digits(2), hours < 24, take(":"), let minutes = digits(2),
        minutes < 60
      else { return nil }
      return isEast ? hours * 60 + minutes : -(hours * 60 + minutes)
    }
  }
}

/// A day of the proleptic Gregorian calendar, in the years 0000 to 9999. All code for months and leap years is here.
package struct CivilDate: Equatable, Sendable {
  package let year: Int
  /// Starts at 1.
  package let month: Int
  /// Starts at 1.
  package let day: Int

  /// The number of milliseconds in a day.
  package static let dayMilliseconds: Milliseconds = 86_400_000

  /// Creates a date; nil if the calendar does not have that day.
  package init?(year: Int, month: Int, day: Int) {
    guard (0...9_999).contains(year), (1...12).contains(month), day >= 1,
      day <= Self.dayCount(year: year, month: month)
    else { return nil }
    (self.year, self.month, self.day) = (year, month, day)
  }

  /// Creates a date from a number of days since 1970, with few 32-bit divisions. Not meaningful outside the years 0000 to 9999.
  ///
  /// Source: Cassio Neri, Lorenz Schneider, "Euclidean affine functions and their application to calendar algorithms" (2022), section 6.
  @inline(__always)
  package init(daysSince1970 days: Int64) {
    // Count from the era before that of year 0, so that no day is negative.
    let quarters = 4 &* UInt32(truncatingIfNeeded: days &+ 719_468 &+ 146_097) &+ 3
    let century = quarters / 146_097
    let quartersOfCentury = quarters % 146_097 | 3
    let product = UInt64(quartersOfCentury) &* 2_939_745
    let dayOfYear = UInt32(truncatingIfNeeded: product) / 2_939_745 / 4
    let monthAndDay = 2_141 &* dayOfYear &+ 197_913
    let month = monthAndDay >> 16
    let isNextYear = dayOfYear >= 306
    let marchYear = 100 &* century &+ UInt32(truncatingIfNeeded: product >> 32)
    year = Int(truncatingIfNeeded: marchYear &- 400 &+ (isNextYear ? 1 : 0))
    self.month = Int(truncatingIfNeeded: isNextYear ? month &- 12 : month)
    day = Int(truncatingIfNeeded: (monthAndDay & 0xFFFF) / 2_141 &+ 1)
  }

  /// The day in UTC that contains a time. Times outside the years 0000 to 9999 are clamped.
  package init(_ time: Milliseconds) {
    let time = min(max(time, Limits.dateMillisecondsMin), Limits.dateMillisecondsMax)
    self.init(daysSince1970: Self.floorDivide(time, by: Self.dayMilliseconds))
  }

  /// The number of days since 1970, computed with eras of 400 years that begin in March, so that the leap day is the last of a year.
  ///
  /// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
  @inline(__always)
  package var daysSince1970: Int64 {
    let marchYear = Int64(month <= 2 ? year - 1 : year)
    let era = Self.floorDivide(marchYear, by: 400)
    let yearOfEra = marchYear - era * 400
    let dayOfYear = Int64((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1)
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }

  /// The first millisecond of the day in UTC.
  package var start: Milliseconds { daysSince1970 * Self.dayMilliseconds }

  /// Returns the number of days in a month.
  package static func dayCount(year: Int, month: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Returns the quotient, rounded down even for negative dividends.
  static func floorDivide(_ value: Int64, by divisor: Int64) -> Int64 {
    let quotient = value / divisor
    return value % divisor < 0 ? quotient - 1 : quotient
  }
}
