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
