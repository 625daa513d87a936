import HeartlogFormat

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
    tag = value.tag
    switch value {
    case .null, .bool: break
    case .int64(let integer): word = UInt64(bitPattern: integer)
    case .double(let number): word = number.bitPattern
    default: if let bytes = value.bytes { set(bytes, in: &texts) }
    }
  }

  private mutating func set(_ text: UnsafeRawBufferPointer, in texts: inout TextTable) {
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
    func value(_ text: UnsafeRawBufferPointer) -> BorrowedValue {
      BorrowedValue(tag: tag, number: { Int64(bitPattern: word) }, text: { text })
    }
    if tag >= ValueTag.string { return try withText(in: texts) { try body(value($0)) } }
    return try body(value(UnsafeRawBufferPointer(start: nil, count: 0)))
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
    withBorrowed(in: texts) { $0.isSame(as: other) }
  }
}
