import Heartlog

/// The positions of tracks in the playlist, as keys that are sorted by their bytes.
///
/// The key of a track that was never moved is computed from its favorited date: the milliseconds as nine
/// digits in base 62, and a `V`. A track that was moved has a key of its own in the field `orderKey`, between
/// those of its neighbours. So adding writes no key, and moving usually writes one: tracks that two devices
/// add are ordered by date, and moves of different tracks all survive a merge. Of two moves of one track the
/// later one wins. Tracks with equal keys, which two devices may create, are ordered by the bytes of their
/// ids.
enum TrackOrder {
  static let field = "orderKey"

  private static let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
  /// 62^9 milliseconds are 430,000 years, which covers all dates that the format allows.
  static let dateLength = 9

  /// The favorites among some items, in order, with their keys. An item that is not a valid `Track` is left
  /// out.
  static func positions(of items: [ItemState]) -> [(track: Track, key: OrderKey)] {
    let positions = items.compactMap { item -> (track: Track, key: OrderKey)? in
      guard item.isFavorite, let key = key(of: item),
        let track = try? FieldDecoder.decode(
          Track.self, id: item.id, isFavorite: true, favoritedDate: item.favoritedDate, fields: item.fields)
      else { return nil }
      return (track, key)
    }
    return positions.sorted { a, b in
      a.key != b.key
        ? a.key < b.key : a.track.id.favoriteID.utf8.lexicographicallyPrecedes(b.track.id.favoriteID.utf8)
    }
  }

  /// The key of a favorite: the one in its field, or that of its date if the field has no valid key.
  static func key(of track: ItemState) -> OrderKey? {
    if case .string(let text)? = track.value(of: field), let key = OrderKey(text) { return key }
    return track.favoritedDate.flatMap(key(of:))
  }

  /// The key of a date.
  static func key(of date: Milliseconds) -> OrderKey? {
    OrderKey(text(UInt64(clamping: date - Limits.dateMillisecondsMin)) + "V")
  }

  /// Returns rising keys that are all above `low` and below `high`; `nil` stands for the beginning or the
  /// end.
  ///
  /// The end is that of the millisecond of `low`, so that tracks added later come after the keys. Each
  /// halving takes a sixth of a digit.
  static func keys(_ count: Int, after low: OrderKey?, before high: OrderKey?) -> [OrderKey] {
    guard count > 0 else { return [] }
    let middle = OrderKey.between(low, high ?? low.flatMap(end(ofMillisecondOf:)))
    return keys(count / 2, after: low, before: middle) + [middle]
      + keys(count - count / 2 - 1, after: middle, before: high)
  }

  /// A key just above all keys with the same milliseconds as `key`.
  private static func end(ofMillisecondOf key: OrderKey) -> OrderKey? {
    let prefix = Array(key.text.utf8.prefix(dateLength))
    var number: UInt64 = 0
    for index in 0..<dateLength {
      let digit = index < prefix.count ? digits.firstIndex(of: prefix[index]) ?? 0 : 0
      number = number * 62 + UInt64(digit)
    }
    return OrderKey(text(number + 1) + "0000001")
  }

  /// Nine digits, most significant first. A number that does not fit becomes the largest one.
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
