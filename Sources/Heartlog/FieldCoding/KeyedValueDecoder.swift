import HeartlogEvents

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Decodes the members of an object, or an item from its fields.
struct KeyedValueDecoder<Key: CodingKey>: KeyedDecodingContainerProtocol {
  private let source: KeyedValues

  init(_ source: KeyedValues) { self.source = source }

  var codingPath: [any CodingKey] { source.codingPath }
  var allKeys: [Key] { source.names.compactMap { Key(stringValue: $0) } }

  func contains(_ key: Key) -> Bool { source.contains(key.stringValue) }
  func decodeNil(forKey key: Key) -> Bool { source.isNil(key.stringValue) }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    try source.value(named: key.stringValue)?.bool ?? member(key).bool()
  }

  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    try source.string(named: key.stringValue) ?? member(key).string()
  }

  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    try source.value(named: key.stringValue)?.number ?? member(key).double()
  }

  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try member(key).float() }

  // Serves the integers that the standard library does not decode by default. Inlined, so that it is specialized for each of them.
  @inline(__always)
  func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try integer(type, key)
  }

  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try integer(type, key) }
  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try integer(type, key) }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    // A dynamic cast between the same types takes as long as reading the date.
    if type == Date.self, let date = source.date(named: key.stringValue) {
      return unsafeBitCast(date, to: type)
    }
    if type == [String].self, let texts = source.strings(named: key.stringValue) {
      return unsafeBitCast(texts, to: type)
    }
    return try other(type, key)
  }

  /// Decodes a value of any other type. Not inlined, because a function that has an optional `T` looks up its type at each call.
  @inline(never)
  private func other<T: Decodable>(_ type: T.Type, _ key: Key) throws -> T {
    try supplied(type, key) ?? member(key).decode(type)
  }

  // These look up an optional value once if it is present.

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try present(key)?.bool() }
  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    try source.string(named: key.stringValue) ?? present(key)?.string()
  }
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try present(key)?.double() }

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

  @inline(__always)
  private func integer<T: FixedWidthInteger & Decodable>(_ type: T.Type, _ key: Key) throws -> T {
    if let value = source.value(named: key.stringValue)?.int64, let value = T(exactly: value) { return value }
    return try supplied(type, key) ?? member(key).integer(type)
  }

  private func member(_ key: some CodingKey) throws(FieldCodingError) -> ValueDecoder {
    let name = key.stringValue
    guard let value = source.value(named: name) ?? source.valueIfMissing(named: name) else {
      throw FieldCodingError(path: codingPath + [key], reason: FieldCodingError.missing)
    }
    return ValueDecoder(value, in: codingPath, at: .key(key))
  }

  private func present(_ key: Key) -> ValueDecoder? {
    guard let value = source.value(named: key.stringValue), !value.isNull else { return nil }
    return ValueDecoder(value, in: codingPath, at: .key(key))
  }

  private func supplied<T>(_ type: T.Type, _ key: Key) throws(FieldCodingError) -> T? {
    do { return try source.suppliedValue(type, named: key.stringValue) } catch {
      throw FieldCodingError(path: codingPath + [key], reason: error.reason)
    }
  }
}

/// The values that a keyed container decodes: the members of an object, or the fields of an item. This one has none.
class KeyedValues {
  var codingPath: [any CodingKey] { [] }
  var names: [String] { [] }
  func contains(_ name: String) -> Bool { false }
  /// Whether a value is absent or null.
  func isNil(_ name: String) -> Bool { true }
  func value(named name: String) -> JSONValue? { nil }
  /// The value of a required member that is missing.
  func valueIfMissing(named name: String) -> JSONValue? { nil }
  /// The value of a member that is not stored as JSON, if its type allows that.
  func suppliedValue<T>(_ type: T.Type, named name: String) throws(MalformedError) -> T? { nil }

  // A value of one type, if it is decoded without going through JSON. Not generic, because generic code is not specialized for an item's
  // keys here.
  func string(named name: String) -> String? { nil }
  func strings(named name: String) -> [String]? { nil }
  func date(named name: String) -> Date? { nil }
}

/// The members of an object.
final class ObjectMembers: KeyedValues {
  private let members: [JSONMember]
  private let path: [any CodingKey]
  /// The index of each member by name. Nil for few members, which are compared one by one.
  private let indices: [String: Int]?

  init(_ members: [JSONMember], codingPath: [any CodingKey]) {
    self.members = members
    path = codingPath
    let comparedMax = 16
    indices =
      members.count > comparedMax
      ? Dictionary(members.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { $1 }) : nil
  }

  override var codingPath: [any CodingKey] { path }
  override var names: [String] { members.map(\.name) }
  override func contains(_ name: String) -> Bool { value(named: name) != nil }
  override func isNil(_ name: String) -> Bool { value(named: name)?.isNull ?? true }

  override func value(named name: String) -> JSONValue? {
    if let indices { return indices[name].map { members[$0].value } }
    return members.first { $0.name == name }?.value
  }
}
