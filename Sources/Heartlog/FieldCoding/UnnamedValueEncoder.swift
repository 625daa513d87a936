import HeartlogFormat

/// The containers that encode values without names: a single value, and the elements of an array.
struct UnnamedValueEncoder: SingleValueEncodingContainer, UnkeyedEncodingContainer {
  let encoder: ValueEncoder
  /// Whether the value is the next element of an array.
  let isElement: Bool

  var codingPath: [any CodingKey] { encoder.codingPath }
  var count: Int { encoder.count }

  func encodeNil() { put(.null) }
  func encode(_ value: Bool) { put(.bool(value)) }
  func encode(_ value: String) { put(.string(value)) }
  func encode(_ value: Float) throws { try encode(Double(value)) }
  func encode(_ value: Double) throws { put(try ValueEncoder.json(value, at: path, isNested: isNested)) }
  // Serves the integers that the standard library does not encode by default.
  func encode(_ value: some BinaryInteger & Encodable) throws { try encode(integer: value) }
  func encode(_ value: Int128) throws { try encode(integer: value) }
  func encode(_ value: UInt128) throws { try encode(integer: value) }
  func encode<T: Encodable>(_ value: T) throws {
    // An item that encodes as another value has its keys.
    if !isElement, encoder is ItemEncoder, !ScalarCoding.isOneString(T.self) {
      return try value.encode(to: encoder)
    }
    put(try ValueEncoder.json(value, at: path))
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) -> KeyedEncodingContainer<NestedKey> {
    encoder.nextChild().container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder.nextChild().unkeyedContainer() }
  func superEncoder() -> any Encoder { encoder.nextChild() }

  private func put(_ value: JSONValue) { if isElement { encoder.append(value) } else { encoder.set(value) } }

  private func encode(integer: some BinaryInteger) throws(FieldCodingError) {
    put(try ValueEncoder.json(integer, at: path, isNested: isNested))
  }

  private var path: [any CodingKey] { isElement ? codingPath + [FieldKey(intValue: count)] : codingPath }

  /// The value of a field itself is not nested.
  private var isNested: Bool { isElement || codingPath.count > 1 }
}
