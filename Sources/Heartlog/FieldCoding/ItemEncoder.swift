import HeartlogEvents

/// Encodes an item directly as fields, without JSON for scalars. Nested values go through `ValueEncoder`.
final class ItemEncoder: Encoder {
  let codingPath: [any CodingKey] = []
  let userInfo: [CodingUserInfoKey: Any] = [:]

  private var fields: [Field] = []
  /// The encoders handed out for fields. Their values are known only after the item has encoded all of itself.
  private var children: [(index: Int, encoder: ValueEncoder)] = []
  /// The encoder of an item that does not encode as a keyed container.
  private var other: ValueEncoder?
  /// The first rule that a field broke. Reported at the end, even if the item's own coding continues.
  private var failure: FieldCodingError?

  /// Returns the fields in the order of encoding, without those that the store supplies.
  func encodedFields() throws(FieldCodingError) -> [Field] {
    if let other, let value = other.value {
      guard case .object(let members) = value else {
        throw FieldCodingError(field: nil, reason: "the item encodes as \(value.kind), not as an object")
      }
      return try Self.fields(of: members)
    }
    for child in children { replace(child.index, by: child.encoder.value ?? .object([])) }
    if let failure { throw failure }
    return fields
  }

  private static func fields(of members: [JSONMember]) throws(FieldCodingError) -> [Field] {
    let encoder = ItemEncoder()
    for member in members { encoder.set(member.value, for: member.name) }
    if let failure = encoder.failure { throw failure }
    return encoder.fields
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    other = nil
    return KeyedEncodingContainer(ItemContainer<Key>(self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer { otherEncoder().unkeyedContainer() }
  func singleValueContainer() -> any SingleValueEncodingContainer { otherEncoder().singleValueContainer() }

  private func otherEncoder() -> ValueEncoder {
    let other = other ?? ValueEncoder(codingPath: [])
    self.other = other
    return other
  }

  // MARK: For the container

  func set(_ value: FieldValue, for name: String) {
    guard !FieldKey.isSupplied(name) else { return }
    if !Self.isSound(name) {
      do throws(FieldCodingError) { try Self.check(name) } catch { failure = failure ?? error }
    }
    if fields.isEmpty { fields.reserveCapacity(8) }
    fields.append(Field(name: name, value: value))
  }

  func set(_ value: String, for name: String) {
    // A longer string takes the slow path, which fails with the right message.
    if value.utf8.count > Limits.valueBytesMax { return set(JSONValue.string(value), for: name) }
    set(FieldValue.string(value), for: name)
  }

  func set(_ value: JSONValue, for name: String) {
    set(Self.value(value, of: name, failure: &failure), for: name)
  }

  private func replace(_ index: Int, by value: JSONValue) {
    let name = fields[index].name
    fields[index] = Field(name: name, value: Self.value(value, of: name, failure: &failure))
  }

  private static func value(
    _ value: JSONValue, of name: String, failure: inout FieldCodingError?
  ) -> FieldValue {
    if FieldKey.isSupplied(name) { return .null }
    do { return try FieldValue(value) } catch {
      failure = failure ?? FieldCodingError(field: name, reason: error.reason)
      return .null
    }
  }

  /// Returns an encoder for a field's value.
  func child(for key: some CodingKey) -> ValueEncoder {
    let child = ValueEncoder(codingPath: [key])
    let name = key.stringValue
    guard !FieldKey.isSupplied(name) else { return child }
    set(FieldValue.null, for: name)
    children.append((fields.count - 1, child))
    return child
  }

  /// A quick check that accepts only short names of printable ASCII.
  private static func isSound(_ name: String) -> Bool {
    let bytes = name.utf8
    guard let first = bytes.first, first != UInt8(ascii: "@"), bytes.count <= Limits.fieldNameBytesMax else {
      return false
    }
    return bytes.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
  }

  private static func check(_ name: String) throws(FieldCodingError) {
    guard (1...Limits.fieldNameBytesMax).contains(name.utf8.count) else {
      throw FieldCodingError(
        field: name,
        reason: "a name of \(name.utf8.count) bytes, which must be 1 to \(Limits.fieldNameBytesMax)")
    }
    guard name.utf8.first != UInt8(ascii: "@") else {
      throw FieldCodingError(field: name, reason: "names that begin with @ are the store's own")
    }
    // The other rules were checked above.
    do { try NameRules.checkFieldName(name) } catch {
      throw FieldCodingError(field: name, reason: "a control character in the name")
    }
  }
}

/// The keyed container that encodes an item.
struct ItemContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  private let encoder: ItemEncoder

  init(_ encoder: ItemEncoder) { self.encoder = encoder }

  var codingPath: [any CodingKey] { [] }

  func encodeNil(forKey key: Key) { encoder.set(FieldValue.null, for: key.stringValue) }
  func encode(_ value: Bool, forKey key: Key) { encoder.set(FieldValue.bool(value), for: key.stringValue) }
  func encode(_ value: String, forKey key: Key) { encoder.set(value, for: key.stringValue) }
  func encode(_ value: Float, forKey key: Key) throws { try encode(Double(value), forKey: key) }

  func encode(_ value: Double, forKey key: Key) throws {
    encoder.set(try ValueEncoder.json(value, at: [key], isNested: false), for: key.stringValue)
  }

  func encode(_ value: Int, forKey key: Key) { encode(Int64(value), forKey: key) }
  func encode(_ value: Int8, forKey key: Key) { encode(Int64(value), forKey: key) }
  func encode(_ value: Int16, forKey key: Key) { encode(Int64(value), forKey: key) }
  func encode(_ value: Int32, forKey key: Key) { encode(Int64(value), forKey: key) }
  func encode(_ value: Int64, forKey key: Key) { encoder.set(FieldValue.int64(value), for: key.stringValue) }
  func encode(_ value: Int128, forKey key: Key) throws { try encode(integer: value, forKey: key) }
  func encode(_ value: UInt, forKey key: Key) throws { try encode(integer: value, forKey: key) }
  func encode(_ value: UInt8, forKey key: Key) { encode(Int64(value), forKey: key) }
  func encode(_ value: UInt16, forKey key: Key) { encode(Int64(value), forKey: key) }
  func encode(_ value: UInt32, forKey key: Key) { encode(Int64(value), forKey: key) }
  func encode(_ value: UInt64, forKey key: Key) throws { try encode(integer: value, forKey: key) }
  func encode(_ value: UInt128, forKey key: Key) throws { try encode(integer: value, forKey: key) }

  private func encode(integer: some BinaryInteger, forKey key: Key) throws(FieldCodingError) {
    encoder.set(try ValueEncoder.json(integer, at: [key], isNested: false), for: key.stringValue)
  }

  func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    encoder.set(try ValueEncoder.json(value, at: [key]), for: key.stringValue)
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

  // An item's own nil becomes a null field, so that writing it clears the stored value. The default implementations would leave it out.
  func encodeIfPresent(_ value: Bool?, forKey key: Key) {
    if let value { encode(value, forKey: key) } else { encodeNil(forKey: key) }
  }
  func encodeIfPresent(_ value: String?, forKey key: Key) {
    if let value { encode(value, forKey: key) } else { encodeNil(forKey: key) }
  }
  func encodeIfPresent(_ value: Double?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { encodeNil(forKey: key) }
  }
  func encodeIfPresent(_ value: Float?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { encodeNil(forKey: key) }
  }
  func encodeIfPresent(_ value: Int?, forKey key: Key) {
    if let value { encode(value, forKey: key) } else { encodeNil(forKey: key) }
  }
  func encodeIfPresent(_ value: Int8?, forKey key: Key) {
    if let value { encode(value, forKey: key) } else { encodeNil(forKey: key) }
  }
  func encodeIfPresent(_ value: Int16?, forKey key: Key) {
    if let value { encode(value, forKey: key) } else { encodeNil(forKey: key) }
  }
  func encodeIfPresent(_ value: Int32?, forKey key: Key) {
    if let value { encode(value, forKey: key) } else { encodeNil(forKey: key) }
  }
  func encodeIfPresent(_ value: Int64?, forKey key: Key) {
    if let value { encode(value, forKey: key) } else { encodeNil(forKey: key) }
  }
  func encodeIfPresent(_ value: UInt?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { encodeNil(forKey: key) }
  }
  func encodeIfPresent(_ value: UInt8?, forKey key: Key) {
    if let value { encode(value, forKey: key) } else { encodeNil(forKey: key) }
  }
  func encodeIfPresent(_ value: UInt16?, forKey key: Key) {
    if let value { encode(value, forKey: key) } else { encodeNil(forKey: key) }
  }
  func encodeIfPresent(_ value: UInt32?, forKey key: Key) {
    if let value { encode(value, forKey: key) } else { encodeNil(forKey: key) }
  }
  func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { encodeNil(forKey: key) }
  }
  func encodeIfPresent(_ value: UInt128?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { encodeNil(forKey: key) }
  }
  func encodeIfPresent(_ value: Int128?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { encodeNil(forKey: key) }
  }
  func encodeIfPresent<T: Encodable>(_ value: T?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { encodeNil(forKey: key) }
  }
}
