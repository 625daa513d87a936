/// A named, ordered collection of items of one library: a playlist, a reading list, a trip.
///
/// Each membership is a separate field, `@in/<name>`, whose value is the item's position in the order. An item can therefore be in several
/// collections, two devices can edit a collection while offline, and the last write of each membership wins. Membership in a collection is
/// independent of being a favorite.
public struct ItemCollection<ID: FavoriteID>: Sendable {
  /// The library that contains the items.
  public let library: FavoritesLibrary
  /// At least one byte of UTF-8 without control characters. With the prefix `@in/` it must be a valid field name.
  public let name: String

  private var field: String { CollectionField.name(of: name) }

  init(_ library: FavoritesLibrary, name: String) throws(HeartlogError) {
    try heartlogErrors {
      guard !name.isEmpty else { throw MalformedError("the name of the collection is empty") }
      try NameRules.checkFieldName(CollectionField.name(of: name))
    }
    self.library = library
    self.name = name
  }

  /// The ids of its items in order. Items with the same position are ordered by the bytes of their ids; what is no `ID` is not among them.
  ///
  /// One pass over the library.
  public var ids: [ID] { order.positions().compactMap { ID(favoriteID: $0.item.id) } }

  /// Returns whether an item is in the collection, favorite or not. One lookup.
  public func contains(_ id: ID) -> Bool { key(of: library.item(id.favoriteID)) != nil }

  /// Inserts an item before the item at `index`, or at the end. An item that is already in the collection stays where it is.
  ///
  /// Usually writes one field. One pass over the library.
  ///
  /// - Parameters:
  ///   - id: the item, favorite or not. The store need not know it yet.
  ///   - index: an index into `ids`, clamped to its bounds; nil for the end.
  /// - Returns: whether the item was not in the collection before.
  /// - Throws: `invalid` for an invalid id; any error of a write: see <doc:WhatCanGoWrong>.
  @discardableResult
  public func insert(_ id: ID, at index: Int? = nil) throws(HeartlogError) -> Bool {
    let id = id.favoriteID
    return try library.store.writeAsOne { () throws(HeartlogError) in
      let positions = order.positions()
      guard !positions.contains(where: { $0.item.id.utf8.elementsEqual(id.utf8) }) else { return false }
      try order.put([id], at: index ?? positions.count, among: positions)
      return true
    }
  }

  /// Moves an item of the collection to another index.
  ///
  /// - Parameters:
  ///   - id: an item of the collection.
  ///   - index: the item's index in `ids` after the move, clamped to its bounds.
  /// - Returns: whether the item moved.
  /// - Throws: `notFound` if the item is not in the collection; any error of a write: see <doc:WhatCanGoWrong>.
  @discardableResult
  public func move(_ id: ID, to index: Int) throws(HeartlogError) -> Bool {
    let id = id.favoriteID
    return try library.store.writeAsOne { () throws(HeartlogError) in
      var positions = order.positions()
      guard let old = positions.firstIndex(where: { $0.item.id.utf8.elementsEqual(id.utf8) }) else {
        throw HeartlogError(.notFound, "\(id) is not in the collection \(name)")
      }
      positions.remove(at: old)
      guard min(max(0, index), positions.count) != old else { return false }
      try order.put([id], at: index, among: positions)
      return true
    }
  }

  /// Moves items of the collection in one commit, as `onMove` of a SwiftUI list hands them over. They keep their order.
  ///
  /// - Parameters:
  ///   - offsets: indices into `ids`, such as an `IndexSet`.
  ///   - offset: the index in `ids`, before the move, of the item that they are put in front of; the number of items for the end.
  /// - Returns: whether an item moved.
  /// - Throws: `invalid` for an index that the collection does not have, because it has changed since it was shown; any error of a write:
  ///   see <doc:WhatCanGoWrong>.
  @discardableResult
  public func move(fromOffsets offsets: some Sequence<Int>, toOffset offset: Int) throws(HeartlogError)
    -> Bool
  {
    try order.move(fromOffsets: offsets, toOffset: offset)
  }

  /// Removes items from the collection in one commit, as `onDelete` of a SwiftUI list hands them over.
  ///
  /// - Parameter offsets: indices into `ids`, such as an `IndexSet`.
  /// - Throws: `invalid` for an index that the collection does not have, because it has changed since it was shown; any error of a write:
  ///   see <doc:WhatCanGoWrong>.
  public func remove(atOffsets offsets: some Sequence<Int>) throws(HeartlogError) {
    let offsets = Set(offsets)
    try library.store.writeAsOne { () throws(HeartlogError) in
      let ids = ids
      try order.check(offsets, ids.indices)
      for index in offsets.sorted() { try remove(ids[index]) }
    }
  }

  /// Removes an item from the collection.
  ///
  /// - Returns: whether it was in the collection.
  /// - Throws: `invalid` for an invalid id; any error of a write: see <doc:WhatCanGoWrong>.
  @discardableResult
  public func remove(_ id: ID) throws(HeartlogError) -> Bool {
    try library.set([Field(name: field, value: .null)], of: id.favoriteID)
  }

  /// Removes all items from the collection in one commit: then it no longer exists. They stay favorites if they were.
  ///
  /// - Throws: any error of a write: see <doc:WhatCanGoWrong>.
  public func removeAll() throws(HeartlogError) {
    try library.store.writeBatch(order.positions()) { place throws(HeartlogError) in
      try library.set([Field(name: field, value: .null)], of: place.item.id)
    }
  }

  /// Renames the collection: its items are in one with the other name then, in their order, in one commit. What another device puts into
  /// it meanwhile stays under the old name.
  ///
  /// - Parameter name: as for ``Favorites/collection(_:)``.
  /// - Returns: the collection with the other name.
  /// - Throws: `exists` if there is a collection with that name; `invalid` for an invalid name, or for more than 50,000 items; any error of a
  ///   write: see <doc:WhatCanGoWrong>.
  @discardableResult
  public func rename(to name: String) throws(HeartlogError) -> ItemCollection<ID> {
    guard !name.hasSameBytes(as: self.name) else { return self }
    // Also what is no `ID`: nothing stays behind.
    let before = try ItemCollection<String>(library, name: self.name)
    let after = try ItemCollection<String>(library, name: name)
    try library.store.writeAsOne { () throws(HeartlogError) in
      guard after.ids.isEmpty else {
        throw HeartlogError(.exists, "there is a collection \(name) already")
      }
      for (item, key) in before.order.positions() {
        let fields = [
          Field(name: before.field, value: .null), Field(name: after.field, value: .string(key.text)),
        ]
        try library.perform(.set(fields: fields), on: item.id)
      }
    }
    return try ItemCollection(library, name: name)
  }

  private var order: ItemOrder {
    ItemOrder(library, field: field, named: "the collection \(name)") { [field] item in
      ID(favoriteID: item.id) == nil ? nil : CollectionField.key(of: item, in: field)
    }
  }

  func key(of item: ItemState?) -> OrderKey? { item.flatMap { CollectionField.key(of: $0, in: field) } }
}

/// The field of an item that holds its place in a collection.
package enum CollectionField {
  private static let prefix = "@in/"

  /// The name of the field.
  package static func name(of collection: String) -> String { prefix + collection }

  /// Returns the collection that a field belongs to; nil for any other field.
  package static func collection(of field: String) -> String? {
    field.utf8.starts(with: prefix.utf8) && field.utf8.count > prefix.utf8.count
      ? String(decoding: field.utf8.dropFirst(prefix.utf8.count), as: UTF8.self) : nil
  }

  fileprivate static func key(of item: ItemState, in field: String) -> OrderKey? {
    guard case .string(let text)? = item.value(of: field) else { return nil }
    return OrderKey(text)
  }
}

/// Items of one library in an order of their own: a field of each holds its position.
package struct ItemOrder: Sendable {
  private let library: FavoritesLibrary
  private let field: String
  private let name: String
  private let key: @Sendable (ItemState) -> OrderKey?
  private let limit: @Sendable (OrderKey) -> OrderKey?

  /// - Parameters:
  ///   - library: the library that contains the items.
  ///   - field: the field that holds the positions.
  ///   - name: what has the order, for messages.
  ///   - key: the position of an item; nil if the order does not contain it.
  ///   - limit: what the positions after the last one stay below, which is given; nil if there is no bound.
  package init(
    _ library: FavoritesLibrary, field: String, named name: String,
    limit: @escaping @Sendable (OrderKey) -> OrderKey? = { _ in nil },
    key: @escaping @Sendable (ItemState) -> OrderKey?
  ) {
    (self.library, self.field, self.name) = (library, field, name)
    (self.key, self.limit) = (key, limit)
  }

  /// The items in order. Items with the same position are ordered by the bytes of their ids. One pass over the library.
  package func positions() -> [(item: ItemState, key: OrderKey)] {
    Self.positions(of: library.items(), key: key)
  }

  package static func positions(
    of items: some Sequence<ItemState>, key: (ItemState) -> OrderKey?
  ) -> [(item: ItemState, key: OrderKey)] {
    items.compactMap { item in key(item).map { (item: item, key: $0) } }.sorted { a, b in
      a.key != b.key ? a.key < b.key : a.item.id.bytesPrecede(b.item.id)
    }
  }

  /// Moves items in one commit, as `onMove` of a SwiftUI list hands them over.
  package func move(fromOffsets offsets: some Sequence<Int>, toOffset offset: Int) throws(HeartlogError)
    -> Bool
  {
    let offsets = Set(offsets)
    return try library.store.writeAsOne { () throws(HeartlogError) in
      let positions = positions()
      try check([offset], 0..<positions.count + 1)
      try check(offsets, positions.indices)
      let isMoved = positions.indices.map(offsets.contains)
      let moved = positions.indices.filter { isMoved[$0] }
      let others = positions.indices.filter { !isMoved[$0] }
      let index = others.count { $0 < offset }
      let order = others[..<index] + moved[...] + others[index...]
      guard !order.elementsEqual(positions.indices) else { return false }
      try put(moved.map { positions[$0].item.id }, at: index, among: others.map { positions[$0] })
      return true
    }
  }

  func check(_ offsets: Set<Int>, _ bounds: Range<Int>) throws(HeartlogError) {
    guard let wrong = offsets.first(where: { !bounds.contains($0) }) else { return }
    throw HeartlogError(
      .invalid, "\(name) has no item at \(wrong): it has changed since it was shown. Show it again")
  }

  /// Writes the positions of items that are inserted.
  ///
  /// - Parameter positions: the other items, in order.
  package func put(
    _ ids: [String], at index: Int, among positions: [(item: ItemState, key: OrderKey)]
  ) throws(HeartlogError) {
    let index = min(max(0, index), positions.count)
    var before = index > 0 ? positions[index - 1].key : nil
    let after = index < positions.count ? positions[index].key : before.flatMap(limit)
    var keys: [OrderKey] = []
    while keys.count < ids.count, let key = Self.key(between: before, and: after) {
      keys.append(key)
      before = key
    }
    if keys.count == ids.count {
      for (id, key) in zip(ids, keys) { try setKey(key, of: id) }
      return
    }
    // No room left: two devices chose the same position, or a thousand items were inserted into one gap. Give all items new keys.
    let all = positions[..<index].map(\.item.id) + ids + positions[index...].map(\.item.id)
    let end = positions.last.flatMap { limit($0.key) }
    for (id, key) in zip(all, OrderKey.spread(all.count, below: end)) { try setKey(key, of: id) }
  }

  /// Returns a key between two others that is short enough to store; nil if there is no room.
  private static func key(between low: OrderKey?, and high: OrderKey?) -> OrderKey? {
    if let low, let high, low >= high { return nil }
    return OrderKey(OrderKey.between(low, high).text)
  }

  private func setKey(_ key: OrderKey, of id: String) throws(HeartlogError) {
    try library.set([Field(name: field, value: .string(key.text))], of: id)
  }
}

extension Favorites {
  /// Returns the collection with this name. A collection need not be created first: it exists once it contains an item.
  /// ``Query/collection(_:)`` has its items.
  ///
  /// - Throws: `invalid` for a name that is empty, longer than 252 bytes, or contains control characters.
  public func collection(_ name: String) throws(HeartlogError) -> ItemCollection<Item.ID> {
    try ItemCollection(library, name: name)
  }
}

extension FavoritesState {
  /// The ids of the items of a collection in order, as `ItemCollection.ids` has them now; empty if there is no such collection. One pass
  /// over the library.
  package func collection(_ name: String, in library: String) -> [String] {
    let field = CollectionField.name(of: name)
    return ItemOrder.positions(of: items(in: library)) { CollectionField.key(of: $0, in: field) }.map(
      \.item.id)
  }
}

extension FavoritesLibrary {
  /// Returns the collection with this name. A collection need not be created first: it exists once it contains an item.
  ///
  /// - Throws: `invalid` for a name that is empty, longer than 252 bytes, or contains control characters.
  public func collection(_ name: String) throws(HeartlogError) -> ItemCollection<String> {
    try ItemCollection(self, name: name)
  }

  /// The names of all collections that contain an item, sorted by bytes. One pass over the library.
  public var collections: [String] {
    let names = items().flatMap { item in item.fields.compactMap { CollectionField.collection(of: $0.name) } }
    return Set(names.map(UTF8Key.init)).map(\.text).sorted { $0.bytesPrecede($1) }
  }
}

/// A position in a user-defined order, as text that sorts by its bytes. There is always room for another key between any two.
///
/// Moving one item writes one key, so two devices can move items independently and both moves survive a merge. Keys are fractions in base
/// 62, most significant digit first. No key ends in `0`, so there is always a smaller one.
///
/// Source: the fractional indexing of David Greenspan, "Implementing Fractional Indexing" (2020).
package struct OrderKey: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// One or more digits of `0-9A-Za-z`; the last is not `0`.
  package let text: String

  private static let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

  /// Creates a key from stored text; nil if the text is not a valid key.
  package init?(_ text: String) {
    guard let last = text.utf8.last, last != Self.digits[0], text.utf8.count <= Limits.fieldNameBytesMax,
      text.utf8.allSatisfy({ Self.digits.contains($0) })
    else { return nil }
    self.text = text
  }

  private init(values: [Int]) { text = String(decoding: values.map { Self.digits[$0] }, as: UTF8.self) }

  private var values: [Int] { text.utf8.map { Self.digits.firstIndex(of: $0) ?? 0 } }

  /// Returns a key between two others; nil stands for the beginning or the end. Keys are short: O(log n) digits on average.
  ///
  /// If `low` is not less than `high`, because two devices chose the same position, the key comes right after `low`.
  package static func between(_ low: OrderKey?, _ high: OrderKey?) -> OrderKey {
    let low = low?.values ?? []
    var high = high?.values
    if let bound = high, !low.lexicographicallyPrecedes(bound) { high = nil }
    var values: [Int] = []
    var index = 0
    // Copy digits as long as the bounds leave no room between them.
    while true {
      let lower = index < low.count ? low[index] : 0
      let upper = high.map { index < $0.count ? $0[index] : 0 } ?? digits.count
      if upper - lower > 1 {
        // Take small steps at an open end: appending one item after another keeps keys short.
        let isOpenEnd = high == nil && index < low.count
        values.append(isOpenEnd ? lower + 1 : (lower + upper) / 2)
        return OrderKey(values: values)
      }
      values.append(lower)
      // Once the key is below the upper bound, the bound no longer matters.
      if upper > lower { high = nil }
      index += 1
    }
  }

  /// Returns `count` ascending keys that are as short as possible.
  package static func spread(_ count: Int, below end: OrderKey? = nil) -> [OrderKey] {
    spread(count, nil, end)
  }

  private static func spread(_ count: Int, _ low: OrderKey?, _ high: OrderKey?) -> [OrderKey] {
    guard count > 0 else { return [] }
    let middle = between(low, high)
    return spread(count / 2, low, middle) + [middle] + spread(count - count / 2 - 1, middle, high)
  }

  package static func < (a: OrderKey, b: OrderKey) -> Bool {
    a.text.bytesPrecede(b.text)
  }
  package var description: String { text }
}
