import HeartlogEvents

/// The members of an object; of an item, its fields and what the store supplies.
struct KeyedValueDecoder<Key: CodingKey>: KeyedDecodingContainerProtocol {
  private let members: [JSONMember]
  private let decoder: ValueDecoder
  /// The places of many members; few are compared one by one.
  private var places: [String: Int]?

  init(_ members: [JSONMember], of decoder: ValueDecoder) {
    self.members = members
    self.decoder = decoder
    let comparedMax = 16
    guard members.count > comparedMax else { return }
    var places = [String: Int](minimumCapacity: members.count)
    for (place, member) in members.enumerated() { places[member.name] = place }
    self.places = places
  }

  var codingPath: [any CodingKey] { decoder.codingPath }

  var allKeys: [Key] {
    let names = members.map(\.name)
    guard decoder.supplied != nil else { return names.compactMap { Key(stringValue: $0) } }
    return
      ([FieldKey.id, FieldKey.isFavorite, FieldKey.favoritedDate]
      + names.filter { !FieldKey.isSupplied($0) }).compactMap { Key(stringValue: $0) }
  }

  func contains(_ key: Key) -> Bool { value(named: key.stringValue) != nil }

  func decodeNil(forKey key: Key) -> Bool { value(named: key.stringValue)?.isNull ?? true }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try member(key).bool() }

  func decode(_ type: String.Type, forKey key: Key) throws -> String { try member(key).string() }

  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try member(key).double() }

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
    if let value = try suppliedValue(type, key) { return value }
    return try member(key).decode(type)
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

  private func value(named name: String) -> JSONValue? {
    if let supplied = decoder.supplied, let value = supplied.json(for: name) { return value }
    if let places { return places[name].map { members[$0].value } }
    return members.first { $0.name == name }?.value
  }

  private func member(_ key: some CodingKey) throws(FieldCodingError) -> ValueDecoder {
    // Only here: what is optional is asked for first, and left out.
    guard let value = value(named: key.stringValue) ?? decoder.supplied?.template?[key.stringValue] else {
      throw FieldCodingError(path: codingPath + [key], reason: FieldCodingError.missing)
    }
    return ValueDecoder(value, codingPath: codingPath + [key])
  }

  private func integer<T: FixedWidthInteger & Decodable>(_ type: T.Type, _ key: Key) throws -> T {
    if let value = try suppliedValue(type, key) { return value }
    return try member(key).integer(type)
  }

  private func suppliedValue<T>(_ type: T.Type, _ key: Key) throws(FieldCodingError) -> T? {
    guard let supplied = decoder.supplied else { return nil }
    do {
      return try supplied.value(type, for: key.stringValue)
    } catch {
      throw FieldCodingError(path: codingPath + [key], reason: error.reason)
    }
  }
}
