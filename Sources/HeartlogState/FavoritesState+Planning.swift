import HeartlogEvents

extension FavoritesState {
  /// Decides what an operation writes, given this state, what stands in line over it, and a draft over both.
  ///
  /// Of an item that neither of them writes to, nothing is made: the fields that are given are held against those in the tables.
  ///
  /// Where the item is, is remembered: what is planned is mostly what is applied next.
  ///
  /// - Parameter wallTime: the commit's; a favorited date equal to it is left out of the event.
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

  /// Whether an item holds that value in that field, or none where it is null.
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
