import HeartlogEvents

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Decodes an item directly from its stored fields, without intermediate values for scalars. Nested values go through `ValueDecoder`. So do
/// values that do not fit, for the error message.
final class ItemDecoder: Decoder {
  let fields: ItemFields
  let supplied: SuppliedValues

  init(_ fields: ItemFields, supplied: SuppliedValues) {
    self.fields = fields
    self.supplied = supplied
  }

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(ItemFieldsDecoder<Key>(decoder: self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try object.unkeyedContainer() }

  func singleValueContainer() -> any SingleValueDecodingContainer {
    SingleValueDecoder(decoder: object, item: self)
  }

  /// The item for callers that ask for anything other than a keyed container.
  private var object: ValueDecoder { ValueDecoder(.object([])) }

  /// Returns the index of a field; nil if no field has that name.
  @inline(__always)
  func index(of name: String) -> Int? {
    if let index = fields.index(ofName: name) { return index }
    return fields.mayHaveEquivalent(ofName: name) ? fields.firstIndex { $0.name == name } : nil
  }

  /// Returns the value for a key as JSON; nil if there is none.
  func json(for name: String) -> JSONValue? {
    supplied.json(for: name) ?? index(of: name).map { fields[$0].value.jsonValue }
  }

  /// Returns whether the value for a key is absent or null.
  func isNil(_ name: String) -> Bool {
    if FieldKey.isSupplied(name) {
      return name == FieldKey.favoritedDate && supplied.favoritedDate == nil
    }
    guard let index = index(of: name) else { return true }
    return fields.withBorrowedValue(at: index) { if case .null = $0 { true } else { false } }
  }

  // One accessor per type; nil if the value is absent or of another type. They are not generic, because generic code is not specialized for
  // an item's keys here.

  func bool(_ name: String) -> Bool? {
    FieldKey.isSupplied(name)
      ? (name == FieldKey.isFavorite ? supplied.isFavorite : nil)
      : stored(name) { if case .bool(let value) = $0 { value } else { nil } }
  }

  func string(_ name: String) -> String? {
    FieldKey.isSupplied(name)
      ? (FieldKey.isID(name) ? supplied.id : nil)
      : stored(name) { value in
        if case .string(let text) = value { String(decoding: text, as: UTF8.self) } else { nil }
      }
  }

  func int64(_ name: String) -> Int64? {
    FieldKey.isSupplied(name) ? nil : stored(name) { if case .int64(let value) = $0 { value } else { nil } }
  }

  func double(_ name: String) -> Double? {
    FieldKey.isSupplied(name)
      ? nil
      : stored(name) { value in
        switch value {
        case .int64(let value): Double(value)
        case .double(let value): value
        default: nil
        }
      }
  }

  func date(_ name: String) -> Date? {
    FieldKey.isSupplied(name)
      ? (name == FieldKey.favoritedDate ? supplied.favoritedDate.map(ScalarCoding.date) : nil)
      : stored(name) { value in
        if case .string(let text) = value { RFC3339.milliseconds(text).map(ScalarCoding.date) } else { nil }
      }
  }

  /// A list of strings without escapes; `ValueDecoder` decodes all other lists.
  func strings(_ name: String) -> [String]? {
    FieldKey.isSupplied(name)
      ? nil : stored(name) { if case .json(let text) = $0 { CanonicalJSON.plainStrings(text) } else { nil } }
  }

  /// Passes a field's stored value to `body`; nil if there is none.
  @inline(__always)
  private func stored<T>(_ name: String, _ body: (BorrowedValue) -> T?) -> T? {
    index(of: name).flatMap { fields.withBorrowedValue(at: $0, body) }
  }
}

/// The keyed container of an item: its fields, and the values that the store supplies.
private struct ItemFieldsDecoder<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoder: ItemDecoder

  var codingPath: [any CodingKey] { [] }

  var allKeys: [Key] {
    ([FieldKey.id, FieldKey.isFavorite, FieldKey.favoritedDate]
      + decoder.fields.map(\.name).filter { !FieldKey.isSupplied($0) }).compactMap { Key(stringValue: $0) }
  }

  func contains(_ key: Key) -> Bool {
    let name = key.stringValue
    return FieldKey.isSupplied(name) || decoder.index(of: name) != nil
  }

  func decodeNil(forKey key: Key) -> Bool { decoder.isNil(key.stringValue) }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    try decoder.bool(key.stringValue) ?? member(key).bool()
  }

  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    try decoder.string(key.stringValue) ?? member(key).string()
  }

  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    try decoder.double(key.stringValue) ?? member(key).double()
  }

  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try member(key).float() }

  func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
    if let value = decoder.int64(key.stringValue), let integer = Int(exactly: value) { return integer }
    return try integer(type, key)
  }

  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try integer(type, key) }

  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try integer(type, key) }

  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try integer(type, key) }

  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try integer(type, key) }

  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try integer(type, key) }

  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try integer(type, key) }

  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try integer(type, key) }

  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try integer(type, key) }

  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try integer(type, key) }

  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try integer(type, key) }

  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try integer(type, key) }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    if type == Date.self, let date = decoder.date(key.stringValue) as? T { return date }
    if type == [String].self, let strings = decoder.strings(key.stringValue) as? T { return strings }
    if let value = try suppliedValue(type, key) { return value }
    return try member(key).decode(type)
  }

  // These look up an optional value that is present only once.

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    if let value = decoder.bool(key.stringValue) { return value }
    return decodeNil(forKey: key) ? nil : try decode(type, forKey: key)
  }

  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    if let text = decoder.string(key.stringValue) { return text }
    return decodeNil(forKey: key) ? nil : try decode(type, forKey: key)
  }

  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    if let value = decoder.double(key.stringValue) { return value }
    return decodeNil(forKey: key) ? nil : try decode(type, forKey: key)
  }

  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    decodeNil(forKey: key) ? nil : try decode(type, forKey: key)
  }

  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    decodeNil(forKey: key) ? nil : try decode(type, forKey: key)
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try member(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try member(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { try member(FieldKey.super) }
  func superDecoder(forKey key: Key) throws -> any Decoder { try member(key) }

  private func member(_ key: some CodingKey) throws(FieldCodingError) -> ValueDecoder {
    let name = key.stringValue
    // The template is used only here: optional values are checked for presence first and left out.
    guard let value = decoder.json(for: name) ?? decoder.supplied.template?[name] else {
      throw FieldCodingError(path: [key], reason: FieldCodingError.missing)
    }
    return ValueDecoder(value, at: .key(key))
  }

  private func integer<T: FixedWidthInteger & Decodable>(_ type: T.Type, _ key: Key) throws -> T {
    if let value = decoder.int64(key.stringValue), let integer = T(exactly: value) { return integer }
    if let value = try suppliedValue(type, key) { return value }
    return try member(key).integer(type)
  }

  private func suppliedValue<T>(_ type: T.Type, _ key: Key) throws(FieldCodingError) -> T? {
    do {
      return try decoder.supplied.value(type, for: key.stringValue)
    } catch {
      throw FieldCodingError(path: [key], reason: error.reason)
    }
  }
}
