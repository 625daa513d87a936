/// The value of a field.
public enum FieldValue: Hashable, Sendable {
  /// Clears the field.
  case null
  /// True or false.
  case bool(Bool)
  /// A whole number.
  case int64(Int64)
  /// A finite number that `Int64(exactly:)` does not accept; all others are `int64`. Never -0.
  case double(Double)
  /// At most `Limits.valueBytesMax` bytes of UTF-8.
  case string(String)
  /// An object or an array as RFC 8785 text of at most `Limits.valueBytesMax` bytes.
  case json(CanonicalJSON)
  /// A value of a later format version, stored, shown and shipped unchanged. `tag` is 7...63.
  case unknown(tag: UInt8, bytes: [UInt8])

  /// Returns the value of a number: an `int64` if that is exact, otherwise a `double`; nil for NaN and infinity.
  public static func number(_ value: Double) -> FieldValue? {
    guard value.isFinite else { return nil }
    if let integer = Int64(exactly: value) { return .int64(integer) }
    return .double(value)
  }
}

/// A named value of an item.
public struct Field: Hashable, Sendable {
  /// 1 to `Limits.fieldNameBytesMax` bytes of UTF-8 without control characters. Names that start with `@` are reserved for the store.
  public let name: String
  /// The value; null clears the field.
  public let value: FieldValue
  /// Whether the write is quiet. A quiet write merges like any other but never opens a conflict.
  public let isQuiet: Bool

  /// Creates a field without checking it. Writing an invalid field throws.
  ///
  /// - Parameters:
  ///   - name: the name of the field.
  ///   - value: the value; null clears the field.
  ///   - isQuiet: whether the write never opens a conflict.
  public init(name: String, value: FieldValue, isQuiet: Bool = false) {
    self.name = name
    self.value = value
    self.isQuiet = isQuiet
  }
}

// Names, ids and values compare by bytes. `==` on strings treats canonically equivalent texts as equal, which would lose a write that only
// changes the normal form. Equal bytes have equal hashes, so the synthesized hashes are consistent.

extension FieldValue {
  public static func == (a: FieldValue, b: FieldValue) -> Bool {
    a.withBorrowed { a in b.withBorrowed { a.isSame(as: $0) } }
  }

  /// Whether the value clears a field.
  public var isNull: Bool { if case .null = self { true } else { false } }
}

extension Field {
  public static func == (a: Field, b: Field) -> Bool {
    a.isQuiet == b.isQuiet && a.name.hasSameBytes(as: b.name) && a.value == b.value
  }
}

extension FieldValue: CustomStringConvertible, CustomDebugStringConvertible {
  /// The value as JSON.
  public var description: String {
    if case .unknown(let tag, let bytes) = self { return "unknown(tag: \(tag), \(bytes.count) bytes)" }
    return jsonValue.jsonText
  }

  /// The same as the description.
  public var debugDescription: String { description }
}

extension Field: CustomStringConvertible, CustomDebugStringConvertible {
  /// The name and the value, as in `minutes: 90`.
  public var description: String { "\(name): \(value)\(isQuiet ? " (quiet)" : "")" }

  /// The same as the description.
  public var debugDescription: String { description }
}

/// A field's value, borrowed from its storage: no `FieldValue` is created.
///
/// Its bytes are valid as long as the storage that it borrows.
@frozen @usableFromInline package enum BorrowedValue {
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

  /// The value with the given tag. All tags are read here.
  ///
  /// - Parameters:
  /// - number: called for a whole number, and for the bits of a double.
  /// - text: called for a value that has bytes.
  @inlinable @inline(__always)
  package init<E: Error>(
    tag: UInt8, number: () throws(E) -> Int64, text: () throws(E) -> UnsafeRawBufferPointer
  ) throws(E) {
    switch tag {
    case ValueTag.null: self = .null
    case ValueTag.no: self = .bool(false)
    case ValueTag.yes: self = .bool(true)
    case ValueTag.int64: self = .int64(try number())
    case ValueTag.double: self = .double(Double(bitPattern: UInt64(bitPattern: try number())))
    case ValueTag.string: self = .string(try text())
    case ValueTag.json: self = .json(try text())
    default: self = .unknown(tag: tag, bytes: try text())
    }
  }

  /// The tag that the value is written with.
  package var tag: UInt8 {
    switch self {
    case .null: ValueTag.null
    case .bool(false): ValueTag.no
    case .bool(true): ValueTag.yes
    case .int64: ValueTag.int64
    case .double: ValueTag.double
    case .string: ValueTag.string
    case .json: ValueTag.json
    case .unknown(let tag, _): tag
    }
  }

  /// The bytes of a text, a nested value or an unknown value; nil for other values.
  @inline(__always)
  package var bytes: UnsafeRawBufferPointer? {
    switch self {
    case .null, .bool, .int64, .double: nil
    case .string(let bytes), .json(let bytes), .unknown(_, let bytes): bytes
    }
  }

  /// Whether both have the same type and the same bytes.
  @inline(__always)
  package func isSame(as other: BorrowedValue) -> Bool {
    switch (self, other) {
    case (.null, .null): return true
    case (.bool(let a), .bool(let b)): return a == b
    case (.int64(let a), .int64(let b)): return a == b
    case (.double(let a), .double(let b)): return a.bitPattern == b.bitPattern
    default:
      guard let mine = bytes, let others = other.bytes, tag == other.tag else { return false }
      return mine.hasSameBytes(as: others)
    }
  }

  /// The rule that the value breaks; nil if it is valid.
  @inline(__always)
  var problem: String? {
    switch self {
    case .null, .bool, .int64: return nil
    case .double(let value):
      if !value.isFinite { return "a number that is not finite" }
      return Int64(exactly: value) == nil ? nil : "a whole number as a double"
    case .string(let bytes), .json(let bytes): return Self.problem(ofByteCount: bytes.count)
    case .unknown(let tag, _):
      return ValueTag.unknown.contains(tag) ? nil : "a value of a later version with tag \(tag)"
    }
  }

  static func problem(ofByteCount count: Int) -> String? {
    count <= Limits.valueBytesMax ? nil : "a value of \(count) bytes, the most is \(Limits.valueBytesMax)"
  }
}

extension FieldValue {
  /// The value, borrowed until `body` returns.
  package func withBorrowed<R>(_ body: (BorrowedValue) throws -> R) rethrows -> R {
    switch self {
    case .null: return try body(.null)
    case .bool(let isTrue): return try body(.bool(isTrue))
    case .int64(let integer): return try body(.int64(integer))
    case .double(let number): return try body(.double(number))
    case .string(let text): return try text.withUTF8Bytes { try body(.string($0)) }
    case .json(let json): return try json.text.withUTF8Bytes { try body(.json($0)) }
    case .unknown(let tag, let bytes):
      return try bytes.withUnsafeBytes { try body(.unknown(tag: tag, bytes: $0)) }
    }
  }

  /// A copy of a value whose bytes are well-formed.
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
