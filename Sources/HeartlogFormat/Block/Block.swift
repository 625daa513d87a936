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
    let block = try decodeColumns(bytes, replica: replica, firstCommit: firstCommit, commitCount: commitCount)
    return Block(
      replica: replica, firstCommit: firstCommit, headsAtStart: block.headsAtStart, secrets: block.secrets,
      commits: block.commits())
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
    try BlockHeader(
      replica: replica, firstCommit: firstCommit, commitCount: count, headsAtStart: heads, secrets: secrets
    ).validate { columns.commits.eventCount(at: $0) }
    return block
  }
}
