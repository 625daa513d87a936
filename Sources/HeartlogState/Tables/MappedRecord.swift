/// A record that is read where it lies in a mapped snapshot: integers alone, so that any bytes there are a record.
protocol MappedRecord: BitwiseCopyable {
  /// All that is stored, with its offset in the format.
  static var layout: [MappedInteger<Self>] { get }
  /// From one record to the next, in the format.
  static var layoutBytes: Int { get }
}

extension MappedRecord {
  /// Whether the compiler has laid out the record as the format has it.
  static var isLaidOutAsInFormat: Bool {
    MemoryLayout<Self>.stride == layoutBytes && MemoryLayout<Self>.alignment <= SnapshotLayout.alignment
      && layout.allSatisfy { MemoryLayout<Self>.offset(of: $0.path) == $0.offset }
      && zip(layout, layout.dropFirst()).allSatisfy { $0.end <= $1.offset }
      && layout.last.map(\.end) == MemoryLayout<Self>.size
  }
}

/// An integer of a mapped record, and where the format has it.
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
