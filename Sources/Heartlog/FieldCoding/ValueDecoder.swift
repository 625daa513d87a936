import HeartlogFormat

/// Decodes one value from JSON: a field's value, or a nested one.
struct ValueDecoder: Decoder {
  let value: JSONValue
  /// The path of the containing value.
  private let parent: [any CodingKey]
  /// The position inside the containing value.
  private let position: Position

  enum Position {
    /// Not contained in another value.
    case whole
    case key(any CodingKey)
    case index(Int)
  }

  init(_ value: JSONValue, in parent: [any CodingKey] = [], at position: Position = .whole) {
    self.value = value
    self.parent = parent
    self.position = position
  }

  /// Computed on demand: only errors and values with parts need it.
  var codingPath: [any CodingKey] {
    switch position {
    case .whole: parent
    case .key(let key): parent + [key]
    case .index(let index): parent + [FieldKey(intValue: index)]
    }
  }

  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .object(let members) = value else { throw mismatch("an object") }
    return KeyedDecodingContainer(KeyedValueDecoder<Key>(ObjectMembers(members, codingPath: codingPath)))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .array(let elements) = value else { throw mismatch("an array") }
    return UnkeyedValueDecoder(elements, codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { SingleValueDecoder(decoder: self) }

  // MARK: Values

  func mismatch(_ wanted: String) -> FieldCodingError {
    FieldCodingError(path: codingPath, reason: "\(value.kind) where \(wanted) should be")
  }

  func bool() throws(FieldCodingError) -> Bool {
    guard case .bool(let value) = value else { throw mismatch("a bool") }
    return value
  }

  func string() throws(FieldCodingError) -> String {
    guard case .string(let value) = value else { throw mismatch("a string") }
    return value
  }

  /// Accepts integers too.
  func double() throws(FieldCodingError) -> Double {
    guard let value = value.number else { throw mismatch("a number") }
    return value
  }

  func float() throws(FieldCodingError) -> Float {
    let value = Float(try double())
    guard value.isFinite else {
      throw FieldCodingError(path: codingPath, reason: "a number too large for a Float")
    }
    return value
  }

  /// Decodes a number without a fraction that fits the type. 2^64 decodes as `UInt64.max`, because earlier versions encoded it so.
  func integer<T: FixedWidthInteger>(_ type: T.Type) throws(FieldCodingError) -> T {
    let integer: T?
    switch value {
    case .int64(let value): integer = T(exactly: value)
    case .double(let value): integer = value == 0x1p64 && T.max == UInt64.max ? T.max : T(exactly: value)
    default: throw mismatch("an integer")
    }
    guard let integer else {
      throw FieldCodingError(path: codingPath, reason: "\(value.jsonText) does not fit the type \(type)")
    }
    return integer
  }

  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    // These types decode themselves in the same way, without a container.
    if type == String.self, let text = try string() as? T { return text }
    guard ScalarCoding.isOneString(type) else { return try T(from: self) }
    let text = try string()
    do {
      if let value = try ScalarCoding.value(type, from: text) { return value }
    } catch {
      throw FieldCodingError(path: codingPath, reason: error.reason)
    }
    throw mismatch("\(type)")
  }
}

/// The single-value container of a value.
struct SingleValueDecoder: SingleValueDecodingContainer {
  let decoder: ValueDecoder
  /// The item, if the value is a whole item; other types are decoded from it.
  var item: ItemDecoder?

  var codingPath: [any CodingKey] { decoder.codingPath }

  func decodeNil() -> Bool { decoder.value.isNull }
  func decode(_ type: Bool.Type) throws -> Bool { try decoder.bool() }
  func decode(_ type: String.Type) throws -> String { try decoder.string() }
  func decode(_ type: Double.Type) throws -> Double { try decoder.double() }
  func decode(_ type: Float.Type) throws -> Float { try decoder.float() }
  // Serves the integers that the standard library does not decode by default.
  func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T { try decoder.integer(type) }
  func decode(_ type: Int128.Type) throws -> Int128 { try decoder.integer(type) }
  func decode(_ type: UInt128.Type) throws -> UInt128 { try decoder.integer(type) }

  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    if let item, !ScalarCoding.isOneString(type) { return try T(from: item) }
    return try decoder.decode(type)
  }
}
