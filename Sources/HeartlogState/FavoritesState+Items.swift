import HeartlogFormat

extension FavoritesState {
  /// The libraries that ever had an event, sorted by bytes.
  public var libraries: [String] {
    (0..<Int32(tables.count)).filter { tables[Int($0)].eventCount > 0 }
      .sorted { libraryNames.precedes($0, $1) }
      .map { libraryNames.string(of: $0) }
  }

  /// Returns the number of favorites, items and events in a library; zeros if it was never written. O(1).
  public func counts(of library: String) -> LibraryCounts {
    guard let table = table(of: library) else { return LibraryCounts() }
    return LibraryCounts(
      favorites: table.favoriteCount, items: table.listedCount, events: table.eventCount)
  }

  // For values of a state. Stores look up in place with the static functions of the same names, which take a third fewer instructions
  // for whether an item is a favorite, and a quarter fewer for an item. `ItemFieldsTests` holds both equal.

  /// Returns an item, including a tombstone; nil if it was never written.
  public func item(_ id: String, in library: String) -> ItemState? {
    guard let (table, slot) = find(id, in: library), tables[table].items.reader.read(slot).pointee.wasWritten
    else {
      return nil
    }
    return tables[table].state(
      of: ItemSlot(index: Int32(slot)), id: id, names: fieldNames, replicas: replicas)
  }

  /// Returns whether an item is a favorite. One lookup.
  public func isFavorite(_ id: String, in library: String) -> Bool {
    guard let (table, slot) = find(id, in: library) else { return false }
    return tables[table].items.reader.read(slot).pointee.isFavorite
  }

  /// Returns the ids of the favorites, in no particular order. One pass that creates nothing but the ids.
  public func favoriteIDs(in library: String) -> [String] {
    guard let table = table(of: library) else { return [] }
    var ids: [String] = []
    ids.reserveCapacity(table.favoriteCount)
    for slot in 0..<table.items.count where table.items[slot].isFavorite {
      ids.append(table.ids.string(of: Int32(slot)))
    }
    return ids
  }

  /// Reads some fields of many items. Looks up the names once, and creates nothing of an item but these values.
  ///
  /// - Parameters:
  ///   - ids: the items' ids. An item that was never written is not a favorite and has no values.
  ///   - library: the library of the items.
  ///   - names: the names of the fields.
  ///   - body: receives the index of an id in `ids`, whether it is a favorite, and its values in the order of `names`, with null for a
  ///     missing value.
  public func forEachItem(
    _ ids: some Sequence<String>, in library: String, fields names: [String],
    _ body: (_ index: Int, _ isFavorite: Bool, _ values: [FieldValue]) -> Void
  ) {
    let table = table(of: library) ?? ItemTable()
    let slots = names.map { fieldNames.find($0) }
    var values = [FieldValue](repeating: .null, count: names.count)
    for (index, id) in ids.enumerated() {
      let item = id.withBytes { table.find($0) }
      for (field, name) in slots.enumerated() {
        let found = item.flatMap { item in name.map { table.fieldIndex(of: item, name: $0) } } ?? -1
        values[field] = found < 0 ? .null : table.value(ofField: found)
      }
      body(index, item.map { table.item($0).isFavorite } ?? false, values)
    }
  }

  /// Visits each favorite, in no particular order. One pass that creates nothing of an item but its id and the requested values.
  ///
  /// - Parameters:
  ///   - library: the library of the favorites.
  ///   - names: the names of the fields.
  ///   - visit: receives an id and returns whether its values are wanted.
  ///   - body: receives the id and the values, before the next visit: in the order of `names`, with null for a missing value.
  public func forEachFavorite(
    in library: String, fields names: [String], visit: (_ id: String) -> Bool,
    _ body: (_ id: String, _ values: [FieldValue]) -> Void
  ) {
    guard let table = table(of: library) else { return }
    let slots = names.map { fieldNames.find($0) }
    var values = [FieldValue](repeating: .null, count: names.count)
    for index in 0..<table.items.count where table.items[index].isFavorite {
      let id = table.ids.string(of: Int32(index))
      guard visit(id) else { continue }
      for field in slots.indices {
        let found = slots[field].map { table.fieldIndex(of: ItemSlot(index: Int32(index)), name: $0) } ?? -1
        values[field] = found < 0 ? .null : table.value(ofField: found)
      }
      body(id, values)
    }
  }

  /// Returns every item that was ever written, including tombstones, in no particular order. Items are created one at a time.
  public func items(in library: String) -> some Sequence<ItemState> {
    let table = table(of: library) ?? ItemTable()
    let (names, replicas) = (fieldNames, replicas)
    return (0..<table.items.count).lazy.filter { table.items[$0].wasWritten }
      .map { table.state(of: ItemSlot(index: Int32($0)), names: names, replicas: replicas) }
  }

  /// Returns the favorites of a library.
  ///
  /// - Parameters:
  ///   - library: the name of the library.
  ///   - order: the order of the result.
  ///   - limit: the maximum number of items; all if nil. With a limit, an order by date skips most of the other items.
  public func favorites(
    in library: String, order: ListOrder = .newestFirst, limit: Int? = nil
  ) -> [ItemState] {
    guard let table = table(of: library) else { return [] }
    return ItemListing(of: table, order: order, replicas: replicas, limit: limit) { $1.pointee.isFavorite }
      .slots.map { table.state(of: $0, names: fieldNames, replicas: replicas) }
  }

  /// Returns the favorites with a value that `isWanted`. Searches values in place, and creates only the items found.
  ///
  /// - Parameters:
  ///   - names: the fields to search; if nil, all fields.
  ///   - isWantedID: whether an id matches; nil if ids are not searched.
  ///   - isWanted: whether a value matches. Its bytes are valid until it returns.
  package func favorites(
    in library: String, order: ListOrder, textsOf names: [String]?,
    idWhere isWantedID: ((UnsafeRawBufferPointer) -> Bool)?, where isWanted: (BorrowedValue) -> Bool
  ) -> [ItemState] {
    guard let table = table(of: library) else { return [] }
    let slots = names.map { $0.compactMap { fieldNames.find($0) } }
    return ItemListing(of: table, order: order, replicas: replicas) { slot, record in
      guard record.pointee.isFavorite else { return false }
      if let isWantedID, table.ids.withBytes(of: Int32(slot), isWantedID) { return true }
      return table.holdsField(of: record.pointee) { field in
        slots?.contains(field.name) ?? true && field.value.withBorrowed(in: table.texts, isWanted)
      }
    }
    .slots.map { table.state(of: $0, names: fieldNames, replicas: replicas) }
  }

  /// Returns every visible item and the tombstones: newest favorited date first, then those without a date, by id.
  public func all(in library: String) -> [ItemState] {
    guard let table = table(of: library) else { return [] }
    let favorites = ItemListing(of: table, order: .newestFirst, replicas: replicas) { $1.pointee.isFavorite }
    let others = ItemListing(of: table, order: .byID, replicas: replicas) {
      !$1.pointee.isFavorite && $1.pointee.isListed
    }
    return (favorites.slots + others.slots).map { table.state(of: $0, names: fieldNames, replicas: replicas) }
  }

  /// Returns the table and the slot of an item, without copying the table, which would cost more than the lookup.
  @inline(__always)
  func find(_ id: String, in library: String) -> (table: Int, slot: Int)? {
    guard
      let number = library.withBytes({
        lastLibrary.isNamed(Key($0)) ? lastLibrary.number : libraryNames.find($0)
      })
    else {
      return nil
    }
    let slot = tables[Int(number)].ids.find(id)
    return slot.map { (Int(number), Int($0)) }
  }

  func table(of library: String) -> ItemTable? {
    libraryNames.find(library).map { tables[Int($0)] }
  }
}

// The position of a register's winner in the total order.
extension FavoritesState {
  /// Returns the position of the write that an item's membership shows; nil if it was never written.
  package func membershipPosition(of id: String, in library: String) -> EventPosition? {
    guard let (table, slot) = find(id, in: library) else { return nil }
    return replicas.eventPosition(of: tables[table].items[slot].membership)
  }

  /// Returns the position of the write that a field shows, even if null; nil if it was never written.
  package func position(ofField name: String, of id: String, in library: String) -> EventPosition? {
    guard let (table, slot) = find(id, in: library), let name = fieldNames.find(name) else { return nil }
    let item = ItemSlot(index: Int32(slot))
    let index = tables[table].fieldIndex(of: item, name: name)
    return index < 0 ? nil : replicas.eventPosition(of: tables[table].fields[index].position)
  }
}
