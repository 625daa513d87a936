import HeartlogFormat
import TestSupport
import Testing

@Suite("Times are RFC 3339")
struct RFC3339Tests {
  @Test(
    "known times are read and written",
    arguments: [
      ("1970-01-01T00:00:00.000Z", 0), ("2024-03-01T12:00:00.000Z", 1_709_294_400_000),
      ("2024-02-29T23:59:59.999Z", 1_709_251_199_999), ("1969-12-31T23:59:59.999Z", -1),
      ("1900-02-28T00:00:00.000Z", -2_203_977_600_000), ("2000-02-29T00:00:00.001Z", 951_782_400_001),
      ("0000-01-01T00:00:00.000Z", Limits.dateMillisecondsMin),
      ("0000-02-29T00:00:00.000Z", Limits.dateMillisecondsMin + 59 * 86_400_000),
      ("9999-12-31T23:59:59.999Z", Limits.dateMillisecondsMax),
      ("2999-12-31T23:59:59.999Z", Limits.timeMillisecondsMax),
    ] as [(String, Milliseconds)])
  func known(text: String, time: Milliseconds) throws {
    #expect(try RFC3339.parse(text) == time)
    #expect(RFC3339.text(time) == text)
  }

  @Test(
    "other spellings are read, fractions rounded down",
    arguments: [
      ("2024-03-01t12:00:00z", "2024-03-01T12:00:00.000Z"),
      ("2024-03-01T13:30:00+01:30", "2024-03-01T12:00:00.000Z"),
      ("2024-02-29T20:00:00-04:00", "2024-03-01T00:00:00.000Z"),
      ("2024-03-01T00:00:00-00:00", "2024-03-01T00:00:00.000Z"),
      ("2024-03-01T12:00:00.5Z", "2024-03-01T12:00:00.500Z"),
      ("2024-03-01T12:00:00.999999999Z", "2024-03-01T12:00:00.999Z"),
      ("1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999Z"),
      ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"),
      ("2017-01-01T00:59:60+01:00", "2017-01-01T00:00:00.000Z"),
    ])
  func spellings(text: String, utc: String) throws {
    #expect(RFC3339.text(try RFC3339.parse(text)) == utc)
  }

  @Test(
    "what is no time is refused",
    arguments: [
      "", "2024-03-01", "2024-03-01T12:00:00", "2024-03-01 12:00:00Z", "2024-3-1T12:00:00Z",
      "24-03-01T12:00:00Z",
      "2023-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2024-04-31T00:00:00Z", "2024-00-01T00:00:00Z",
      "2024-13-01T00:00:00Z", "2024-01-00T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:60:00Z",
      "2024-01-01T00:00:61Z", "2024-01-01T12:00:60Z", "2024-01-01T00:00:00.Z", "2024-01-01T00:00:00+1:00",
      "2024-01-01T00:00:00+24:00", "2024-01-01T00:00:00+01:60", "2024-01-01T00:00:00+0100",
      "2024-01-01T00:00:00Zx",
      " 2024-01-01T00:00:00Z", "０024-01-01T00:00:00Z", "0000-01-01T00:00:00+00:01",
      "9999-12-31T23:59:00-00:01",
    ])
  func refused(text: String) {
    #expect(throws: MalformedError.self) { try RFC3339.parse(text) }
  }

  @Test(
    "every day of four hundred years follows the one before",
    arguments: ["0000-01-01", "1600-01-01", "1970-01-01", "9600-01-01"])
  func everyDay(first: String) throws {
    var day = try RFC3339.parseDay(first)
    var previous = ""
    // The calendar repeats after as many days.
    for _ in 0..<146_097 {
      let text = String(RFC3339.text(day).prefix(10))
      // An expectation a day would take longer than all the days.
      if text <= previous { Issue.record("\(text) after \(previous)") }
      if try RFC3339.parseDay(text) != day { Issue.record("\(text) is another day when read") }
      previous = text
      day += 86_400_000
    }
    #expect(previous.hasSuffix("-12-31") || first == "1970-01-01")
    #expect(
      previous.prefix(4) == ["0000": "0399", "1600": "1999", "1970": "2369", "9600": "9999"][first.prefix(4)])
  }

  @Test("a time survives its text", arguments: [UInt64(1), 2])
  func roundTrips(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<5_000 {
      let time = Milliseconds.random(
        in: Limits.dateMillisecondsMin...Limits.dateMillisecondsMax, using: &generator)
      #expect(try RFC3339.parse(RFC3339.text(time)) == time, "seed \(seed)")
    }
  }

  @Test("a day is its first millisecond in UTC")
  func days() throws {
    #expect(try RFC3339.parseDay("2024-03-01") == RFC3339.parse("2024-03-01T00:00:00Z"))
    for text in ["2024-03", "2024-02-30", "2024-03-01T", "yesterday"] {
      #expect(throws: MalformedError.self) { try RFC3339.parseDay(text) }
    }
  }
}
