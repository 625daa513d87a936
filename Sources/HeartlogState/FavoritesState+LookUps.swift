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
      Prefetch.lines(3, at: fields.read(fieldIndices.lowerBound))
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
    return id.withBytes { bytes in
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
}
