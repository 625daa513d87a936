import Heartlog
import HeartlogEvents
import HeartlogLibraries

/// A date as bibliographies give it: a year, a month, a day or a time.
struct ReferenceDate: Hashable, Sendable {
  /// Milliseconds since 1970; the start of the year, month or day in UTC if the date is no more precise.
  let time: Milliseconds
  /// Whether the time of day is known.
  let isExact: Bool
  /// How many of year, month and day are known.
  let parts: Int

  init(time: Milliseconds) {
    self.time = time
    isExact = true
    parts = 3
  }

  init?(year: Int, month: Int? = nil, day: Int? = nil) {
    guard let date = CivilDate(year: year, month: month ?? 1, day: day ?? 1) else { return nil }
    time = date.start
    isExact = false
    parts = month == nil ? 1 : day == nil ? 2 : 3
  }

  /// Parses `2024`, `2024-05`, `2024-05-22`, `2024.05.22`, `2024/5/22/`, and days with a time,
  /// `2024-05-22T16:11:45.120Z`, `2024-05-22 16:11:45 -0400`, `2024/05/22/16:11:45Z`. A time without an
  /// offset is UTC. Text after a day that is not a time is ignored.
  init?(_ text: String) {
    var scanner = Scanner(bytes: Array(text.withoutOuterWhiteSpace.utf8))
    guard let year = scanner.number(4, 4) else { return nil }
    let month = scanner.takeAny("-./") ? scanner.number(1, 2) : nil
    let day = month != nil && scanner.takeAny("-./") ? scanner.number(1, 2) : nil
    // Of a season or another part of the year, only the year is kept.
    guard let date = Self(year: year, month: month, day: day) ?? Self(year: year) else { return nil }
    self = date
    guard day != nil, date.parts == 3, let time = scanner.timeOfDay() else { return }
    if let exact = try? RFC3339.parse("\(date.dayText)T\(time)") { self.init(time: exact) }
  }

  /// The day in UTC: "2024-05-22".
  var dayText: String { String(RFC3339.text(time).prefix(10)) }

  /// Year, month and day in UTC, as far as they are known.
  var numbers: [Int] {
    let date = CivilDate(time)
    return Array([date.year, date.month, date.day].prefix(parts))
  }

  /// Parses a month: "5", "05", "may", "10~May".
  static func month(_ text: String) -> Int? {
    let letters = String(text.lowercased().drop { !$0.isLetter }.prefix(3))
    if let index = months.firstIndex(of: letters) { return index + 1 }
    return Int(text.withoutOuterWhiteSpace).flatMap { (1...12).contains($0) ? $0 : nil }
  }

  /// The names of the months in BibTeX.
  static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

  private struct Scanner {
    let bytes: [UInt8]
    var offset = 0

    mutating func number(_ least: Int, _ most: Int) -> Int? {
      let digits = bytes[offset...].prefix(most).prefix { (0x30...0x39).contains($0) }
      guard digits.count >= least else { return nil }
      offset += digits.count
      return Int(String(decoding: digits, as: UTF8.self))
    }

    mutating func takeAny(_ characters: StaticString) -> Bool {
      let those = UnsafeBufferPointer(start: characters.utf8Start, count: characters.utf8CodeUnitCount)
      guard offset < bytes.count, those.contains(bytes[offset]) else { return false }
      offset += 1
      return true
    }

    /// The time after a day, in the form of RFC 3339.
    mutating func timeOfDay() -> String? {
      guard takeAny("Tt /") else { return nil }
      let rest = String(decoding: bytes[offset...], as: UTF8.self)
      var time = String(rest.prefix { $0.isNumber || $0 == ":" || $0 == "." })
      guard time.contains(":") else { return nil }
      var offset = rest.dropFirst(time.count).filter { $0 != " " }
      if time.filter({ $0 == ":" }).count == 1 { time += ":00" }
      if offset.isEmpty { offset = "Z" }
      if offset.count == 5, !offset.contains(":") {
        offset.insert(":", at: offset.index(offset.startIndex, offsetBy: 3))
      }
      return time + offset
    }
  }
}
