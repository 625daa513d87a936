/// Reads the columns of a block. Each column is decompressed on access.
///
/// Must not outlive the bytes that it reads. Results are valid until the next call.
struct ColumnReader: ~Copyable {
  private struct Stored {
    let key: ColumnKey
    let bytes: UnsafeRawBufferPointer
    /// The size before compression.
    let byteCount: Int
    let isCompressed: Bool
  }

  private let columns: [Stored]
  private var taken: [Bool]
  /// A buffer large enough for any of the compressed columns.
  private let scratch: UnsafeMutableRawBufferPointer
  /// A buffer for the numbers of a column.
  private var numbers: UnsafeMutableBufferPointer<Int64>

  /// LZ4 expands one byte to at most 255.
  private static let expansionMax = 255

  /// Reads the directory of columns and the columns, which must extend to the end of the bytes.
  init(_ reader: inout ByteReader) throws(MalformedError) {
    // A column takes at least an id, an index, a flag, a length and a byte.
    let count = try reader.count(atMost: reader.remaining / 5, "columns of a block")
    var columns: [Stored] = []
    columns.reserveCapacity(count)
    var byteCount = 0
    var scratchByteCount = 0
    for _ in 0..<count {
      let key = ColumnKey(try reader.varint(), try reader.varint())
      if let last = columns.last {
        guard last.key < key else { throw MalformedError("columns that are not sorted") }
      }
      let isCompressed = try reader.u8()
      guard isCompressed <= 1 else { throw MalformedError("a column stored in way \(isCompressed)") }
      let length = try reader.count(
        atMost: Limits.blockColumnsBytesMax - byteCount, "bytes of a block's columns")
      guard length > 0 else { throw MalformedError("an empty column") }
      byteCount += length
      let bytes: UnsafeRawBufferPointer
      if isCompressed == 1 {
        bytes = try reader.lengthAndBytes()
        guard bytes.count < length, length <= bytes.count * Self.expansionMax else {
          throw MalformedError("a column of \(length) bytes compressed to \(bytes.count)")
        }
        scratchByteCount = max(scratchByteCount, length)
      } else {
        bytes = try reader.take(length)
      }
      columns.append(Stored(key: key, bytes: bytes, byteCount: length, isCompressed: isCompressed == 1))
    }
    try reader.end()
    self.columns = columns
    taken = [Bool](repeating: false, count: columns.count)
    scratch = .allocate(byteCount: scratchByteCount, alignment: 8)
    numbers = .allocate(capacity: 0)
  }

  deinit {
    scratch.deallocate()
    numbers.deallocate()
  }

  /// The size of all columns before compression: at most `Limits.blockColumnsBytesMax`.
  var byteCount: Int { columns.reduce(0) { $0 + $1.byteCount } }

  /// Throws if a column was never read, because nothing in the block refers to it.
  func end() throws(MalformedError) {
    guard let index = taken.firstIndex(of: false) else { return }
    throw MalformedError("a column \(columns[index].key.id) that nothing refers to")
  }

  // MARK: - Columns of numbers

  /// Returns the numbers of a column, valid until the next call.
  mutating func ints(
    _ key: ColumnKey, count: Int
  ) throws(MalformedError) -> UnsafeMutableBufferPointer<Int64> {
    let numbers = room(for: count)
    try ints(key, into: numbers)
    return numbers
  }

  /// Fills `output` with numbers of a column. Reads no column if `output` is empty.
  mutating func ints(
    _ key: ColumnKey, into output: UnsafeMutableBufferPointer<Int64>
  ) throws(MalformedError) {
    guard !output.isEmpty else { return }
    var reader = try need(key)
    try IntsColumn.decode(from: &reader, into: output)
    try reader.end()
  }

  /// Returns the single value of a column in constant encoding, and 0 if `count` is 0. Returns nil for any other column, which can still be
  /// read.
  mutating func constant(_ key: ColumnKey, count: Int) throws(MalformedError) -> Int64? {
    guard count > 0 else { return 0 }
    guard let index = index(of: key), !columns[index].isCompressed else { return nil }
    var reader = ByteReader(columns[index].bytes)
    guard let constant = try IntsColumn.decodeConstant(from: &reader) else { return nil }
    try reader.end()
    taken[index] = true
    return constant
  }

  /// Returns the numbers of a column as an array. The caller must limit the count.
  mutating func array(_ key: ColumnKey, count: Int) throws(MalformedError) -> [Int64] {
    try Array(count: count) { (output) throws(MalformedError) in try ints(key, into: output) }
  }

  mutating func doubles(
    _ key: ColumnKey, into output: UnsafeMutableBufferPointer<Int64>
  ) throws(MalformedError) {
    guard !output.isEmpty else { return }
    var reader = try need(key)
    try DoublesColumn.decode(from: &reader, into: output)
    try reader.end()
  }

  mutating func kinds(_ key: ColumnKey, count: Int) throws(MalformedError) -> [EventHeader] {
    guard count > 0 else { return [] }
    let indices = room(for: count)
    var reader = try need(key)
    let values = try KindsColumn.decode(from: &reader, indices: indices)
    try reader.end()
    return values
  }

  private mutating func room(for count: Int) -> UnsafeMutableBufferPointer<Int64> {
    if numbers.count < count {
      numbers.deallocate()
      numbers = .allocate(capacity: count)
    }
    return UnsafeMutableBufferPointer(rebasing: numbers[..<count])
  }

  // MARK: - Columns of texts

  /// Fills `output` with texts of a column, as slices of `texts`.
  mutating func texts(
    _ key: ColumnKey, into output: UnsafeMutableBufferPointer<Int64>, texts: inout TextBuilder
  ) throws(MalformedError) -> TextTraits {
    guard !output.isEmpty else { return TextTraits(isPrintable: true) }
    var reader = try need(key)
    let traits = try StringsColumn.decode(from: &reader, into: output, texts: &texts)
    try reader.end()
    return traits
  }

  /// Fills `output` with values that are a length and bytes, as slices of `texts`.
  mutating func opaque(
    _ key: ColumnKey, into output: UnsafeMutableBufferPointer<Int64>, texts: inout TextBuilder
  ) throws(MalformedError) -> TextTraits {
    var traits = TextTraits(isPrintable: false)
    guard !output.isEmpty else { return traits }
    var reader = try need(key)
    try texts.reserve(reader.remaining)
    for index in output.indices {
      let bytes = try reader.lengthAndBytes()
      output[index] = TextSlice(offset: texts.place(bytes), count: bytes.count).word
      traits.note(bytes.count)
    }
    try reader.end()
    return traits
  }

  /// Returns a table of `count` texts. The column repeats the count.
  mutating func table(_ key: ColumnKey, count: Int) throws(MalformedError) -> [String] {
    guard count > 0 else { return [] }
    var reader = try need(key)
    guard try reader.varint() == UInt64(count) else {
      throw MalformedError("a table \(key.id) that has not \(count) texts")
    }
    var texts = TextBuilder(capacity: 0)
    let slices = room(for: count)
    _ = try StringsColumn.decode(from: &reader, into: slices, texts: &texts)
    try reader.end()
    return slices.map { String(decoding: texts.bytes(TextSlice(word: $0)), as: UTF8.self) }
  }

  // MARK: - Other columns

  /// Returns `count` values, each read by `read`, which must consume at least one byte.
  mutating func opaque<Value>(
    _ key: ColumnKey, count: Int, _ read: (inout ByteReader) throws(MalformedError) -> Value
  ) throws(MalformedError) -> [Value] {
    guard count > 0 else { return [] }
    var reader = try need(key)
    guard count <= reader.remaining else { throw .endOfBytes }
    var values: [Value] = []
    values.reserveCapacity(count)
    for _ in 0..<count { values.append(try read(&reader)) }
    try reader.end()
    return values
  }

  // MARK: - Bytes

  private func index(of key: ColumnKey) -> Int? {
    let index = columns.partitionPoint { $0.key >= key }
    return index < columns.count && columns[index].key == key && !taken[index] ? index : nil
  }

  /// Returns the bytes of a column, valid until the next call.
  private mutating func need(_ key: ColumnKey) throws(MalformedError) -> ByteReader {
    guard let index = index(of: key) else { throw MalformedError("a block without its column \(key.id)") }
    taken[index] = true
    let column = columns[index]
    guard column.isCompressed else { return ByteReader(column.bytes) }
    assert(column.byteCount <= scratch.count, "the buffer is large enough for any compressed column")
    let output = UnsafeMutableRawBufferPointer(rebasing: scratch[..<column.byteCount])
    try LZ4.decompress(column.bytes, into: output)
    return ByteReader(UnsafeRawBufferPointer(output))
  }
}

extension Array where Element: BitwiseCopyable {
  /// Creates an array of `count` uninitialized elements, all of which `fill` must write.
  init(
    count: Int, filledBy fill: (UnsafeMutableBufferPointer<Element>) throws(MalformedError) -> Void
  ) throws(MalformedError) {
    var failure: MalformedError?
    self.init(unsafeUninitializedCapacity: count) { buffer, initializedCount in
      do throws(MalformedError) {
        try fill(UnsafeMutableBufferPointer(rebasing: buffer[..<count]))
        initializedCount = count
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
  }
}
