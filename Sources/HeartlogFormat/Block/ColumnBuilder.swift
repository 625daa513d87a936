/// Splits commits into the columns of a block.
struct ColumnBuilder {
  // Columns of commits.
  private var eventCounts: [Int64] = []
  private var lastStamp: HybridTimestamp?
  private var stampMilliseconds: [Int64] = []
  private var stampCounters: [Int64] = []
  private var wallTimes: [Int64] = []
  private var originIndices: [Int64] = []
  private var origins = Table()
  private var commitParts: [Int64] = []
  private var heads = ByteWriter()
  private var commitMembers = ByteWriter()

  // Columns of events.
  private var kinds: [UInt8] = []
  private var itemInterner = Interner<ItemKey>()
  private var itemIndices: [Int64] = []
  private var itemLibraries: [Int64] = []
  private var libraries = Table()
  private var items: [Texts] = []
  private var favoritedDates: [Int64] = []
  private var shapeInterner = Interner<[UInt64]>()
  private var shapeIndices: [Int64] = []
  private var shapes = ByteWriter()
  private var fieldNames = Table()
  private var values: [ColumnKey: Values] = [:]
  private var eventMembers = ByteWriter()
  private var withheldHashes = ByteWriter()
  private var unknownEvents = ByteWriter()

  /// Distinct texts by first use.
  private struct Table {
    private var interner = Interner<UTF8Key>()
    private(set) var texts: [String] = []

    mutating func index(of text: String) -> (index: Int, isNew: Bool) {
      let result = interner.index(of: UTF8Key(text))
      if result.isNew { texts.append(text) }
      return result
    }
  }

  private struct ItemKey: Hashable {
    let library: Int
    let item: UTF8Key
  }

  /// The values of one name and tag: of the four kinds, the one that the tag requires.
  private struct Values {
    var ints: [Int64] = []
    var doubles: [Double] = []
    var texts = Texts()
    var opaque = ByteWriter()
  }

  /// Adds the commit after the last one. It has already been checked.
  mutating func add(_ commit: Commit) {
    assert(commit.eventCount > 0, "a commit has an event")
    assert(lastStamp.map { $0 < commit.stamp } ?? true, "stamps rise along a stream")
    eventCounts.append(Int64(commit.eventCount - 1))
    if let lastStamp {
      let milliseconds = commit.stamp.milliseconds - lastStamp.milliseconds
      let expected = milliseconds == 0 ? Int64(lastStamp.counter) + 1 : 0
      stampMilliseconds.append(milliseconds)
      stampCounters.append(Int64(commit.stamp.counter) - expected)
    }
    lastStamp = commit.stamp
    wallTimes.append(commit.wallTime - commit.stamp.milliseconds)
    originIndices.append(commit.origin.map { Int64(origins.index(of: $0).index) + 1 } ?? 0)
    commitParts.append((commit.heads.isEmpty ? 0 : 1) | (commit.unknownMembers.isEmpty ? 0 : 2))
    if !commit.heads.isEmpty { RowEncoding.write(heads: commit.heads, to: &heads) }
    if !commit.unknownMembers.isEmpty {
      RowEncoding.write(members: commit.unknownMembers, to: &commitMembers)
    }
    commit.contents.forEach { add($0, wallTime: commit.wallTime) }
  }

  private mutating func add(_ record: EventRecord, wallTime: Milliseconds) {
    kinds.append(record.header.rawValue)
    switch record {
    case .withheld(let hash): withheldHashes.raw(hash)
    case .unknown(let kind, let bytes):
      unknownEvents.varint(kind)
      unknownEvents.lengthAndBytes(bytes)
    case .event(let event):
      addItem(of: event)
      if let date = event.favoritedDate { favoritedDates.append(date - wallTime) }
      if !event.fields.isEmpty { add(event.fields) }
      if !event.unknownMembers.isEmpty {
        RowEncoding.write(members: event.unknownMembers, to: &eventMembers)
      }
    }
  }

  private mutating func addItem(of event: Event) {
    let library = libraries.index(of: event.library)
    if library.isNew { items.append(Texts()) }
    assert(items.count == libraries.texts.count, "each library has a column of ids")
    let item = itemInterner.index(of: ItemKey(library: library.index, item: UTF8Key(event.item)))
    itemIndices.append(item.isNew ? 0 : Int64(item.index) + 1)
    if item.isNew {
      itemLibraries.append(Int64(library.index))
      items[library.index].append(event.item)
    }
  }

  private mutating func add(_ fields: [Field]) {
    assert(
      zip(fields, fields.dropFirst()).allSatisfy { $0.name.bytesPrecede($1.name) },
      "fields are sorted by the bytes of their names")
    var shape: [UInt64] = []
    shape.reserveCapacity(fields.count)
    for field in fields {
      let name = fieldNames.index(of: field.name).index
      let tag = field.value.withBorrowed { $0.tag }
      shape.append(UInt64(name) << 8 | UInt64(ValueTag.byte(tag, isQuiet: field.isQuiet)))
      add(field.value, to: .values(name: name, tag: tag))
    }
    let interned = shapeInterner.index(of: shape)
    shapeIndices.append(interned.isNew ? 0 : Int64(interned.index) + 1)
    guard interned.isNew else { return }
    shapes.varint(shape.count)
    for field in shape {
      shapes.varint(field >> 8)
      shapes.u8(UInt8(truncatingIfNeeded: field))
    }
  }

  private mutating func add(_ value: FieldValue, to key: ColumnKey) {
    switch value {
    case .null, .bool: return
    case .int64(let value): values[key, default: Values()].ints.append(value)
    case .double(let value): values[key, default: Values()].doubles.append(value)
    case .string(let text): values[key, default: Values()].texts.append(text)
    case .json(let json): values[key, default: Values()].texts.append(json.text)
    case .unknown(_, let bytes): values[key, default: Values()].opaque.lengthAndBytes(bytes)
    }
  }

  /// All columns that have a value.
  func columns() -> ColumnSet {
    assert(
      eventCounts.count == wallTimes.count && originIndices.count == wallTimes.count
        && commitParts.count == wallTimes.count, "each commit has a value in each column")
    assert(
      stampMilliseconds.count == max(0, wallTimes.count - 1)
        && stampCounters.count == stampMilliseconds.count, "each stamp but the first is a difference")
    assert(kinds.count == eventCounts.reduce(eventCounts.count) { $0 + Int($1) }, "each event has a kind")
    var columns = ColumnSet()
    columns.add(.eventCounts, eventCounts, by: IntsColumn.encode)
    columns.add(.stampMilliseconds, stampMilliseconds, by: IntsColumn.encode)
    columns.add(.stampCounters, stampCounters, by: IntsColumn.encode)
    columns.add(.wallTimes, wallTimes, by: IntsColumn.encode)
    columns.add(.originIndices, originIndices, by: IntsColumn.encode)
    columns.add(.origins, table: origins.texts)
    columns.add(.commitParts, commitParts, by: IntsColumn.encode)
    columns.add(.heads, opaque: heads)
    columns.add(.commitMembers, opaque: commitMembers)
    columns.add(.kinds, kinds, by: KindsColumn.encode)
    columns.add(.itemIndices, itemIndices, by: IntsColumn.encode)
    columns.add(.itemLibraries, itemLibraries, by: IntsColumn.encode)
    columns.add(.libraries, table: libraries.texts)
    for (library, texts) in items.enumerated() { columns.add(.items(library: library), texts: texts) }
    columns.add(.favoritedDates, favoritedDates, by: IntsColumn.encode)
    columns.add(.shapeIndices, shapeIndices, by: IntsColumn.encode)
    columns.add(.shapes, opaque: shapes)
    columns.add(.fieldNames, table: fieldNames.texts)
    // A dictionary has no defined order: its keys are sorted before they are written.
    for key in values.keys.sorted() {
      guard let column = values[key] else { continue }
      columns.add(key, column.ints, by: IntsColumn.encode)
      columns.add(key, column.doubles, by: DoublesColumn.encode)
      columns.add(key, texts: column.texts)
      columns.add(key, opaque: column.opaque)
    }
    columns.add(.eventMembers, opaque: eventMembers)
    columns.add(.withheldHashes, opaque: withheldHashes)
    columns.add(.unknownEvents, opaque: unknownEvents)
    return columns
  }
}

/// Assigns each distinct key an index, from 0, by first use.
struct Interner<Key: Hashable> {
  private var indices: [Key: Int] = [:]

  /// The key's index, and whether this is its first use.
  mutating func index(of key: Key) -> (index: Int, isNew: Bool) {
    if let index = indices[key] { return (index, false) }
    let index = indices.count
    indices[key] = index
    return (index, true)
  }
}

/// A property that some commits of a block have, and most do not.
package struct SparseColumn<Value: Sendable>: Sendable {
  /// The indices of the commits that have it, rising.
  package let commitIndices: [Int32]
  package let values: [Value]

  /// - Parameter commitIndices: one for each value.
  init(commitIndices: [Int32], values: [Value]) {
    assert(commitIndices.count == values.count, "each value belongs to a commit")
    assert(zip(commitIndices, commitIndices.dropFirst()).allSatisfy { $0 < $1 }, "the indices rise")
    self.commitIndices = commitIndices
    self.values = values
  }

  /// The value of the commit at an index of the block. O(log n).
  package subscript(index: Int) -> Value? {
    guard !commitIndices.isEmpty else { return nil }
    let found = firstIndex(from: index)
    return found < commitIndices.count && Int(commitIndices[found]) == index ? values[found] : nil
  }

  /// The commit index at an index of `commitIndices`; -1 after the last.
  package func commitIndex(at index: Int) -> Int {
    index < commitIndices.count ? Int(commitIndices[index]) : -1
  }

  /// The first index in `commitIndices` at or after a commit index. O(log n).
  package func firstIndex(from index: Int) -> Int { commitIndices.partitionPoint { Int($0) >= index } }
}
