/// A commit as stored in its row, checked. This is the only decoder of rows: `RowEncoding.decode` creates a `Commit` from it.
///
/// Its bytes are valid as long as the storage that it borrows. A copy counts no references.
package struct CommitRow {
  /// Its fixed part.
  package let header: CommitHeader
  /// Its stamp, which rises strictly along a stream.
  package var stamp: HybridTimestamp { header.stamp }
  private let presence: UInt8
  /// The offset of the origin.
  private let parts: ByteReader
  /// The offset of the first event.
  private let content: ByteReader

  static let originBit: UInt8 = 1
  static let headsBit: UInt8 = 2
  static let membersBit: UInt8 = 4

  /// Reads one commit; nothing may follow it. The replica and the number are stored outside the row.
  ///
  /// - Throws: if the row is malformed or breaks a rule of the format.
  package init(
    _ bytes: UnsafeRawBufferPointer, replica: ReplicaID, number: CommitNumber
  ) throws(MalformedError) {
    try Commit.checkByteCount(bytes.count)
    var reader = ByteReader(bytes)
    presence = try reader.u8()
    guard presence <= Self.originBit | Self.headsBit | Self.membersBit else {
      throw MalformedError("a commit that begins with the byte \(presence)")
    }
    let stamp = HybridTimestamp(rawValue: try reader.u64())
    let (wallTime, overflow) = stamp.milliseconds.addingReportingOverflow(try reader.zigzag())
    guard !overflow else { throw MalformedError("a wall time past 64 bits") }
    let firstSequence = SequenceNumber(rawValue: try reader.varint())
    // A record has at least a head byte, followed by a library and an item, or by 32 bytes if it is withheld.
    let eventCount = try reader.count(
      atMost: min(Limits.commitEventsMax, reader.remaining), "events of a commit")
    header = CommitHeader(
      replica: replica, number: number, firstSequence: firstSequence, eventCount: eventCount, stamp: stamp,
      wallTime: wallTime)
    try header.validate()
    parts = reader
    if presence != 0 { try Self.passParts(presence, of: replica, &reader) }
    content = reader
    for _ in 0..<eventCount {
      let event = try RowEvent(from: &reader)
      if event.header.isEvent {
        try event.validate(wallTime: wallTime)
      } else {
        try event.record.validate(wallTime: wallTime)
      }
    }
    try reader.end()
  }

  private static func passParts(
    _ presence: UInt8, of replica: ReplicaID, _ reader: inout ByteReader
  ) throws(MalformedError) {
    if presence & originBit != 0 {
      let origin = try reader.lengthAndBytes()
      try origin.checkUTF8()
      try MalformedError.check(NameRules.originProblem(origin))
    }
    if presence & headsBit != 0 {
      try Head.validate(try RowEncoding.readSomeHeads(from: &reader), of: replica)
    }
    if presence & membersBit != 0 { try UnknownMember.validate(try RowEncoding.readMembers(from: &reader)) }
  }

  /// Whether the replica had newly seen any commits of others.
  package var hasHeads: Bool { presence & Self.headsBit != 0 }

  /// The heads of other replicas that the replica had newly seen, sorted by replica.
  package var heads: [Head] { hasHeads ? readParts().heads : [] }

  private func readParts() -> (origin: String?, heads: [Head], members: [UnknownMember]) {
    do throws(MalformedError) {
      var reader = parts
      let origin = presence & Self.originBit != 0 ? try reader.text() : nil
      let heads = presence & Self.headsBit != 0 ? try RowEncoding.readSomeHeads(from: &reader) : []
      let members = presence & Self.membersBit != 0 ? try RowEncoding.readMembers(from: &reader) : []
      return (origin, heads, members)
    } catch {
      preconditionFailure("a row that was checked: \(error.reason)")
    }
  }

  /// A cursor before the first event.
  package var events: RowEvents { RowEvents(content) }

  /// The commit as a value.
  package func commit() -> Commit {
    let parts = readParts()
    var events = events
    let contents: EventRecords
    if header.eventCount == 1 {
      contents = .one(SingleRecord(events.next().record))
    } else {
      contents = .several((0..<header.eventCount).map { _ in events.next().record })
    }
    return Commit(
      replica: header.replica, number: header.number, firstSequence: header.firstSequence,
      stamp: header.stamp, wallTime: header.wallTime, origin: parts.origin, heads: parts.heads,
      unknownMembers: parts.members, contents: contents)
  }
}
