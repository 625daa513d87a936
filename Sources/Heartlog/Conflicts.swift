import HeartlogEngine

extension FavoritesStore {
  /// The open conflicts: registers that devices wrote concurrently with different values. The last write in the total order is shown. The
  /// other values are kept until a write that has seen all of them closes the conflict.
  ///
  /// Sorted by library, item and register. Conflicts depend on the commits alone, so every device with the same commits has the same
  /// conflicts.
  ///
  /// - Complexity: O(registers with concurrent writes).
  public var conflicts: [Conflict] { read { $0.conflicts } }

  /// Closes a conflict in favor of one of its writes, whether or not it is the one shown. Writes the value again, as an event that has seen
  /// all sides.
  ///
  /// - Parameters:
  ///   - conflict: one of `conflicts`.
  ///   - write: one of `conflict.writes`.
  /// - Throws: `HeartlogError`; `invalid` if the write does not belong to the conflict.
  public func resolve(_ conflict: Conflict, with write: Conflict.Write) throws(HeartlogError) {
    guard conflict.writes.contains(write) else {
      throw HeartlogError(.invalid, "\(write.event) is not a side of this conflict")
    }
    let operation: HeartlogState.Operation
    switch (conflict.register, write.value) {
    case (.field(let name), .field(let value)):
      operation = .overwrite(fields: [Field(name: name, value: value)])
    case (_, .membership(let isFavorite, let date)):
      operation = .overwrite(membership: .init(isFavorite: isFavorite, favoritedDate: date))
    case (.membership, .field):
      throw HeartlogError(.invalid, "a field value cannot resolve a conflict about a membership")
    }
    _ = try perform(operation, on: conflict.item, in: LibraryKey(conflict.library))
  }

  /// Closes every open conflict that involves an event, in favor of that event. Writes one commit.
  ///
  /// - Returns: the conflicts that were closed; empty if the event is in none.
  @discardableResult
  package func resolveConflicts(inFavorOf event: EventID) throws(HeartlogError) -> [Conflict] {
    try writeAsOne { () throws(HeartlogError) -> [Conflict] in
      let mine = conflicts.filter { $0.writes.contains { $0.event == event } }
      for conflict in mine {
        guard let write = conflict.writes.first(where: { $0.event == event }) else { continue }
        try resolve(conflict, with: write)
      }
      return mine
    }
  }
}

/// A note per item: the field `@note`, which no Codable type can have.
extension FavoritesLibrary {
  package static let noteField = "@note"

  /// Returns the note of an item, favorite or not; nil if it has none.
  public func note(of id: String) -> String? {
    guard case .string(let note)? = item(id)?.value(of: Self.noteField) else { return nil }
    return note
  }

  /// Sets the note of an item, favorite or not. Nil or an empty note clears it.
  ///
  /// - Parameters:
  ///   - note: the note; nil or empty for none.
  ///   - id: the item's id.
  /// - Returns: whether the note changed.
  /// - Throws: `invalid` for a note of more than 1 MiB; any error of a write: see <doc:WhatCanGoWrong>.
  @discardableResult
  public func setNote(_ note: String?, of id: String) throws(HeartlogError) -> Bool {
    let value = note.map { $0.isEmpty ? FieldValue.null : .string($0) } ?? .null
    return try set([Field(name: Self.noteField, value: value)], of: id)
  }
}

extension Favorites {
  /// Returns the note of an item, favorite or not; nil if it has none.
  public func note(of id: Item.ID) -> String? { library.note(of: id.favoriteID) }

  /// Sets the note of an item, favorite or not. Nil or an empty note clears it.
  ///
  /// - Parameters:
  ///   - note: the note; nil or empty for none.
  ///   - id: the item's id.
  /// - Returns: whether the note changed.
  /// - Throws: `invalid` for a note of more than 1 MiB; any error of a write: see <doc:WhatCanGoWrong>.
  @discardableResult
  public func setNote(_ note: String?, of id: Item.ID) throws(HeartlogError) -> Bool {
    try library.setNote(note, of: id.favoriteID)
  }
}
