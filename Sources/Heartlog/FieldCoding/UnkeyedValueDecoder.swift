import HeartlogFormat

/// Decodes the elements of an array in order.
struct UnkeyedValueDecoder: UnkeyedDecodingContainer {
  private let elements: [JSONValue]
  let codingPath: [any CodingKey]
  private(set) var currentIndex = 0

  init(_ elements: [JSONValue], codingPath: [any CodingKey]) {
    self.elements = elements
    self.codingPath = codingPath
  }

  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex == elements.count }

  /// Advances only past a null.
  mutating func decodeNil() -> Bool {
    guard !isAtEnd, elements[currentIndex].isNull else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode(_ type: Bool.Type) throws -> Bool { try next { try $0.bool() } }
  mutating func decode(_ type: String.Type) throws -> String { try next { try $0.string() } }
  mutating func decode(_ type: Double.Type) throws -> Double { try next { try $0.double() } }
  mutating func decode(_ type: Float.Type) throws -> Float { try next { try $0.float() } }
  // Serves the integers that the standard library does not decode by default.
  mutating func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T {
    try next { try $0.integer(type) }
  }
  mutating func decode(_ type: Int128.Type) throws -> Int128 { try next { try $0.integer(type) } }
  mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try next { try $0.integer(type) } }
  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try next { try $0.decode(type) } }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try next { try $0.container(keyedBy: type) }
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try next { try $0.unkeyedContainer() }
  }

  mutating func superDecoder() throws -> any Decoder { try next { $0 } }

  /// Decodes the next element, and moves on if that succeeds.
  private mutating func next<T>(_ decode: (ValueDecoder) throws -> T) throws -> T {
    guard !isAtEnd else {
      throw FieldCodingError(
        path: codingPath + [FieldKey(intValue: currentIndex)], reason: "the array has no more elements")
    }
    let value = try decode(ValueDecoder(elements[currentIndex], in: codingPath, at: .index(currentIndex)))
    currentIndex += 1
    return value
  }
}
