import HeartlogState

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Decodes an item from its stored fields. Texts, dates and lists of strings are decoded in place, all other values as JSON.
///
/// A field that has one of the store's own names is the item's own: see `FieldKey`.
final class ItemDecoder: KeyedValues, Decoder {
  private let fields: FieldReader
  private let values: SuppliedValues
  /// Whether fields with the store's own names are read.
  private let readsReserved: Bool
  /// Whether such a field was read.
  private var didReadReserved = false

  init(_ fields: ItemFields, supplied: SuppliedValues, readsReserved: Bool = true) {
    self.fields = FieldReader(fields)
    values = supplied
    self.readsReserved = readsReserved
  }

  /// Decodes an item. A field with one of the store's own names that does not fit the type, or that would give the item another id, was
  /// written by something else and is ignored.
  static func decode<T: Decodable>(
    _ type: T.Type, from fields: ItemFields, supplied: SuppliedValues
  ) throws -> T {
    let decoder = ItemDecoder(fields, supplied: supplied)
    do {
      let item = try T(from: decoder)
      if !decoder.didReadReserved { return item }
      if favoriteID(of: item)?.hasSameBytes(as: supplied.id) ?? true { return item }
    } catch {
      guard decoder.didReadReserved else { throw error }
    }
    return try T(from: ItemDecoder(fields, supplied: supplied, readsReserved: false))
  }

  /// Decodes an item.
  ///
  /// - Parameters:
  ///   - schema: shows the fields of all versions of the type under the names of its own.
  ///   - template: supplies values for fields that the item lacks.
  static func decode<T: Decodable>(
    _ type: T.Type, from state: ItemState, _ schema: LibrarySchema?, _ template: ItemTemplate?
  ) throws -> T {
    try decode(
      type, from: schema?.fields(of: state) ?? state.fields,
      supplied: SuppliedValues(
        id: state.id, isFavorite: state.isFavorite, favoritedDate: state.favoritedDate, template: template))
  }

  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(KeyedValueDecoder<Key>(self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try object.unkeyedContainer() }

  func singleValueContainer() -> any SingleValueDecodingContainer {
    SingleValueDecoder(decoder: object, item: self)
  }

  /// The item for callers that ask for anything other than a keyed container.
  private var object: ValueDecoder { ValueDecoder(.object([])) }

  // MARK: Members

  override var supplied: SuppliedValues? { values }

  override var names: [String] {
    [FieldKey.id, FieldKey.isFavorite, FieldKey.favoritedDate]
      + fields.names.filter { !FieldKey.isSupplied($0) }
  }

  /// Whether a field of this name is read, if there is one.
  @inline(__always)
  private func reads(_ name: String) -> Bool { !FieldKey.isSupplied(name) || readsField(reserved: name) }

  @inline(never)
  private func readsField(reserved name: String) -> Bool {
    guard readsReserved, fields.isNull(name) == false else { return false }
    didReadReserved = true
    return true
  }

  override func contains(_ name: String) -> Bool { reads(name) && fields.contains(name) }

  override func isNil(_ name: String) -> Bool { reads(name) ? fields.isNull(name) ?? true : true }

  override func value(named name: String) -> JSONValue? {
    reads(name) ? fields.value(of: name)?.jsonValue : nil
  }

  override func valueIfMissing(named name: String) -> JSONValue? { values.template?[name] }

  override func string(named name: String) -> String? { reads(name) ? fields.string(of: name) : nil }

  /// A list of strings without escapes; all other lists are parsed.
  override func strings(named name: String) -> [String]? { reads(name) ? fields.strings(of: name) : nil }

  override func date(named name: String) -> Date? {
    reads(name) ? fields.time(of: name).map(ScalarCoding.date) : nil
  }
}

/// The text of an item's id; nil if it has none that a store takes.
func favoriteID(of item: Any) -> String? {
  func text(_ item: some Identifiable) -> String? { (item.id as? any FavoriteID)?.favoriteID }
  return (item as? any Identifiable).flatMap { text($0) }
}
