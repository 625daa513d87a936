import HeartlogEngine
import HeartlogFormat
import HeartlogState

/// The items of a query, as single ones come, move and go. Finding one takes O(log² n); changing one moves a few hundred.
struct QueryRows<Item: Codable & Identifiable & Sendable>: Sendable where Item.ID: FavoriteID {
  let query: Favorites<Item>.Query
  private(set) var items: ItemList<Item>
  /// The favorites that could not be decoded: the id of each, with the error.
  private(set) var failures: [(id: String, error: HeartlogError)]
  private var keys: ItemList<QueryKey>
  /// The keys in `keys`, by id.
  private var known: [UTF8Key: QueryKey]
  /// Whether the query has items that are not in the list.
  private(set) var isCutOff: Bool
  /// Whether an item was added at the end, although one that is not in the list may come before it.
  private var isEndUncertain = false

  /// Reads the items.
  ///
  /// - Parameter most: the maximum number of items, below the query's own limit.
  init(_ query: Favorites<Item>.Query, upTo most: Int = .max) {
    self.query = query
    let most = min(most, query.limit ?? .max)
    let (page, keys) = query.load(upTo: most == .max ? nil : most)
    items = ItemList(page.items)
    failures = page.failures
    self.keys = ItemList(keys)
    known = Dictionary(keys.map { ($0.id, $0) }) { _, last in last }
    isCutOff = keys.count >= most
  }

  /// Whether items may be missing: one that was not in the list when another one has gone.
  var lacksItems: Bool { isCutOff && (isEndUncertain || items.count < query.limit ?? .max) }

  // MARK: - Single items

  /// Shows an item as the store has it. Returns whether that changed anything.
  mutating func update(_ id: UTF8Key) -> Bool {
    let failure = failures.firstIndex { UTF8Key($0.id) == id }
    do throws(HeartlogError) {
      let row = try query.favorites.library.item(id.text).flatMap { state throws(HeartlogError) in
        try query.row(of: state)
      }
      if let failure { failures.remove(at: failure) }
      return (row.map { place($0.item, $0.key) } ?? remove(id)) || failure != nil
    } catch {
      guard let failure else {
        failures.append((id.text, error))
        _ = remove(id)
        return true
      }
      defer { failures[failure].error = error }
      return failures[failure].error.message != error.message
    }
  }

  /// Shows an item with a key. Returns whether that changed anything that is shown.
  mutating func place(_ item: Item, _ key: QueryKey) -> Bool {
    if let (position, old) = keep(key) {
      if position == items.count - 1, query.places(old, before: key) { isEndUncertain = isCutOff }
      // What is shown already, such as a tap when it is written, is no change.
      guard !isSame(items[position], old, item, key) else { return false }
      items[position] = item
      return true
    }
    let isMoved = remove(key.id)
    let position = position(key)
    guard position < query.limit ?? .max else {
      isCutOff = true
      return isMoved
    }
    if position == items.count { isEndUncertain = isCutOff }
    known[key.id] = key
    keys.insert(key, at: position)
    items.insert(item, at: position)
    if let limit = query.limit, items.count > limit {
      isCutOff = true
      items.removeLast()
      known[keys.removeLast().id] = nil
    }
    return true
  }

  /// Whether an item is shown alike: with the same fields, and a favorite since the same time or not at all.
  private func isSame(_ item: Item, _ key: QueryKey, _ other: Item, _ otherKey: QueryKey) -> Bool {
    key.moment?.date == otherKey.moment?.date && query.favorites.isSame(item, other)
  }

  mutating func remove(_ id: UTF8Key) -> Bool {
    guard let key = known.removeValue(forKey: id) else { return false }
    let position = position(key)
    keys.remove(at: position)
    items.remove(at: position)
    return true
  }

  /// Gives an item of the list another key, if it keeps its position.
  ///
  /// - Returns: the position, and the key that it had; nil if the item is not in the list, or would move. Then nothing is changed.
  private mutating func keep(_ key: QueryKey) -> (position: Int, old: QueryKey)? {
    guard let old = known[key.id] else { return nil }
    let position = position(old)
    guard position == 0 || query.places(keys[position - 1], before: key),
      position + 1 == keys.count || query.places(key, before: keys[position + 1])
    else { return nil }
    keys[position] = key
    known[key.id] = key
    return (position, old)
  }

  private func position(_ key: QueryKey) -> Int { Self.position(key, in: keys, query) }

  /// The number of keys before this one.
  private static func position(
    _ key: QueryKey, in keys: ItemList<QueryKey>, _ query: Favorites<Item>.Query
  ) -> Int {
    var range = keys.indices
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      range =
        query.places(keys[middle], before: key) ? middle + 1..<range.upperBound : range.lowerBound..<middle
    }
    return range.lowerBound
  }

  // MARK: - Following

  /// Reads what changed.
  ///
  /// - Parameter ids: the items that may be others; nil for any.
  /// - Returns: the positions, ascending, of items that were in the list before, with other values; nil if the list is as it was.
  mutating func follow(_ ids: Set<UTF8Key>?) -> [Int]? {
    let (items, keys) = (items, keys)
    // One item costs a few times what it costs among all of them.
    if let ids, ids.count <= 16 + items.count / 8 {
      let touched = ids.map { id in (id, known[id].map { Self.position($0, in: keys, query) }) }
      for id in ids { _ = update(id) }
      if !lacksItems { return changed(from: items, keys, at: touched) }
    }
    // What is read may also have later changes, which are told of later: any item may be another one.
    self = QueryRows(query)
    return changed(from: items, keys, at: keys.enumerated().map { ($1.id, $0) })
  }

  /// Compares the list with another one, as `follow` returns it.
  ///
  /// - Parameter places: the items that may be others, with their positions in the other list. The rest are in both, in the same order.
  private func changed(
    from items: ItemList<Item>, _ keys: ItemList<QueryKey>, at places: [(id: UTF8Key, position: Int?)]
  ) -> [Int]? {
    var isOther = items.count != self.items.count
    var changed: [Int] = []
    for (id, old) in places {
      let key = known[id]
      let new = key.map { position($0) }
      if old != new { isOther = true }
      if let old, let key, let new, !isSame(items[old], keys[old], self.items[new], key) {
        changed.append(new)
      }
    }
    return isOther || !changed.isEmpty ? changed.sorted() : nil
  }
}
