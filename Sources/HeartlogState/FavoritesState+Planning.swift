import HeartlogEvents

extension FavoritesState {
  /// Decides what an operation writes, given this state, what stands in line over it, and a draft over both.
  ///
  /// Of an item that neither of them writes to, nothing is made: the fields that are given are held against those in the tables.
  ///
  /// - Parameter wallTime: the commit's; a favorited date equal to it is left out of the event.
  /// - Returns: the plan, and whether the item is a favorite before it.
  public func plan(
    _ operation: Operation, on item: String, in library: String, under pending: PendingState,
    and draft: PendingState, wallTime: Milliseconds
  ) -> (plan: WritePlan, wasFavorite: Bool) {
    guard !pending.writes(to: item, in: library), !draft.writes(to: item, in: library) else {
      let wasFavorite = pending.isFavorite(item, in: library, over: self, under: draft)
      let plan = operation.plan(item: item, in: library, isFavorite: wasFavorite, wallTime: wallTime) {
        let held = pending.item(item, in: library, over: self, under: draft)?.fields ?? []
        return Operation.differing($0, from: held)
      }
      return (plan, wasFavorite)
    }
    guard let number = libraryNames.find(library) else {
      return (operation.plan(item: item, in: library, current: nil, wallTime: wallTime), false)
    }
    // Looked up where they lie, each time: a copy of a table costs more than the look-up.
    let table = Int(number)
    guard let index = tables[table].ids.find(item) else {
      return (operation.plan(item: item, in: library, current: nil, wallTime: wallTime), false)
    }
    let wasFavorite = tables[table].items.read(Int(index)).pointee.isFavorite
    let plan = operation.plan(item: item, in: library, isFavorite: wasFavorite, wallTime: wallTime) {
      Operation.sortedByName($0).filter { !holds($0, of: ItemSlot(index: index), in: tables[table]) }
    }
    return (plan, wasFavorite)
  }

  /// Whether an item holds that value in that field, or none where it is null.
  private func holds(_ field: Field, of item: ItemSlot, in table: ItemTable) -> Bool {
    guard let name = fieldNames.find(field.name) else { return field.value.isNull }
    let place = table.fieldIndex(of: item, name: name)
    guard place >= 0 else { return field.value.isNull }
    let stored = table.fields.read(place).pointee.value
    let texts = table.texts
    return field.value.withBorrowed { stored.equals($0, in: texts) }
  }
}
