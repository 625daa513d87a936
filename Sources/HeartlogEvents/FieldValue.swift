/// The value of a field.
public enum FieldValue: Hashable, Sendable {
  /// The value that clears a field.
  case null
  /// True or false.
  case bool(Bool)
  /// A whole number.
  case int64(Int64)
  /// Finite, never -0, and never a number that `Int64(exactly:)` takes: those are `int64`.
  case double(Double)
  /// At most `Limits.valueBytesMax` bytes of UTF-8.
  case string(String)
  /// An object or an array as its RFC 8785 text, at most `Limits.valueBytesMax` bytes.
  case json(CanonicalJSON)
  /// A value of a later format version: kept, shown and shipped as it came. `tag` is 7...63.
  case unknown(tag: UInt8, bytes: [UInt8])

  /// The value of a number: an `int64` where it is one exactly, else a `double`; nil for NaN and infinity.
  public static func number(_ value: Double) -> FieldValue? {
    guard value.isFinite else { return nil }
    if let integer = Int64(exactly: value) { return .int64(integer) }
    return .double(value)
  }
}

/// A named value of an item.
public struct Field: Hashable, Sendable {
  /// 1 to `Limits.fieldNameBytesMax` bytes of UTF-8 without control characters. A name that starts with `@`
  /// is the store's own.
  public let name: String
  /// What the field holds; null clears it.
  public let value: FieldValue
  /// A quiet write merges like any other and never opens a conflict.
  public let isQuiet: Bool

  /// A field of that name. What breaks a rule is refused where the field is written.
  public init(name: String, value: FieldValue, isQuiet: Bool = false) {
    self.name = name
    self.value = value
    self.isQuiet = isQuiet
  }
}

// Names, ids and values are equal where their bytes are. `==` on strings would take canonically equivalent texts
// for equal, and a write that only changes the normal form would be lost. Equal bytes hash alike, so that the
// synthesized hashes will do.

extension FieldValue {
  public static func == (a: FieldValue, b: FieldValue) -> Bool {
    switch (a, b) {
    case (.null, .null): true
    case (.bool(let a), .bool(let b)): a == b
    case (.int64(let a), .int64(let b)): a == b
    case (.double(let a), .double(let b)): a.bitPattern == b.bitPattern
    case (.string(let a), .string(let b)): a.hasSameBytes(as: b)
    case (.json(let a), .json(let b)): a.text.hasSameBytes(as: b.text)
    case (.unknown(let a, let bytesOfA), .unknown(let b, let bytesOfB)): a == b && bytesOfA == bytesOfB
    default: false
    }
  }

  /// Whether it is the value that clears a field.
  public var isNull: Bool { if case .null = self { true } else { false } }
}

extension Field {
  public static func == (a: Field, b: Field) -> Bool {
    a.isQuiet == b.isQuiet && a.name.hasSameBytes(as: b.name) && a.value == b.value
  }
}
