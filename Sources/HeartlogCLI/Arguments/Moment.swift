import Heartlog

/// A WHEN of the command line.
enum Moment: Equatable, Sendable {
  /// The first and the last millisecond of a WHEN, since 1970. For a time that clocks skip, the span is empty.
  struct Span: Equatable, Sendable {
    let first: Milliseconds
    let last: Milliseconds
  }

  /// A time; without seconds, the whole minute. Or a whole day, named by its date and zone.
  case time(Span, day: String? = nil)
  /// An event: the first hexadecimal digits of its replica, in lower case, and its number.
  case event(replicaPrefix: String, sequence: SequenceNumber)
  /// A commit: likewise, with the number of the commit.
  case commit(replicaPrefix: String, number: CommitNumber)

  /// Forms of times and dates, for messages.
  static let timeForms = [
    "2026-03-02", "2026-03-02T07:15:00Z", "2026-03-02 07:15", "07:15", "now", "today", "yesterday",
    "2 hours ago",
  ]
  /// The form of an event, for messages.
  static let eventForm = "3f9a12c0:42"
  /// The form of a commit, for messages. No event has it: the number of an event begins with a digit.
  static let commitForm = "3f9a12c0:\(commitMark)42"
  static let commitMark: Character = "c"

  static let timeHint = "Examples: \(timeForms.joined(separator: ", "))."

  /// Parses a time, a date, an event or a commit; times and dates without an offset are in the clock's zone. `label` names the argument in messages.
  init(_ text: String, label: String, clock: LocalClock) throws(CommandError) {
    if let time = Self.time(text, clock: clock) {
      self = time
    } else if let position = Self.event(text) ?? Self.commit(text) {
      self = position
    } else {
      throw .usage(
        "\(label) needs a time, a date, an event or a commit, not \(Quoted(text))",
        hint: "\(Self.timeHint) Write an event as \"heartlog log\" shows it, like \(Self.eventForm), "
          + "and commit 42 of 3f9a12c0 as \(Self.commitForm).")
    }
  }

  /// An event, `3f9a12c0:42`; nil if `text` is not one.
  static func event(_ text: String) -> Moment? {
    numbered(text).map { .event(replicaPrefix: $0.prefix, sequence: SequenceNumber(rawValue: $0.number)) }
  }

  /// A commit, `3f9a12c0:c42`; nil if `text` is not one.
  static func commit(_ text: String) -> Moment? {
    numbered(text, mark: commitMark).map {
      .commit(replicaPrefix: $0.prefix, number: CommitNumber(rawValue: $0.number))
    }
  }

  /// The first digits of a replica, a colon, `mark` if there is one, and a number.
  private static func numbered(_ text: String, mark: Character? = nil) -> (prefix: String, number: UInt64)? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, (1...32).contains(parts[0].utf8.count),
      parts[0].utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit })
    else { return nil }
    var digits = parts[1]
    if let mark, digits.popFirst() != mark { return nil }
    guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
      let number = UInt64(digits), (1...Limits.numberMax).contains(number)
    else { return nil }
    return (parts[0].lowercased(), number)
  }

  /// A time or a date; nil if `text` is neither, or is outside the years 0000 to 9999.
  static func time(_ text: String, clock: LocalClock) -> Moment? {
    let found = timeOfCalendar(text, clock: clock) ?? day(text, clock: clock) ?? ago(text, clock: clock)
    guard let found, let first = found.first, let last = found.last,
      first >= Limits.dateMillisecondsMin, last <= Limits.dateMillisecondsMax
    else { return nil }
    return found
  }

  /// The moment for people: its last millisecond, with the zone.
  func shown(_ zone: Zone) -> String {
    switch self {
    case .time(_, let day?): "the end of \(day)"
    case .time(let span, nil): zone.isUTC ? "\(zone.text(span.last)) UTC" : zone.named(span.last)
    case .event(let prefix, let sequence): "event \(prefix):\(sequence)"
    case .commit(let prefix, let number): "commit \(prefix):\(Self.commitMark)\(number)"
    }
  }

  /// The first millisecond, for `--since` and `--date`; nil for an event or a commit.
  var first: Milliseconds? { span?.first }

  /// The last millisecond, for `--at` and `--until`; nil for an event or a commit.
  var last: Milliseconds? { span?.last }

  private var span: Span? { if case .time(let span, _) = self { span } else { nil } }
}

extension Moment {
  /// RFC 3339, optionally without seconds, offset or (for today) date, and with a space instead of `T`; also `now`.
  private static func timeOfCalendar(_ text: String, clock: LocalClock) -> Moment? {
    if text.lowercased() == "now" { return .time(Span(first: clock.now, last: clock.now)) }
    let today = clock.zone.localTime(at: clock.now).date
    let bytes = Array((startsWithTimeOfDay(text) ? "\(today)T\(text)" : text).utf8)
    // 2026-03-02T07:15, then seconds, a fraction, and an offset.
    let minuteEnd = 16
    guard bytes.count >= minuteEnd,
      [UInt8(ascii: "T"), UInt8(ascii: "t"), UInt8(ascii: " ")].contains(bytes[10])
    else { return nil }
    let rest = bytes[minuteEnd...]
    let hasSeconds = rest.first == UInt8(ascii: ":")
    let hasOffset = rest.contains { "Zz+-".utf8.contains($0) }
    var whole = String(decoding: bytes[..<10], as: UTF8.self) + "T"
    whole += String(decoding: bytes[11..<minuteEnd], as: UTF8.self)
    whole += (hasSeconds ? "" : ":00") + String(decoding: rest, as: UTF8.self) + (hasOffset ? "" : "Z")
    guard let time = try? RFC3339.parse(whole) else { return nil }
    let end = hasSeconds ? time : time + LocalTime.minuteLength - 1
    if hasOffset { return .time(Span(first: time, last: end)) }
    return .time(span(LocalTime(milliseconds: time), LocalTime(milliseconds: end), in: clock.zone))
  }

  /// `07:15…`, with two digits each. `7:15` is an event.
  private static func startsWithTimeOfDay(_ text: String) -> Bool {
    let bytes = Array(text.utf8.prefix(5))
    return bytes.count == 5 && bytes[2] == UInt8(ascii: ":")
      && [0, 1, 3, 4].allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[$0]) }
  }

  /// `2026-03-02`, `today` and `yesterday`.
  private static func day(_ text: String, clock: LocalClock) -> Moment? {
    let today = clock.zone.localTime(at: clock.now).floored(to: LocalTime.dayLength)
    let start: LocalTime
    switch text.lowercased() {
    case "today": start = today
    case "yesterday": start = today.adding(days: -1)
    default:
      guard let day = try? RFC3339.parseDay(text) else { return nil }
      start = LocalTime(milliseconds: day)
    }
    let end = LocalTime(milliseconds: start.milliseconds + LocalTime.dayLength - 1)
    return .time(
      span(start, end, in: clock.zone), day: "\(start.date) \(DisplayText.visible(clock.zone.name))")
  }

  /// `2 hours ago`. Hours and shorter units are spans of time; days and longer units follow the calendar, at the same time of day.
  private static func ago(_ text: String, clock: LocalClock) -> Moment? {
    let words = text.lowercased().split(separator: " ")
    // Ten digits of weeks still fit into milliseconds; more digits of seconds are before the year 0.
    guard words.count == 3, words[2] == "ago", words[0].utf8.count <= 10,
      words[0].utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
      let count = Int64(words[0])
    else { return nil }
    let unit = words[1].hasSuffix("s") ? words[1].dropLast() : words[1]
    let seconds: [Substring: Int64] = ["second": 1, "minute": 60, "hour": 3_600]
    if let length = seconds[unit] {
      let time = clock.now - count * length * 1_000
      return .time(Span(first: time, last: time))
    }
    let now = clock.zone.localTime(at: clock.now)
    let then: LocalTime? =
      switch unit {
      case "day": now.adding(days: -count)
      case "week": now.adding(days: -count * 7)
      case "month": now.adding(months: -count)
      case "year": now.adding(months: -count * 12)
      default: nil
      }
    guard let then, (Limits.dateMillisecondsMin...Limits.dateMillisecondsMax).contains(then.milliseconds)
    else {
      return nil
    }
    return .time(span(then, then, in: clock.zone))
  }

  private static func span(_ first: LocalTime, _ last: LocalTime, in zone: Zone) -> Span {
    Span(first: zone.first(first), last: zone.last(last))
  }
}

extension Moment {
  /// Resolves the moment: replaces the prefix of a replica by the full id.
  func resolved(among replicas: [(id: ReplicaID, name: String)]) throws(CommandError) -> LogMoment {
    switch self {
    case .time(let span, _): return .milliseconds(span.last)
    case .event(let prefix, let sequence):
      return .event(EventID(replica: try Self.replica(prefix, among: replicas), sequence: sequence))
    case .commit(let prefix, let number):
      return .commit(try Self.replica(prefix, among: replicas), number)
    }
  }

  /// Resolves the moment among the devices of a store.
  func resolved(in store: FavoritesStore) throws(CommandError) -> LogMoment {
    try resolved(among: store.replicaNames)
  }

  /// The identity of an event in a store; nil for another moment.
  func eventID(in store: FavoritesStore) throws(CommandError) -> EventID? {
    if case .event(let id) = try resolved(in: store) { id } else { nil }
  }

  /// The one device with that name, or else the one whose id begins with it.
  static func replica(
    named text: String, among replicas: [(id: ReplicaID, name: String)]
  ) throws(CommandError) -> ReplicaID {
    let named = replicas.filter { !text.isEmpty && $0.name.hasSameBytes(as: text) }
    guard named.count <= 1 else {
      throw .usage("several devices are named \(Quoted(text))", hint: "Give the first digits of an id.")
    }
    if let device = named.first { return device.id }
    return try replica(text.lowercased(), among: replicas)
  }

  /// The one replica whose id begins with `prefix`.
  static func replica(
    _ prefix: String, among replicas: [(id: ReplicaID, name: String)]
  ) throws(CommandError) -> ReplicaID {
    let found = replicas.filter { $0.id.description.hasPrefix(prefix) }
    guard let first = found.first else {
      throw CommandError(
        .no, "no replica has an id that begins with \(Quoted(prefix))",
        hint: "\"heartlog status\" lists them.")
    }
    guard found.count == 1 else {
      throw .usage("several replicas have ids that begin with \(Quoted(prefix))", hint: "Give more digits.")
    }
    return first.id
  }
}

extension FavoritesStore {
  /// The devices by id and name, in which what a person names is looked up.
  var replicaNames: [(id: ReplicaID, name: String)] { devices.map { ($0.replica, $0.name) } }
}
