import Heartlog

/// A WHEN of the command line.
enum Moment: Equatable, Sendable {
  case time(Milliseconds)
  /// A whole day in UTC, named by its first millisecond.
  case day(start: Milliseconds)
  /// A commit, by one of its events: the first hexadecimal digits of its replica, in lower case, and its number.
  case event(replicaPrefix: String, sequence: SequenceNumber)

  static let timeHint = "Write 2026-03-02 or 2026-03-02T07:15:00Z."

  private static let dayLength: Milliseconds = 86_400_000

  /// Reads RFC 3339, a date, or `REPLICA-PREFIX:SEQUENCE`. `label` names the argument in the message.
  init(_ text: String, label: String) throws(CommandError) {
    if let time = try? RFC3339.parse(text) {
      self = .time(time)
    } else if let start = try? RFC3339.parseDay(text) {
      self = .day(start: start)
    } else if let event = Self.event(text) {
      self = event
    } else {
      throw .usage(
        "\(label) needs a time, a date or an event, not \(Quoted(text))",
        hint: "\(Self.timeHint) An event is written as \"heartlog log\" shows it, like 3f9a12c0:42.")
    }
  }

  private static func event(_ text: String) -> Moment? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, (1...32).contains(parts[0].utf8.count),
      parts[0].utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
      parts[1].utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
      let number = UInt64(parts[1]), (1...Limits.numberMax).contains(number)
    else { return nil }
    return .event(replicaPrefix: parts[0].lowercased(), sequence: SequenceNumber(rawValue: number))
  }

  /// The moment as people read it; of a day, its end.
  var shown: String {
    switch self {
    case .time(let time): "\(Quantity.date(time)) UTC"
    case .day: "the end of \(Quantity.date(last ?? 0).prefix(10)) UTC"
    case .event(let prefix, let sequence): "event \(prefix):\(sequence)"
    }
  }

  /// The first millisecond meant, as `--since` and a favorited date take it; nil for an event.
  var first: Milliseconds? {
    switch self {
    case .time(let time): time
    case .day(let start): start
    case .event: nil
    }
  }

  /// The last millisecond meant, as `--at` and `--until` take it; nil for an event.
  var last: Milliseconds? {
    switch self {
    case .time(let time): time
    case .day(let start): start + Self.dayLength - 1
    case .event: nil
    }
  }
}
