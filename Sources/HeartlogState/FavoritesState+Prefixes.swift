import HeartlogFormat

/// What begins with a prefix, for completion.
extension FavoritesState {
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
