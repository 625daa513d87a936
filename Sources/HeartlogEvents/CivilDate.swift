/// A day of the proleptic Gregorian calendar, in the years 0000 to 9999: the one place that knows months and leap years.
package struct CivilDate: Equatable, Sendable {
  package let year: Int
  /// From 1 on.
  package let month: Int
  /// From 1 on.
  package let day: Int

  /// The milliseconds of a day.
  package static let dayMilliseconds: Milliseconds = 86_400_000

  /// Nil for a day that the calendar does not have.
  package init?(year: Int, month: Int, day: Int) {
    guard (0...9_999).contains(year), (1...12).contains(month), day >= 1,
      day <= Self.dayCount(year: year, month: month)
    else { return nil }
    (self.year, self.month, self.day) = (year, month, day)
  }

  /// The date of a count of days since 1970, in few divisions of 32 bits. The counts of other years than 0000 to 9999 have no meaning.
  ///
  /// Source: Cassio Neri, Lorenz Schneider, "Euclidean affine functions and their application to calendar algorithms" (2022), section 6.
  @inline(__always)
  package init(daysSince1970 days: Int64) {
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
    year = Int(truncatingIfNeeded: marchYear &- 400 &+ (isNextYear ? 1 : 0))
    self.month = Int(truncatingIfNeeded: isNextYear ? month &- 12 : month)
    day = Int(truncatingIfNeeded: (monthAndDay & 0xFFFF) / 2_141 &+ 1)
  }

  /// The day, in UTC, that a time lies in; the nearest day for a time outside the years 0000 to 9999.
  package init(_ time: Milliseconds) {
    let time = min(max(time, Limits.dateMillisecondsMin), Limits.dateMillisecondsMax)
    self.init(daysSince1970: Self.floorDivide(time, by: Self.dayMilliseconds))
  }

  /// The count of days since 1970, by eras of 400 years that begin in March, so that the leap day is a year's last.
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

  /// How many days a month has.
  package static func dayCount(year: Int, month: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// The quotient, rounded down, of negative dividends too.
  static func floorDivide(_ value: Int64, by divisor: Int64) -> Int64 {
    let quotient = value / divisor
    return value % divisor < 0 ? quotient - 1 : quotient
  }
}
