import HeartlogFormat
import HeartlogState

/// The items of a list, in its order.
///
/// A change of a list copies a few hundred items at most, also while somebody holds the list before it, as a view does; that of an array
/// would copy all of them. `Array(list)` makes an array, in O(n).
public struct ItemList<Item>: RandomAccessCollection {
  /// None is empty.
  private var chunks: [[Item]] = []
  /// The position of the first item of each chunk.
  private var starts: [Int] = []
  /// The number of items.
  public private(set) var count = 0

  /// A chunk with more items is split. A change copies one chunk, and the list of chunks.
  private static var chunkItemsMax: Int { 512 }

  /// Creates a list of the elements of an array.
  public init(_ items: [Item]) {
    count = items.count
    starts = Array(stride(from: 0, to: items.count, by: Self.chunkItemsMax / 2))
    chunks = starts.map { Array(items[$0..<Swift.min($0 + Self.chunkItemsMax / 2, items.count)]) }
  }

  public var startIndex: Int { 0 }
  public var endIndex: Int { count }

  /// The item at a position. O(log n).
  public internal(set) subscript(position: Int) -> Item {
    get {
      let (chunk, offset) = place(of: position)
      return chunks[chunk][offset]
    }
    set {
      let (chunk, offset) = place(of: position)
      chunks[chunk][offset] = newValue
    }
  }

  /// Passes over a list in O(1) an item.
  public func makeIterator() -> FlattenSequence<[[Item]]>.Iterator { chunks.joined().makeIterator() }

  mutating func insert(_ item: Item, at position: Int) {
    precondition(position >= 0 && position <= count, "a position in the list or at its end")
    guard !chunks.isEmpty else {
      (chunks, starts, count) = ([[item]], [0], 1)
      return
    }
    let (chunk, offset) =
      position == count ? (chunks.count - 1, chunks[chunks.count - 1].count) : place(of: position)
    chunks[chunk].insert(item, at: offset)
    count += 1
    moveStarts(after: chunk, by: 1)
    guard chunks[chunk].count > Self.chunkItemsMax else { return }
    let half = chunks[chunk].count / 2
    chunks.insert(Array(chunks[chunk][half...]), at: chunk + 1)
    starts.insert(starts[chunk] + half, at: chunk + 1)
    chunks[chunk].removeSubrange(half...)
  }

  @discardableResult
  mutating func remove(at position: Int) -> Item {
    let (chunk, offset) = place(of: position)
    let removed = chunks[chunk].remove(at: offset)
    count -= 1
    moveStarts(after: chunk, by: -1)
    if chunks[chunk].isEmpty {
      chunks.remove(at: chunk)
      starts.remove(at: chunk)
    } else if chunk + 1 < chunks.count,
      chunks[chunk].count + chunks[chunk + 1].count <= Self.chunkItemsMax / 2
    {
      chunks[chunk] += chunks.remove(at: chunk + 1)
      starts.remove(at: chunk + 1)
    }
    return removed
  }

  @discardableResult
  mutating func removeLast() -> Item { remove(at: count - 1) }

  private mutating func moveStarts(after chunk: Int, by distance: Int) {
    for index in starts.indices.dropFirst(chunk + 1) { starts[index] += distance }
  }

  private func place(of position: Int) -> (chunk: Int, offset: Int) {
    precondition(position >= 0 && position < count, "a position in the list")
    var range = 0..<chunks.count
    while range.count > 1 {
      let middle = range.lowerBound + range.count / 2
      range = starts[middle] <= position ? middle..<range.upperBound : range.lowerBound..<middle
    }
    return (range.lowerBound, position - starts[range.lowerBound])
  }
}

extension ItemList: Sendable where Item: Sendable {}

extension ItemList: Equatable where Item: Equatable {
  public static func == (list: Self, other: Self) -> Bool { list.elementsEqual(other) }
}

extension ItemList: ExpressibleByArrayLiteral {
  public init(arrayLiteral items: Item...) { self.init(items) }
}

extension ItemList: CustomStringConvertible {
  public var description: String { Array(self).description }
}

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
