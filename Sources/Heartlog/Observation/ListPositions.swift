import HeartlogFormat
import HeartlogState

/// The positions of items in a list of favorites, as single items come, move and go. Finding one takes O(log² n); changing one moves a
/// few hundred keys.
struct ListPositions: Sendable {
  private struct Key: Sendable {
    let id: UTF8Key
    let moment: FavoritedMoment?
  }

  let order: ListOrder
  private var keys: ItemList<Key> = []
  /// The moments in `keys`, by id.
  private var moments: [UTF8Key: FavoritedMoment?] = [:]

  /// - Parameter states: the items of the list, in its order.
  init(of states: [ItemState], in order: ListOrder) {
    self.order = order
    keys = ItemList(states.map { Key(id: UTF8Key($0.id), moment: $0.favoritedMoment) })
    moments = Dictionary(keys.map { ($0.id, $0.moment) }) { _, last in last }
  }

  /// Gives an item of the list another moment, if it keeps its position.
  ///
  /// - Returns: the position, and whether the moment is another one; nil if the item is not in the list, or would move. Then nothing is
  ///   changed.
  mutating func keep(_ id: UTF8Key, since moment: FavoritedMoment?) -> (position: Int, isChange: Bool)? {
    guard let known = moments[id] else { return nil }
    let position = position(Key(id: id, moment: known))
    guard known != moment else { return (position, false) }
    let key = Key(id: id, moment: moment)
    guard position == 0 || places(keys[position - 1], before: key),
      position + 1 == keys.count || places(key, before: keys[position + 1])
    else { return nil }
    keys[position] = key
    moments[id] = .some(moment)
    return (position, true)
  }

  /// Adds an item that is not in the list, and returns its position.
  mutating func insert(_ id: UTF8Key, since moment: FavoritedMoment?) -> Int {
    precondition(moments.updateValue(moment, forKey: id) == nil, "an item is in a list once")
    let key = Key(id: id, moment: moment)
    let position = position(key)
    keys.insert(key, at: position)
    return position
  }

  /// Removes an item, and returns the position that it had; nil if it is not in the list.
  mutating func remove(_ id: UTF8Key) -> Int? {
    guard let moment = moments.removeValue(forKey: id) else { return nil }
    let position = position(Key(id: id, moment: moment))
    keys.remove(at: position)
    return position
  }

  /// Removes the item at the end of the list, which must not be empty.
  mutating func removeLast() { moments[keys.removeLast().id] = nil }

  /// The number of keys before this one.
  private func position(_ key: Key) -> Int {
    var range = keys.indices
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      range = places(keys[middle], before: key) ? middle + 1..<range.upperBound : range.lowerBound..<middle
    }
    return range.lowerBound
  }

  private func places(_ key: Key, before other: Key) -> Bool {
    order.places(key.id.text, key.moment, before: other.id.text, other.moment)
  }
}
