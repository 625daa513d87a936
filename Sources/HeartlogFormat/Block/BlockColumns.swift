/// The columns of a block, read and checked value by value: every index is in range, every name and
/// value is allowed by the format.
///
/// The rules of `EventView.validate` are checked for each distinct name and for each column: checking each event through a view instead
/// makes reading take 3.3 times as many instructions, 1,083 instead of 327 an event. `BlockEncodingTests` holds both checks equal.
///
/// Texts remain bytes in `texts`, stored once for each distinct item: a reader that needs no commits reads them from there, and no
/// string is created.
package final class BlockColumns: Sendable {
  /// A distinct item.
  package struct Item: Sendable, BitwiseCopyable {
    /// Its index in `libraries`.
    package let library: Int32
    package let id: TextSlice
  }

  package let commits: CommitColumns
  package let kinds: [EventHeader]
  package let libraries: [String]
  /// The distinct items, and the index of its item for each event that has one.
  package let items: [Item]
  package let itemIndices: [Int32]
  /// For events that have one.
  package let favoritedDates: [Milliseconds]
  package let shapes: [Shape]
  /// For each event that has fields, its index in `shapes`.
  package let shapeIndices: [Int32]
  /// The values that the shapes' `values` refer to.
  package let values: [ValueColumn]
  /// The values of all value columns, one column after the other.
  package let words: ColumnWords
  /// The bytes that the slices of items and values refer to.
  package let texts: BlockTexts
  /// The size in rows of the fields of all events, except the values that have a column.
  let shapeRowByteCount: Int
  let eventMembers: [[UnknownMember]]
  let withheldHashes: [EventHash]
  let unknownEvents: [EventRecord]
  /// Whether any event is of a later version, or erases.
  package var hasUnknownEvents: Bool { !unknownEvents.isEmpty }
  /// Whether any event is withheld.
  package var hasWithheldEvents: Bool { !withheldHashes.isEmpty }

  /// - Parameters:
  /// - commitCount, eventCount: at most `Limits.blockEventsMax`.
  init(
    _ table: inout ColumnReader, replica: ReplicaID, commitCount: Int, eventCount: Int,
    firstStamp: HybridTimestamp
  ) throws(MalformedError) {
    var texts = TextBuilder(capacity: try table.textByteCountBound(count: eventCount))
    commits = try CommitColumns(
      &table, replica: replica, commitCount: commitCount, eventCount: eventCount, firstStamp: firstStamp)
    kinds = try table.kinds(.kinds, count: eventCount)
    var end = Cursor(values: [])
    for kind in kinds { end.pass(kind) }
    let newItems = try NewOrKnown(try table.ints(.itemIndices, count: end.item), what: "an item")
    itemIndices = newItems.indices
    (libraries, items) = try Self.items(&table, count: newItems.distinctCount, texts: &texts)
    favoritedDates = try Self.favoritedDates(&table, count: end.favoritedDate, of: kinds, commits: commits)
    let newShapes = try NewOrKnown(try table.ints(.shapeIndices, count: end.shape), what: "a shape")
    shapeIndices = newShapes.indices
    (shapes, shapeRowByteCount, values, words) = try Self.shapes(&table, newShapes, texts: &texts)
    eventMembers = try table.opaque(.eventMembers, count: end.members) {
      (reader) throws(MalformedError) in try RowEncoding.readCheckedMembers(from: &reader)
    }
    withheldHashes = try table.opaque(.withheldHashes, count: end.withheld) {
      (reader) throws(MalformedError) in try reader.digest()
    }
    unknownEvents = try table.opaque(.unknownEvents, count: end.unknown) {
      (reader) throws(MalformedError) in
      let record = EventRecord.unknown(kind: try reader.varint(), bytes: Array(try reader.lengthAndBytes()))
      try record.validate(wallTime: 0)
      return record
    }
    try table.end()
    self.texts = texts.finish()
  }

  private static func items(
    _ table: inout ColumnReader, count: Int, texts: inout TextBuilder
  ) throws(MalformedError) -> (libraries: [String], items: [Item]) {
    // Their ids are read before the last of these is used.
    let itemLibraries: [Int64] = try Array(count: count) { (output) throws(MalformedError) in
      try table.ints(.itemLibraries, into: output)
    }
    let libraryCount = try itemLibraries.withUnsafeBufferPointer { (indices) throws(MalformedError) in
      try firstUses(indices, what: "a library")
    }
    let libraries = try table.table(.libraries, count: libraryCount)
    for library in libraries { try NameRules.checkLibrary(library) }
    var ends = [Int](repeating: 0, count: libraryCount)
    for library in itemLibraries { ends[Int(library)] += 1 }
    // The ids of each library one after the other; `ends` is changed to the start of each library's ids.
    let slices: [Int64] = try Array(count: count) { (output) throws(MalformedError) in
      var start = 0
      for library in 0..<libraryCount {
        let ids = UnsafeMutableBufferPointer(rebasing: output[start..<start + ends[library]])
        let traits = try table.texts(.items(library: library), into: ids, texts: &texts)
        try check(ids: UnsafeBufferPointer(ids), traits, texts)
        ends[library] = start
        start += ids.count
      }
    }
    let items: [Item] = try Array(count: count) { (output) throws(MalformedError) in
      for (index, itemLibrary) in itemLibraries.enumerated() {
        let library = Int(itemLibrary)
        output.initializeElement(
          at: index,
          to: Item(library: Int32(truncatingIfNeeded: library), id: TextSlice(word: slices[ends[library]])))
        ends[library] += 1
      }
    }
    return (libraries, items)
  }

  private static func check(
    ids: UnsafeBufferPointer<Int64>, _ traits: TextTraits, _ texts: borrowing TextBuilder
  ) throws(MalformedError) {
    if traits.isPrintable, traits.shortest > 0, traits.longest <= Limits.itemBytesMax { return }
    for id in ids { try MalformedError.check(NameRules.itemProblem(texts.bytes(TextSlice(word: id)))) }
  }

  private static func favoritedDates(
    _ table: inout ColumnReader, count: Int, of kinds: [EventHeader], commits: CommitColumns
  ) throws(MalformedError) -> [Milliseconds] {
    guard count > 0 else { return [] }
    return try Array(count: count) { (dates) throws(MalformedError) in
      // As stored: the dates minus the wall times of their commits.
      try table.ints(.favoritedDates, into: dates)
      var next = 0
      for index in 0..<commits.count {
        let wallTime = commits.wallTimes[index]
        for event in Int(commits.eventStarts[index])..<Int(commits.eventStarts[index + 1])
        where kinds[event].hasFavoritedDate {
          let (date, overflow) = wallTime.addingReportingOverflow(dates[next])
          guard !overflow else { throw MalformedError("a favorited date past 64 bits") }
          try Event.checkFavoritedDate(date, wallTime: wallTime)
          dates[next] = date
          next += 1
        }
      }
    }
  }
}

extension BlockColumns {
  /// Indices in a table that is filled by first use, so that each is at most one more than those before it.
  /// Returns the size of the table.
  static func firstUses(
    _ indices: UnsafeBufferPointer<Int64>, what: StaticString
  ) throws(MalformedError) -> Int {
    var count: Int64 = 0
    for index in indices {
      guard index >= 0, index <= count else { throw MalformedError("\(what) at place \(index) of \(count)") }
      if index == count { count += 1 }
    }
    return Int(count)
  }

  /// A column in which 0 means the next new entry, and other numbers the index of a known one, from 1.
  struct NewOrKnown {
    let indices: [Int32]
    let distinctCount: Int

    /// - Parameter values: at most `Limits.blockEventsMax`.
    init(_ values: UnsafeMutableBufferPointer<Int64>, what: StaticString) throws(MalformedError) {
      var distinct: Int64 = 0
      indices = try Array(count: values.count) { (indices) throws(MalformedError) in
        for (index, value) in values.enumerated() {
          guard UInt64(bitPattern: value) <= UInt64(bitPattern: distinct) else {
            throw MalformedError("\(what) at place \(value) of \(distinct)")
          }
          let entry = value == 0 ? distinct : value &- 1
          indices.initializeElement(at: index, to: Int32(truncatingIfNeeded: entry))
          distinct &+= value == 0 ? 1 : 0
        }
      }
      distinctCount = Int(distinct)
    }
  }
}

extension RowEncoding {
  static func readCheckedMembers(from reader: inout ByteReader) throws(MalformedError) -> [UnknownMember] {
    let members = try readMembers(from: &reader)
    try UnknownMember.validate(members)
    return members
  }
}

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

extension ColumnBlock {
  /// Throws if the row encodings of the commits, all that were read, would exceed the size allowed for a block.
  func checkRowByteCount() throws(MalformedError) {
    if columns.rowByteCountBound <= Limits.blockRowBytesMax { return }
    try Block.validateRowByteCount(rowByteCount - columns.withheldHashes.count * Digest.byteCount)
  }

  /// The total size of the row encodings of the commits: `RowEncoding.byteCount(of:)` of each.
  var rowByteCount: Int {
    let commits = columns.commits
    var events = BlockEvents(self)
    return RowEncoding.byteCount { writer in
      for index in commitIndices {
        RowEncoding.write(
          header(at: index), origin: commits.origin(at: index), heads: commits.heads[index] ?? [],
          unknownMembers: commits.members[index] ?? [], to: &writer)
        for _ in 0..<commits.eventCount(at: index) {
          events.write(to: &writer)
          events.pass()
        }
      }
    }
  }
}

extension BlockColumns {
  /// An upper bound of `rowByteCount` of the whole block, computed without reading any event: sufficient for most blocks.
  var rowByteCountBound: Int {
    let varintMax = 10
    // Presence, stamp, wall time, sequence number and number of events.
    let originMax = commits.origins.reduce(0) { max($0, $1.utf8.count) }
    var count = commits.count * (1 + 8 + 3 * varintMax + ByteWriter.lengthAndBytesByteCount(originMax))
    count += partsByteCount
    let libraryMax = libraries.reduce(0) { max($0, $1.utf8.count) }
    let itemMax = items.reduce(0) { max($0, $1.id.count) }
    count +=
      itemIndices.count
      * (ByteWriter.lengthAndBytesByteCount(libraryMax) + ByteWriter.lengthAndBytesByteCount(itemMax))
    count += kinds.count + varintMax * favoritedDates.count + shapeRowByteCount + rareByteCount
    for column in values { count += varintMax * column.range.count + column.byteCount }
    return count
  }

  /// Heads and members of commits.
  private var partsByteCount: Int {
    RowEncoding.byteCount { writer in
      for heads in commits.heads.values { RowEncoding.write(heads: heads, to: &writer) }
      for members in commits.members.values { RowEncoding.write(members: members, to: &writer) }
    }
  }

  /// Members, withheld records, and records of a later version.
  private var rareByteCount: Int {
    RowEncoding.byteCount { writer in
      for members in eventMembers { RowEncoding.write(members: members, to: &writer) }
      for hash in withheldHashes { RowEncoding.write(.withheld(hash), to: &writer) }
      for record in unknownEvents { RowEncoding.write(record, to: &writer) }
    }
  }
}
