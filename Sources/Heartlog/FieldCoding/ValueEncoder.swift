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
