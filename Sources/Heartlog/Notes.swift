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
    return try set([Field(name: Self.noteField, value: value)], of: id).isChange
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
