import HeartlogFormat

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

  func contains(_ key: Key) -> Bool { source.contains(key.stringValue) || isSupplied(key) }

  func decodeNil(forKey key: Key) -> Bool {
    guard source.isNil(key.stringValue) else { return false }
    guard isSupplied(key) else { return true }
    return key.stringValue == FieldKey.favoritedDate && source.supplied?.favoritedDate == nil
  }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    if let flag = suppliedFlag(key) { return flag }
    return try source.value(named: key.stringValue)?.bool ?? member(key).bool()
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
    if type == Date.self {
      if let time = suppliedTime(key) {
        guard let time else { throw missing(key) }
        return unsafeBitCast(ScalarCoding.date(time), to: type)
      }
      if let date = source.date(named: key.stringValue) { return unsafeBitCast(date, to: type) }
    }
    if type == [String].self, let texts = source.strings(named: key.stringValue) {
      return unsafeBitCast(texts, to: type)
    }
    return try other(type, key)
  }

  /// Decodes a value of any other type. Not inlined, because a function that has an optional `T` looks up its type at each call.
  @inline(never)
  private func other<T: Decodable>(_ type: T.Type, _ key: Key) throws -> T {
    if type == Bool.self, let flag = suppliedFlag(key) as? T { return flag }
    if let value = stored(key) { return try value.decode(type) }
    return try suppliedID(type, key) ?? member(key).decode(type)
  }

  // An optional value that is absent stays nil, except for the flag, the date and the id of the store.

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    try suppliedFlag(key) ?? present(key)?.bool()
  }

  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    try source.string(named: key.stringValue) ?? present(key)?.string() ?? idIfAbsent(type, key)
  }

  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try present(key)?.double() }

  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    source.isNil(key.stringValue) ? idIfAbsent(type, key) : try decode(type, forKey: key)
  }

  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    if type == Date.self, let time = suppliedTime(key) { return time.map(ScalarCoding.date) as? T }
    if type == Bool.self, let flag = suppliedFlag(key) as? T { return flag }
    return source.isNil(key.stringValue) ? idIfAbsent(type, key) : try decode(type, forKey: key)
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
    if let value = stored(key) { return try value.integer(type) }
    return try suppliedID(type, key) ?? member(key).integer(type)
  }

  /// A member's value: what is stored, else that of the template, else that of the store.
  private func member(_ key: some CodingKey) throws(FieldCodingError) -> ValueDecoder {
    if let value = stored(key) { return value }
    guard let value = source.supplied?.json(for: key) else { throw missing(key) }
    if key.isOfID { source.didSupplyID = true }
    return ValueDecoder(value, in: codingPath, at: .key(key))
  }

  private func stored(_ key: some CodingKey) -> ValueDecoder? {
    let name = key.stringValue
    return (source.value(named: name) ?? source.valueIfMissing(named: name)).map {
      ValueDecoder($0, in: codingPath, at: .key(key))
    }
  }

  private func missing(_ key: some CodingKey) -> FieldCodingError {
    FieldCodingError(path: codingPath + [key], reason: FieldCodingError.missing)
  }

  private func present(_ key: Key) -> ValueDecoder? {
    guard let value = source.value(named: key.stringValue), !value.isNull else { return nil }
    return ValueDecoder(value, in: codingPath, at: .key(key))
  }

  // MARK: The store's values

  /// The membership, if the key asks for it. A Bool of this name is the store's, whatever is stored.
  @inline(__always)
  private func suppliedFlag(_ key: Key) -> Bool? {
    let name = key.stringValue
    guard name.utf8.count == FieldKey.isFavorite.utf8.count, name == FieldKey.isFavorite else { return nil }
    return source.supplied?.isFavorite
  }

  /// The favorited date, if the key asks for it. A Date of this name is the store's, whatever is stored.
  private func suppliedTime(_ key: Key) -> Milliseconds?? {
    let name = key.stringValue
    guard name.utf8.count == FieldKey.favoritedDate.utf8.count, name == FieldKey.favoritedDate,
      let supplied = source.supplied
    else { return nil }
    return .some(supplied.favoritedDate)
  }

  /// Whether the store has a value for a key under which nothing is stored.
  private func isSupplied(_ key: Key) -> Bool {
    guard source.supplied != nil else { return false }
    return FieldKey.isSupplied(key.stringValue) || isOfID(key)
  }

  /// Whether the key is that of the id. To ask for the name of a case takes as long as to read a field, so that of a second key is not
  /// asked for.
  private func isOfID(_ key: Key) -> Bool {
    FieldKey.isID(key.stringValue) || !source.didSupplyID && key.isOfID
  }

  /// The id as a value of a type of ids, if the key is that of the id. Nothing is stored under it.
  private func suppliedID<T>(_ type: T.Type, _ key: Key) throws(FieldCodingError) -> T? {
    guard let supplied = source.supplied, key.isOfID else { return nil }
    source.didSupplyID = true
    do { return try SuppliedValues.id(supplied.id, as: type) } catch {
      throw FieldCodingError(path: codingPath + [key], reason: error.reason)
    }
  }

  /// The id as an optional value, if the key is that of the id and the type decodes it. Nothing is stored under it.
  private func idIfAbsent<T: Decodable>(_ type: T.Type, _ key: Key) -> T? {
    guard let supplied = source.supplied, isOfID(key) else { return nil }
    source.didSupplyID = true
    do {
      return try SuppliedValues.id(supplied.id, as: type) ?? ValueDecoder(.string(supplied.id)).decode(type)
    } catch {
      // A type that the id is not a value of.
      return nil
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
  /// The values of the store; nil for the members of an object, which are all its own.
  var supplied: SuppliedValues? { nil }
  /// Whether the item's id was asked for and given.
  final var didSupplyID = false

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
