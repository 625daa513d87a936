/// Times as text columns encode them: `YYYY-MM-DDTHH:MM:SSZ`, with or without milliseconds, and nothing else.
enum CivilTime {
  /// The lengths of a text in bytes, without and with milliseconds.
  static let secondsLength = 20
  static let millisecondsLength = 24

  /// Parses a valid date and time of the years 0000–9999 as milliseconds since 1970; nil for anything else.
  static func milliseconds(_ text: UnsafeRawBufferPointer) -> Int64? {
    let hasFraction = text.count == millisecondsLength
    guard hasFraction || text.count == secondsLength,
      let date = digits(text, at: 0, Form.date), let time = digits(text, at: 8, Form.time),
      let second = digits(text, at: 12, hasFraction ? Form.secondAndPoint : Form.secondAndEnd),
      let fraction = hasFraction ? digits(text, at: 16, Form.fraction) : 0
    else { return nil }
    /// The number of two digits at an offset.
    func number(_ word: UInt64, _ offset: UInt64) -> Int {
      // No byte exceeds 99, so none carries into the next.
      Int(truncatingIfNeeded: (word &* 10 &+ word >> 8) >> (offset &* 8) & 0xFF)
    }
    let (hour, minute, seconds) = (number(time, 3), number(time, 6), number(second, 5))
    guard hour < 24, minute < 60, seconds < 60,
      let day = CivilDate(
        year: number(date, 0) &* 100 &+ number(date, 2), month: number(date, 5), day: number(time, 0))
    else { return nil }
    let sum = day.daysSince1970 &* 86_400 &+ Int64(hour &* 3_600 &+ minute &* 60 &+ seconds)
    // The first digit has the point, which is 0, before it.
    return sum &* 1_000 &+ Int64(number(fraction, 3) &* 100 &+ number(fraction, 5))
  }

  /// Eight bytes of a text, the first one lowest. 0 stands for any digit.
  private enum Form {
    /// `0000-00-`, at the beginning.
    static let date: UInt64 = 0x2D30_302D_3030_3030
    /// `00T00:00`, behind it.
    static let time: UInt64 = 0x3030_3A30_3054_3030
    /// `0:00:00Z`, which begins within the hour.
    static let secondAndEnd: UInt64 = 0x5A30_303A_3030_3A30
    /// `0:00:00.`
    static let secondAndPoint: UInt64 = 0x2E30_303A_3030_3A30
    /// `:00.000Z`, which begins before the second.
    static let fraction: UInt64 = 0x5A30_3030_2E30_303A
  }

  /// Returns eight bytes as digits from 0 to 9, with 0 for all else; nil unless they have that form.
  @inline(__always)
  private static func digits(_ text: UnsafeRawBufferPointer, at offset: Int, _ form: UInt64) -> UInt64? {
    func each(_ byte: UInt64) -> UInt64 { byte &* 0x0101_0101_0101_0101 }
    let word = UInt64(littleEndian: text.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    let difference = word ^ form
    let isFixed = ((form ^ each(0x30)) &+ each(0x7F)) >> 7 & each(1)
    // Sets the high bit of each byte of more than 9, or of more than 0 where the form has no digit.
    let excess = (difference & each(0x7F)) &+ each(0x7F - 9) &+ isFixed &* 9
    return (excess | difference) & each(0x80) == 0 ? difference : nil
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
}
