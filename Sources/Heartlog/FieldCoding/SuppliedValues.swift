import HeartlogFormat

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The values that an item decodes from the store where it has none of its own.
struct SuppliedValues {
  let id: String
  let isFavorite: Bool
  let favoritedDate: Milliseconds?
  let template: ItemTemplate?

  /// Returns the value for a key; nil if the key belongs to a field.
  func json(for key: some CodingKey) -> JSONValue? {
    switch key.stringValue {
    case FieldKey.isFavorite: .bool(isFavorite)
    case FieldKey.favoritedDate: favoritedDate.map { .string(RFC3339.text($0)) } ?? .null
    default: key.isOfID ? .string(id) : nil
    }
  }

  /// Returns an id as a value of a type; nil if the type is not one of ids, and decodes the text itself.
  static func id<T>(_ id: String, as type: T.Type) throws(MalformedError) -> T? {
    guard let identity = type as? any FavoriteID.Type else { return nil }
    guard let value = identity.init(favoriteID: id) as? T else {
      throw MalformedError("\"\(id)\" is not an identity of the type \(type)")
    }
    return value
  }

  /// Returns the encoded form of what a type decodes where the store fills in the id; nil if it decodes nothing from it.
  static func encodedID<T>(_ id: String, as type: T.Type) -> JSONValue? {
    if type == String.self { return .string(id) }
    guard let identity = type as? any FavoriteID.Type else {
      guard let type = type as? any Decodable.Type,
        (try? ValueDecoder(.string(id)).decode(type)) != nil
      else { return nil }
      return .string(id)
    }
    guard let value = identity.init(favoriteID: id) as? any Encodable else { return nil }
    return try? ValueEncoder.json(value, at: [])
  }
}
