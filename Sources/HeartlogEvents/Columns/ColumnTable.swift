/// The columns of a block that is being read. Each is decompressed when it is asked for.
///
/// It must not outlive the bytes that it was read from, and what it hands out must not outlive it.
struct ColumnTable: ~Copyable {
  private struct Stored {
    let key: ColumnKey
    let bytes: UnsafeRawBufferPointer
    /// Where in the arena a compressed column goes; nil for one that stands as it is.
    let place: Range<Int>?
  }

  private let columns: [Stored]
  private var taken: [Bool]
  /// Room for all compressed columns. Columns have their own parts of it.
  private let arena: UnsafeMutableRawBufferPointer

  /// LZ4 makes at most 255 bytes of one.
  private static let expansionMax = 255

  /// Reads the directory of columns up to its end, which must be the end of the bytes.
  init(_ reader: inout ByteReader) throws(MalformedError) {
    // A column has at least an id, an index, a flag, a length and a byte.
    let count = try reader.count(atMost: reader.remaining / 5, "columns of a block")
    var columns: [Stored] = []
    columns.reserveCapacity(count)
    var byteCount = 0
    var arenaByteCount = 0
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
      if isCompressed == 1 {
        let bytes = try reader.lengthAndBytes()
        guard bytes.count < length, length <= bytes.count * Self.expansionMax else {
          throw MalformedError("a column of \(length) bytes compressed to \(bytes.count)")
        }
        columns.append(Stored(key: key, bytes: bytes, place: arenaByteCount..<arenaByteCount + length))
        arenaByteCount += length
      } else {
        columns.append(Stored(key: key, bytes: try reader.take(length), place: nil))
      }
    }
    try reader.end()
    self.columns = columns
    taken = [Bool](repeating: false, count: columns.count)
    arena = .allocate(byteCount: arenaByteCount, alignment: 8)
  }

  deinit { arena.deallocate() }

  /// The bytes of a column; nil where the block has none of that key.
  mutating func take(_ key: ColumnKey) throws(MalformedError) -> ByteReader? {
    let place = columns.partitionPoint { $0.key >= key }
    guard place < columns.count, columns[place].key == key, !taken[place] else { return nil }
    taken[place] = true
    let column = columns[place]
    guard let target = column.place else { return ByteReader(column.bytes) }
    let output = UnsafeMutableRawBufferPointer(rebasing: arena[target])
    try LZ4.decompress(column.bytes, into: output)
    return ByteReader(UnsafeRawBufferPointer(output))
  }

  /// Throws where a column was never asked for: nothing in the block refers to it.
  func end() throws(MalformedError) {
    guard let place = taken.firstIndex(of: false) else { return }
    throw MalformedError("a column \(columns[place].key.id) that nothing refers to")
  }
}

// Columns by what they hold. Each has exactly as many values as the block's other columns say, and is absent
// where that is none.
extension ColumnTable {
  mutating func ints(_ key: ColumnKey, count: Int) throws(MalformedError) -> [Int64] {
    guard count > 0 else { return [] }
    var reader = try need(key)
    let values = try IntsColumn.decode(from: &reader, count: count)
    try reader.end()
    return values
  }

  mutating func doubles(_ key: ColumnKey, count: Int) throws(MalformedError) -> [Double] {
    guard count > 0 else { return [] }
    var reader = try need(key)
    let values = try DoublesColumn.decode(from: &reader, count: count)
    try reader.end()
    return values
  }

  mutating func strings(_ key: ColumnKey, count: Int) throws(MalformedError) -> [String] {
    guard count > 0 else { return [] }
    var reader = try need(key)
    let values = try StringsColumn.decode(from: &reader, count: count)
    try reader.end()
    return values
  }

  /// A table of `count` texts, which repeats its count.
  mutating func table(_ key: ColumnKey, count: Int) throws(MalformedError) -> [String] {
    guard count > 0 else { return [] }
    var reader = try need(key)
    guard try reader.varint() == UInt64(count) else {
      throw MalformedError("a table \(key.id) that has not \(count) texts")
    }
    let values = try StringsColumn.decode(from: &reader, count: count)
    try reader.end()
    return values
  }

  mutating func kinds(_ key: ColumnKey, count: Int) throws(MalformedError) -> [EventHead] {
    guard count > 0 else { return [] }
    var reader = try need(key)
    let values = try KindsColumn.decode(from: &reader, count: count)
    try reader.end()
    return values
  }

  /// `count` values, each read by `read`, which must take at least one byte.
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

  private mutating func need(_ key: ColumnKey) throws(MalformedError) -> ByteReader {
    guard let reader = try take(key) else { throw MalformedError("a block without its column \(key.id)") }
    return reader
  }
}
