import HeartlogEvents

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What an item decodes from the store, and not from its fields.
struct SuppliedValues {
  let id: String
  let isFavorite: Bool
  let favoritedDate: Milliseconds?
  let template: ItemTemplate?

  /// The value for a key; nil where the key is a field's.
  func json(for name: String) -> JSONValue? {
    switch name {
    case FieldKey.id: .string(id)
    case FieldKey.isFavorite: .bool(isFavorite)
    case FieldKey.favoritedDate: favoritedDate.map { .string(RFC3339.text($0)) } ?? .null
    default: nil
    }
  }

  /// The value for a key, where its type has a shorter way than JSON; nil where there is none.
  func value<T>(_ type: T.Type, for name: String) throws(MalformedError) -> T? {
    if name == FieldKey.favoritedDate, type == Date.self, let favoritedDate {
      return ScalarCoding.date(favoritedDate) as? T
    }
    guard name == FieldKey.id, let identity = type as? any FavoriteID.Type else { return nil }
    guard let value = identity.init(favoriteID: id) as? T else {
      throw MalformedError("\"\(id)\" is no identity of the type \(type)")
    }
    return value
  }
}
