import HeartlogState

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Decodes an item from its stored fields. Texts, dates and lists of strings are decoded in place, all other values as JSON.
final class ItemDecoder: KeyedValues, Decoder {
  private let fields: FieldReader
  private let supplied: SuppliedValues

  init(_ fields: ItemFields, supplied: SuppliedValues) {
    self.fields = FieldReader(fields)
    self.supplied = supplied
  }

  /// - Parameters:
  ///   - schema: shows the fields of all versions of the type under the names of its own.
  ///   - template: supplies values for fields that the item lacks.
  convenience init(_ state: ItemState, _ schema: LibrarySchema?, _ template: ItemTemplate?) {
    self.init(
      schema?.fields(of: state) ?? state.fields,
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

  override var names: [String] {
    [FieldKey.id, FieldKey.isFavorite, FieldKey.favoritedDate]
      + fields.names.filter { !FieldKey.isSupplied($0) }
  }

  override func contains(_ name: String) -> Bool { FieldKey.isSupplied(name) || fields.contains(name) }

  override func isNil(_ name: String) -> Bool {
    if FieldKey.isSupplied(name) {
      return name == FieldKey.favoritedDate && supplied.favoritedDate == nil
    }
    return fields.isNull(name) ?? true
  }

  override func value(named name: String) -> JSONValue? {
    FieldKey.isSupplied(name) ? supplied.json(for: name) : fields.value(of: name)?.jsonValue
  }

  override func valueIfMissing(named name: String) -> JSONValue? { supplied.template?[name] }

  override func suppliedValue<T>(_ type: T.Type, named name: String) throws(MalformedError) -> T? {
    FieldKey.isSupplied(name) ? try supplied.value(type, for: name) : nil
  }

  override func string(named name: String) -> String? {
    if FieldKey.isSupplied(name) { return FieldKey.isID(name) ? supplied.id : nil }
    return fields.string(of: name)
  }

  /// A list of strings without escapes; all other lists are parsed.
  override func strings(named name: String) -> [String]? {
    FieldKey.isSupplied(name) ? nil : fields.strings(of: name)
  }

  override func date(named name: String) -> Date? {
    let time =
      FieldKey.isSupplied(name)
      ? (name == FieldKey.favoritedDate ? supplied.favoritedDate : nil) : fields.time(of: name)
    return time.map(ScalarCoding.date)
  }
}
