import HeartlogFormat

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Types that encode as a single string: Date as RFC 3339 in UTC with milliseconds, URL as its absolute string, UUID in lowercase, Data in
/// base64.
enum ScalarCoding {
  /// Returns the string of such a value; nil for a value of another type.
  static func string<T>(of value: T) throws(MalformedError) -> String? {
    // Comparing types is much cheaper than a cast that fails.
    if T.self == Date.self, let date = value as? Date { return RFC3339.text(try milliseconds(of: date)) }
    if T.self == URL.self, let url = value as? URL { return url.absoluteString }
    if T.self == UUID.self, let uuid = value as? UUID { return uuid.favoriteID }
    if T.self == Data.self, let data = value as? Data { return data.base64EncodedString() }
    return nil
  }

  static func isOneString<T>(_ type: T.Type) -> Bool {
    type == Date.self || type == URL.self || type == UUID.self || type == Data.self
  }

  /// Returns the value of such a type; nil for another type.
  static func value<T>(_ type: T.Type, from text: String) throws(MalformedError) -> T? {
    if type == Date.self { return date(try RFC3339.parse(text)) as? T }
    if type == URL.self {
      guard let url = URL(string: text) else { throw MalformedError("a string that is not a URL") }
      return url as? T
    }
    if type == UUID.self {
      guard let uuid = UUID(uuidString: text) else { throw MalformedError("a string that is not a UUID") }
      return uuid as? T
    }
    if type == Data.self {
      guard let data = Data(base64Encoded: text) else { throw MalformedError("a string that is not base64") }
      return data as? T
    }
    return nil
  }

  static func date(_ time: Milliseconds) -> Date { Date(timeIntervalSince1970: Double(time) / 1_000) }

  /// Returns the last millisecond that is not after `date`.
  ///
  /// A date of whole milliseconds is stored as a nearby double, which may lie just below or above. Compare dates instead of doubles.
  static func milliseconds(of date: Date) throws(MalformedError) -> Milliseconds {
    let estimate = (date.timeIntervalSince1970 * 1_000).rounded(.down)
    guard var time = Milliseconds(exactly: estimate),
      (Limits.dateMillisecondsMin...Limits.dateMillisecondsMax).contains(time)
    else { throw MalformedError("a date outside the years 0000 to 9999") }
    if self.date(time) > date { time -= 1 }
    if self.date(time + 1) <= date { time += 1 }
    return min(max(time, Limits.dateMillisecondsMin), Limits.dateMillisecondsMax)
  }
}
