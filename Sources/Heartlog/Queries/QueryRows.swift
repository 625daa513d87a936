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
    let hasFailed = failures.contains { UTF8Key($0.id) == id }
    if hasFailed { failures.removeAll { UTF8Key($0.id) == id } }
    do throws(HeartlogError) {
      guard let state = query.favorites.library.item(id.text), let row = try query.row(of: state) else {
        return remove(id) || hasFailed
      }
      return place(row.item, row.key) || hasFailed
    } catch {
      failures.append((id.text, error))
      _ = remove(id)
      return true
    }
  }

  /// Shows an item with a key. Returns whether that changed anything that is shown.
  mutating func place(_ item: Item, _ key: QueryKey) -> Bool {
    if let (position, isOther) = keep(key) {
      if isOther, position == items.count - 1 { isEndUncertain = isCutOff }
      // What is shown already, such as a tap when it is written, is no change.
      guard !query.favorites.isSame(items[position], item) else { return false }
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

  mutating func remove(_ id: UTF8Key) -> Bool {
    guard let key = known.removeValue(forKey: id) else { return false }
    let position = position(key)
    keys.remove(at: position)
    items.remove(at: position)
    return true
  }

  /// Gives an item of the list another key, if it keeps its position.
  ///
  /// - Returns: the position, and whether the key places it elsewhere among others; nil if the item is not in the list, or would move. Then
  ///   nothing is changed.
  private mutating func keep(_ key: QueryKey) -> (position: Int, isOther: Bool)? {
    guard let old = known[key.id] else { return nil }
    let position = position(old)
    guard query.places(old, before: key) || query.places(key, before: old) else { return (position, false) }
    guard position == 0 || query.places(keys[position - 1], before: key),
      position + 1 == keys.count || query.places(key, before: keys[position + 1])
    else { return nil }
    keys[position] = key
    known[key.id] = key
    return (position, true)
  }

  /// The number of keys before this one.
  private func position(_ key: QueryKey) -> Int {
    var range = keys.indices
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      range =
        query.places(keys[middle], before: key) ? middle + 1..<range.upperBound : range.lowerBound..<middle
    }
    return range.lowerBound
  }

  // MARK: - Differences

  /// How the list became what it is.
  ///
  /// - Parameters:
  ///   - before: the list before.
  ///   - touched: the ids of the items that may be others; nil for all.
  func difference(from before: QueryRows, touched: Set<UTF8Key>?) -> QueryDifference {
    let first = zip(keys, before.keys).lazy.prefix { $0.id == $1.id }.reduce(into: 0) { count, _ in count += 1
    }
    let rest = min(keys.count, before.keys.count) - first
    let last =
      (0..<rest).first { keys[keys.count - 1 - $0].id != before.keys[before.keys.count - 1 - $0].id } ?? rest
    let (old, new) = (first..<before.keys.count - last, first..<keys.count - last)
    let oldPlaces = Dictionary(uniqueKeysWithValues: old.map { (before.keys[$0].id, $0) })
    var difference = QueryDifference()
    var stayed: [(old: Int, new: Int)] = []
    for place in new {
      if let oldPlace = oldPlaces[keys[place].id] {
        stayed.append((oldPlace, place))
      } else {
        difference.inserted.append(place)
      }
    }
    difference.removed = old.filter { known[before.keys[$0].id] == nil }
    let inOrder = Self.longestAscending(stayed.map(\.old))
    for (index, pair) in stayed.enumerated() where !inOrder.contains(index) {
      difference.moved.append(QueryDifference.Move(from: pair.old, to: pair.new))
    }
    func check(_ old: Int, _ new: Int) {
      if !query.favorites.isSame(before.items[old], items[new]) { difference.changed.append(new) }
    }
    if let touched {
      for id in touched {
        guard let oldKey = before.known[id], let key = known[id] else { continue }
        check(before.position(oldKey), position(key))
      }
      difference.changed.sort()
    } else {
      for place in 0..<first { check(place, place) }
      for pair in stayed { check(pair.old, pair.new) }
      for place in (0..<last).reversed() { check(before.keys.count - 1 - place, keys.count - 1 - place) }
    }
    return difference
  }

  /// The indices of the longest part that ascends: the other items are those that moved.
  private static func longestAscending(_ places: [Int]) -> Set<Int> {
    /// Of each length, the index of the lowest place at which such a part ends.
    var ends: [Int] = []
    var previous = [Int](repeating: -1, count: places.count)
    for (index, place) in places.enumerated() {
      var range = ends.indices
      while !range.isEmpty {
        let middle = range.lowerBound + range.count / 2
        range = places[ends[middle]] < place ? middle + 1..<range.upperBound : range.lowerBound..<middle
      }
      if range.lowerBound > 0 { previous[index] = ends[range.lowerBound - 1] }
      if range.lowerBound == ends.count { ends.append(index) } else { ends[range.lowerBound] = index }
    }
    var longest: Set<Int> = []
    var index = ends.last ?? -1
    while index >= 0 {
      longest.insert(index)
      index = previous[index]
    }
    return longest
  }
}

/// How one list of a query became the next, for lists that are animated.
public struct QueryDifference: Hashable, Sendable {
  /// Positions in the list before, ascending.
  public internal(set) var removed: [Int] = []
  /// Positions in the list after, ascending.
  public internal(set) var inserted: [Int] = []
  /// The items that stand elsewhere among the others.
  public internal(set) var moved: [Move] = []
  /// Positions in the list after, ascending, of items that were in the list before, with other values.
  public internal(set) var changed: [Int] = []

  /// Whether the lists are the same.
  public var isEmpty: Bool { removed.isEmpty && inserted.isEmpty && moved.isEmpty && changed.isEmpty }

  /// An item that stands elsewhere.
  public struct Move: Hashable, Sendable {
    /// Its position in the list before.
    public let from: Int
    /// Its position in the list after.
    public let to: Int
  }
}
