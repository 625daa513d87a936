/// Times as text columns encode them: `YYYY-MM-DDTHH:MM:SSZ`, with or without milliseconds, and nothing else.
enum CivilTime {
  /// The lengths of a text in bytes, without and with milliseconds.
  static let secondsLength = 20
  static let millisecondsLength = 24

  /// Parses a valid date and time of the years 0000–9999 as milliseconds since 1970; nil for anything else.
  static func milliseconds(_ text: UnsafeRawBufferPointer) -> Int64? {
    guard text.count == secondsLength || text.count == millisecondsLength,
      text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"), text[10] == UInt8(ascii: "T"),
      text[13] == UInt8(ascii: ":"), text[16] == UInt8(ascii: ":"), text[text.count - 1] == UInt8(ascii: "Z"),
      let year = number(text, 0..<4), let month = number(text, 5..<7), let day = number(text, 8..<10),
      let hour = number(text, 11..<13), let minute = number(text, 14..<16),
      let second = number(text, 17..<19), hour < 24, minute < 60, second < 60,
      let date = CivilDate(year: Int(year), month: Int(month), day: Int(day))
    else { return nil }
    var fraction: Int64 = 0
    if text.count == millisecondsLength {
      guard text[19] == UInt8(ascii: "."), let value = number(text, 20..<23) else { return nil }
      fraction = value
    }
    let seconds = date.daysSince1970 * 86_400 + hour * 3_600 + minute * 60 + second
    return seconds * 1_000 + fraction
  }

  /// Returns the text of a time; nil outside the years 0000–9999.
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

  private static func number(_ text: UnsafeRawBufferPointer, _ digits: Range<Int>) -> Int64? {
    var value: Int64 = 0
    for offset in digits {
      let digit = text[offset] &- UInt8(ascii: "0")
      guard digit < 10 else { return nil }
      value = value * 10 + Int64(digit)
    }
    return value
  }
}
