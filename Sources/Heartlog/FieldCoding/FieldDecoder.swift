import HeartlogFormat

/// Decodes items from fields.
public enum FieldDecoder {
  /// Decodes an item from its stored fields.
  ///
  /// - Parameters:
  ///   - type: the type to decode.
  ///   - id: the value for the key of the property `id`, converted to its type, where there is no such field.
  ///   - isFavorite: the value for the key `isFavorite`, if the type decodes a Bool, or if there is no such field.
  ///   - favoritedDate: the value for the key `favoritedDate`, if the type decodes a Date, or if there is no such field.
  ///   - fields: all other values. Fields that the type does not decode are ignored; null counts as absent.
  /// - Throws: `FieldCodingError` with the first field that does not fit the type.
  public static func decode<T: Decodable>(
    _ type: T.Type, id: String, isFavorite: Bool, favoritedDate: Milliseconds?,
    fields: some Sequence<Field>
  ) throws(FieldCodingError) -> T {
    let supplied = SuppliedValues(id: id, isFavorite: isFavorite, favoritedDate: favoritedDate, template: nil)
    do {
      return try ItemDecoder.decode(type, from: ItemFields(Array(fields)), supplied: supplied)
    } catch {
      throw FieldCodingError(error)
    }
  }
}
