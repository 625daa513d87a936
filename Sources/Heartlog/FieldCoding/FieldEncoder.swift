import HeartlogEvents

/// Encodes items as fields.
public enum FieldEncoder {
  /// Returns the fields of an item, sorted by the bytes of their names. Nil is encoded as `.null`.
  ///
  /// Leaves out the item's id, `isFavorite` and `favoritedDate`, which the store keeps itself.
  ///
  /// - Throws: `FieldCodingError` if the item does not encode as an object, or if a field breaks a rule: a name that begins with `@`, a
  ///   number that is not finite, a value beyond its limits.
  public static func fields(of item: some Encodable) throws(FieldCodingError) -> [Field] {
    var fields: [Field]
    do {
      // An item that encodes as a single string is rejected, with its kind in the message.
      if let text = try ScalarCoding.string(of: item) {
        throw FieldCodingError(
          field: nil, reason: "the item encodes as \(JSONValue.string(text).kind), not as an object")
      }
      let encoder = ItemEncoder()
      try item.encode(to: encoder)
      fields = try encoder.encodedFields()
    } catch {
      throw FieldCodingError(error)
    }
    sort(&fields)
    for index in fields.indices.dropFirst() where fields[index].name.hasSameBytes(as: fields[index - 1].name)
    {
      throw FieldCodingError(field: fields[index].name, reason: "it is encoded twice")
    }
    return fields
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
