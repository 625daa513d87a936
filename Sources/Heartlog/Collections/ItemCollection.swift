/// A named, ordered collection of items of one library: a playlist, a reading list, a trip.
///
/// Each membership is a separate field, `@in/<name>`, whose value is the item's position in the order. An item can therefore be in several
/// collections, two devices can edit a collection while offline, and the last write of each membership wins. Membership in a collection is
/// independent of being a favorite.
public struct ItemCollection: Sendable {
  /// The library that contains the items.
  public let library: FavoritesLibrary
  /// At least one byte of UTF-8 without control characters. With the prefix `@in/` it must be a valid field name.
  public let name: String

  static let fieldPrefix = "@in/"

  /// Returns the collection that a field belongs to; nil for any other field.
  package static func name(ofField field: String) -> String? {
    field.utf8.starts(with: fieldPrefix.utf8) && field.utf8.count > fieldPrefix.utf8.count
      ? String(field.dropFirst(fieldPrefix.count)) : nil
  }

  /// The field that holds the places in a collection.
  package static func field(of name: String) -> String { fieldPrefix + name }

  private var field: String { Self.field(of: name) }

  init(_ library: FavoritesLibrary, name: String) throws(HeartlogError) {
    try heartlogErrors {
      guard !name.isEmpty else { throw MalformedError("the name of the collection is empty") }
      try NameRules.checkFieldName(Self.fieldPrefix + name)
    }
    self.library = library
    self.name = name
  }

  /// The ids of its items in order. Items with the same position are ordered by the bytes of their ids.
  ///
  /// One pass over the library.
  public var ids: [String] { positions().map(\.id) }

  /// Returns whether an item is in the collection, favorite or not. One lookup.
  public func contains(_ id: String) -> Bool { key(of: library.item(id)) != nil }

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
  public func insert(_ id: String, at index: Int? = nil) throws(HeartlogError) -> Bool {
    try library.store.writeAsOne { () throws(HeartlogError) in
      let positions = positions()
      guard !positions.contains(where: { $0.id.utf8.elementsEqual(id.utf8) }) else { return false }
      try put([id], at: index ?? positions.count, among: positions)
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
  public func move(_ id: String, to index: Int) throws(HeartlogError) -> Bool {
    try library.store.writeAsOne { () throws(HeartlogError) in
      var positions = positions()
      guard let old = positions.firstIndex(where: { $0.id.utf8.elementsEqual(id.utf8) }) else {
        throw HeartlogError(.notFound, "\(id) is not in the collection \(name)")
      }
      positions.remove(at: old)
      guard min(max(0, index), positions.count) != old else { return false }
      try put([id], at: index, among: positions)
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
    let offsets = Set(offsets)
    return try library.store.writeAsOne { () throws(HeartlogError) in
      let positions = positions()
      try check([offset], 0..<positions.count + 1)
      try check(offsets, positions.indices)
      let isMoved = positions.indices.map(offsets.contains)
      let moved = positions.indices.filter { isMoved[$0] }
      let others = positions.indices.filter { !isMoved[$0] }
      let index = others.count { $0 < offset }
      guard others[..<index] + moved + others[index...] != Array(positions.indices)[...] else { return false }
      try put(moved.map { positions[$0].id }, at: index, among: others.map { positions[$0] })
      return true
    }
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
      try check(offsets, ids.indices)
      for index in offsets.sorted() { try remove(ids[index]) }
    }
  }

  private func check(_ offsets: Set<Int>, _ bounds: Range<Int>) throws(HeartlogError) {
    guard let wrong = offsets.first(where: { !bounds.contains($0) }) else { return }
    throw HeartlogError(
      .invalid,
      "the collection \(name) has no item at \(wrong): it has changed since it was shown. Show it again")
  }

  /// Removes an item from the collection.
  ///
  /// - Returns: whether it was in the collection.
  /// - Throws: `invalid` for an invalid id; any error of a write: see <doc:WhatCanGoWrong>.
  @discardableResult
  public func remove(_ id: String) throws(HeartlogError) -> Bool {
    try library.set([Field(name: field, value: .null)], of: id).isChange
  }

  private func put(
    _ ids: [String], at index: Int, among positions: [(id: String, key: OrderKey)]
  ) throws(HeartlogError) {
    let index = min(max(0, index), positions.count)
    var before = index > 0 ? positions[index - 1].key : nil
    let after = index < positions.count ? positions[index].key : nil
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
    let all = positions[..<index].map(\.id) + ids + positions[index...].map(\.id)
    for (id, key) in zip(all, OrderKey.spread(all.count)) { try setKey(key, of: id) }
  }

  /// Returns a key between two others that is short enough to store; nil if there is no room.
  private static func key(between low: OrderKey?, and high: OrderKey?) -> OrderKey? {
    if let low, let high, low >= high { return nil }
    return OrderKey(OrderKey.between(low, high).text)
  }

  private func setKey(_ key: OrderKey, of id: String) throws(HeartlogError) {
    try library.set([Field(name: field, value: .string(key.text))], of: id)
  }

  private func positions() -> [(id: String, key: OrderKey)] {
    Self.positions(of: library.items(), by: field)
  }

  /// The items that have a position in a field, in order.
  fileprivate static func positions(
    of items: some Sequence<ItemState>, by field: String
  ) -> [(id: String, key: OrderKey)] {
    items.compactMap { item in key(of: item, in: field).map { (id: item.id, key: $0) } }.sorted { a, b in
      a.key != b.key ? a.key < b.key : a.id.utf8.lexicographicallyPrecedes(b.id.utf8)
    }
  }

  private func key(of item: ItemState?) -> OrderKey? { item.flatMap { Self.key(of: $0, in: field) } }

  private static func key(of item: ItemState, in field: String) -> OrderKey? {
    guard case .string(let text)? = item.value(of: field) else { return nil }
    return OrderKey(text)
  }
}

extension Favorites {
  /// Returns the items of a collection in order, favorites or not.
  ///
  /// Leaves out items that do not decode to an `Item`, and ids of which the store has no fields. One pass over the library.
  ///
  /// - Parameter name: the name of the collection.
  /// - Throws: `invalid` for a name that no collection can have.
  public func items(inCollection name: String) throws(HeartlogError) -> [Item] {
    let ids = try library.collection(name).ids
    return readable(ids.compactMap { library.item($0) }.filter(\.isVisible))
  }
}

extension FavoritesState {
  /// The ids of the items of a collection in order, as `ItemCollection.ids` has them now; empty if there is no such collection. One pass
  /// over the library.
  package func collection(_ name: String, in library: String) -> [String] {
    ItemCollection.positions(of: items(in: library), by: ItemCollection.fieldPrefix + name).map(\.id)
  }
}

extension FavoritesLibrary {
  /// Returns the collection with this name. A collection need not be created first: it exists once it contains an item.
  ///
  /// - Throws: `invalid` for a name that is empty, longer than 252 bytes, or contains control characters.
  public func collection(_ name: String) throws(HeartlogError) -> ItemCollection {
    try ItemCollection(self, name: name)
  }

  /// The names of all collections that contain an item, sorted by bytes. One pass over the library.
  public var collections: [String] {
    var names: Set<[UInt8]> = []
    for item in items() {
      for field in item.fields where field.name.hasPrefix(ItemCollection.fieldPrefix) {
        names.insert(Array(field.name.utf8.dropFirst(ItemCollection.fieldPrefix.utf8.count)))
      }
    }
    return names.sorted { $0.lexicographicallyPrecedes($1) }.map { String(decoding: $0, as: UTF8.self) }
  }
}
