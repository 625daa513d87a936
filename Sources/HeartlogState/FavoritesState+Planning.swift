import HeartlogFormat

extension FavoritesState {
  /// Decides what an operation writes, given this state, the pending writes over it, and a draft over both.
  ///
  /// No item is created: the given fields are compared with pending writes and with those in the tables.
  ///
  /// The item's position is stored: a planned item is usually the next one applied.
  ///
  /// - Parameter wallTime: the commit's wall time; a favorited date equal to it is omitted from the event.
  /// - Returns: the plan, and whether the item is a favorite before it.
  package mutating func plan(
    _ operation: Operation, on item: String, in library: LibraryKey, under pending: WriteOverlay,
    and draft: WriteOverlay, wallTime: Milliseconds
  ) -> (plan: WritePlan, wasFavorite: Bool) {
    let found = Self.find(item, in: library, of: &self)
    let written = pending.written(item, in: library.name, under: draft)
    if let found { planned = (found.table, ItemSlot(index: found.item), found.record.pointee.key) }
    var wasFavorite = found?.record.pointee.isFavorite ?? false
    if let write = written?.membership,
      write.isLater(than: found.flatMap { replicas.eventPosition(of: $0.record.pointee.membership) })
    {
      wasFavorite = write.isFavorite
    }
    var differing = operation.takenFields(isFavorite: wasFavorite)
    if !differing.isEmpty {
      differing = Operation.sortedByName(differing)
    }
    if !differing.isEmpty, !operation.isExact {
      differing.removeAll { field in
        if let write = written?[field.name],
          write.isLater(than: position(ofField: field.name, of: item, in: library.name))
        {
          return write.field.value == field.value
        }
        guard let found else { return field.value.isNull }
        return Self.holds(field, of: ItemSlot(index: found.item), in: found.table, of: &self)
      }
    }
    let plan = operation.plan(
      item: item, in: library.name, isFavorite: wasFavorite, differing: differing, wallTime: wallTime)
    return (plan, wasFavorite)
  }

  /// Whether an item has that value in that field, or no value if it is null.
  private static func holds(
    _ field: Field, of item: ItemSlot, in table: Int, of state: inout FavoritesState
  ) -> Bool {
    guard let name = state.fieldNames.find(field.name) else { return field.value.isNull }
    let index = state.tables[table].fieldIndex(of: item, name: name)
    guard index >= 0 else { return field.value.isNull }
    let stored = state.tables[table].fields.read(index).pointee.value
    let texts = state.tables[table].texts
    return field.value.withBorrowed { stored.equals($0, in: texts) }
  }
}
