/// A JSON value as in RFC 8259, with integers separate from other numbers.
///
/// Two values are equal if their bytes would be: strings are not normalised, and the order of members matters.
public enum JSONValue: Hashable, Sendable {
  /// The literal `null`.
  case null
  /// The literals `true` and `false`.
  case bool(Bool)
  /// A number that `Int64(exactly:)` accepts, however it was written: 1, 1.0 and 1e0 are the same.
  case int64(Int64)
  /// A finite number that `Int64(exactly:)` does not accept, as `JSONValue.number` ensures.
  case double(Double)
  /// A text, not normalised.
  case string(String)
  /// The elements in order.
  case array([JSONValue])
  /// The members in their original order, without duplicate names.
  case object([JSONMember])

  /// Returns the value of a number: an `int64` if that is exact, otherwise a `double`; nil for NaN and infinity.
  public static func number(_ value: Double) -> JSONValue? { FieldValue.number(value)?.jsonValue }

  public static func == (a: JSONValue, b: JSONValue) -> Bool {
    switch (a, b) {
    case (.null, .null): true
    case (.bool(let a), .bool(let b)): a == b
    case (.int64(let a), .int64(let b)): a == b
    case (.double(let a), .double(let b)): a == b
    case (.string(let a), .string(let b)): a.utf8.elementsEqual(b.utf8)
    case (.array(let a), .array(let b)): a == b
    case (.object(let a), .object(let b)): a == b
    default: false
    }
  }

  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .bool(let value): hasher.combine(value)
    case .int64(let value): hasher.combine(value)
    case .double(let value): hasher.combine(value)
    case .string(let value): UTF8Key(value).hash(into: &hasher)
    case .array(let values): hasher.combine(values)
    case .object(let members): hasher.combine(members)
    }
  }
}

/// A name and its value in a JSON object.
public struct JSONMember: Hashable, Sendable {
  /// The name, without quotation marks and escapes.
  public let name: String
  /// The value.
  public let value: JSONValue

  /// Creates a member.
  ///
  /// - Parameters:
  ///   - name: the name, without quotation marks and escapes.
  ///   - value: the value.
  public init(_ name: String, _ value: JSONValue) {
    self.name = name
    self.value = value
  }

  public static func == (a: JSONMember, b: JSONMember) -> Bool {
    a.name.utf8.elementsEqual(b.name.utf8) && a.value == b.value
  }

  public func hash(into hasher: inout Hasher) {
    UTF8Key(name).hash(into: &hasher)
    value.hash(into: &hasher)
  }
}

extension JSONValue {
  /// The value of an object's member; nil if there is none, or if this is not an object.
  public subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { UTF8Key($0.name) == UTF8Key(name) }?.value
  }

  /// The text of a string; nil for anything else.
  public var string: String? { if case .string(let value) = self { value } else { nil } }

  /// The value of a bool; nil for anything else.
  public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

  /// The value of an integer; nil for anything else.
  public var int64: Int64? { if case .int64(let value) = self { value } else { nil } }

  /// The value of a number, with integers as the nearest double; nil for anything else.
  public var number: Double? {
    switch self {
    case .int64(let value): Double(value)
    case .double(let value): value
    default: nil
    }
  }

  /// The elements of an array; nil for anything else.
  public var array: [JSONValue]? { if case .array(let values) = self { values } else { nil } }

  /// The members of an object; nil for anything else.
  public var object: [JSONMember]? { if case .object(let members) = self { members } else { nil } }

  /// Whether it is `null`.
  public var isNull: Bool { if case .null = self { true } else { false } }

  /// The kind of the value in words, such as "a string".
  public var kind: String {
    switch self {
    case .null: "null"
    case .bool: "a bool"
    case .int64: "an integer"
    case .double: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}

extension FieldValue {
  /// Creates the value of a field from JSON. Scalars stay as they are; arrays and objects get their canonical form.
  ///
  /// - Throws: `MalformedError` for a string or a nested value beyond its limits, and for values that the canonical form does not allow.
  package init(_ json: JSONValue) throws(MalformedError) {
    switch json {
    case .null: self = .null
    case .bool(let value): self = .bool(value)
    case .int64(let value): self = .int64(value)
    case .double(let value):
      guard let number = FieldValue.number(value) else { throw MalformedError("a number that is not finite") }
      self = number
    case .string(let text):
      guard text.utf8.count <= Limits.valueBytesMax else {
        throw MalformedError("a string of \(text.utf8.count) bytes, the most is \(Limits.valueBytesMax)")
      }
      self = .string(text)
    case .array, .object: self = .json(try CanonicalJSON(json))
    }
  }

  /// The error for an integer beyond Int64 that no double represents exactly.
  package static func refusal(ofInteger text: String) -> MalformedError {
    MalformedError("the integer \(text), which neither 64 bits nor a double hold exactly; as text it is kept")
  }

  /// The value as JSON. A value of a later format version becomes an object with its tag as `unknownTag` and its bytes in hexadecimal as
  /// `unknownBytes`.
  package var jsonValue: JSONValue {
    switch self {
    case .null: .null
    case .bool(let value): .bool(value)
    case .int64(let value): .int64(value)
    case .double(let value): .double(value)
    case .string(let value): .string(value)
    case .json(let nested): nested.value
    case .unknown(let tag, let bytes):
      .object([
        JSONMember("unknownTag", .int64(Int64(tag))),
        JSONMember("unknownBytes", .string(Hexadecimal.text(bytes))),
      ])
    }
  }
}

extension Field {
  /// Creates a field from a member of a JSON object.
  ///
  /// - Throws: `MalformedError` that names the field, if `FieldValue` rejects the value.
  package init(_ member: JSONMember) throws(MalformedError) {
    do throws(MalformedError) {
      self.init(name: member.name, value: try FieldValue(member.value))
    } catch {
      throw MalformedError("field \"\(member.name)\": \(error.reason)")
    }
  }
}
