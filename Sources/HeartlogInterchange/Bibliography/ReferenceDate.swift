import Heartlog
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
  /// offset is UTC. Text after a day that is not a time is ignored. Of a range, its first day is taken. Other
  /// forms are `20240522`, `22.05.2024`, and those with the name of a month: `May`, `Jun 15`, `01 May 2024`.
  ///
  /// - Parameter year: the year of a text that has none.
  init?(_ text: String, in year: Int? = nil) {
    let named = Words(text).date(in: year)
    guard let numeric = Self(numeric: text) else {
      guard let named else { return nil }
      self = named
      return
    }
    self = numeric.parts == 1 ? named ?? numeric : numeric
  }

  private init?(numeric text: String) {
    var rest = text.withoutOuterWhiteSpace[...]
    func number(_ digits: ClosedRange<Int>) -> Int? {
      let found = rest.prefix { $0.isASCII && $0.isNumber }
      guard digits.contains(found.count) else { return nil }
      rest = rest.dropFirst(found.count)
      return Int(found)
    }
    func takeAny(_ characters: String) -> Character? {
      guard let first = rest.first, characters.contains(first) else { return nil }
      rest = rest.dropFirst()
      return first
    }
    guard let year = number(4...4) else { return nil }
    let separator = takeAny("-./")
    let month = separator == nil ? nil : number(1...2)
    // Another separator begins the end of a range: "2020-05/2020-06".
    let day = month != nil && separator.flatMap({ takeAny(String($0)) }) != nil ? number(1...2) : nil
    // Of a season or another part of the year, only the year is kept.
    guard
      let date = Self(year: year, month: month, day: day) ?? Self(year: year, month: month)
        ?? Self(year: year)
    else { return nil }
    self = date
    guard day != nil, date.parts == 3, takeAny("Tt /") != nil else { return }
    if rest.contains(":"), let exact = try? FileDate.time("\(date.dayText) \(rest)") {
      self.init(time: exact)
    }
  }

  /// The most exact of several dates of one year, which is that of the first text with a year.
  init?(mostExactOf texts: [String]) {
    guard let year = texts.lazy.compactMap({ Self($0) }).first?.numbers[0] else { return nil }
    let dates = texts.compactMap { Self($0, in: year) }.filter { $0.numbers[0] == year }
    func exactness(_ date: Self) -> Int { date.isExact ? 4 : date.parts }
    guard let best = dates.reversed().max(by: { exactness($0) < exactness($1) }) else { return nil }
    self = dates.first { exactness($0) == exactness(best) } ?? best
  }

  /// The day in UTC: "2024-05-22".
  var dayText: String { String(RFC3339.text(time).prefix(10)) }

  /// Year, month and day in UTC, as far as they are known.
  var numbers: [Int] {
    let date = CivilDate(time)
    return Array([date.year, date.month, date.day].prefix(parts))
  }

  /// The month that a word names: "May", "sept", "Juni".
  static func month(named word: some StringProtocol) -> Int? {
    let word = word.lowercased()
    guard word.count >= 3 else { return nil }
    if let index = monthNames.firstIndex(where: { $0.hasPrefix(word) }) { return index + 1 }
    return otherMonthNames[word]
  }

  /// The first month in a text: "5", "may", "10~May", "May--June".
  static func month(in text: String) -> Int? {
    if let number = Int(text.withoutOuterWhiteSpace) { return (1...12).contains(number) ? number : nil }
    return text.prefix(64).split { !$0.isLetter }.lazy.compactMap { month(named: $0) }.first
  }

  private static let monthNames = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november",
    "december",
  ]

  /// Those of German and French programs that differ from the beginnings of the English ones.
  private static let otherMonthNames = [
    "januar": 1, "janvier": 1, "februar": 2, "février": 2, "märz": 3, "mär": 3, "mars": 3, "avril": 4,
    "mai": 5,
    "juni": 6, "juin": 6, "juli": 7, "juillet": 7, "août": 8, "septembre": 9, "oktober": 10, "okt": 10,
    "octobre": 10, "novembre": 11, "dezember": 12, "dez": 12, "décembre": 12,
  ]

  /// The words and numbers of a date.
  private struct Words {
    private var texts: [Substring] = []
    private let isDotted: Bool

    init(_ text: String) {
      isDotted = text.contains(".")
      var start = text.startIndex
      func kind(_ character: Character) -> Int {
        character.isLetter ? 1 : character.isASCII && character.isNumber ? 2 : 0
      }
      // A date has few words.
      for piece in text.prefix(64).split(whereSeparator: { kind($0) == 0 }) {
        start = piece.startIndex
        for index in piece.indices where kind(piece[index]) != kind(piece[start]) {
          texts.append(piece[start..<index])
          start = index
        }
        texts.append(piece[start...])
      }
      texts.removeAll { ["st", "nd", "rd", "th"].contains($0.lowercased()) }
    }

    private func number(_ index: Int, digits: ClosedRange<Int>) -> Int? {
      guard texts.indices.contains(index), digits.contains(texts[index].count) else { return nil }
      return Int(texts[index])
    }

    private func day(_ index: Int) -> Int? {
      number(index, digits: 1...2).flatMap { (1...31).contains($0) ? $0 : nil }
    }

    func date(in given: Int?) -> ReferenceDate? {
      let year = texts.indices.lazy.compactMap { number($0, digits: 4...4) }.first ?? given
      guard let index = texts.firstIndex(where: { ReferenceDate.month(named: $0) != nil }) else {
        return numbers()
      }
      guard let year else { return nil }
      let month = ReferenceDate.month(named: texts[index])
      var first = index
      while first > 0, day(first - 1) != nil { first -= 1 }
      let day = first < index ? day(first) : day(index + 1)
      return ReferenceDate(year: year, month: month, day: day) ?? ReferenceDate(year: year, month: month)
    }

    /// `20240522`, `22.05.2024`, and `22/05/2024` or `05/22/2024` if it can only be one of the two.
    private func numbers() -> ReferenceDate? {
      if texts.count == 1, let digits = number(0, digits: 8...8) {
        return ReferenceDate(year: digits / 10_000, month: digits / 100 % 100, day: digits % 100)
      }
      // "[2010]", "c2010".
      if let last = texts.indices.last,
        texts.dropLast().allSatisfy({ ["c", "ca", "cop"].contains($0.lowercased()) })
      {
        return number(last, digits: 4...4).flatMap { ReferenceDate(year: $0) }
      }
      guard texts.count == 3, let first = number(0, digits: 1...2), let second = number(1, digits: 1...2),
        let year = number(2, digits: 4...4)
      else { return nil }
      if isDotted || first > 12 || first == second {
        return ReferenceDate(year: year, month: second, day: first)
      }
      return ReferenceDate(year: year, month: second > 12 ? first : nil, day: second > 12 ? second : nil)
    }
  }
}
