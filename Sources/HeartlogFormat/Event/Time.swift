/// Whole milliseconds since 1970-01-01T00:00:00Z.
public typealias Milliseconds = Int64

/// A hybrid logical timestamp: 48 bits of milliseconds since 1970, 16 bits of counter.
///
/// Timestamps are for ordering. They are only as accurate as the clock that created them.
/// Source: Kulkarni, Demirbas, Madappa, Avva, Leone, "Logical Physical Clocks" (2014).
package struct HybridTimestamp: RawRepresentable, Hashable, Sendable, Comparable, BitwiseCopyable,
  CustomStringConvertible
{
  /// The milliseconds in the high 48 bits, the counter in the low 16 bits.
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Creates the first timestamp of a millisecond. Milliseconds before 1970 count as 1970.
  package init(milliseconds: Milliseconds) {
    rawValue = UInt64(max(0, milliseconds)) << 16
  }

  /// Milliseconds since 1970.
  package var milliseconds: Milliseconds { Milliseconds(rawValue >> 16) }
  /// Distinguishes timestamps of the same millisecond.
  package var counter: UInt16 { UInt16(truncatingIfNeeded: rawValue) }

  /// The last valid timestamp: the end of the year 2999.
  package static let last = HybridTimestamp(rawValue: (UInt64(Limits.timeMillisecondsMax) << 16) | 0xFFFF)

  /// The last timestamp that a clock reaches by itself: the end of the year 2199. Later ones are reached only step by step.
  package static let lastOfClocks = HybridTimestamp(
    rawValue: (UInt64(Limits.clockMillisecondsMax) << 16) | 0xFFFF)

  package static func < (a: HybridTimestamp, b: HybridTimestamp) -> Bool { a.rawValue < b.rawValue }

  /// 16 hexadecimal digits.
  package var description: String {
    let digits = String(rawValue, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}

/// The clock that stamps commits. It strictly increases, and is never behind the stamps it has received.
package struct HybridClock: Sendable {
  /// The highest stamp given or received.
  package private(set) var last: HybridTimestamp

  /// Creates a clock that has received a stamp; by default none.
  package init(last: HybridTimestamp = HybridTimestamp(rawValue: 0)) { self.last = last }

  /// Returns the stamp of a new commit: max(last + 1, wall time). The counter carries into the milliseconds. A wall time beyond the year
  /// 2199 counts as the end of that year.
  ///
  /// - Returns: nil if the stamp would exceed the year 2999.
  package mutating func next(wallTime: Milliseconds) -> HybridTimestamp? {
    guard last < .last else { return nil }
    let stamp = max(
      HybridTimestamp(rawValue: last.rawValue + 1),
      HybridTimestamp(milliseconds: min(wallTime, Limits.clockMillisecondsMax)))
    guard stamp <= .last else { return nil }
    assert(stamp > last, "stamps rise")
    last = stamp
    return stamp
  }

  /// Returns whether the clock accepts a stamp from elsewhere: any up to the year 2199, and beyond that at most the last stamp plus one.
  /// Using up the remaining stamps thus takes that many commits.
  @inline(__always)
  package func reaches(_ stamp: HybridTimestamp) -> Bool {
    stamp <= .lastOfClocks || stamp.rawValue <= last.rawValue + 1
  }

  /// Receives a stamp if the clock accepts it; false otherwise.
  package mutating func receive(ifReached stamp: HybridTimestamp) -> Bool {
    guard reaches(stamp) else { return false }
    receive(stamp)
    return true
  }

  /// Returns the index of the first stamp that the clock does not accept after receiving those before it; nil if it accepts all.
  ///
  /// - Parameter stamps: in ascending order.
  package func firstOutOfReach(of stamps: ArraySlice<HybridTimestamp>) -> Int? {
    guard let highest = stamps.last, !reaches(highest) else { return nil }
    var clock = self
    return stamps.firstIndex { !clock.receive(ifReached: $0) }
  }

  /// Receives a stamp from the log or from another replica. The wall clock is not involved.
  package mutating func receive(_ stamp: HybridTimestamp) { last = max(last, stamp) }
}

/// The total order of writes, which decides every merge: the later stamp wins; for equal stamps the greater replica; within one replica the
/// greater number. See docs/merge.md.
package enum MergeOrder {
  /// Returns whether one write comes after another.
  ///
  /// - Parameters:
  ///   - stamps: the stamps of both, as raw values.
  ///   - numbers: the sequence numbers of both events, or the numbers of both commits. Used only if both are of one replica.
  ///   - isSameReplica: whether both are of one replica.
  ///   - replicas: returns the replicas of both. Called only if nothing else decides.
  @inlinable @inline(__always)
  package static func isLater(
    stamps: (UInt64, than: UInt64), numbers: (UInt64, than: UInt64), isSameReplica: Bool,
    replicas: () -> (ReplicaID, than: ReplicaID)
  ) -> Bool {
    if stamps.0 != stamps.than { return stamps.0 > stamps.than }
    if isSameReplica { return numbers.0 > numbers.than }
    let (replica, other) = replicas()
    return isLater(replica, than: other)
  }

  /// Returns whether the write of one replica comes after that of another with the same stamp.
  @inlinable @inline(__always)
  package static func isLater(_ replica: ReplicaID, than other: ReplicaID) -> Bool { replica > other }
}

/// A moment in the history of a store.
public enum LogMoment: Hashable, Sendable {
  /// All commits up to this time, in milliseconds since 1970. The time of a commit is the latest wall time of its device so far. Timestamps
  /// received from other devices do not count.
  case milliseconds(Milliseconds)
  /// The commit that contains this event, and all commits before it in the total order.
  case event(EventID)
  /// This commit of a device, and all commits before it in the total order.
  case commit(ReplicaID, CommitNumber)
}

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
    withUnsafeTemporaryAllocation(byteCount: millisecondsLength, alignment: 1) { text in
      let isWritten = write(milliseconds: time, withFraction: true, to: text)
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
    guard let time = text.withUTF8Bytes({ Scanner.time($0) }) else {
      throw MalformedError("\"\(text.prefix(64))\" is no RFC 3339 time like 2024-03-01T12:00:00Z")
    }
    guard (Limits.dateMillisecondsMin...Limits.dateMillisecondsMax).contains(time) else {
      throw MalformedError("\"\(text)\" is outside the years 0000 to 9999 in UTC")
    }
    return time
  }

  /// Parses a day, `2024-03-01`, as its first millisecond in UTC. It ends 86,400,000 milliseconds later.
  package static func parseDay(_ text: String) throws(MalformedError) -> Milliseconds {
    guard let day = text.withUTF8Bytes({ Scanner.day($0) }) else {
      throw MalformedError("\"\(text.prefix(64))\" is no day like 2024-03-01")
    }
    return day * CivilDate.dayMilliseconds
  }

  /// Reads the parts of a time from the front of a text.
  private struct Scanner {
    let bytes: UnsafeRawBufferPointer
    var offset = 0

    /// Milliseconds since 1970, which may be outside the years 0000 to 9999; nil if the text is no time.
    @inline(__always)
    static func time(_ bytes: UnsafeRawBufferPointer) -> Milliseconds? {
      var scanner = Scanner(bytes: bytes)
      guard let day = scanner.date(), scanner.take("T", or: "t"), let hour = scanner.digits(2), hour < 24,
        scanner.take(":"), let minute = scanner.digits(2), minute < 60,
        scanner.take(":"), let second = scanner.digits(2), second <= 60,
        let fraction = scanner.fraction(), let offsetMinutes = scanner.offsetMinutes(), scanner.isAtEnd
      else { return nil }
      let minutes = day &* 1_440 &+ hour &* 60 &+ minute &- offsetMinutes
      // Leap seconds are the last second of a UTC day.
      if second == 60, (minutes + 1) % 1_440 != 0 { return nil }
      return minutes &* 60_000 &+ second &* 1_000 &+ fraction
    }

    /// Days since 1970; nil if the text is no day.
    static func day(_ bytes: UnsafeRawBufferPointer) -> Int64? {
      var scanner = Scanner(bytes: bytes)
      guard let day = scanner.date(), scanner.isAtEnd else { return nil }
      return day
    }

    var isAtEnd: Bool { offset == bytes.count }

    @inline(__always)
    mutating func take(_ character: Unicode.Scalar, or other: Unicode.Scalar? = nil) -> Bool {
      guard !isAtEnd else { return false }
      let byte = UInt32(bytes[offset])
      guard byte == character.value || byte == other?.value else { return false }
      offset &+= 1
      return true
    }

    @inline(__always)
    mutating func digit() -> Int64? {
      guard !isAtEnd, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[offset]) else { return nil }
      offset &+= 1
      return Int64(bytes[offset &- 1] &- UInt8(ascii: "0"))
    }

    @inline(__always)
    mutating func digits(_ count: Int) -> Int64? {
      var number: Int64 = 0
      for _ in 0..<count {
        guard let digit = digit() else { return nil }
        number = number &* 10 &+ digit
      }
      return number
    }

    /// The number of days since 1970 of a date like `2024-03-01`.
    @inline(__always)
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

// Times as text columns encode them: `YYYY-MM-DDTHH:MM:SSZ`, with or without milliseconds, and nothing else.
extension RFC3339 {
  /// The lengths of a text in bytes, without and with milliseconds.
  static let secondsLength = 20
  static let millisecondsLength = 24

  /// Parses a valid date and time of the years 0000–9999 as milliseconds since 1970; nil for anything else.
  package static func milliseconds(_ text: UnsafeRawBufferPointer) -> Int64? {
    // These leave the scanner no other spelling. A leap second would be another text than that of its time.
    guard text.count == secondsLength || text.count == millisecondsLength,
      text[10] == UInt8(ascii: "T"), text[text.count - 1] == UInt8(ascii: "Z"), text[17] < UInt8(ascii: "6")
    else { return nil }
    return Scanner.time(text)
  }

  /// Writes the text of a time. Outside the years 0000–9999 it returns false and writes nothing.
  ///
  /// - Parameter text: a buffer large enough for the text.
  static func write(
    milliseconds: Int64, withFraction: Bool, to text: UnsafeMutableRawBufferPointer
  ) -> Bool {
    precondition(text.count >= (withFraction ? millisecondsLength : secondsLength), "room for the text")
    guard milliseconds >= Limits.dateMillisecondsMin, milliseconds <= Limits.dateMillisecondsMax else {
      return false
    }
    let seconds = CivilDate.floorDivide(milliseconds, by: 1_000)
    let days = CivilDate.floorDivide(seconds, by: 86_400)
    let time = UInt32(truncatingIfNeeded: seconds - days * 86_400)
    let date = CivilDate(daysSince1970: days)
    let year = UInt32(truncatingIfNeeded: date.year)
    func put(_ value: UInt32, at offset: Int, _ separator: Unicode.Scalar) {
      // Two digits and the separator after them.
      text[offset] = UInt8(truncatingIfNeeded: value / 10) + UInt8(ascii: "0")
      text[offset + 1] = UInt8(truncatingIfNeeded: value % 10) + UInt8(ascii: "0")
      text[offset + 2] = UInt8(ascii: separator)
    }
    put(year / 100, at: 0, "-")
    put(year % 100, at: 2, "-")
    put(UInt32(truncatingIfNeeded: date.month), at: 5, "-")
    put(UInt32(truncatingIfNeeded: date.day), at: 8, "T")
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
}
