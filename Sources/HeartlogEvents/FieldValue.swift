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
