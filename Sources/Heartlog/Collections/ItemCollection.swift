/// A named, ordered collection of items of one library: a playlist, a reading list, a trip.
///
/// Each membership is a field of its own, `@in/<name>`, whose value is the item's place in the order. So an item can be in several
/// collections, two devices can edit one apart, and the last tap on each membership wins. Being in a collection and being a favorite
/// have nothing to do with each other.
public struct ItemCollection: Sendable {
  /// The library whose items it collects.
  public let library: FavoritesLibrary
  /// At least one byte of UTF-8 without control characters; with `@in/` before it a field name.
  public let name: String

  static let fieldPrefix = "@in/"

  /// The collection that a field puts an item into; nil for a field that does no such thing.
  package static func name(ofField field: String) -> String? {
    field.utf8.starts(with: fieldPrefix.utf8) && field.utf8.count > fieldPrefix.utf8.count
      ? String(field.dropFirst(fieldPrefix.count)) : nil
  }

  private var field: String { Self.fieldPrefix + name }

  init(_ library: FavoritesLibrary, name: String) throws(HeartlogError) {
    try heartlogErrors {
      guard !name.isEmpty else { throw MalformedError("a collection without a name") }
      try NameRules.checkFieldName(Self.fieldPrefix + name)
    }
    self.library = library
    self.name = name
  }

  /// The ids of its items, in its order; items at the same place by the bytes of their ids.
  ///
  /// One pass over the library.
  public var ids: [String] { places().map(\.id) }

  /// Whether an item is in the collection, favorite or not. One look-up.
  public func contains(_ id: String) -> Bool { key(of: library.item(id)) != nil }

  /// Puts an item into the collection, before the item at `index` or at its end. An item that is in it already stays where it is.
  ///
  /// One field is written, as a rule. One pass over the library.
  ///
  /// - Parameters:
  ///   - id: the item, favorite or not, known to the store or not.
  ///   - index: a place in `ids`; below 0 is the beginning, and past the end, or nil, the end.
  /// - Returns: whether it was not in it before.
  /// - Throws: `invalid` for an id that breaks a rule; what every write throws: <doc:WhatCanGoWrong>.
  @discardableResult
  public func insert(_ id: String, at index: Int? = nil) throws(HeartlogError) -> Bool {
    try library.store.writeAsOne { () throws(HeartlogError) in
      let places = places()
      guard !places.contains(where: { $0.id.utf8.elementsEqual(id.utf8) }) else { return false }
      return try put(id, at: index ?? places.count, among: places)
    }
  }

  /// Moves an item of the collection to the place before the item that is at `index` when it is taken out.
  ///
  /// - Parameters:
  ///   - id: an item of the collection.
  ///   - index: where it is to be in `ids`; below 0 is the beginning, past the end the end.
  /// - Returns: whether it is somewhere else now.
  /// - Throws: `notFound` for an item that is not in the collection; what every write throws: <doc:WhatCanGoWrong>.
  @discardableResult
  public func move(_ id: String, to index: Int) throws(HeartlogError) -> Bool {
    try library.store.writeAsOne { () throws(HeartlogError) in
      var places = places()
      guard let old = places.firstIndex(where: { $0.id.utf8.elementsEqual(id.utf8) }) else {
        throw HeartlogError(.notFound, "\(id) is not in the collection \(name)")
      }
      places.remove(at: old)
      guard min(max(0, index), places.count) != old else { return false }
      return try put(id, at: index, among: places)
    }
  }

  /// Takes an item out of the collection.
  ///
  /// - Returns: whether it was in it.
  /// - Throws: `invalid` for an id that breaks a rule; what every write throws: <doc:WhatCanGoWrong>.
  @discardableResult
  public func remove(_ id: String) throws(HeartlogError) -> Bool {
    try library.set([Field(name: field, value: .null)], of: id).isChange
  }

  private func put(
    _ id: String, at index: Int, among places: [(id: String, key: OrderKey)]
  ) throws(HeartlogError) -> Bool {
    let index = min(max(0, index), places.count)
    let before = index > 0 ? places[index - 1].key : nil
    let after = index < places.count ? places[index].key : nil
    if let key = Self.key(between: before, and: after) { return try setKey(key, of: id) }
    // No room left: two devices chose one place, or a thousand items were put into one gap. All get new keys.
    var ids = places.map(\.id)
    ids.insert(id, at: index)
    for (id, key) in zip(ids, OrderKey.spread(ids.count)) { try setKey(key, of: id) }
    return true
  }

  /// A key between two others that can be stored; nil where there is no room.
  private static func key(between low: OrderKey?, and high: OrderKey?) -> OrderKey? {
    if let low, let high, low >= high { return nil }
    return OrderKey(OrderKey.between(low, high).text)
  }

  @discardableResult
  private func setKey(_ key: OrderKey, of id: String) throws(HeartlogError) -> Bool {
    try library.set([Field(name: field, value: .string(key.text))], of: id).isChange
  }

  private func places() -> [(id: String, key: OrderKey)] {
    let all = library.items().compactMap { item in key(of: item).map { (id: item.id, key: $0) } }
    return all.sorted { a, b in
      a.key != b.key ? a.key < b.key : a.id.utf8.lexicographicallyPrecedes(b.id.utf8)
    }
  }

  private func key(of item: ItemState?) -> OrderKey? {
    guard case .string(let text)? = item?.value(of: field) else { return nil }
    return OrderKey(text)
  }
}

extension FavoritesLibrary {
  /// The collection of that name. It needs no making: it is there once something is in it.
  ///
  /// - Throws: `invalid` for an empty name, one of more than 252 bytes, and one with control characters.
  public func collection(_ name: String) throws(HeartlogError) -> ItemCollection {
    try ItemCollection(self, name: name)
  }

  /// The names of the collections that have an item, sorted by bytes. One pass over the library.
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
