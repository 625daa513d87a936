import HeartlogEvents

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Decodes an item from its fields where they lie: of a scalar nothing is made but the value. What is nested goes through `ValueDecoder`, and
/// so does what does not fit, which then is refused with the right words.
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

  /// What the item is to those who ask for anything but members.
  private var object: ValueDecoder { ValueDecoder(.object([])) }

  /// The index of a field; nil where there is none of that name.
  @inline(__always)
  func index(of name: String) -> Int? {
    if let index = fields.index(ofName: name) { return index }
    return fields.mayHaveEquivalent(ofName: name) ? fields.firstIndex { $0.name == name } : nil
  }

  /// The value for a key as JSON; nil where there is none.
  func json(for name: String) -> JSONValue? {
    supplied.json(for: name) ?? index(of: name).map { fields[$0].value.jsonValue }
  }
}

/// The members of an item: its fields, and what the store supplies.
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

  func decodeNil(forKey key: Key) -> Bool { isNil(key.stringValue) }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    if let value = stored(key, { if case .bool(let value) = $0 { value } else { nil } }) { return value }
    return try member(key).bool()
  }

  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    if FieldKey.isID(key.stringValue) { return decoder.supplied.id }
    if let text = stored(key, { if case .string(let text) = $0 { text.string } else { nil } }) { return text }
    return try member(key).string()
  }

  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    let value = stored(key) { value -> Double? in
      switch value {
      case .int64(let value): Double(value)
      case .double(let value): value
      default: nil
      }
    }
    return try value ?? member(key).double()
  }

  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try member(key).float() }

  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try integer(type, key) }

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
    if type == Date.self {
      let date = stored(key) { value -> Date? in
        guard case .string(let text) = value else { return nil }
        return RFC3339.milliseconds(text).map(ScalarCoding.date)
      }
      if let date = date as? T { return date }
    }
    if let value = try suppliedValue(type, key) { return value }
    return try member(key).decode(type)
  }

  // What is optional is looked up once.

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    isNil(key.stringValue) ? nil : try decode(type, forKey: key)
  }

  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    isNil(key.stringValue) ? nil : try decode(type, forKey: key)
  }

  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    isNil(key.stringValue) ? nil : try decode(type, forKey: key)
  }

  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    isNil(key.stringValue) ? nil : try decode(type, forKey: key)
  }

  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    isNil(key.stringValue) ? nil : try decode(type, forKey: key)
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

  /// What `body` makes of a value where it lies; nil where there is none, and for what the store supplies in other forms.
  @inline(__always)
  private func stored<T>(_ key: Key, _ body: (BorrowedValue) -> T?) -> T? {
    let name = key.stringValue
    guard !FieldKey.isSupplied(name) else {
      return name == FieldKey.isFavorite ? body(.bool(decoder.supplied.isFavorite)) : nil
    }
    return decoder.index(of: name).flatMap { decoder.fields.withBorrowedValue(at: $0, body) }
  }

  private func isNil(_ name: String) -> Bool {
    if FieldKey.isSupplied(name) {
      return name == FieldKey.favoritedDate && decoder.supplied.favoritedDate == nil
    }
    guard let index = decoder.index(of: name) else { return true }
    return decoder.fields.withBorrowedValue(at: index) { if case .null = $0 { true } else { false } }
  }

  private func member(_ key: some CodingKey) throws(FieldCodingError) -> ValueDecoder {
    let name = key.stringValue
    // Only here: what is optional is asked for first, and left out.
    guard let value = decoder.json(for: name) ?? decoder.supplied.template?[name] else {
      throw FieldCodingError(path: [key], reason: FieldCodingError.missing)
    }
    return ValueDecoder(value, codingPath: [key])
  }

  private func integer<T: FixedWidthInteger & Decodable>(_ type: T.Type, _ key: Key) throws -> T {
    if let value = stored(key, { if case .int64(let value) = $0 { T(exactly: value) } else { nil } }) {
      return value
    }
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

extension UnsafeRawBufferPointer {
  /// The bytes as a string.
  fileprivate var string: String { String(decoding: self, as: UTF8.self) }
}
