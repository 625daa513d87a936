import HeartlogEvents

/// The single-value container that encodes a value.
struct SingleValueEncoder: SingleValueEncodingContainer {
  private let encoder: ValueEncoder

  init(_ encoder: ValueEncoder) { self.encoder = encoder }

  var codingPath: [any CodingKey] { encoder.codingPath }

  func encodeNil() { encoder.set(.null) }
  func encode(_ value: Bool) { encoder.set(.bool(value)) }
  func encode(_ value: String) { encoder.set(.string(value)) }
  func encode(_ value: Float) throws { try encode(Double(value)) }
  func encode(_ value: Double) throws {
    encoder.set(try ValueEncoder.json(value, at: codingPath, isNested: isNested))
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
    encoder.set(try ValueEncoder.json(value, at: codingPath))
  }

  private func encode(integer: some BinaryInteger) throws(FieldCodingError) {
    encoder.set(try ValueEncoder.json(integer, at: codingPath, isNested: isNested))
  }

  /// The value of a field itself is not nested.
  private var isNested: Bool { codingPath.count > 1 }
}
