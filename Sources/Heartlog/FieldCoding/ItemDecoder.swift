import HeartlogEvents

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Decodes an item from its stored fields. Texts, dates and lists of strings are decoded in place, all other values as JSON.
final class ItemDecoder: ObjectMembers, Decoder {
  private let fields: ItemFields
  private let supplied: SuppliedValues

  init(_ fields: ItemFields, supplied: SuppliedValues) {
    self.fields = fields
    self.supplied = supplied
    super.init([], codingPath: [])
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
      + fields.map(\.name).filter { !FieldKey.isSupplied($0) }
  }

  override func contains(_ name: String) -> Bool { FieldKey.isSupplied(name) || index(of: name) != nil }

  override func isNil(_ name: String) -> Bool {
    if FieldKey.isSupplied(name) {
      return name == FieldKey.favoritedDate && supplied.favoritedDate == nil
    }
    return stored(name) { if case .null = $0 { true } else { false } } ?? true
  }

  override func value(named name: String) -> JSONValue? {
    if FieldKey.isSupplied(name) { return supplied.json(for: name) }
    return stored(name) { FieldValue(copying: $0).jsonValue }
  }

  override func valueIfMissing(named name: String) -> JSONValue? { supplied.template?[name] }

  override func suppliedValue<T>(_ type: T.Type, named name: String) throws(MalformedError) -> T? {
    FieldKey.isSupplied(name) ? try supplied.value(type, for: name) : nil
  }

  override func string(named name: String) -> String? {
    if FieldKey.isSupplied(name) { return FieldKey.isID(name) ? supplied.id : nil }
    return stored(name) { value in
      if case .string(let text) = value { String(decoding: text, as: UTF8.self) } else { nil }
    }
  }

  /// A list of strings without escapes; all other lists are parsed.
  override func strings(named name: String) -> [String]? {
    if FieldKey.isSupplied(name) { return nil }
    return stored(name) { if case .json(let text) = $0 { CanonicalJSON.plainStrings(text) } else { nil } }
  }

  override func date(named name: String) -> Date? {
    if FieldKey.isSupplied(name) {
      return name == FieldKey.favoritedDate ? supplied.favoritedDate.map(ScalarCoding.date) : nil
    }
    return stored(name) {
      if case .string(let text) = $0 { RFC3339.milliseconds(text).map(ScalarCoding.date) } else { nil }
    }
  }

  /// Passes a field's stored value to `body`; nil if there is none.
  @inline(__always)
  private func stored<T>(_ name: String, _ body: (BorrowedValue) -> T?) -> T? {
    index(of: name).flatMap { fields.withBorrowedValue(at: $0, body) }
  }

  /// Returns the index of a field; nil if no field has that name.
  @inline(__always)
  private func index(of name: String) -> Int? {
    if let index = fields.index(ofName: name) { return index }
    return fields.mayHaveEquivalent(ofName: name) ? fields.firstIndex { $0.name == name } : nil
  }
}
