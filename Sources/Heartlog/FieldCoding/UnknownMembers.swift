import HeartlogFormat

/// Keeps the members of nested values that a type does not know, such as those that a later version of it has.
///
/// Each value is compared with what the type reads and encodes again from the stored one: what it changed is written, all else stays.
enum UnknownMembers {
  /// Whether a stored value may have members that a type does not know.
  static func mayBe(in value: FieldValue?) -> Bool {
    guard case .json(let json)? = value else { return false }
    return json.text.utf8.contains(UInt8(ascii: "{"))
  }

  /// The value to write in place of `stored`.
  ///
  /// - Parameters:
  ///   - known: what the type reads and encodes again from `stored`.
  ///   - new: what the type encodes now.
  static func merge(_ new: JSONValue, over stored: JSONValue, known: JSONValue) -> JSONValue {
    if new == known { return stored }
    switch (new, stored, known) {
    case (.object(let new), .object(let stored), .object(let known)):
      return .object(merge(new, over: stored, known: known))
    case (.array(let new), .array(let stored), .array(let known)) where stored.count == known.count:
      return .array(merge(new, over: stored, known: known))
    default: return new
    }
  }

  private static func merge(
    _ new: [JSONMember], over stored: [JSONMember], known: [JSONMember]
  ) -> [JSONMember] {
    func value(_ name: String, in members: [JSONMember]) -> JSONValue? {
      members.first { $0.name.hasSameBytes(as: name) }?.value
    }
    let kept = stored.filter { value($0.name, in: known) == nil && value($0.name, in: new) == nil }
    return kept
      + new.map { member in
        guard let stored = value(member.name, in: stored), let known = value(member.name, in: known) else {
          return member
        }
        return JSONMember(member.name, merge(member.value, over: stored, known: known))
      }
  }

  /// An element that the type left as it was keeps its stored form, wherever it is now. If there are as many as before, the others are
  /// changed ones.
  private static func merge(_ new: [JSONValue], over stored: [JSONValue], known: [JSONValue]) -> [JSONValue] {
    var left = Set(known.indices)
    let kept = new.enumerated().map { place, element in
      let same =
        known.indices.contains(place) && left.contains(place) && known[place] == element ? place : nil
      let index = same ?? left.filter { known[$0] == element }.min()
      if let index { left.remove(index) }
      return index
    }
    return zip(new.indices, kept).map { place, index in
      if let index { return stored[index] }
      guard new.count == known.count, left.contains(place) else { return new[place] }
      return merge(new[place], over: stored[place], known: known[place])
    }
  }
}
