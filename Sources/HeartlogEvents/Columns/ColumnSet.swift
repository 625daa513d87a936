/// The columns of a block that is being written. Columns without values are left out.
struct ColumnSet {
  private(set) var columns: [(key: ColumnKey, bytes: [UInt8])] = []

  mutating func add(_ key: ColumnKey, ints: [Int64]) {
    add(key, isEmpty: ints.isEmpty) { IntsColumn.encode(ints, to: &$0) }
  }

  mutating func add(_ key: ColumnKey, doubles: [Double]) {
    add(key, isEmpty: doubles.isEmpty) { DoublesColumn.encode(doubles, to: &$0) }
  }

  mutating func add(_ key: ColumnKey, texts: Texts) {
    add(key, isEmpty: texts.isEmpty) { StringsColumn.encode(texts, to: &$0) }
  }

  /// Adds a table. It includes its count, which no other column provides.
  mutating func add(_ key: ColumnKey, table: [String]) {
    var texts = Texts()
    for text in table { texts.append(text) }
    add(key, isEmpty: texts.isEmpty) {
      $0.varint(texts.count)
      StringsColumn.encode(texts, to: &$0)
    }
  }

  mutating func add(_ key: ColumnKey, kinds: [UInt8]) {
    add(key, isEmpty: kinds.isEmpty) { KindsColumn.encode(kinds, to: &$0) }
  }

  mutating func add(_ key: ColumnKey, opaque: ByteWriter) {
    add(key, isEmpty: opaque.bytes.isEmpty) { $0.raw(opaque.bytes) }
  }

  private mutating func add(_ key: ColumnKey, isEmpty: Bool, _ write: (inout ByteWriter) -> Void) {
    guard !isEmpty else { return }
    var writer = ByteWriter()
    write(&writer)
    columns.append((key, writer.bytes))
  }

  /// The size of all columns before compression.
  var byteCount: Int { columns.reduce(0) { $0 + $1.bytes.count } }

  /// Writes the columns, sorted by key. If `compressed`, applies LZ4-HC to each column that it makes smaller.
  func write(to writer: inout ByteWriter, compressed: Bool) {
    writer.varint(columns.count)
    let compressor = compressed ? LZ4.HighCompressor() : nil
    for (key, bytes) in columns.sorted(by: { $0.key < $1.key }) {
      writer.varint(key.id)
      writer.varint(key.index)
      let packed = bytes.withUnsafeBytes { compressor?.compress($0) }
      if let packed, ByteWriter.lengthAndBytesByteCount(packed.count) < bytes.count {
        writer.u8(1)
        writer.varint(bytes.count)
        writer.lengthAndBytes(packed)
      } else {
        writer.u8(0)
        writer.lengthAndBytes(bytes)
      }
    }
  }
}
