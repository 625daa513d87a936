import HeartlogEvents

/// Turns items into fields.
public enum FieldEncoder {
  /// The fields of an item, sorted by the bytes of their names; nil is `.null`.
  ///
  /// The item's id, `isFavorite` and `favoritedDate` are not among them: the store holds these itself.
  ///
  /// - Throws: `FieldCodingError` for an item that does not encode as an object, and for a field that breaks a
  ///   rule: a name that begins with `@`, a number that is not finite, a value beyond its limits.
  public static func fields(of item: some Encodable) throws(FieldCodingError) -> [Field] {
    let value: JSONValue
    do {
      value = try ValueEncoder.json(item, at: [])
    } catch {
      throw FieldCodingError(error)
    }
    guard case .object(let members) = value else {
      throw FieldCodingError(field: nil, reason: "the item encodes as \(value.kind), not as an object")
    }
    var fields: [Field] = []
    fields.reserveCapacity(members.count)
    for member in members where !FieldKey.isSupplied(member.name) { fields.append(try field(member)) }
    fields.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    for (field, next) in zip(fields, fields.dropFirst()) where field.name.utf8.elementsEqual(next.name.utf8) {
      throw FieldCodingError(field: field.name, reason: "it is encoded twice")
    }
    return fields
  }

  private static func field(_ member: JSONMember) throws(FieldCodingError) -> Field {
    let name = member.name
    guard (1...Limits.fieldNameBytesMax).contains(name.utf8.count) else {
      throw FieldCodingError(
        field: name,
        reason: "a name of \(name.utf8.count) bytes, which must be 1 to \(Limits.fieldNameBytesMax)")
    }
    guard name.utf8.first != UInt8(ascii: "@") else {
      throw FieldCodingError(field: name, reason: "names that begin with @ are the store's own")
    }
    guard !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
      throw FieldCodingError(field: name, reason: "a control character in the name")
    }
    do {
      return Field(name: name, value: try FieldValue(member.value))
    } catch {
      throw FieldCodingError(field: name, reason: error.reason)
    }
  }
}
