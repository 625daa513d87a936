import Heartlog

/// The places of tracks in the playlist, as keys that sort by their bytes.
///
/// A track that was never moved stands where its favorited date puts it: the milliseconds as nine digits in base 62, and a `V`. A track
/// that was moved holds a key of its own, in the field `orderKey`, which lies between those of its neighbors. So adding writes no key and
/// moving writes one, as a rule: what two devices add apart lines up by date, and moves of different tracks all survive a merge. Of two
/// moves of one track the later wins. Tracks at one place, as two devices may choose it, stand by the bytes of their ids.
enum TrackOrder {
  static let field = "orderKey"

  private static let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
  /// 62^9 milliseconds are 430,000 years: more than all dates that the format allows.
  static let dateLength = 9

  /// The tracks among the favorites of some items, in order, with their places. What makes no `Track` is left out.
  static func places(of items: [ItemState]) -> [(track: Track, key: OrderKey)] {
    let places = items.compactMap { item -> (track: Track, key: OrderKey)? in
      guard item.isFavorite, let key = key(of: item),
        let track = try? FieldDecoder.decode(
          Track.self, id: item.id, isFavorite: true, favoritedDate: item.favoritedDate, fields: item.fields)
      else { return nil }
      return (track, key)
    }
    return places.sorted { a, b in
      a.key != b.key
        ? a.key < b.key : a.track.id.favoriteID.utf8.lexicographicallyPrecedes(b.track.id.favoriteID.utf8)
    }
  }

  /// The place of a favorite: its own key, else its date's. What is no key in the field counts as none.
  static func key(of track: ItemState) -> OrderKey? {
    if case .string(let text)? = track.value(of: field), let key = OrderKey(text) { return key }
    return track.favoritedDate.flatMap(key(of:))
  }

  /// The place of a date.
  static func key(of date: Milliseconds) -> OrderKey? {
    OrderKey(text(UInt64(clamping: date - Limits.dateMillisecondsMin)) + "V")
  }

  /// Keys in rising order with `low` below and `high` above all of them; nil stands for the beginning and the end.
  ///
  /// The end is that of the millisecond of `low`: what is added later comes after it. Each halving takes a sixth of a digit.
  static func keys(_ count: Int, after low: OrderKey?, before high: OrderKey?) -> [OrderKey] {
    guard count > 0 else { return [] }
    let middle = OrderKey.between(low, high ?? low.flatMap(end(ofMillisecondOf:)))
    return keys(count / 2, after: low, before: middle) + [middle]
      + keys(count - count / 2 - 1, after: middle, before: high)
  }

  /// A key just above all those that share the milliseconds of `key`.
  private static func end(ofMillisecondOf key: OrderKey) -> OrderKey? {
    let prefix = Array(key.text.utf8.prefix(dateLength))
    var number: UInt64 = 0
    for index in 0..<dateLength {
      let digit = index < prefix.count ? digits.firstIndex(of: prefix[index]) ?? 0 : 0
      number = number * 62 + UInt64(digit)
    }
    return OrderKey(text(number + 1) + "0000001")
  }

  /// Nine digits, the most significant first. The last number of nine digits stays one.
  private static func text(_ number: UInt64) -> String {
    var rest = number
    var bytes = [UInt8](repeating: digits[0], count: dateLength)
    for index in bytes.indices.reversed() {
      bytes[index] = digits[Int(rest % 62)]
      rest /= 62
    }
    return rest == 0 ? String(decoding: bytes, as: UTF8.self) : String(repeating: "z", count: dateLength)
  }
}
