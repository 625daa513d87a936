import Heartlog

/// Dates as files of other programs write them.
package enum FileDate {
  /// The first letters of the English names of the months, as BibTeX names them, too.
  package static let months = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ]

  /// The time of a number, whose size shows its unit and its beginning: seconds, milliseconds, microseconds or
  /// nanoseconds since 1970, or since 1601 as Windows and Chrome count, there also in units of 100 ns. `nil` for
  /// a number that is no time from 1970 to 2199.
  package static func time(_ number: Double) -> Milliseconds? {
    for unitsPerSecond in [1, 1e3, 1e6, 1e7, 1e9] {
      let seconds = number / unitsPerSecond
      if unitsPerSecond != 1e7, (0..<lengthSeconds).contains(seconds) {
        return Milliseconds((seconds * 1_000).rounded(.down))
      }
      if unitsPerSecond != 1e9, (windowsSeconds..<windowsSeconds + lengthSeconds).contains(seconds) {
        return Milliseconds(((seconds - windowsSeconds) * 1_000).rounded(.down))
      }
    }
    return nil
  }

  /// From 1601 to 1970.
  private static let windowsSeconds = 11_644_473_600.0
  /// From 1970 to about 2199.
  private static let lengthSeconds = 7_258_118_400.0

  /// The time of a text: RFC 3339, with or without seconds, fraction, offset or time of day, and with a space for
  /// the `T`; `date(1)`'s and mail's forms with names of months; a day as `2024/03/01` or `01.03.2024`; or a number.
  ///
  /// - Parameter utc: converts a time without an offset to UTC.
  /// - Throws: `invalidItem` for any other text.
  package static func time(
    _ text: String, utc: (Milliseconds) -> Milliseconds = { $0 }
  ) throws(LibraryError) -> Milliseconds {
    if let time = try? RFC3339.parse(text) { return time }
    let text = text.withoutOuterWhiteSpace
    if text.utf8.count > 8, let number = Double(text), let time = time(number) { return time }
    guard let time = Reader(text).time(utc: utc) else {
      throw .invalidItem(
        "\(text.quoted) is not a date; write one like 2024-03-01, 2024-03-01 12:30 or 2024-03-01T12:30:00Z")
    }
    return time
  }

  /// The words of a date.
  private struct Reader {
    // No part may be there twice.
    private var years: [Substring] = []
    private var months: [Int] = []
    private var days: [Substring] = []
    private var clocks: [Substring] = []
    private var offset = ""
    private var isAfternoon: Bool?
    private var isSound = true

    private static let weekdays: Set<String> = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

    init(_ text: String) {
      // "GMT+0100 (CET)" ends what JavaScript writes.
      let words = text.prefix { $0 != "(" }.split { $0 == " " || $0 == "," || $0 == "\t" }
      for word in words {
        guard let cut = word.firstIndex(where: { $0 == "T" || $0 == "t" }), cut != word.startIndex,
          word[..<cut].allSatisfy({ $0.isNumber || $0 == "-" })
        else {
          take(word)
          continue
        }
        take(word[..<cut])
        take(word[word.index(after: cut)...])
      }
    }

    private mutating func take(_ word: Substring) {
      let lowered = word.lowercased()
      let isDigits = word.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      if word.contains(":") {
        let end = word.dropFirst().firstIndex { "Zz+-".contains($0) } ?? word.endIndex
        clocks.append(word[..<end])
        offset = String(word[end...])
      } else if isDigits, word.count == 4 {
        years.append(word)
      } else if isDigits, word.count <= 2 {
        days.append(word)
      } else if isDigits, word.count == 8 {
        takeDay([word.prefix(4), word.dropFirst(4).prefix(2), word.suffix(2)], separator: "-")
      } else if let first = word.first, first.isNumber,
        let separator = word.first(where: { "-/.".contains($0) })
      {
        takeDay(word.split(separator: separator, omittingEmptySubsequences: false), separator: separator)
      } else if let index = FileDate.months.firstIndex(of: String(lowered.prefix(3))), lowered.count >= 3 {
        months.append(index + 1)
      } else if ["z", "utc", "gmt", "ut"].contains(lowered) {
        offset = "Z"
      } else if lowered.hasPrefix("gmt+") || lowered.hasPrefix("gmt-") || "+-".contains(lowered.prefix(1)) {
        offset = lowered.replacing("gmt", with: "")
      } else if lowered == "am" || lowered == "pm" {
        isAfternoon = lowered == "pm"
      } else if !Self.weekdays.contains(String(lowered.prefix(3))) {
        isSound = false
      }
    }

    /// Year, month and day; or, with full stops, day, month and year. `03/04/2024` is a different day in each
    /// country, and refused.
    private mutating func takeDay(_ parts: [Substring], separator: Character) {
      guard parts.count == 3 else { return isSound = false }
      let isYearFirst = parts[0].count == 4
      let isGerman = parts[2].count == 4 && separator == "."
      guard isYearFirst || isGerman, let number = Int(parts[1]) else { return isSound = false }
      years.append(parts[isYearFirst ? 0 : 2])
      months.append(number)
      days.append(parts[isYearFirst ? 2 : 0])
    }

    func time(utc: (Milliseconds) -> Milliseconds) -> Milliseconds? {
      guard isSound, years.count == 1, months.count == 1, days.count == 1, clocks.count <= 1,
        (1...12).contains(months[0]), (1...2).contains(days[0].count)
      else { return nil }
      func two(_ text: some StringProtocol) -> String { text.count == 1 ? "0\(text)" : String(text) }
      var parts = (clocks.first ?? "00:00").split(separator: ":", omittingEmptySubsequences: false).map(two)
      guard parts.count == 2 || parts.count == 3, let hour = Int(parts[0]) else { return nil }
      if parts.count == 2 { parts.append("00") }
      if let isAfternoon {
        guard (1...12).contains(hour) else { return nil }
        parts[0] = two(String(hour % 12 + (isAfternoon ? 12 : 0)))
      }
      // +0100 and +01 are +01:00.
      let digits = offset.dropFirst().filter { $0 != ":" }
      let zone =
        digits.isEmpty
        ? "Z" : "\(offset.prefix(1))\(two(digits.prefix(2))):\(digits.count > 2 ? digits.suffix(2) : "00")"
      let text =
        "\(years[0])-\(two(String(months[0])))-\(two(days[0]))T\(parts.joined(separator: ":"))\(zone)"
      guard let time = try? RFC3339.parse(text) else { return nil }
      return offset.isEmpty ? utc(time) : time
    }
  }
}
