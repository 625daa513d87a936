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

extension ItemList {
  /// Returns the items in sections of those with the same key, which are in the order of their first items. O(n).
  public func sections<Key: Hashable>(by key: (Item) -> Key) -> [(key: Key, items: [Item])] {
    var places: [Key: Int] = [:]
    var sections: [(key: Key, items: [Item])] = []
    for item in self {
      let key = key(item)
      if let place = places[key] {
        sections[place].items.append(item)
      } else {
        places[key] = sections.count
        sections.append((key, [item]))
      }
    }
    return sections
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
