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
