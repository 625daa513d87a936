extension BlockColumns {
  /// The position in each column. The columns' counts were taken from `kinds` and `shapes`, so no column ends
  /// early.
  package struct Cursor: Sendable {
    package var event = 0
    package var item = 0
    package var favoritedDate = 0
    package var shape = 0
    var members = 0
    var withheld = 0
    var unknown = 0
    /// For each value column, an index in `words`.
    package var values: [Int]

    /// Passes an event, except the values of its fields.
    @inline(__always)
    mutating func pass(_ kind: EventHeader) {
      event += 1
      if kind.isEvent {
        item += 1
      } else if kind == .withheld {
        withheld += 1
      } else {
        unknown += 1
      }
      if kind.hasFavoritedDate { favoritedDate += 1 }
      if kind.hasFields { shape += 1 }
      if kind.hasMembers { members += 1 }
    }
  }

  /// A cursor before the first event.
  package var start: Cursor { Cursor(values: values.map(\.range.lowerBound)) }

  /// Skips events.
  package func skip(_ count: Int, _ cursor: inout Cursor) {
    // Events of one shape usually follow each other: their members are visited once.
    var shape: Int32 = 0
    var uses = 0
    for kind in kinds[cursor.event..<cursor.event + count] {
      if kind.hasFields {
        let next = shapeIndices[cursor.shape]
        if next != shape {
          skip(uses, of: shape, &cursor)
          uses = 0
        }
        shape = next
        uses += 1
      }
      cursor.pass(kind)
    }
    skip(uses, of: shape, &cursor)
  }

  /// Skips the values of events of one shape.
  @inline(__always)
  private func skip(_ uses: Int, of shape: Int32, _ cursor: inout Cursor) {
    guard uses > 0 else { return }
    for member in shapes[Int(shape)].members {
      if let column = member.values { cursor.values[column] += uses }
    }
  }

  /// The value of a member with that tag; if it has a column, the value of the word there. Its bytes are valid as long as the columns.
  @inline(__always)
  package func value(_ word: Int64, tag: UInt8) -> BorrowedValue {
    let text = TextSlice(word: word)
    return BorrowedValue(tag: tag, number: { word }, text: { texts.bytes(text) })
  }
}
