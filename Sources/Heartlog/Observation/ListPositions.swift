import HeartlogEvents
import HeartlogState

/// The positions of items in a list of favorites, as single items come, move and go. Finding one takes O(log² n); changing one moves a
/// few hundred keys.
struct ListPositions: Sendable {
  private struct Key: Sendable {
    let id: UTF8Key
    let date: Milliseconds?
  }

  let order: ListOrder
  private var keys: ItemList<Key> = []
  /// The favorited dates in `keys`, by id.
  private var dates: [UTF8Key: Milliseconds?] = [:]

  /// - Parameter states: the items of the list, in its order.
  init(of states: [ItemState], in order: ListOrder) {
    self.order = order
    keys = ItemList(states.map { Key(id: UTF8Key($0.id), date: $0.favoritedDate) })
    dates = Dictionary(keys.map { ($0.id, $0.date) }) { _, last in last }
  }

  /// Returns the position of an item; nil if it is not in the list, or is there with another date.
  func position(of id: UTF8Key, since date: Milliseconds?) -> Int? {
    guard let known = dates[id], known == date else { return nil }
    return position(Key(id: id, date: date))
  }

  /// Adds an item that is not in the list, and returns its position.
  mutating func insert(_ id: UTF8Key, since date: Milliseconds?) -> Int {
    precondition(dates.updateValue(date, forKey: id) == nil, "an item is in a list once")
    let key = Key(id: id, date: date)
    let position = position(key)
    keys.insert(key, at: position)
    return position
  }

  /// Removes an item, and returns the position that it had; nil if it is not in the list.
  mutating func remove(_ id: UTF8Key) -> Int? {
    guard let date = dates.removeValue(forKey: id) else { return nil }
    let position = position(Key(id: id, date: date))
    keys.remove(at: position)
    return position
  }

  /// Removes the item at the end of the list, which must not be empty.
  mutating func removeLast() { dates[keys.removeLast().id] = nil }

  /// The number of keys before this one.
  private func position(_ key: Key) -> Int {
    var range = keys.indices
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      if order.places(keys[middle].id.text, keys[middle].date, before: key.id.text, key.date) {
        range = middle + 1..<range.upperBound
      } else {
        range = range.lowerBound..<middle
      }
    }
    return range.lowerBound
  }
}
