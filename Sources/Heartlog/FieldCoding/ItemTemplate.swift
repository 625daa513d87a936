import HeartlogFormat

/// The values for fields that a stored item lacks, by name.
struct ItemTemplate: Sendable {
  private let values: [UTF8Key: JSONValue]

  /// The template of a type that declares one; nil for any other type.
  ///
  /// - Throws: `FieldCodingError` if the template cannot be stored.
  init?(of type: Any.Type) throws(FieldCodingError) {
    guard let type = type as? any FavoriteItem.Type, let fields = try Self.fields(of: type) else {
      return nil
    }
    var values: [UTF8Key: JSONValue] = [:]
    for field in fields where !field.value.isNull { values[UTF8Key(field.name)] = field.value.jsonValue }
    self.values = values
  }

  private static func fields<Item: FavoriteItem>(of type: Item.Type) throws(FieldCodingError) -> [Field]? {
    guard let template = type.template else { return nil }
    return try FieldEncoder.fields(of: template)
  }

  subscript(name: String) -> JSONValue? { values[UTF8Key(name)] }
}
