import HeartlogEvents

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The values that an item decodes from the store instead of its fields.
struct SuppliedValues {
  let id: String
  let isFavorite: Bool
  let favoritedDate: Milliseconds?
  let template: ItemTemplate?

  /// Returns the value for a key; nil if the key belongs to a field.
  func json(for name: String) -> JSONValue? {
    switch name {
    case FieldKey.id: .string(id)
    case FieldKey.isFavorite: .bool(isFavorite)
    case FieldKey.favoritedDate: favoritedDate.map { .string(RFC3339.text($0)) } ?? .null
    default: nil
    }
  }

  /// Returns the value for a key without going through JSON, if its type allows that; nil otherwise.
  func value<T>(_ type: T.Type, for name: String) throws(MalformedError) -> T? {
    guard name == FieldKey.id, let identity = type as? any FavoriteID.Type else { return nil }
    guard let value = identity.init(favoriteID: id) as? T else {
      throw MalformedError("\"\(id)\" is not an identity of the type \(type)")
    }
    return value
  }
}
