import HeartlogFormat

/// Encodes items as fields.
public enum FieldEncoder {
  /// Returns the fields of an item, sorted by the bytes of their names. Nil is encoded as `.null`.
  ///
  /// Leaves out what the store keeps itself: the item's id under the key of its property `id`, a Bool called `isFavorite`, and a Date called
  /// `favoritedDate`. Any other value under these names is a field.
  ///
  /// - Throws: `FieldCodingError` if the item does not encode as an object, or if a field breaks a rule: a name that begins with `@`, a
  ///   number that is not finite, a value beyond its limits.
  public static func fields(of item: some Encodable) throws(FieldCodingError) -> [Field] {
    try encode(item, id: favoriteID(of: item)).fields
  }

  /// Returns the fields of an item, and the names that were left out.
  ///
  /// - Parameter id: the text of the item's id; nil if it has none.
  static func encode(
    _ item: some Encodable, id: String?
  ) throws(FieldCodingError) -> (fields: [Field], suppliedNames: [String]) {
    var fields: [Field]
    var suppliedNames: [String]
    do {
      // An item that encodes as a single string is rejected, with its kind in the message.
      if let text = try ScalarCoding.string(of: item) {
        throw FieldCodingError(
          field: nil, reason: "the item encodes as \(JSONValue.string(text).kind), not as an object")
      }
      let encoder = ItemEncoder(id: id)
      try item.encode(to: encoder)
      fields = try encoder.encodedFields()
      suppliedNames = encoder.suppliedNames
    } catch {
      throw FieldCodingError(error)
    }
    sort(&fields)
    for index in fields.indices.dropFirst() where fields[index].name.hasSameBytes(as: fields[index - 1].name)
    {
      throw FieldCodingError(field: fields[index].name, reason: "it is encoded twice")
    }
    return (fields, suppliedNames)
  }

  /// Sorts by the bytes of the names. Items have few fields, usually in nearly sorted order.
  private static func sort(_ fields: inout [Field]) {
    if fields.count > 16 { return fields.sort { $0.name.bytesPrecede($1.name) } }
    for end in fields.indices.dropFirst() {
      var index = end
      while index > 0, fields[index].name.bytesPrecede(fields[index - 1].name) {
        fields.swapAt(index, index - 1)
        index -= 1
      }
    }
  }
}
