/// A field's value as it lies in somebody's memory, for those who make no `FieldValue` of it.
///
/// Its bytes are valid as long as what they were borrowed from.
package enum BorrowedValue {
  case null
  case bool(Bool)
  case int64(Int64)
  case double(Double)
  /// UTF-8.
  case string(UnsafeRawBufferPointer)
  /// RFC 8785 text.
  case json(UnsafeRawBufferPointer)
  /// A value of a later format version.
  case unknown(tag: UInt8, bytes: UnsafeRawBufferPointer)
}

extension FieldValue {
  /// The value, borrowed for the length of the call.
  package func withBorrowed<R>(_ body: (BorrowedValue) throws -> R) rethrows -> R {
    switch self {
    case .null: return try body(.null)
    case .bool(let isTrue): return try body(.bool(isTrue))
    case .int64(let integer): return try body(.int64(integer))
    case .double(let number): return try body(.double(number))
    case .string(var text): return try text.withUTF8 { try body(.string(UnsafeRawBufferPointer($0))) }
    case .json(let json):
      var text = json.text
      return try text.withUTF8 { try body(.json(UnsafeRawBufferPointer($0))) }
    case .unknown(let tag, let bytes):
      return try bytes.withUnsafeBytes { try body(.unknown(tag: tag, bytes: $0)) }
    }
  }

  /// A value of its own, from one whose bytes are well-formed.
  package init(copying value: BorrowedValue) {
    switch value {
    case .null: self = .null
    case .bool(let isTrue): self = .bool(isTrue)
    case .int64(let integer): self = .int64(integer)
    case .double(let number): self = .double(number)
    case .string(let bytes): self = .string(String(decoding: bytes, as: UTF8.self))
    case .json(let bytes): self = .json(CanonicalJSON(checked: String(decoding: bytes, as: UTF8.self)))
    case .unknown(let tag, let bytes): self = .unknown(tag: tag, bytes: Array(bytes))
    }
  }
}
