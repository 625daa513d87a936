import HeartlogEvents

/// Where the texts lie that values name.
protocol TextSource {
  /// The bytes of a text, as long as the source lives; none where there is no such text.
  func bytes(_ name: UInt64, count: Int) -> UnsafeRawBufferPointer
}

/// The value of a register as tables hold it: numbers and short texts in place, longer ones by their name in a `TextTable`.
///
/// Zeros are null.
struct StoredValue: BitwiseCopyable {
  /// Texts up to here lie in `word`.
  static let inlineBytesMax: UInt32 = 8

  var word: UInt64 = 0
  /// Of a text, its bytes.
  var length: UInt32 = 0
  /// As in docs/format.md.
  var tag: UInt8 = ValueTag.null

  var isNull: Bool { tag == ValueTag.null }
  /// Whether `word` names a text.
  var isNamed: Bool { tag >= ValueTag.string && length > Self.inlineBytesMax }

  /// A value that takes no text.
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

  /// The value, borrowed for the length of the call.
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

  /// The bytes of a text, for the length of the call.
  @inline(__always)
  func withText<R>(in texts: some TextSource, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    if length > Self.inlineBytesMax { return try body(texts.bytes(word, count: Int(length))) }
    return try withUnsafeBytes(of: word) { try body(UnsafeRawBufferPointer(rebasing: $0[..<Int(length)])) }
  }

  /// A value of its own.
  func value(in texts: some TextSource) -> FieldValue { withBorrowed(in: texts) { FieldValue(copying: $0) } }

  /// Whether it is that value.
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
