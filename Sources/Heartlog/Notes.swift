/// A note per item: the field `@note`, which no Codable type can have.
extension FavoritesLibrary {
  static let noteField = "@note"

  /// What was noted of an item, favorite or not; nil where nothing was.
  public func note(of id: String) -> String? {
    guard case .string(let note)? = item(id)?.value(of: Self.noteField) else { return nil }
    return note
  }

  /// Notes something of an item; nil or an empty note clears it.
  ///
  /// - Returns: whether the note is another than before.
  /// - Throws: `invalid` for a note of more than 1 MiB; what every write throws: <doc:WhatCanGoWrong>.
  @discardableResult
  public func setNote(_ note: String?, of id: String) throws(HeartlogError) -> Bool {
    let value = note.map { $0.isEmpty ? FieldValue.null : .string($0) } ?? .null
    return try set([Field(name: Self.noteField, value: value)], of: id).isChange
  }
}

extension Favorites {
  /// What was noted of an item, favorite or not; nil where nothing was.
  public func note(of id: Item.ID) -> String? { library.note(of: id.favoriteID) }

  /// Notes something of an item; nil or an empty note clears it.
  ///
  /// - Returns: whether the note is another than before.
  /// - Throws: `invalid` for a note of more than 1 MiB; what every write throws: <doc:WhatCanGoWrong>.
  @discardableResult
  public func setNote(_ note: String?, of id: Item.ID) throws(HeartlogError) -> Bool {
    try library.setNote(note, of: id.favoriteID)
  }
}
