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
