/// Times as RFC 3339 writes them, whole milliseconds, in the proleptic Gregorian calendar.
package enum RFC3339 {
  private static let dayMilliseconds: Milliseconds = 86_400_000

  /// The time in UTC with milliseconds: `2024-03-01T12:00:00.000Z`.
  ///
  /// Only the years 0000 to 9999 have such a form; what lies outside is written as the nearest time inside.
  package static func text(_ time: Milliseconds) -> String {
    var output: [UInt8] = []
    output.reserveCapacity(24)
    append(time, to: &output)
    return String(decoding: output, as: UTF8.self)
  }

  /// Appends what `text` returns, UTF-8.
  package static func append(_ time: Milliseconds, to output: inout [UInt8]) {
    let time = min(max(time, Limits.dateMillisecondsMin), Limits.dateMillisecondsMax)
    // The remainder is the time of day, before 1970 too.
    let day = time >= 0 ? time / dayMilliseconds : (time + 1) / dayMilliseconds - 1
    let timeOfDay = time - day * dayMilliseconds
    let date = Civil(day: day)
    append(date.year, width: 4, after: nil, to: &output)
    append(date.month, width: 2, after: "-", to: &output)
    append(date.day, width: 2, after: "-", to: &output)
    append(timeOfDay / 3_600_000, width: 2, after: "T", to: &output)
    append(timeOfDay / 60_000 % 60, width: 2, after: ":", to: &output)
    append(timeOfDay / 1_000 % 60, width: 2, after: ":", to: &output)
    append(timeOfDay % 1_000, width: 3, after: ".", to: &output)
    output.append(UInt8(ascii: "Z"))
  }

  /// Reads a time with its offset: `2024-03-01T13:00:00.25+01:00`. Fractions of a second are rounded down to
  /// the millisecond; a leap second is the second after it.
  ///
  /// - Throws: `MalformedError` for another form, a day or time that does not exist, and for times that in UTC
  ///   lie outside the years 0000 to 9999.
  package static func parse(_ text: String) throws(MalformedError) -> Milliseconds {
    let malformed = MalformedError("\"\(text.prefix(64))\" is no RFC 3339 time like 2024-03-01T12:00:00Z")
    var scanner = Scanner(text)
    guard let day = scanner.date(), scanner.take("T", or: "t"), let hour = scanner.digits(2), hour < 24,
      scanner.take(":"), let minute = scanner.digits(2), minute < 60,
      scanner.take(":"), let second = scanner.digits(2), second <= 60,
      let fraction = scanner.fraction(), let offsetMinutes = scanner.offsetMinutes(), scanner.isAtEnd
    else { throw malformed }
    let minutes = day * 1_440 + hour * 60 + minute - offsetMinutes
    // Leap seconds end a day of UTC.
    if second == 60, (minutes + 1) % 1_440 != 0 { throw malformed }
    let time = minutes * 60_000 + second * 1_000 + fraction
    guard (Limits.dateMillisecondsMin...Limits.dateMillisecondsMax).contains(time) else {
      throw MalformedError("\"\(text)\" is outside the years 0000 to 9999 in UTC")
    }
    return time
  }

  /// Reads a day, `2024-03-01`, as its first millisecond in UTC. It ends 86,400,000 milliseconds later.
  package static func parseDay(_ text: String) throws(MalformedError) -> Milliseconds {
    var scanner = Scanner(text)
    guard let day = scanner.date(), scanner.isAtEnd else {
      throw MalformedError("\"\(text.prefix(64))\" is no day like 2024-03-01")
    }
    return day * dayMilliseconds
  }

  private static func append(
    _ number: Int64, width: Int, after separator: Unicode.Scalar?, to output: inout [UInt8]
  ) {
    if let separator { output.append(UInt8(ascii: separator)) }
    var divisor: Int64 = [1, 10, 100, 1_000][width - 1]
    while divisor > 0 {
      output.append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
      divisor /= 10
    }
  }

  /// A day of the calendar.
  private struct Civil {
    var year: Int64
    var month: Int64
    var day: Int64

    private static let daysOfMonths: [Int64] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

    /// Nil for a day that the calendar does not have.
    init?(year: Int64, month: Int64, day: Int64) {
      guard (1...12).contains(month), day >= 1 else { return nil }
      let isLeapYear = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
      guard day <= Self.daysOfMonths[Int(month) - 1] + (isLeapYear && month == 2 ? 1 : 0) else { return nil }
      (self.year, self.month, self.day) = (year, month, day)
    }

    /// From a count of days since 1970, within the years 0000 to 9999. Years are counted from March, so that
    /// the leap day is a year's last. Source: Hinnant, "chrono-Compatible Low-Level Date Algorithms".
    init(day count: Int64) {
      // Day 0 is 0000-03-01 of the era, 400 years of 146,097 days, before which only two months lie.
      let shifted = count + 719_468
      let era = shifted >= 0 ? shifted / 146_097 : -1
      let dayOfEra = shifted - era * 146_097
      let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
      let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
      let monthFromMarch = (5 * dayOfYear + 2) / 153
      day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
      month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
      year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// The count of days since 1970.
    var dayCount: Int64 {
      let yearFromMarch = month <= 2 ? year - 1 : year
      let era = yearFromMarch >= 0 ? yearFromMarch / 400 : -1
      let yearOfEra = yearFromMarch - era * 400
      let monthFromMarch = month > 2 ? month - 3 : month + 9
      let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
      return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
  }

  /// Reads the pieces of a time off the front of a text.
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

    /// The count of days since 1970 of `2024-03-01`.
    mutating func date() -> Int64? {
      guard let year = digits(4), take("-"), let month = digits(2), take("-"), let day = digits(2) else {
        return nil
      }
      return Civil(year: year, month: month, day: day)?.dayCount
    }

    /// The whole milliseconds of a fraction of a second, 0 where there is none; nil for a point alone.
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
