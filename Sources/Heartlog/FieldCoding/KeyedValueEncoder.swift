import HeartlogFormat

/// The keyed container that encodes an object.
struct KeyedValueEncoder<Key: CodingKey>: KeyedEncodingContainerProtocol {
  private let encoder: ValueEncoder

  init(_ encoder: ValueEncoder) { self.encoder = encoder }

  var codingPath: [any CodingKey] { encoder.codingPath }

  func encodeNil(forKey key: Key) { encoder.set(.null, for: key.stringValue) }
  func encode(_ value: Bool, forKey key: Key) { encoder.set(.bool(value), of: Bool.self, for: key) }
  func encode(_ value: String, forKey key: Key) { encoder.set(.string(value), of: String.self, for: key) }
  func encode(_ value: Float, forKey key: Key) throws { try encode(Double(value), forKey: key) }

  func encode(_ value: Double, forKey key: Key) throws {
    encoder.set(
      try ValueEncoder.json(value, at: codingPath + [key], isNested: isNested), of: Double.self, for: key)
  }

  // Serves the integers that the standard library does not encode by default. Inlined, so that it is specialized for each of them.
  @inline(__always)
  func encode(_ value: some BinaryInteger & Encodable, forKey key: Key) throws {
    try encode(integer: value, forKey: key)
  }

  func encode(_ value: Int128, forKey key: Key) throws { try encode(integer: value, forKey: key) }
  func encode(_ value: UInt128, forKey key: Key) throws { try encode(integer: value, forKey: key) }

  func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    encoder.set(try ValueEncoder.json(value, at: codingPath + [key]), of: T.self, for: key)
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) -> KeyedEncodingContainer<NestedKey> {
    encoder.child(for: key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    encoder.child(for: key).unkeyedContainer()
  }

  func superEncoder() -> any Encoder { encoder.child(for: FieldKey.super) }
  func superEncoder(forKey key: Key) -> any Encoder { encoder.child(for: key) }

  @inline(__always)
  private func encode<T: BinaryInteger>(integer: T, forKey key: Key) throws(FieldCodingError) {
    encoder.set(
      try ValueEncoder.json(integer, at: codingPath + [key], isNested: isNested), of: T.self, for: key)
  }

  /// Members of the item itself are separate fields and not nested.
  private var isNested: Bool { !codingPath.isEmpty }

  // An item's own nil becomes a null field, so that writing it clears the stored value. Nested nils are left out. The default
  // implementations would leave out both.
  func encodeIfPresent(_ value: Bool?, forKey key: Key) {
    if let value { encode(value, forKey: key) } else { encodeAbsence(of: Bool.self, forKey: key) }
  }
  func encodeIfPresent(_ value: String?, forKey key: Key) {
    if let value { encode(value, forKey: key) } else { encodeAbsence(of: String.self, forKey: key) }
  }
  func encodeIfPresent(_ value: Double?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { encodeAbsence(of: Double.self, forKey: key) }
  }
  func encodeIfPresent(_ value: Float?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { encodeAbsence(of: Float.self, forKey: key) }
  }
  func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try encode(ifPresent: value, key) }
  func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try encode(ifPresent: value, key) }
  func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try encode(ifPresent: value, key) }
  func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try encode(ifPresent: value, key) }
  func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try encode(ifPresent: value, key) }
  func encodeIfPresent(_ value: Int128?, forKey key: Key) throws { try encode(ifPresent: value, key) }
  func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try encode(ifPresent: value, key) }
  func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try encode(ifPresent: value, key) }
  func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try encode(ifPresent: value, key) }
  func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try encode(ifPresent: value, key) }
  func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try encode(ifPresent: value, key) }
  func encodeIfPresent(_ value: UInt128?, forKey key: Key) throws { try encode(ifPresent: value, key) }
  func encodeIfPresent<T: Encodable>(_ value: T?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { encodeAbsence(of: T.self, forKey: key) }
  }

  @inline(__always)
  private func encode<T: BinaryInteger>(ifPresent value: T?, _ key: Key) throws(FieldCodingError) {
    if let value { try encode(integer: value, forKey: key) } else { encodeAbsence(of: T.self, forKey: key) }
  }

  private func encodeAbsence<T>(of type: T.Type, forKey key: Key) {
    if codingPath.isEmpty { encoder.set(.null, of: type, for: key) }
  }
}
