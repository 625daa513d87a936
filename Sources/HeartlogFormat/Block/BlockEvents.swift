/// A cursor over the events of a block, and a view of the current one.
struct BlockEvents: EventView {
  private let columns: BlockColumns
  private var cursor: BlockColumns.Cursor

  /// - Parameter start: a cursor before the first event; by default, before the block's first.
  init(_ block: ColumnBlock, at start: BlockColumns.Cursor? = nil) {
    columns = block.columns
    cursor = start ?? block.start
  }

  /// Skips events.
  mutating func pass(_ count: Int = 1) { columns.skip(count, &cursor) }

  /// The hash of a withheld event; nil for any other.
  var withheldHash: EventHash? { header == .withheld ? columns.withheldHashes[cursor.withheld] : nil }

  /// The placeholder of an event; nil if the event itself is present.
  var placeholder: EventRecord? {
    if header.isEvent { return nil }
    return withheldHash.map(EventRecord.withheld) ?? columns.unknownEvents[cursor.unknown]
  }

  /// Writes the event or its placeholder as stored in a row.
  @inline(__always)
  func write(to output: inout (some ByteOutput & ~Copyable)) {
    if header.isEvent {
      RowEncoding.write(self, to: &output)
    } else if let placeholder {
      RowEncoding.write(placeholder, to: &output)
    }
  }

  var header: EventHeader { columns.kinds[cursor.event] }

  var favoritedDate: Milliseconds? {
    header.hasFavoritedDate ? columns.favoritedDates[cursor.favoritedDate] : nil
  }

  private var shape: [Shape.Member] {
    header.hasFields ? columns.shapes[Int(columns.shapeIndices[cursor.shape])].members : []
  }

  var fieldCount: Int { shape.count }

  /// Checked when the shapes were read.
  var fieldsAreSorted: Bool { true }

  var unknownMembers: [UnknownMember] { header.hasMembers ? columns.eventMembers[cursor.members] : [] }

  func withNames(
    _ body: (_ library: UnsafeRawBufferPointer, _ item: UnsafeRawBufferPointer) -> Void
  ) {
    let item = columns.items[Int(columns.itemIndices[cursor.item])]
    columns.libraries[Int(item.library)].withUTF8Bytes { body($0, columns.texts.bytes(item.id)) }
  }

  func forEachField(_ body: (BorrowedField) -> Void) {
    for member in shape {
      member.name.withUTF8Bytes {
        body(BorrowedField(name: $0, value: value(of: member), isQuiet: member.isQuiet))
      }
    }
  }

  /// A shape has each name once, so no two of its members share a column.
  @inline(__always)
  private func value(of member: Shape.Member) -> BorrowedValue {
    columns.value(member.values.map { columns.words[cursor.values[$0]] } ?? 0, tag: member.tag)
  }
}

/// Assembles commits of a block, each on request.
package struct CommitAssembly: IteratorProtocol {
  private let block: ColumnBlock
  /// A cursor before the first event of the commit at `index`.
  private var events: BlockEvents
  private var index: Int

  package init(_ block: ColumnBlock) {
    self.block = block
    events = BlockEvents(block)
    index = block.commitIndices.lowerBound
  }

  /// The commit after the one requested last; nil at the end of the block.
  package mutating func next() -> Commit? {
    index < block.commitIndices.upperBound ? commit(at: index) : nil
  }

  /// The commit at an index of the block, after those requested before.
  package mutating func commit(at next: Int) -> Commit {
    let commits = block.columns.commits
    precondition(next >= index, "a commit that was passed")
    if next > index { events.pass(commits.eventCount(in: index..<next)) }
    index = next + 1
    let eventCount = commits.eventCount(at: next)
    var records: [EventRecord] = []
    records.reserveCapacity(eventCount)
    for _ in 0..<eventCount {
      records.append(events.placeholder ?? .event(Event(copying: events)))
      events.pass()
    }
    return Commit(
      replica: block.replica, number: block.number(at: next), firstSequence: block.sequence(at: next),
      stamp: commits.stamps[next], wallTime: commits.wallTimes[next], origin: commits.origin(at: next),
      heads: commits.heads[next] ?? [], unknownMembers: commits.members[next] ?? [], records: records)
  }
}
