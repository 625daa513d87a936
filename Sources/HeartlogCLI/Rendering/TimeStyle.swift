import Heartlog

/// The zone in which times are shown: local on a terminal, UTC everywhere else.
struct TimeStyle: Sendable {
  let zone: Zone

  static let utc = TimeStyle(zone: .utc)

  /// `2026-03-02 07:15`; with the offset, `2026-10-25 02:30+02:00`, if clocks show that minute twice. Times outside the years
  /// 0000 to 9999, which a snapshot that lies can hold, are clamped.
  func text(_ time: Milliseconds) -> String {
    let time = RFC3339.clamped(time)
    let local = zone.localTime(at: time)
    let text = "\(local.date) \(local.minute)"
    let shown = local.floored(to: LocalTime.minuteLength)
    return zone.first(shown) == zone.last(shown) ? text : text + Self.offset(zone.offset(at: time))
  }

  /// The same with the name of the zone, for a time without a heading. UTC is not named.
  func named(_ time: Milliseconds) -> String { zone.isUTC ? text(time) : "\(text(time)) \(zone.name)" }

  /// The heading above times; nil for UTC.
  var heading: String? { zone.isUTC ? nil : "times in \(DisplayText.visible(zone.name))" }

  /// `+02:00`.
  private static func offset(_ offset: Milliseconds) -> String {
    func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let minutes = abs(offset) / 60_000
    return "\(offset < 0 ? "-" : "+")\(two(minutes / 60)):\(two(minutes % 60))"
  }
}
