// Look-ups in a state where it lies. A state is some hundred bytes of references: a method of a value so large may be given a copy of it,
// which costs as much as the look-up. Whoever has it `inout` looks at its parts in place.

extension FavoritesState {
  /// `isFavorite`.
  package static func isFavorite(
    _ id: String, in library: String, of state: inout FavoritesState
  ) -> Bool {
    guard let (table, slot) = find(id, in: library, of: &state) else { return false }
    return state.tables[table].ids.finder.records.read(slot).pointee.isFavorite
  }

  /// `item`.
  package static func item(
    _ id: String, in library: String, of state: inout FavoritesState
  ) -> ItemState? {
    guard let (table, slot) = find(id, in: library, of: &state) else { return nil }
    let record = state.tables[table].ids.finder.records.read(slot).pointee
    guard record.wasWritten else { return nil }
    guard record.addedFieldCount == 0 else {
      return state.tables[table].state(of: ItemSlot(index: Int32(slot)), id: id, names: state.fieldNames)
    }
    return ItemTable.baseState(
      of: record, id: id, fields: state.tables[table].fields.reader, texts: state.tables[table].texts,
      names: state.fieldNames.strings)
  }

  /// `isDamaged`.
  package static func isDamaged(_ state: inout FavoritesState) -> Bool { state.snapshot?.isDamaged ?? false }

  @inline(__always)
  private static func find(
    _ id: String, in library: String, of state: inout FavoritesState
  ) -> (table: Int, slot: Int)? {
    guard id.utf8.count <= Key.inlineBytesMax, library.utf8.count <= Key.inlineBytesMax else {
      return state.find(id, in: library)
    }
    guard let table = state.libraryNames.finder.find(library).map(Int.init) else { return nil }
    return state.tables[table].ids.finder.find(id).map { (table, Int($0)) }
  }
}

extension KeyTable.Finder {
  @inline(__always)
  fileprivate func find(_ key: String) -> Int32? {
    // Strings of Swift lie in one piece, and then nothing counts references to them; others are copied.
    if let found = key.utf8.withContiguousStorageIfAvailable({ find(UnsafeRawBufferPointer($0)) }) {
      return found
    }
    return key.withBytes { find($0) }
  }
}
