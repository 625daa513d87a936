import HeartlogEvents

extension FavoritesState {
  /// The libraries that ever had an event, sorted by bytes.
  public var libraries: [String] {
    (0..<Int32(tables.count)).filter { tables[Int($0)].eventCount > 0 }
      .sorted { libraryNames.precedes($0, $1) }
      .map { libraryNames.string(of: $0) }
  }

  public func counts(of library: String) -> LibraryCounts {
    guard let table = table(of: library) else { return LibraryCounts() }
    return LibraryCounts(
      favorites: table.favoriteCount, items: table.visibleCount, events: table.eventCount)
  }

  /// An item, a tombstone too; nil where it was never written to.
  public func item(_ id: String, in library: String) -> ItemState? {
    guard let table = table(of: library), let slot = id.withBytes({ table.find($0) }),
      table.items[Int(slot.index)].wasWritten
    else { return nil }
    return table.state(of: slot, names: fieldNames)
  }

  public func isFavorite(_ id: String, in library: String) -> Bool {
    guard let table = table(of: library), let slot = id.withBytes({ table.find($0) }) else { return false }
    return table.items[Int(slot.index)].isFavorite
  }

  /// Every item that was ever written to, tombstones too, in no order that means anything. Made one at a time.
  public func items(in library: String) -> some Sequence<ItemState> {
    let table = table(of: library) ?? ItemTable()
    let names = fieldNames
    return table.items.indices.lazy.filter { table.items[$0].wasWritten }
      .map { table.state(of: ItemSlot(index: Int32($0)), names: names) }
  }

  /// The favorites.
  ///
  /// - Parameter limit: the most to return, nil for all. Finding the first few costs one pass over the library.
  public func favorites(
    in library: String, order: ListOrder = .newestFirst, limit: Int? = nil
  ) -> [ItemState] {
    guard let table = table(of: library) else { return [] }
    return ItemListing(of: table, order: order, limit: limit) { $1.isFavorite }
      .slots.map { table.state(of: $0, names: fieldNames) }
  }

  /// Every visible item and the tombstones: newest favorited date first, those without a date last, by id.
  public func all(in library: String) -> [ItemState] {
    guard let table = table(of: library) else { return [] }
    let favorites = ItemListing(of: table, order: .newestFirst) { $1.isFavorite }
    let others = ItemListing(of: table, order: .byID) { !$1.isFavorite && $1.wasWritten }
    return (favorites.slots + others.slots).map { table.state(of: $0, names: fieldNames) }
  }

  func table(of library: String) -> ItemTable? {
    libraryNames.find(library).map { tables[Int($0)] }
  }
}

// Where a register's winner stands in the total order.
extension FavoritesState {
  /// The write that an item's membership shows; nil where it was never written.
  public func membershipPosition(of id: String, in library: String) -> EventPosition? {
    guard let table = table(of: library), let slot = id.withBytes({ table.find($0) }) else { return nil }
    return replicas.eventPosition(of: table.items[Int(slot.index)].membership)
  }

  /// The write that a field shows, a null too; nil where it was never written.
  public func position(ofField name: String, of id: String, in library: String) -> EventPosition? {
    guard let table = table(of: library), let slot = id.withBytes({ table.find($0) }),
      let name = fieldNames.find(name)
    else { return nil }
    let index = table.fieldIndex(of: slot, name: FieldNameSlot(index: name))
    return index < 0 ? nil : replicas.eventPosition(of: table.fields[index].position)
  }
}
