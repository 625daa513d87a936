/// The columns of a block that is being written. Columns without values are left out.
struct ColumnSet {
  private(set) var columns: [(key: ColumnKey, bytes: [UInt8])] = []

  mutating func add<Value>(
    _ key: ColumnKey, _ values: [Value], by encode: ([Value], inout ByteWriter) -> Void
  ) {
    add(key, isEmpty: values.isEmpty) { encode(values, &$0) }
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

  mutating func add(_ key: ColumnKey, opaque: ByteWriter) {
    add(key, isEmpty: opaque.bytes.isEmpty) { $0.raw(opaque.bytes) }
  }

  private mutating func add(_ key: ColumnKey, isEmpty: Bool, _ write: (inout ByteWriter) -> Void) {
    guard !isEmpty else { return }
    var writer = ByteWriter()
    write(&writer)
    assert(!writer.bytes.isEmpty, "a column has a byte")
    columns.append((key, writer.bytes))
  }

  /// The size of all columns before compression.
  var byteCount: Int { columns.reduce(0) { $0 + $1.bytes.count } }

  /// Writes the columns, sorted by key. If `compressed`, applies LZ4-HC to each column that it makes smaller.
  func write(to writer: inout ByteWriter, compressed: Bool) {
    assert(Set(columns.map(\.key)).count == columns.count, "a block has each column once")
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

/// The key of a column of a block: see "Columns" in docs/format.md.
struct ColumnKey: Hashable, Comparable {
  let id: UInt64
  let index: UInt64

  init(_ id: UInt64, _ index: UInt64 = 0) {
    self.id = id
    self.index = index
  }

  static let eventCounts = ColumnKey(1)
  static let stampMilliseconds = ColumnKey(2)
  static let stampCounters = ColumnKey(3)
  static let wallTimes = ColumnKey(4)
  static let originIndices = ColumnKey(5)
  static let origins = ColumnKey(6)
  static let commitParts = ColumnKey(7)
  static let heads = ColumnKey(8)
  static let commitMembers = ColumnKey(9)
  static let kinds = ColumnKey(16)
  static let itemIndices = ColumnKey(17)
  static let itemLibraries = ColumnKey(18)
  static let libraries = ColumnKey(19)
  static func items(library: Int) -> ColumnKey { ColumnKey(20, UInt64(library)) }
  static let favoritedDates = ColumnKey(21)
  static let shapeIndices = ColumnKey(22)
  static let shapes = ColumnKey(23)
  static let fieldNames = ColumnKey(24)
  static func values(name: Int, tag: UInt8) -> ColumnKey { ColumnKey(25, UInt64(name) * 64 + UInt64(tag)) }
  static let eventMembers = ColumnKey(26)
  static let withheldHashes = ColumnKey(27)
  static let unknownEvents = ColumnKey(28)

  static func < (a: ColumnKey, b: ColumnKey) -> Bool {
    a.id != b.id ? a.id < b.id : a.index < b.index
  }
}

/// The head bytes of events: see "kinds" in docs/format.md.
enum KindsColumn {
  /// - Parameter heads: at least one.
  static func encode(_ heads: [UInt8], to writer: inout ByteWriter) {
    assert(!heads.isEmpty, "a column without a value is left out")
    var counts = [Int](repeating: 0, count: 256)
    for head in heads { counts[Int(head)] += 1 }
    let distinct = (0..<256).filter { counts[$0] > 0 }
      .sorted { (counts[$1], $0) < (counts[$0], $1) }
    var indices = [Int64](repeating: 0, count: 256)
    writer.u8(UInt8(distinct.count))
    for (index, head) in distinct.enumerated() {
      writer.u8(UInt8(head))
      indices[head] = Int64(index)
    }
    IntsColumn.encode(heads.map { indices[Int($0)] }, to: &writer)
  }

  /// - Parameter indices: scratch space for one number per event.
  static func decode(
    from reader: inout ByteReader, indices: UnsafeMutableBufferPointer<Int64>
  ) throws(MalformedError) -> [EventHeader] {
    let distinctCount = Int(try reader.u8())
    var distinct: [EventHeader] = []
    for _ in 0..<distinctCount { distinct.append(try EventHeader(checking: try reader.u8())) }
    try IntsColumn.decode(from: &reader, into: indices)
    var highest: UInt64 = 0
    for index in indices { highest = max(highest, UInt64(bitPattern: index)) }
    guard highest < UInt64(distinctCount) else { throw MalformedError("an event of kind \(highest)") }
    return [EventHeader](unsafeUninitializedCapacity: indices.count) { heads, count in
      // Each index is within `distinct`, as checked above.
      distinct.withUnsafeBufferPointer { distinct in
        for event in indices.indices { heads.initializeElement(at: event, to: distinct[Int(indices[event])]) }
      }
      count = indices.count
    }
  }
}
