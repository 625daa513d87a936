import HeartlogEvents

/// A value that is one value.
struct SingleValueEncoder: SingleValueEncodingContainer {
  private let encoder: ValueEncoder

  init(_ encoder: ValueEncoder) { self.encoder = encoder }

  var codingPath: [any CodingKey] { encoder.codingPath }

  func encodeNil() { encoder.set(.null) }
  func encode(_ value: Bool) { encoder.set(.bool(value)) }
  func encode(_ value: String) { encoder.set(.string(value)) }
  func encode(_ value: Float) throws { try encode(Double(value)) }
  func encode(_ value: Double) throws { encoder.set(try ValueEncoder.json(value, at: codingPath)) }
  func encode(_ value: Int) { encoder.set(ValueEncoder.json(value)) }
  func encode(_ value: Int8) { encoder.set(ValueEncoder.json(value)) }
  func encode(_ value: Int16) { encoder.set(ValueEncoder.json(value)) }
  func encode(_ value: Int32) { encoder.set(ValueEncoder.json(value)) }
  func encode(_ value: Int64) { encoder.set(ValueEncoder.json(value)) }
  func encode(_ value: UInt) { encoder.set(ValueEncoder.json(value)) }
  func encode(_ value: UInt8) { encoder.set(ValueEncoder.json(value)) }
  func encode(_ value: UInt16) { encoder.set(ValueEncoder.json(value)) }
  func encode(_ value: UInt32) { encoder.set(ValueEncoder.json(value)) }
  func encode(_ value: UInt64) { encoder.set(ValueEncoder.json(value)) }

  func encode<T: Encodable>(_ value: T) throws {
    encoder.set(try ValueEncoder.json(value, at: codingPath))
  }
}
