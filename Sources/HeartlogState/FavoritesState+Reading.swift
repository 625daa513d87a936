import HeartlogFormat

// In-place lookups in a state. A state is some hundred bytes of references: a method of so large a value may receive a copy of it,
// which costs as much as the lookup. Callers that have it `inout` access its parts in place.
//
// A lookup's time is spent waiting for memory, at two addresses. A processor executes some 500 instructions ahead: the fewer a lookup has,
// the more of the next lookup's wait overlaps with it.

extension FavoritesState {
  /// `isFavorite`.
  @inline(__always)
  package static func isFavorite(
    _ id: String, in library: LibraryKey, of state: inout FavoritesState
  ) -> Bool {
    find(id, in: library, of: &state)?.record.pointee.isFavorite ?? false
  }

  /// `item`.
  package static func item(
    _ id: String, in library: LibraryKey, of state: inout FavoritesState
  ) -> ItemState? {
    guard let found = find(id, in: library, of: &state), found.record.pointee.wasWritten else { return nil }
    let table = found.table
    let record = found.record.pointee
    guard record.addedFieldCount == 0 else {
      return state.tables[table].state(
        of: ItemSlot(index: found.item), id: id, names: state.fieldNames, replicas: state.replicas)
    }
    // All of its fields came with the snapshot, sorted by the bytes of their names.
    let fields = state.tables[table].fields.reader
    let mapped = state.tables[table].texts.mappedReader
    let fieldIndices = record.baseFieldRange(of: fields.count)
    if !fieldIndices.isEmpty {
      // Fields and texts wait for memory at the same time.
      fields.seek(fieldIndices.lowerBound)
      mapped.seek(Int(truncatingIfNeeded: record.baseTexts))
    }
    let held = PackedFields.make(
      of: fieldIndices, in: fields, names: state.fieldNames.texts,
      textBytesMax: state.tables[table].texts.byteCountMax
    ) { name, count in
      mapped.bytes(name, count: count) ?? state.tables[table].texts.bytes(name, count: count)
    }
    return ItemState(record, id: id, held, state.replicas)
  }

  /// `isDamaged`.
  package static func isDamaged(_ state: inout FavoritesState) -> Bool { state.snapshot?.isDamaged ?? false }

  /// An item, and the address of its record, valid until the state is written to.
  typealias Found = (table: Int, item: Int32, record: UnsafePointer<ItemRecord>)

  @inline(__always)
  static func find(
    _ id: String, in library: LibraryKey, of state: inout FavoritesState
  ) -> Found? {
    guard state.lastLibrary.isNamed(library.key) || select(library, of: &state) else { return nil }
    let table = Int(state.lastLibrary.number)
    return id.withUTF8Bytes { bytes in
      state.tables[table].ids.finder.find(bytes) { state.tables[table].ids.holdsText($0, bytes) }
        .map { (table, $0.number, $0.record) }
    }
  }

  /// Makes a library the last one used. Returns false if it was never written.
  @inline(never)
  private static func select(_ library: LibraryKey, of state: inout FavoritesState) -> Bool {
    guard let number = state.libraryNames.find(library.name) else { return false }
    state.lastLibrary = LastLibrary(key: library.key, number: number)
    return true
  }

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
  package func isFavorite(_ id: String, in library: String) -> Bool {
    guard let (table, slot) = find(id, in: library) else { return false }
    return tables[table].items.reader.read(slot).pointee.isFavorite
  }

  /// Returns the ids of the favorites, in no particular order. One pass that creates nothing but the ids.
  package func favoriteIDs(in library: String) -> [String] {
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
  package func forEachItem(
    _ ids: some Sequence<String>, in library: String, fields names: [String],
    _ body: (_ index: Int, _ isFavorite: Bool, _ values: [FieldValue]) -> Void
  ) {
    let table = table(of: library) ?? ItemTable()
    let slots = names.map { fieldNames.find($0) }
    var values = [FieldValue](repeating: .null, count: names.count)
    for (index, id) in ids.enumerated() {
      let item = id.withUTF8Bytes { table.find($0) }
      for (field, name) in slots.enumerated() {
        let found = item.flatMap { item in name.map { table.fieldIndex(of: item, name: $0) } } ?? -1
        values[field] = found < 0 ? .null : table.value(ofField: found)
      }
      body(index, item.map { table.item($0).isFavorite } ?? false, values)
    }
  }

  /// Returns every item that was ever written, including tombstones, in no particular order. Items are created one at a time.
  package func items(in library: String) -> some Sequence<ItemState> {
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
      let number = library.withUTF8Bytes({
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

  // The position of a register's winner in the total order.

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

  // What begins with a prefix, for completion.

  /// Returns the ids of a library that begin with a prefix, by bytes: of the favorites, newest first, then of the other items, by id.
  ///
  /// One pass over the library's ids, or less if the limit is reached among the favorites.
  package func ids(in library: String, startingWith prefix: String, limit: Int) -> [String] {
    guard let table = table(of: library) else { return [] }
    let prefix = Array(prefix.utf8)
    // Captured alone: the whole table would be copied for each id.
    let ids = table.ids
    func isWanted(_ slot: Int) -> Bool {
      prefix.isEmpty || ids.withBytes(of: Int32(slot)) { $0.starts(with: prefix) }
    }
    var slots = ItemListing(of: table, order: .newestFirst, replicas: replicas, limit: limit) { slot, _ in
      isWanted(slot)
    }.slots
    if slots.count < limit {
      slots +=
        ItemListing(of: table, order: .byID, replicas: replicas, limit: limit - slots.count) { slot, record in
          !record.pointee.isFavorite && record.pointee.isListed && isWanted(slot)
        }.slots
    }
    return slots.map { table.ids.string(of: $0.index) }
  }

  /// Returns the names of the fields that an item of a library has a value of and that begin with a prefix, sorted by bytes.
  ///
  /// One pass over the library's items for each name, until an item has it.
  package func fieldNames(in library: String, startingWith prefix: String) -> [String] {
    guard let table = table(of: library) else { return [] }
    let prefix = Array(prefix.utf8)
    let slots = (0..<Int32(fieldNames.count)).map { FieldNameSlot(index: $0) }.filter {
      fieldNames.withBytes(of: $0) { $0.starts(with: prefix) }
    }
    let held = slots.filter { slot in
      (0..<table.items.count).contains { index in
        table.holdsField(of: table.items[index]) { field in
          field.name == slot && field.value.value(in: table.texts) != .null
        }
      }
    }
    return held.sorted { fieldNames.precedes($0, $1) }.map { fieldNames.string(of: $0) }
  }
}

/// What is different about an item in two states.
public struct ItemDifference: Hashable, Sendable {
  /// A field with two values.
  public struct Value: Hashable, Sendable {
    /// The name of the field.
    public let name: String
    /// Its value in the earlier state; nil if it held none.
    public let before: FieldValue?
    /// Its value in the later state; nil if it holds none.
    public let after: FieldValue?
  }

  /// The library of the item.
  public let library: String
  /// The item in the earlier state; neither a favorite nor with any field if that state does not know it.
  public let before: ItemState
  /// The item in the later state; likewise.
  public let after: ItemState

  /// The item's id in the library.
  public var id: String { after.id }

  /// The fields whose values differ, sorted by the bytes of their names.
  public var fields: [Value] {
    var found: [Value] = []
    var (old, new) = (before.fields[...], after.fields[...])
    while let name = [old.first?.name, new.first?.name].compactMap({ $0 }).min(by: Self.precedes) {
      func take(_ fields: inout Slice<ItemFields>) -> FieldValue? {
        guard let first = fields.first, first.name.hasSameBytes(as: name) else { return nil }
        return fields.removeFirst().value
      }
      let value = Value(name: name, before: take(&old), after: take(&new))
      if value.before != value.after { found.append(value) }
    }
    return found
  }

  fileprivate static func precedes(_ a: String, _ b: String) -> Bool {
    a.bytesPrecede(b)
  }
}

extension FavoritesState {
  /// Returns what differs from an earlier state, sorted by library and id, both by bytes. Both may be of any moment, and of any store.
  ///
  /// Compares what is visible: which items are favorites, since when, and their fields. The result is empty exactly if both states have the
  /// same ``digest``. O(items of both states).
  ///
  /// - Parameters:
  ///   - earlier: the state to compare with.
  ///   - library: the only library to compare; all libraries if nil.
  public func difference(from earlier: FavoritesState, in library: String? = nil) -> [ItemDifference] {
    // The names of libraries are ASCII.
    let names = library.map { [$0] } ?? Set(libraries).union(earlier.libraries).sorted()
    return names.flatMap { name in
      var found: [ItemDifference] = []
      for item in items(in: name) {
        let before = earlier.item(item.id, in: name) ?? ItemState(id: item.id, isFavorite: false)
        if item != before { found.append(ItemDifference(library: name, before: before, after: item)) }
      }
      for item in earlier.items(in: name) where item.isVisible && self.item(item.id, in: name) == nil {
        let after = ItemState(id: item.id, isFavorite: false)
        found.append(ItemDifference(library: name, before: item, after: after))
      }
      return found.sorted { ItemDifference.precedes($0.id, $1.id) }
    }
  }
}
