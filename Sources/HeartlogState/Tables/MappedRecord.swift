/// A record that is read in place from a mapped snapshot. It contains only integers, so that any bytes are a valid record.
protocol MappedRecord: BitwiseCopyable {
  /// All stored integers with their offsets in the format.
  static var layout: [MappedInteger<Self>] { get }
  /// The distance from one record to the next in the format.
  static var layoutBytes: Int { get }
}

extension MappedRecord {
  /// Whether the compiler's layout of the record matches the format.
  static var isLaidOutAsInFormat: Bool {
    MemoryLayout<Self>.stride == layoutBytes && MemoryLayout<Self>.alignment <= SnapshotLayout.alignment
      && layout.allSatisfy { MemoryLayout<Self>.offset(of: $0.path) == $0.offset }
      && zip(layout, layout.dropFirst()).allSatisfy { $0.end <= $1.offset }
      && layout.last.map(\.end) == MemoryLayout<Self>.size
  }
}

/// An integer of a mapped record and its offset in the format.
struct MappedInteger<Record> {
  let path: PartialKeyPath<Record>
  let offset: Int
  fileprivate let end: Int

  init<Value: FixedWidthInteger>(_ path: KeyPath<Record, Value>, at offset: Int) {
    self.path = path
    self.offset = offset
    end = offset + MemoryLayout<Value>.size
  }
}
