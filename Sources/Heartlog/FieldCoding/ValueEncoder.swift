import HeartlogFormat

/// Encodes one value as JSON: a field's value, or a nested one.
class ValueEncoder: Encoder {
  /// What was encoded so far.
  private enum Content {
    case nothing
    case scalar(JSONValue)
    case array([Entry])
    case object([(name: String, entry: Entry)])
  }

  private enum Entry {
    case value(JSONValue)
    case encoder(ValueEncoder)
  }

  let codingPath: [any CodingKey]
  let userInfo: [CodingUserInfoKey: Any] = [:]
  private var content = Content.nothing

  init(codingPath: [any CodingKey]) { self.codingPath = codingPath }

  /// The encoded value; nil if nothing was encoded.
  var value: JSONValue? {
    func value(_ entry: Entry) -> JSONValue {
      switch entry {
      case .value(let value): value
      // A value that encodes nothing becomes an empty object, as in other JSON encoders.
      case .encoder(let encoder): encoder.value ?? .object([])
      }
    }
    switch content {
    case .nothing: return nil
    case .scalar(let scalar): return scalar
    case .array(let entries): return .array(entries.map(value))
    case .object(let entries): return .object(entries.map { JSONMember($0.name, value($0.entry)) })
    }
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    if case .object = content {} else { content = .object([]) }
    return KeyedEncodingContainer(KeyedValueEncoder<Key>(self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    if case .array = content {} else { content = .array([]) }
    return UnnamedValueEncoder(encoder: self, isElement: true)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer {
    UnnamedValueEncoder(encoder: self, isElement: false)
  }

  // MARK: For the containers

  var count: Int {
    switch content {
    case .array(let entries): entries.count
    case .object(let entries): entries.count
    case .nothing, .scalar: 0
    }
  }

  func set(_ value: JSONValue) { content = .scalar(value) }

  func set(_ value: JSONValue, for name: String) { append(.value(value), named: name) }

  /// Sets a member's value, which was encoded from a type.
  func set<T>(_ value: JSONValue, of type: T.Type, for key: some CodingKey) {
    set(value, for: key.stringValue)
  }

  func append(_ value: JSONValue) { append(.value(value)) }

  /// Returns an encoder for a member's value.
  func child(for key: some CodingKey) -> ValueEncoder {
    let child = ValueEncoder(codingPath: codingPath + [key])
    append(.encoder(child), named: key.stringValue)
    return child
  }

  /// Returns an encoder for the next element.
  func nextChild() -> ValueEncoder {
    let child = ValueEncoder(codingPath: codingPath + [FieldKey(intValue: count)])
    append(.encoder(child))
    return child
  }

  private func append(_ entry: Entry) {
    guard case .array(var entries) = content else { return }
    content = .nothing
    entries.append(entry)
    content = .array(entries)
  }

  private func append(_ entry: Entry, named name: String) {
    guard case .object(var entries) = content else { return }
    content = .nothing
    entries.append((name, entry))
    content = .object(entries)
  }

  // MARK: Values

  /// Never changes an integer's value. Beyond Int64 it becomes a double if that is exact; otherwise it is rejected.
  static func json(
    _ value: some BinaryInteger, at path: @autoclosure () -> [any CodingKey], isNested: Bool
  ) throws(FieldCodingError) -> JSONValue {
    do throws(MalformedError) {
      if let integer = Int64(exactly: value) {
        if isNested { try CanonicalJSON.check(integer) }
        return .int64(integer)
      }
      guard let number = Double(exactly: value) else { throw FieldValue.refusal(ofInteger: "\(value)") }
      return .double(number)
    } catch {
      throw FieldCodingError(path: path(), reason: error.reason)
    }
  }

  static func json(
    _ value: Double, at path: @autoclosure () -> [any CodingKey], isNested: Bool
  ) throws(FieldCodingError) -> JSONValue {
    guard let number = JSONValue.number(value) else {
      throw FieldCodingError(path: path(), reason: "a number that is not finite")
    }
    if isNested, case .int64(let integer) = number { return try json(integer, at: path(), isNested: true) }
    return number
  }

  static func json(_ value: some Encodable, at path: [any CodingKey]) throws -> JSONValue {
    do {
      if let text = try ScalarCoding.string(of: value) { return .string(text) }
    } catch {
      throw FieldCodingError(path: path, reason: error.reason)
    }
    let encoder = ValueEncoder(codingPath: path)
    try value.encode(to: encoder)
    return encoder.value ?? .object([])
  }
}

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
