import HeartlogEvents

/// Dates and times as RFC 3339 writes them, in the proleptic Gregorian calendar, years 0000 to 9999.
enum RFC3339 {
  /// Reads a date-time with its zone. Digits below the millisecond are cut off, towards the past.
  ///
  /// - Returns: nil for anything that RFC 3339 does not write, and for leap seconds, which have no place on
  ///   this time line.
  static func parse(_ text: String) -> Milliseconds? {
    var digits = Cursor(text.utf8)
    guard let year = digits.number(4), digits.take("-"), let month = digits.number(2), digits.take("-"),
      let day = digits.number(2), digits.take("T") || digits.take("t") || digits.take(" "),
      let hour = digits.number(2), digits.take(":"), let minute = digits.number(2), digits.take(":"),
      let second = digits.number(2)
    else { return nil }
    guard (1...12).contains(month), (1...daysInMonth(year, month)).contains(day), hour < 24, minute < 60,
      second < 60
    else { return nil }
    var fraction: Int64 = 0
    if digits.take(".") {
      guard let milliseconds = digits.fraction() else { return nil }
      fraction = milliseconds
    }
    guard let offset = digits.offsetMinutes(), digits.isAtEnd else { return nil }
    let minutes = (daysSince1970(year, month, day) * 24 + hour) * 60 + minute - offset
    let result = (minutes * 60 + second) * 1_000 + fraction
    guard (Limits.dateMillisecondsMin...Limits.dateMillisecondsMax).contains(result) else { return nil }
    return result
  }

  /// `2026-03-02T07:15:00.000Z`. Times outside the years 0000 to 9999 are shown as the nearest one inside.
  static func format(_ time: Milliseconds) -> String {
    let time = min(max(time, Limits.dateMillisecondsMin), Limits.dateMillisecondsMax)
    let dayLength: Int64 = 86_400_000
    let day = time >= 0 ? time / dayLength : (time - dayLength + 1) / dayLength
    let rest = time - day * dayLength
    let (year, month, dayOfMonth) = civil(daysSince1970: day)
    let clock = "\(two(rest / 3_600_000)):\(two(rest / 60_000 % 60)):\(two(rest / 1_000 % 60))"
    return "\(padded(year, 4))-\(two(month))-\(two(dayOfMonth))T\(clock).\(padded(rest % 1_000, 3))Z"
  }

  // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": days_from_civil and civil_from_days. Years
  // start in March, so that the leap day is the last; an era is 400 years, 146,097 days.

  private static func daysSince1970(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private static func civil(daysSince1970 days: Int64) -> (Int64, Int64, Int64) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    return (
      yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * marchMonth + 2) / 5 + 1
    )
  }

  private static func daysInMonth(_ year: Int64, _ month: Int64) -> Int64 {
    switch month {
    case 4, 6, 9, 11: 30
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    default: 31
    }
  }

  private static func two(_ number: Int64) -> String { padded(number, 2) }

  private static func padded(_ number: Int64, _ digits: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
  }

  private struct Cursor {
    private var rest: String.UTF8View.SubSequence

    init(_ text: String.UTF8View) { rest = text[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
      guard let first = rest.first, first == UInt8(ascii: character) else { return false }
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

    mutating func number(_ count: Int) -> Int64? {
      var result: Int64 = 0
      for _ in 0..<count {
        guard let digit = digit() else { return nil }
        result = result * 10 + digit
      }
      return result
    }

    /// One digit or more; the first three are milliseconds.
    mutating func fraction() -> Int64? {
      var result: Int64 = 0
      var count = 0
      while let digit = digit() {
        if count < 3 { result = result * 10 + digit }
        count += 1
      }
      guard count > 0 else { return nil }
      while count < 3 {
        result *= 10
        count += 1
      }
      return result
    }

    mutating func offsetMinutes() -> Int64? {
      if take("Z") || take("z") { return 0 }
      let sign: Int64
      if take("+") { sign = 1 } else if take("-") { sign = -1 } else { return nil }
      guard let hours = number(2), take(":"), let minutes = number(2), hours < 24, minutes < 60 else {
        return nil
      }
      return sign * (hours * 60 + minutes)
    }
  }
}
