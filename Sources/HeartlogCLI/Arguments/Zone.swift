import Heartlog

/// A time zone: the offset from UTC at every time.
///
/// The offset at a time is all that is known of a zone. It is enough to convert in both directions if no two clock changes are within
/// `reachSeconds` of one local time.
struct Zone: Sendable {
  /// The name for people: `Europe/Berlin`.
  let name: String
  /// Seconds east of UTC at a time in seconds since 1970; nil for UTC.
  private let offsetSeconds: (@Sendable (Int64) -> Int64)?

  static let utc = Zone(name: "UTC", offsetSeconds: nil)

  init(name: String, offsetSeconds: (@Sendable (Int64) -> Int64)?) {
    self.name = name
    self.offsetSeconds = offsetSeconds
  }

  /// Whether no zone is set, or the zone is UTC.
  var isUTC: Bool { offsetSeconds == nil }

  /// The local time at a time.
  func localTime(at time: Milliseconds) -> LocalTime { LocalTime(milliseconds: time + offset(at: time)) }

  /// Milliseconds east of UTC.
  func offset(at time: Milliseconds) -> Milliseconds {
    guard let offsetSeconds else { return 0 }
    return offsetSeconds(Self.seconds(time)) * 1_000
  }

  /// The first time at which clocks show `local` or later. If they show it twice, the first of the two; if they skip it, the time of
  /// the skip.
  func first(_ local: LocalTime) -> Milliseconds {
    guard let change = change(around: local) else { return local.milliseconds - offset(near: local) }
    let before = local.milliseconds - change.before
    return before < change.time ? before : max(change.time, local.milliseconds - change.after)
  }

  /// The last time at which clocks show `local` or earlier. If they show it twice, the second of the two; if they skip it, the
  /// millisecond before the skip.
  func last(_ local: LocalTime) -> Milliseconds {
    guard let change = change(around: local) else { return local.milliseconds - offset(near: local) }
    let after = local.milliseconds - change.after
    return after >= change.time ? after : min(change.time - 1, local.milliseconds - change.before)
  }

  /// More than any offset: a POSIX rule allows less.
  private static let reachSeconds: Int64 = 25 * 3_600

  private func offset(near local: LocalTime) -> Milliseconds {
    offset(at: local.milliseconds - Self.reachSeconds * 1_000)
  }

  /// The clock change near a local time: its time, and the offsets before and after it.
  private func change(
    around local: LocalTime
  ) -> (time: Milliseconds, before: Milliseconds, after: Milliseconds)? {
    guard let offsetSeconds else { return nil }
    var low = Self.seconds(local.milliseconds) - Self.reachSeconds
    var high = low + 2 * Self.reachSeconds
    let before = offsetSeconds(low)
    let after = offsetSeconds(high)
    guard before != after else { return nil }
    while high - low > 1 {
      let middle = low + (high - low) / 2
      if offsetSeconds(middle) == before { low = middle } else { high = middle }
    }
    return (high * 1_000, before * 1_000, after * 1_000)
  }

  /// Whole seconds, rounded down, before 1970 too.
  private static func seconds(_ time: Milliseconds) -> Int64 {
    time >= 0 ? time / 1_000 : (time + 1) / 1_000 - 1
  }
}

/// A local date and time of day, without an offset.
struct LocalTime: Equatable, Sendable {
  /// Milliseconds as if the local time were UTC, so that the calendar of RFC 3339 applies.
  let milliseconds: Milliseconds

  static let minuteLength: Milliseconds = 60_000
  static let dayLength = CivilDate.dayMilliseconds

  init(milliseconds: Milliseconds) { self.milliseconds = milliseconds }

  /// `2026-03-02T07:15:00.000`.
  private var text: Substring { RFC3339.text(milliseconds).dropLast() }

  /// `2026-03-02`.
  var date: String { String(text.prefix(10)) }

  /// `07:15`.
  var minute: String { String(text.dropFirst(11).prefix(5)) }

  /// The same time of day, `days` days later.
  func adding(days: Int64) -> LocalTime { LocalTime(milliseconds: milliseconds + days * Self.dayLength) }

  /// The same day of the month and time of day, `months` months later, or the last day of a shorter month. nil outside the years
  /// 0000 to 9999.
  func adding(months: Int64) -> LocalTime? {
    let date = CivilDate(milliseconds)
    let month = Int64(date.year) * 12 + Int64(date.month) - 1 + months
    guard (0..<10_000 * 12).contains(month) else { return nil }
    let (year, monthOfYear) = (Int(month / 12), Int(month % 12) + 1)
    let day = min(date.day, CivilDate.dayCount(year: year, month: monthOfYear))
    return CivilDate(year: year, month: monthOfYear, day: day).map {
      LocalTime(milliseconds: $0.start + (milliseconds - date.start))
    }
  }

  /// The start of the day, minute, … that contains the time.
  func floored(to length: Milliseconds) -> LocalTime {
    let rest = milliseconds % length
    return LocalTime(milliseconds: milliseconds - (rest < 0 ? rest + length : rest))
  }
}

extension Zone {
  /// The zone of the process: the one in `TZ`, or else the machine's, or else UTC.
  ///
  /// A `TZ` with an unknown name counts as UTC: the C library treats it as UTC, and keeps the beginning of the name as its abbreviation.
  static func ofProcess() -> Zone {
    tzset()
    let name = processName()
    // January and July: in a zone with summer time, one of them has it.
    let isUTC = ([1_767_225_600, 1_782_864_000] as [Int64]).allSatisfy { seconds in
      let (offset, abbreviation) = local(at: seconds)
      return offset == 0 && (abbreviation == "UTC" || name.hasPrefix(abbreviation))
    }
    return isUTC ? .utc : Zone(name: name) { local(at: $0).offsetSeconds }
  }

  private static func local(at seconds: Int64) -> (offsetSeconds: Int64, abbreviation: String) {
    var time = time_t(seconds)
    var parts = tm()
    guard localtime_r(&time, &parts) != nil else { return (0, "UTC") }
    return (Int64(parts.tm_gmtoff), parts.tm_zone.map { String(cString: $0) } ?? "")
  }

  /// The name in `TZ`, or that of the file which is the machine's zone: `Europe/Berlin` for a path that ends with it.
  private static func processName() -> String {
    let named = getenv("TZ").map { String(cString: $0) }
    var name = named ?? "local time"
    if name.hasPrefix(":") { name.removeFirst() }
    if named == nil, let path = realpath("/etc/localtime", nil) {
      defer { free(path) }
      name = String(cString: path)
    }
    guard name.hasPrefix("/") else { return name }
    let parts = name.split(separator: "/")
    let folder = parts.lastIndex { $0.hasPrefix("zoneinfo") }
    let zone = folder.map { parts[($0 + 1)...].joined(separator: "/") } ?? ""
    return !zone.isEmpty ? zone : named == nil ? "local time" : name
  }
}

/// The time and zone in which the command was given, for words like "yesterday".
struct LocalClock: Sendable {
  let zone: Zone
  /// Milliseconds since 1970, read once, so that all moments of a command line use the same time.
  let now: Milliseconds

  static func ofProcess() -> LocalClock { LocalClock(zone: .ofProcess(), now: StoreOptions.systemTime()) }
}

/// Times as they are shown: in the local zone on a terminal, in UTC everywhere else.
extension Zone {
  /// `2026-03-02 07:15`; with the offset, `2026-10-25 02:30+02:00`, if clocks show that minute twice. Times outside the years
  /// 0000 to 9999, which a snapshot that lies can hold, are clamped.
  func text(_ time: Milliseconds) -> String {
    let time = RFC3339.clamped(time)
    let local = localTime(at: time)
    let text = "\(local.date) \(local.minute)"
    let shown = local.floored(to: LocalTime.minuteLength)
    return first(shown) == last(shown) ? text : text + Self.shown(offset: offset(at: time))
  }

  /// The same with the name of the zone, for a time without a heading. UTC is not named.
  func named(_ time: Milliseconds) -> String { isUTC ? text(time) : "\(text(time)) \(name)" }

  /// The heading above times; nil for UTC.
  var heading: String? { isUTC ? nil : "times in \(DisplayText.visible(name))" }

  /// `+02:00`.
  private static func shown(offset: Milliseconds) -> String {
    func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let minutes = abs(offset) / 60_000
    return "\(offset < 0 ? "-" : "+")\(two(minutes / 60)):\(two(minutes % 60))"
  }
}
