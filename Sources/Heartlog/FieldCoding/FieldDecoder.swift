import HeartlogEvents

/// Turns fields into items.
public enum FieldDecoder {
  /// The item that the store holds as these fields.
  ///
  /// - Parameters:
  ///   - type: what to make of them.
  ///   - id: what the type decodes for its key `id`, as the type that it asks for.
  ///   - isFavorite: what it decodes for `isFavorite`, if it does.
  ///   - favoritedDate: what it decodes for `favoritedDate`, if it does.
  ///   - fields: the rest. Those that the type does not ask for are left alone, null is as good as absent.
  /// - Throws: `FieldCodingError` with the first field that does not fit the type.
  public static func decode<T: Decodable>(
    _ type: T.Type, id: String, isFavorite: Bool, favoritedDate: Milliseconds?,
    fields: some Sequence<Field>
  ) throws(FieldCodingError) -> T {
    try decode(
      type, id: id, isFavorite: isFavorite, favoritedDate: favoritedDate, fields: ItemFields(Array(fields)),
      template: nil)
  }

  /// As the other.
  ///
  /// - Parameter template: what the type decodes for a key that it cannot do without and that `fields` lacks.
  static func decode<T: Decodable>(
    _ type: T.Type, id: String, isFavorite: Bool, favoritedDate: Milliseconds?, fields: ItemFields,
    template: ItemTemplate?
  ) throws(FieldCodingError) -> T {
    let supplied = SuppliedValues(
      id: id, isFavorite: isFavorite, favoritedDate: favoritedDate, template: template)
    do {
      return try T(from: ItemDecoder(fields, supplied: supplied))
    } catch {
      throw FieldCodingError(error)
    }
  }
}
