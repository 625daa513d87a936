/// A run of commits of one stream, in the form in which it is sealed and shipped.
package struct Block: Hashable, Sendable {
  /// The replica that wrote the stream.
  package let replica: ReplicaID
  /// The number of the first commit; the others follow without a gap.
  package let firstCommit: CommitNumber
  /// The heads in force before the first commit, sorted by replica: the combined heads of the stream before it.
  package let headsAtStart: [Head]
  /// The secrets that cover these commits, sorted by first commit.
  package let secrets: [SegmentSecret]
  /// At least one; numbers, sequences and stamps rise as in the stream.
  package let commits: [Commit]

  /// Creates a block from its parts. `BlockEncoding` checks them when it writes the block.
  package init(
    replica: ReplicaID, firstCommit: CommitNumber, headsAtStart: [Head] = [], secrets: [SegmentSecret],
    commits: [Commit]
  ) {
    self.replica = replica
    self.firstCommit = firstCommit
    self.headsAtStart = headsAtStart
    self.secrets = secrets
    self.commits = commits
  }

  /// Assembles the commits of a block in columns.
  package init(_ block: ColumnBlock) {
    self.init(
      replica: block.replica, firstCommit: block.firstCommit, headsAtStart: block.headsAtStart,
      secrets: block.secrets, commits: block.commits())
  }

  /// The number of the last commit.
  package var lastCommit: CommitNumber {
    CommitNumber(rawValue: firstCommit.rawValue + UInt64(max(1, commits.count)) - 1)
  }

  /// The number of events in the commits. O(commits).
  package var eventCount: Int { commits.reduce(0) { $0 + $1.eventCount } }
}

/// Many commits of one stream in columns: see "Block encoding" in docs/format.md.
package enum BlockEncoding {
  static let version: UInt8 = 1

  /// Checks `block` and encodes it.
  ///
  /// - Parameter compressed: false for the form before compression, which is unique for a run of commits.
  package static func encode(_ block: Block, compressed: Bool = true) throws(MalformedError) -> [UInt8] {
    try block.validate()
    return try encode(
      block.commits, count: block.commits.count, first: block.commits[0].header, events: block.eventCount,
      heads: block.headsAtStart, block.secrets, compressed: compressed)
  }

  /// Encodes the commits that a block includes as a block of their own. They were checked when they were read, and are assembled one at
  /// a time.
  ///
  /// - Parameter heads: The heads in force before the first of them.
  package static func encode(_ block: ColumnBlock, after heads: [Head]) throws(MalformedError) -> [UInt8] {
    try encode(
      IteratorSequence(CommitAssembly(block)), count: block.commitCount,
      first: block.header(at: block.commitIndices.lowerBound), events: block.eventCount, heads: heads,
      Salts(block.secrets).secrets(serving: block.firstCommit...block.lastCommit), compressed: true)
  }

  private static func encode(
    _ commits: some Sequence<Commit>, count: Int, first: CommitHeader, events: Int, heads: [Head],
    _ secrets: [SegmentSecret], compressed: Bool
  ) throws(MalformedError) -> [UInt8] {
    assert(count > 0 && events >= count, "each commit of a block has an event")
    var writer = ByteWriter()
    writer.u8(version)
    writer.varint(count)
    writer.varint(events)
    writer.varint(first.firstSequence.rawValue)
    writer.u64(first.stamp.rawValue)
    RowEncoding.write(heads: heads, to: &writer)
    SecretsEncoding.write(secrets, to: &writer)
    var gatherer = ColumnBuilder()
    for commit in commits { gatherer.add(commit) }
    let columns = gatherer.columns()
    guard columns.byteCount <= Limits.blockColumnsBytesMax else {
      throw MalformedError("a block of \(columns.byteCount) bytes of columns")
    }
    columns.write(to: &writer, compressed: compressed)
    return writer.bytes
  }

  /// Reads a block; nothing may follow it. The contents of the frame are stored outside.
  package static func decode(
    _ bytes: UnsafeRawBufferPointer, replica: ReplicaID, firstCommit: CommitNumber, commitCount: Int
  ) throws(MalformedError) -> Block {
    Block(
      try decodeColumns(bytes, replica: replica, firstCommit: firstCommit, commitCount: commitCount))
  }

  /// Reads a block as `decode` does, with all its checks, and keeps it in columns.
  package static func decodeColumns(
    _ bytes: UnsafeRawBufferPointer, replica: ReplicaID, firstCommit: CommitNumber, commitCount: Int
  ) throws(MalformedError) -> ColumnBlock {
    var reader = ByteReader(bytes)
    let version = try reader.u8()
    guard version == Self.version else { throw MalformedError("a block of version \(version)") }
    let count = try reader.count(atMost: Limits.blockEventsMax, "commits of a block")
    guard count == commitCount, count >= 1 else {
      throw MalformedError("a block of \(count) commits in a frame of \(commitCount)")
    }
    let eventCount = try reader.count(atMost: Limits.blockEventsMax, "events of a block")
    guard eventCount >= count else { throw MalformedError("\(eventCount) events in \(count) commits") }
    let firstSequence = SequenceNumber(rawValue: try reader.varint())
    let stamp = HybridTimestamp(rawValue: try reader.u64())
    guard firstCommit.rawValue >= 1, firstCommit.rawValue <= Limits.numberMax - UInt64(count - 1),
      firstSequence.rawValue >= 1, firstSequence.rawValue <= Limits.numberMax - UInt64(eventCount - 1)
    else { throw MalformedError("numbers past 2^53 in a block") }
    let heads = try RowEncoding.readHeads(from: &reader)
    let secrets = try SecretsEncoding.read(from: &reader, commitCount: count, eventCount: eventCount)
    var table = try ColumnReader(&reader)
    let columns = try BlockColumns(
      &table, replica: replica, commitCount: count, eventCount: eventCount, firstStamp: stamp)
    // The columns were checked value by value as they were read; the sums and the secrets remain to be checked.
    let block = ColumnBlock(
      replica: replica, firstCommit: firstCommit, firstSequence: firstSequence, headsAtStart: heads,
      secrets: secrets, columns: columns)
    try block.checkRowByteCount()
    try Head.validate(heads, of: replica)
    try SegmentSecret.validate(secrets, covering: block.firstCommit...block.lastCommit) {
      columns.commits.eventCount(at: $0)
    }
    return block
  }
}

/// A run of commits of one stream as read: in columns, checked, and assembled into commits on request.
package struct ColumnBlock: Sendable {
  /// The replica that wrote the stream.
  package let replica: ReplicaID
  /// The heads in force before the first commit that was read.
  package let headsAtStart: [Head]
  /// The secrets that cover the commits, sorted by first commit.
  package let secrets: [SegmentSecret]
  package let columns: BlockColumns
  /// The commits of the columns that this value includes.
  package private(set) var commitIndices: Range<Int>
  private let firstRead: CommitNumber
  private let firstSequenceRead: SequenceNumber

  init(
    replica: ReplicaID, firstCommit: CommitNumber, firstSequence: SequenceNumber, headsAtStart: [Head],
    secrets: [SegmentSecret], columns: BlockColumns
  ) {
    self.replica = replica
    self.headsAtStart = headsAtStart
    self.secrets = secrets
    self.columns = columns
    assert(columns.commits.count > 0, "a block has a commit")
    commitIndices = 0..<columns.commits.count
    firstRead = firstCommit
    firstSequenceRead = firstSequence
  }

  /// The number of the first commit.
  package var firstCommit: CommitNumber { number(at: commitIndices.lowerBound) }

  /// The number of the last commit.
  package var lastCommit: CommitNumber { number(at: commitIndices.upperBound - 1) }

  /// Whether all commits that were read are included.
  package var isWhole: Bool { commitIndices.count == columns.commits.count }

  /// The number of commits.
  package var commitCount: Int { commitIndices.count }

  /// The number of events in the commits.
  package var eventCount: Int { columns.commits.eventCount(in: commitIndices) }

  /// The sequence number of the first event.
  package var firstSequence: SequenceNumber { sequence(at: commitIndices.lowerBound) }

  /// The stamp of the last commit, which is the highest.
  package var lastStamp: HybridTimestamp { columns.commits.stamps[commitIndices.upperBound - 1] }

  /// The wall time of the last commit.
  package var lastWallTime: Milliseconds { columns.commits.wallTimes[commitIndices.upperBound - 1] }

  /// The latest wall time of all commits.
  ///
  /// - Complexity: O(commits).
  package var latestWallTime: Milliseconds {
    columns.commits.wallTimes[commitIndices].reduce(0) { max($0, $1) }
  }

  package func number(at index: Int) -> CommitNumber {
    CommitNumber(rawValue: firstRead.rawValue + UInt64(index))
  }

  /// The fixed part of the commit at an index.
  package func header(at index: Int) -> CommitHeader {
    CommitHeader(
      replica: replica, number: number(at: index), firstSequence: sequence(at: index),
      eventCount: columns.commits.eventCount(at: index), stamp: columns.commits.stamps[index],
      wallTime: columns.commits.wallTimes[index])
  }

  /// The sequence number of the first event of the commit at an index.
  package func sequence(at index: Int) -> SequenceNumber {
    SequenceNumber(rawValue: firstSequenceRead.rawValue + UInt64(columns.commits.eventStarts[index]))
  }

  /// Only the commits with these numbers: at least one of them must be included.
  package func cut(to numbers: ClosedRange<CommitNumber>) -> ColumnBlock {
    precondition(numbers.overlaps(firstCommit...lastCommit), "commits that are not in the block")
    var block = self
    let first = max(numbers.lowerBound, firstCommit).rawValue - firstRead.rawValue
    let last = min(numbers.upperBound, lastCommit).rawValue - firstRead.rawValue
    block.commitIndices = Int(first)..<Int(last) + 1
    assert(
      numbers.contains(block.firstCommit) && numbers.contains(block.lastCommit),
      "only the commits with these numbers are left")
    return block
  }

  /// A cursor before the first event.
  package var start: BlockColumns.Cursor {
    var cursor = columns.start
    columns.skip(columns.commits.eventCount(in: 0..<commitIndices.lowerBound), &cursor)
    return cursor
  }

  /// The position in the order of all commits of the commit at an index.
  package func position(at index: Int) -> CommitPosition {
    CommitPosition(stamp: columns.commits.stamps[index], replica: replica, number: number(at: index))
  }

  /// The indices of the commits that have an event of an item, rising; empty if the block does not name it.
  package func commitIndices(ofItem id: String, in library: String) -> [Int] {
    let named = id.withUTF8Bytes { id in
      columns.items.indices.filter { index in
        let item = columns.items[index]
        return columns.texts.bytes(item.id).hasSameBytes(as: id)
          && columns.libraries[Int(item.library)].hasSameBytes(as: library)
      }
    }
    guard !named.isEmpty else { return [] }
    var cursor = start
    var found: [Int] = []
    for index in commitIndices {
      var isNamed = false
      for event in Int(columns.commits.eventStarts[index])..<Int(columns.commits.eventStarts[index + 1])
      where columns.kinds[event].isEvent {
        if named.contains(Int(columns.itemIndices[cursor.item])) { isNamed = true }
        cursor.item += 1
      }
      if isNamed { found.append(index) }
    }
    return found
  }

  /// Assembles the commits.
  package func commits() -> [Commit] {
    var assembly = CommitAssembly(self)
    return commitIndices.map { assembly.commit(at: $0) }
  }
}

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
    assert(next < block.commitIndices.upperBound, "a commit that the block includes")
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
