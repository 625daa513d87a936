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
    guard let number = library.withBytes({ libraryNames.find($0) }) else {
      return (operation.plan(item: item, in: library, current: nil, wallTime: wallTime), false)
    }
    return tables.withUnsafeBufferPointer { tables in
      // Where it lies: a copy of a table costs more than the look-up.
      let table = tables.baseAddress.unsafelyUnwrapped + Int(number)
      let slot = item.withBytes { table.pointee.find($0) }
      let wasFavorite = slot.map { table.pointee.items.read(Int($0.index)).pointee.isFavorite } ?? false
      let plan = operation.plan(item: item, in: library, isFavorite: wasFavorite, wallTime: wallTime) {
        fields in
        guard let slot else { return Operation.differing(fields, from: []) }
        return Operation.sortedByName(fields).filter { !holds($0, of: slot, in: table) }
      }
      return (plan, wasFavorite)
    }
  }

  /// Whether an item holds that value in that field, or none where it is null.
  private func holds(_ field: Field, of item: ItemSlot, in table: UnsafePointer<ItemTable>) -> Bool {
    let place = fieldNames.find(field.name).map { table.pointee.fieldIndex(of: item, name: $0) } ?? -1
    guard place >= 0 else { return field.value.isNull }
    let stored = table.pointee.fields.read(place).pointee.value
    return field.value.withBorrowed { stored.equals($0, in: table.pointee.texts) }
  }
}
