import HeartlogEvents

/// Decodes the members of an object.
struct KeyedValueDecoder<Key: CodingKey>: KeyedDecodingContainerProtocol {
  private let members: [JSONMember]
  let codingPath: [any CodingKey]
  /// The index of each member by name. Nil for few members, which are compared one by one.
  private var indices: [String: Int]?

  init(_ members: [JSONMember], of decoder: ValueDecoder) {
    self.members = members
    codingPath = decoder.codingPath
    let comparedMax = 16
    guard members.count > comparedMax else { return }
    var indices = [String: Int](minimumCapacity: members.count)
    for (index, member) in members.enumerated() { indices[member.name] = index }
    self.indices = indices
  }

  var allKeys: [Key] { members.compactMap { Key(stringValue: $0.name) } }

  func contains(_ key: Key) -> Bool { value(named: key.stringValue) != nil }

  func decodeNil(forKey key: Key) -> Bool { value(named: key.stringValue)?.isNull ?? true }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try member(key).bool() }

  func decode(_ type: String.Type, forKey key: Key) throws -> String { try member(key).string() }

  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try member(key).double() }

  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try member(key).float() }

  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try member(key).integer(type) }

  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try member(key).integer(type) }

  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try member(key).integer(type) }

  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try member(key).integer(type) }

  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try member(key).integer(type) }

  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try member(key).integer(type) }

  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try member(key).integer(type) }

  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try member(key).integer(type) }

  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try member(key).integer(type) }

  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try member(key).integer(type) }

  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try member(key).integer(type) }

  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try member(key).integer(type) }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try member(key).decode(type)
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
    if let indices { return indices[name].map { members[$0].value } }
    return members.first { $0.name == name }?.value
  }

  private func member(_ key: some CodingKey) throws(FieldCodingError) -> ValueDecoder {
    guard let value = value(named: key.stringValue) else {
      throw FieldCodingError(path: codingPath + [key], reason: FieldCodingError.missing)
    }
    return ValueDecoder(value, in: codingPath, at: .key(key))
  }
}
