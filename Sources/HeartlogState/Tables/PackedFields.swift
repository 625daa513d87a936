import HeartlogFormat

/// A field in packed form.
struct PackedField: BitwiseCopyable {
  /// A text that is not inline is stored as its offset after the last field.
  var value: StoredValue
  let name: FieldNameSlot
}

struct PackedFieldsHeader {
  let count: Int
  /// The names of all fields that the state knows.
  let names: FieldNames.Texts
}

/// The fields of one item in a single allocation, followed by the bytes of their texts. Immutable after creation.
final class PackedFields: ManagedBuffer<PackedFieldsHeader, PackedField> {
  /// Packs those of the given registers that hold a value; nil if none does.
  ///
  /// - Parameters:
  ///   - indices: the indices of the registers in `fields`.
  ///   - textBytesMax: the maximum total length of the texts. Lengths from a snapshot are not trusted beyond it.
  ///   - text: returns the bytes of a text by its name. A closure rather than the text table, to avoid reference counting.
  @inline(__always)
  static func make(
    of indices: some Collection<Int>, in fields: PagedReader<FieldRecord>, names: FieldNames.Texts,
    textBytesMax: Int,
    text: (_ name: UInt64, _ count: Int) -> UnsafeRawBufferPointer
  ) -> PackedFields? {
    var count = 0
    var textBytes = 0
    var isPossible = true
    for index in indices {
      let value = fields.read(index).pointee.value
      guard !value.isNull else { continue }
      count += 1
      if value.isNamed { textBytes += Int(value.length) }
      isPossible = isPossible && value.length <= Limits.valueBytesMax
    }
    guard count > 0 else { return nil }
    guard isPossible, textBytes <= textBytesMax else {
      // Asking for a text that cannot exist records the damage.
      _ = text(.max, 1)
      return nil
    }
    let stride = MemoryLayout<PackedField>.stride
    let room = count + (textBytes + stride - 1) / stride
    let made = unsafeDowncast(
      create(minimumCapacity: room) { _ in PackedFieldsHeader(count: count, names: names) },
      to: PackedFields.self)
    made.withUnsafeMutablePointerToElements { first in
      let behind = UnsafeMutableRawPointer(first + count)
      var next = first
      var used = 0
      // Texts that follow each other in their table, as those of an item do in a snapshot, are copied together.
      var run = (name: UInt64(0), count: 0)
      func copyRun() {
        let target = UnsafeMutableRawBufferPointer(start: behind + used - run.count, count: run.count)
        let texts = text(run.name, run.count)
        // Absent only if the snapshot is damaged; then the result is discarded.
        if texts.count == run.count {
          target.copyMemory(from: texts)
        } else {
          target.initializeMemory(as: UInt8.self, repeating: 0)
        }
      }
      for index in indices {
        let field = fields.read(index)
        let value = field.pointee.value
        guard !value.isNull else { continue }
        var packed = PackedField(value: value, name: field.pointee.name)
        if value.isNamed {
          if value.word != run.name &+ UInt64(run.count) {
            if run.count > 0 { copyRun() }
            run = (value.word, 0)
          }
          packed.value.word = UInt64(used)
          run.count += Int(value.length)
          used += Int(value.length)
        }
        next.initialize(to: packed)
        next += 1
      }
      if run.count > 0 { copyRun() }
      assert(next == first + count && used == textBytes, "every field and text is packed")
    }
    return made
  }

  var count: Int { withUnsafeMutablePointerToHeader { $0.pointee.count } }

  /// Returns the name of a field; empty for a number without a name, which only a malformed snapshot contains.
  func name(_ index: Int) -> String {
    withUnsafeMutablePointers { header, fields in
      header.pointee.names.strings[checked: fields[index].name.index] ?? ""
    }
  }

  /// Returns the index of the field with a name, compared by bytes; nil if there is none.
  func index(of name: String) -> Int? {
    withUnsafeMutablePointers { header, fields in
      (0..<header.pointee.count).first { header.pointee.names.isName(fields[$0].name, name) }
    }
  }

  /// Whether all names that the state knows are ASCII, so that no two of them can be canonically equivalent.
  var namesAreASCII: Bool { withUnsafeMutablePointerToHeader { $0.pointee.names.areASCII } }

  func value(_ index: Int) -> FieldValue { withBorrowedValue(at: index) { FieldValue(copying: $0) } }

  /// Passes the value of a field to `body`, borrowed for the duration of the call.
  @inline(__always)
  func withBorrowedValue<R>(at index: Int, _ body: (BorrowedValue) throws -> R) rethrows -> R {
    try withUnsafeMutablePointers { header, fields in
      try fields[index].value.withBorrowed(
        in: PackedTexts(start: UnsafeRawPointer(fields + header.pointee.count)), body)
    }
  }
}

/// The texts of packed fields. Valid while the packed fields live.
private struct PackedTexts: TextSource {
  let start: UnsafeRawPointer

  func bytes(_ name: UInt64, count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: start + Int(name), count: count)
  }
}

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
}

extension StoredValue {
  init(_ value: BorrowedValue, in texts: inout TextTable) {
    self.init()
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

/// A record that a snapshot has, in place or packed. It contains only integers, so that any bytes are a valid record.
protocol MappedRecord: BitwiseCopyable {
  /// All stored integers with their offsets in the format.
  static var layout: [MappedInteger<Self>] { get }
  /// The distance from one record to the next in the format.
  static var layoutBytes: Int { get }
  /// Whether a snapshot has the records packed. They have whole words then.
  static var isPacked: Bool { get }
}

extension MappedRecord {
  /// The integers that a packed page has.
  static var columns: [PackedColumn] {
    layout.map { PackedColumn(offset: $0.offset, byteCount: $0.byteCount) }
  }

  static var isPacked: Bool { false }

  /// Whether the compiler's layout of the record matches the format.
  static var isLaidOutAsInFormat: Bool {
    MemoryLayout<Self>.stride == layoutBytes && MemoryLayout<Self>.alignment <= SnapshotLayout.alignment
      && layout.allSatisfy { MemoryLayout<Self>.offset(of: $0.path()) == $0.offset }
      && zip(layout, layout.dropFirst()).allSatisfy { $0.end <= $1.offset }
      && layout.last.map(\.end) == MemoryLayout<Self>.size
  }
}

/// An integer of a mapped record and its offset in the format.
struct MappedInteger<Record> {
  /// Only evaluated where the layout is checked: making a key path takes a microsecond.
  let path: () -> PartialKeyPath<Record>
  let offset: Int
  fileprivate let byteCount: Int
  fileprivate var end: Int { offset + byteCount }

  init<Value: FixedWidthInteger>(_ path: @autoclosure @escaping () -> KeyPath<Record, Value>, at offset: Int)
  {
    self.path = { path() }
    self.offset = offset
    byteCount = MemoryLayout<Value>.size
  }
}
