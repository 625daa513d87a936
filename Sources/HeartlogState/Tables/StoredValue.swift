import HeartlogEvents

/// Holds the texts that values refer to by name.
protocol TextSource {
  /// Returns the bytes of a text, valid while the source lives; empty if there is no such text.
  func bytes(_ name: UInt64, count: Int) -> UnsafeRawBufferPointer
}

/// The value of a register as stored in a table. Numbers and short texts are inline; longer texts are stored by their name in a
/// `TextTable`.
///
/// All zeros is null.
struct StoredValue: BitwiseCopyable {
  /// Texts up to this length are stored in `word`.
  static let inlineBytesMax: UInt32 = 8

  var word: UInt64 = 0
  /// The length of a text in bytes.
  var length: UInt32 = 0
  /// The tag, as in docs/format.md.
  var tag: UInt8 = ValueTag.null

  var isNull: Bool { tag == ValueTag.null }
  /// Whether `word` is the name of a text.
  var isNamed: Bool { tag >= ValueTag.string && length > Self.inlineBytesMax }

  /// Creates a null.
  init() {}

  init(word: UInt64, length: UInt32, tag: UInt8) {
    self.word = word
    self.length = length
    self.tag = tag
  }

  init(_ value: BorrowedValue, in texts: inout TextTable) {
    switch value {
    case .null: break
    case .bool(let isTrue): tag = isTrue ? ValueTag.yes : ValueTag.no
    case .int64(let integer):
      tag = ValueTag.int64
      word = UInt64(bitPattern: integer)
    case .double(let number):
      tag = ValueTag.double
      word = number.bitPattern
    case .string(let text): set(ValueTag.string, text, in: &texts)
    case .json(let text): set(ValueTag.json, text, in: &texts)
    case .unknown(let tag, let bytes): set(tag, bytes, in: &texts)
    }
  }

  private mutating func set(_ tag: UInt8, _ text: UnsafeRawBufferPointer, in texts: inout TextTable) {
    self.tag = tag
    length = UInt32(text.count)
    if length > Self.inlineBytesMax {
      word = texts.append(text)
    } else {
      withUnsafeMutableBytes(of: &word) { $0.copyMemory(from: text) }
    }
  }

  /// Passes the value to `body`, borrowed for the duration of the call.
  @inline(__always)
  func withBorrowed<R>(in texts: some TextSource, _ body: (BorrowedValue) throws -> R) rethrows -> R {
    switch tag {
    case ValueTag.null: return try body(.null)
    case ValueTag.no: return try body(.bool(false))
    case ValueTag.yes: return try body(.bool(true))
    case ValueTag.int64: return try body(.int64(Int64(bitPattern: word)))
    case ValueTag.double: return try body(.double(Double(bitPattern: word)))
    default:
      return try withText(in: texts) { text in
        switch tag {
        case ValueTag.string: try body(.string(text))
        case ValueTag.json: try body(.json(text))
        default: try body(.unknown(tag: tag, bytes: text))
        }
      }
    }
  }

  /// Passes the bytes of a text to `body`, for the duration of the call.
  @inline(__always)
  func withText<R>(in texts: some TextSource, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    if length > Self.inlineBytesMax { return try body(texts.bytes(word, count: Int(length))) }
    return try withUnsafeBytes(of: word) { try body(UnsafeRawBufferPointer(rebasing: $0[..<Int(length)])) }
  }

  /// Returns a copy of the value.
  func value(in texts: some TextSource) -> FieldValue { withBorrowed(in: texts) { FieldValue(copying: $0) } }

  /// Returns whether it equals a value, byte by byte.
  func equals(_ other: BorrowedValue, in texts: TextTable) -> Bool {
    withBorrowed(in: texts) { value in
      switch (value, other) {
      case (.null, .null): true
      case (.bool(let a), .bool(let b)): a == b
      case (.int64(let a), .int64(let b)): a == b
      case (.double(let a), .double(let b)): a.bitPattern == b.bitPattern
      case (.string(let a), .string(let b)), (.json(let a), .json(let b)): a.hasSameBytes(as: b)
      case (.unknown(let a, let bytesOfA), .unknown(let b, let bytesOfB)):
        a == b && bytesOfA.hasSameBytes(as: bytesOfB)
      default: false
      }
    }
  }
}
