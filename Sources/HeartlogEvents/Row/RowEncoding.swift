/// One commit as self-contained bytes, except for the replica and the commit's number.
///
/// A commit has exactly one row encoding; see "Row encoding" in docs/format.md.
package enum RowEncoding {
  /// Checks a commit and appends it.
  ///
  /// - Throws: if a rule is broken; `output` is then unchanged.
  package static func append(_ commit: Commit, to output: inout [UInt8]) throws(MalformedError) {
    try commit.validateParts()
    let count = byteCount(of: commit)
    try Commit.checkByteCount(count)
    let start = output.count
    output.append(contentsOf: repeatElement(0, count: count))
    _ = output.withUnsafeMutableBytes {
      write(commit, to: UnsafeMutableRawBufferPointer(rebasing: $0[start...]))
    }
  }

  /// Writes the row of a commit, if `memory` has room for it.
  ///
  /// - Returns: the size of the row in bytes. If it exceeds the size of `memory`, the written bytes must be ignored.
  package static func write(_ commit: Commit, to memory: UnsafeMutableRawBufferPointer) -> Int {
    var writer = RowWriter(memory)
    write(commit, to: &writer)
    return writer.byteCount
  }

  /// The size of a commit's row.
  package static func byteCount(of commit: Commit) -> Int { byteCount { write(commit, to: &$0) } }

  /// The size of a commit's row as the limits count it: a withheld event counts as one byte, so that no commit becomes too large because
  /// content of it is withheld.
  package static func limitedByteCount(of commit: Commit) -> Int {
    byteCount(of: commit) - commit.withheldCount * Digest.byteCount
  }

  /// Reads one commit; nothing may follow it. The replica and the number are stored outside the row.
  package static func decode(
    _ bytes: UnsafeRawBufferPointer, replica: ReplicaID, number: CommitNumber
  ) throws(MalformedError) -> Commit {
    try CommitRow(bytes, replica: replica, number: number).commit()
  }

  private static func write(_ commit: Commit, to writer: inout (some ByteOutput & ~Copyable)) {
    write(
      commit.header, origin: commit.origin, heads: commit.heads, unknownMembers: commit.unknownMembers,
      to: &writer)
    commit.contents.forEach { write($0, to: &writer) }
  }

  /// Writes what precedes the events of a commit.
  static func write(
    _ header: CommitHeader, origin: String?, heads: [Head], unknownMembers: [UnknownMember],
    to writer: inout (some ByteOutput & ~Copyable)
  ) {
    var presence: UInt8 = 0
    if origin != nil { presence |= CommitRow.originBit }
    if !heads.isEmpty { presence |= CommitRow.headsBit }
    if !unknownMembers.isEmpty { presence |= CommitRow.membersBit }
    writer.u8(presence)
    writer.u64(header.stamp.rawValue)
    writer.zigzag(header.wallTime &- header.stamp.milliseconds)
    writer.varint(header.firstSequence.rawValue)
    writer.varint(header.eventCount)
    if let origin { writer.text(origin) }
    if !heads.isEmpty { write(heads: heads, to: &writer) }
    if !unknownMembers.isEmpty { write(members: unknownMembers, to: &writer) }
  }
}

// MARK: - Heads and members

extension RowEncoding {
  /// The number of bytes that `body` writes.
  static func byteCount(_ body: (inout RowWriter) -> Void) -> Int {
    var counter = RowWriter(.init(start: nil, count: 0))
    body(&counter)
    return counter.byteCount
  }

  static func write(heads: [Head], to writer: inout (some ByteOutput & ~Copyable)) {
    writer.varint(heads.count)
    for head in heads {
      writer.replica(head.replica)
      writer.varint(head.commit.rawValue)
    }
  }

  /// Order and numbers are checked by `Head.validate`.
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

  /// As `readHeads`, if a bit announces them: there is at least one.
  static func readSomeHeads(from reader: inout ByteReader) throws(MalformedError) -> [Head] {
    let heads = try readHeads(from: &reader)
    guard !heads.isEmpty else { throw MalformedError("heads that are announced and absent") }
    return heads
  }

  static func write(members: [UnknownMember], to writer: inout (some ByteOutput & ~Copyable)) {
    writer.varint(members.count)
    for member in members {
      writer.varint(member.tag)
      writer.lengthAndBytes(member.bytes)
    }
  }

  /// Order is checked by `UnknownMember.validate`.
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
