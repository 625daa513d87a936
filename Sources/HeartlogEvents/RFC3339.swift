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
