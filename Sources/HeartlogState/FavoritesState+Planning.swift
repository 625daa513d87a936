import HeartlogEvents

extension FavoritesState {
  /// Decides what an operation writes, given this state, the pending writes over it, and a draft over both.
  ///
  /// If neither of them writes to the item, no item is created: the given fields are compared with those in the tables.
  ///
  /// The item's position is stored: a planned item is usually the next one applied.
  ///
  /// - Parameter wallTime: the commit's wall time; a favorited date equal to it is omitted from the event.
  /// - Returns: the plan, and whether the item is a favorite before it.
  package mutating func plan(
    _ operation: Operation, on item: String, in library: String, under pending: WriteOverlay,
    and draft: WriteOverlay, wallTime: Milliseconds
  ) -> (plan: WritePlan, wasFavorite: Bool) {
    let wasFavorite: Bool
    var differing: [Field]
    if pending.writes(to: item, in: library) || draft.writes(to: item, in: library) {
      wasFavorite = pending.isFavorite(item, in: library, over: self, under: draft)
      differing = operation.takenFields(isFavorite: wasFavorite)
      if !differing.isEmpty {
        differing = Operation.sortedByName(differing)
        let found = Self.find(item, in: LibraryKey(library), of: &self)
        let written = pending.written(item, in: library, under: draft)
        differing.removeAll { field in
          if let write = written?[field.name],
            position(ofField: field.name, of: item, in: library).map({ $0 <= write.position }) ?? true
          {
            return write.field.value == field.value
          }
          guard let found else { return field.value.isNull }
          return Self.holds(field, of: ItemSlot(index: found.item), in: found.table, of: &self)
        }
      }
    } else if let found = Self.find(item, in: LibraryKey(library), of: &self) {
      planned = (found.table, Int(found.item))
      wasFavorite = found.record.pointee.isFavorite
      differing = operation.takenFields(isFavorite: wasFavorite)
      if !differing.isEmpty {
        differing = Operation.sortedByName(differing)
        differing.removeAll { Self.holds($0, of: ItemSlot(index: found.item), in: found.table, of: &self) }
      }
    } else {
      wasFavorite = false
      differing = Operation.differing(operation.takenFields(isFavorite: false), from: [])
    }
    let plan = operation.plan(
      item: item, in: library, isFavorite: wasFavorite, differing: differing, wallTime: wallTime)
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
