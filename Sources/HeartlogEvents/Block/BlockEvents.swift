/// A cursor over the events of a block, and a view of the current one.
struct BlockEvents: EventView {
  private let block: ColumnBlock
  private let columns: BlockColumns
  private var cursor: BlockColumns.Cursor

  init(_ block: ColumnBlock, at start: BlockColumns.Cursor) {
    self.block = block
    columns = block.columns
    cursor = start
  }

  /// Skips events.
  mutating func pass(_ count: Int = 1) { columns.skip(count, &cursor) }

  /// The placeholder of an event; nil if the event itself is present.
  var placeholder: EventRecord? {
    if header.isEvent { return nil }
    return header == .withheld
      ? .withheld(columns.withheldHashes[cursor.withheld]) : columns.unknownEvents[cursor.unknown]
  }

  var header: EventHeader { columns.kinds[cursor.event] }

  /// The index of its item among those of the block.
  var itemIndex: Int { Int(columns.itemIndices[cursor.item]) }

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
    let item = columns.items[itemIndex]
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

  /// The fields as values, with the names stored in the block.
  var fields: [Field] {
    shape.map {
      Field(name: $0.name, value: FieldValue(copying: value(of: $0)), isQuiet: $0.isQuiet)
    }
  }
}
