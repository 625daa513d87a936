import HeartlogEvents

/// The unkeyed container that encodes an array.
struct UnkeyedValueEncoder: UnkeyedEncodingContainer {
  private let encoder: ValueEncoder

  init(_ encoder: ValueEncoder) { self.encoder = encoder }

  var codingPath: [any CodingKey] { encoder.codingPath }
  var count: Int { encoder.count }

  func encodeNil() { encoder.append(.null) }
  func encode(_ value: Bool) { encoder.append(.bool(value)) }
  func encode(_ value: String) { encoder.append(.string(value)) }
  func encode(_ value: Float) throws { try encode(Double(value)) }
  func encode(_ value: Double) throws {
    encoder.append(try ValueEncoder.json(value, at: pathOfNext, isNested: true))
  }
  func encode(_ value: Int) throws { try encode(integer: value) }
  func encode(_ value: Int8) throws { try encode(integer: value) }
  func encode(_ value: Int16) throws { try encode(integer: value) }
  func encode(_ value: Int32) throws { try encode(integer: value) }
  func encode(_ value: Int64) throws { try encode(integer: value) }
  func encode(_ value: Int128) throws { try encode(integer: value) }
  func encode(_ value: UInt) throws { try encode(integer: value) }
  func encode(_ value: UInt8) throws { try encode(integer: value) }
  func encode(_ value: UInt16) throws { try encode(integer: value) }
  func encode(_ value: UInt32) throws { try encode(integer: value) }
  func encode(_ value: UInt64) throws { try encode(integer: value) }
  func encode(_ value: UInt128) throws { try encode(integer: value) }

  func encode<T: Encodable>(_ value: T) throws {
    encoder.append(try ValueEncoder.json(value, at: pathOfNext))
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) -> KeyedEncodingContainer<NestedKey> {
    encoder.nextChild().container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder.nextChild().unkeyedContainer() }
  func superEncoder() -> any Encoder { encoder.nextChild() }

  private func encode(integer: some BinaryInteger) throws(FieldCodingError) {
    encoder.append(try ValueEncoder.json(integer, at: pathOfNext, isNested: true))
  }

  private var pathOfNext: [any CodingKey] { codingPath + [FieldKey(intValue: count)] }
}
