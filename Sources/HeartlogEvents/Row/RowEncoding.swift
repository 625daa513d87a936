/// One commit as bytes that need nothing outside themselves but the replica and the commit's number.
///
/// A commit has exactly one row encoding; see "Row encoding" in docs/format.md.
package enum RowEncoding {
  private static let originBit: UInt8 = 1
  private static let headsBit: UInt8 = 2
  private static let membersBit: UInt8 = 4

  /// Appends `commit`, checked.
  ///
  /// - Throws: where a rule is broken; `output` is then as it was.
  package static func append(_ commit: Commit, to output: inout [UInt8]) throws(MalformedError) {
    let count = try byteCount(checking: commit)
    let start = output.count
    output.append(contentsOf: repeatElement(0, count: count))
    output.withUnsafeMutableBytes { write(commit, to: UnsafeMutableRawBufferPointer(rebasing: $0[start...])) }
  }

  /// The size of a commit's row, after a look at every rule.
  ///
  /// - Parameter recordsAreChecked: each record was held against the rules already, with the commit's wall time.
  package static func byteCount(
    checking commit: Commit, recordsAreChecked: Bool = false
  ) throws(MalformedError) -> Int {
    try commit.validateHeader()
    if !recordsAreChecked { try commit.validateRecords() }
    let count = byteCount(of: commit)
    try Commit.checkByteCount(count)
    return count
  }

  /// Writes the row of a commit.
  ///
  /// - Precondition: `memory` has as many bytes as `byteCount(checking:)` says.
  package static func write(_ commit: Commit, to memory: UnsafeMutableRawBufferPointer) {
    var writer = RowWriter(memory)
    write(commit, to: &writer)
    precondition(writer.room == 0)
  }

  /// Reads one commit; nothing may follow it. The replica and the number stand outside the row.
  package static func decode(
    _ bytes: UnsafeRawBufferPointer, replica: ReplicaID, number: CommitNumber
  ) throws(MalformedError) -> Commit {
    guard bytes.count <= Limits.commitBytesMax else {
      throw MalformedError("a commit of \(bytes.count) bytes, the most is \(Limits.commitBytesMax)")
    }
    var reader = ByteReader(bytes)
    let commit = try read(from: &reader, replica: replica, number: number)
    try reader.end()
    try commit.validate()
    return commit
  }

  /// The size of a commit's row, without making it.
  static func byteCount(of commit: Commit) -> Int {
    var count = 1 + 8
    count += ByteWriter.varintByteCount(ByteWriter.zigzag(commit.wallTime &- commit.stamp.milliseconds))
    count += ByteWriter.varintByteCount(commit.firstSequence.rawValue)
    count += ByteWriter.varintByteCount(UInt64(commit.eventCount))
    if let origin = commit.origin { count += ByteWriter.lengthAndBytesByteCount(origin.utf8.count) }
    if !commit.heads.isEmpty { count += byteCount(ofHeads: commit.heads) }
    if !commit.unknownMembers.isEmpty { count += byteCount(ofMembers: commit.unknownMembers) }
    commit.contents.forEach { count += byteCount(of: $0) }
    return count
  }

  private static func write(_ commit: Commit, to writer: inout some RowOutput) {
    var presence: UInt8 = 0
    if commit.origin != nil { presence |= originBit }
    if !commit.heads.isEmpty { presence |= headsBit }
    if !commit.unknownMembers.isEmpty { presence |= membersBit }
    writer.u8(presence)
    writer.u64(commit.stamp.rawValue)
    writer.zigzag(commit.wallTime - commit.stamp.milliseconds)
    writer.varint(commit.firstSequence.rawValue)
    writer.varint(commit.eventCount)
    if let origin = commit.origin { writer.text(origin) }
    if !commit.heads.isEmpty { write(heads: commit.heads, to: &writer) }
    if !commit.unknownMembers.isEmpty { write(members: commit.unknownMembers, to: &writer) }
    commit.contents.forEach { write($0, to: &writer) }
  }

  private static func read(
    from reader: inout ByteReader, replica: ReplicaID, number: CommitNumber
  ) throws(MalformedError) -> Commit {
    let presence = try reader.u8()
    guard presence <= originBit | headsBit | membersBit else {
      throw MalformedError("a commit that begins with the byte \(presence)")
    }
    let stamp = HybridTimestamp(rawValue: try reader.u64())
    let (wallTime, overflow) = stamp.milliseconds.addingReportingOverflow(try reader.zigzag())
    guard !overflow else { throw MalformedError("a wall time past 64 bits") }
    let firstSequence = SequenceNumber(rawValue: try reader.varint())
    // No event is smaller than a head byte, a library, an item: but 32 bytes hold a withheld one.
    let recordCount = try reader.count(
      atMost: min(Limits.commitEventsMax, reader.remaining), "events of a commit")
    let origin = presence & originBit != 0 ? try reader.text() : nil
    var heads: [Head] = []
    if presence & headsBit != 0 {
      heads = try readHeads(from: &reader)
      guard !heads.isEmpty else { throw MalformedError("heads that are announced and absent") }
    }
    let members = presence & membersBit != 0 ? try readMembers(from: &reader) : []
    return Commit(
      replica: replica, number: number, firstSequence: firstSequence, stamp: stamp, wallTime: wallTime,
      origin: origin, heads: heads, unknownMembers: members,
      contents: try readRecords(recordCount, from: &reader))
  }

  private static func readRecords(
    _ count: Int, from reader: inout ByteReader
  ) throws(MalformedError) -> EventRecords {
    if count == 1 { return .one(SingleRecord(try readRecord(from: &reader))) }
    var records: [EventRecord] = []
    records.reserveCapacity(count)
    for _ in 0..<count { records.append(try readRecord(from: &reader)) }
    return .several(records)
  }
}

// MARK: - Heads and members

extension RowEncoding {
  static func byteCount(ofHeads heads: [Head]) -> Int {
    heads.reduce(ByteWriter.varintByteCount(UInt64(heads.count))) {
      $0 + 16 + ByteWriter.varintByteCount($1.commit.rawValue)
    }
  }

  static func write(heads: [Head], to writer: inout some RowOutput) {
    writer.varint(heads.count)
    for head in heads {
      writer.replica(head.replica)
      writer.varint(head.commit.rawValue)
    }
  }

  /// Order and numbers are left to `Head.validate`.
  static func readHeads(from reader: inout ByteReader) throws(MalformedError) -> [Head] {
    // A head has at least 17 bytes.
    let count = try reader.count(atMost: min(Limits.headsMax, reader.remaining / 17), "heads")
    var heads: [Head] = []
    heads.reserveCapacity(count)
    for _ in 0..<count {
      let replica = try reader.replica()
      heads.append(Head(replica: replica, commit: CommitNumber(rawValue: try reader.varint())))
    }
    return heads
  }

  static func byteCount(ofMembers members: [UnknownMember]) -> Int {
    members.reduce(ByteWriter.varintByteCount(UInt64(members.count))) {
      $0 + ByteWriter.varintByteCount($1.tag) + ByteWriter.lengthAndBytesByteCount($1.bytes.count)
    }
  }

  static func write(members: [UnknownMember], to writer: inout some RowOutput) {
    writer.varint(members.count)
    for member in members {
      writer.varint(member.tag)
      writer.lengthAndBytes(member.bytes)
    }
  }

  /// Order is left to `UnknownMember.validate`.
  static func readMembers(from reader: inout ByteReader) throws(MalformedError) -> [UnknownMember] {
    // A member has at least 2 bytes.
    let count = try reader.count(atMost: reader.remaining / 2, "members")
    guard count > 0 else { throw MalformedError("members that are announced and absent") }
    var members: [UnknownMember] = []
    members.reserveCapacity(count)
    for _ in 0..<count {
      let tag = try reader.varint()
      members.append(UnknownMember(tag: tag, bytes: Array(try reader.lengthAndBytes())))
    }
    return members
  }
}
