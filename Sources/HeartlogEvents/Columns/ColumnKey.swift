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

  /// Whether the column's entries are texts of the block.
  var holdsTexts: Bool {
    id == Self.items(library: 0).id
      || id == Self.values(name: 0, tag: 0).id && index % 64 >= UInt64(ValueTag.string)
  }

  static func < (a: ColumnKey, b: ColumnKey) -> Bool {
    a.id != b.id ? a.id < b.id : a.index < b.index
  }
}
