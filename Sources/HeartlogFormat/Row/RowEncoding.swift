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
    let written = output.withUnsafeMutableBytes {
      write(commit, to: UnsafeMutableRawBufferPointer(rebasing: $0[start...]))
    }
    assert(written == count, "a row takes the bytes that were counted")
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
    assert(header.eventCount > 0, "a commit has an event")
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

  // MARK: - Heads and members

  /// The number of bytes that `body` writes.
  static func byteCount(_ body: (inout RowWriter) -> Void) -> Int {
    var counter = RowWriter(.init(start: nil, count: 0))
    body(&counter)
    return counter.byteCount
  }

  static func write(heads: [Head], to writer: inout (some ByteOutput & ~Copyable)) {
    assert(heads.count <= Limits.headsMax, "heads that a reader takes")
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

  // One event as stored in a row. The event's hash is computed over the same bytes.

  /// Appends one event, as it is in a row.
  package static func append(_ event: Event, to output: inout [UInt8]) {
    var writer = ByteWriter(output)
    write(event, to: &writer)
    output = writer.bytes
  }

  /// The event that `append` has written to exactly these bytes.
  package static func event(_ bytes: UnsafeRawBufferPointer) throws(MalformedError) -> Event {
    var reader = ByteReader(bytes)
    let row = try RowEvent(from: &reader)
    try reader.end()
    guard let event = row.record.event else { throw MalformedError("a placeholder where an event should be") }
    return event
  }

  static func write(_ record: EventRecord, to writer: inout (some ByteOutput & ~Copyable)) {
    switch record {
    case .withheld(let hash):
      writer.u8(EventHeader.withheld.rawValue)
      writer.raw(hash)
    case .unknown(let kind, let bytes):
      writer.u8(EventHeader.unknown.rawValue)
      writer.varint(kind)
      writer.lengthAndBytes(bytes)
    case .event(let event): write(event, to: &writer)
    }
  }

  static func write(_ event: some EventView, to writer: inout (some ByteOutput & ~Copyable)) {
    let header = event.header
    writer.u8(header.rawValue)
    event.withNames { library, item in
      writer.lengthAndBytes(library)
      writer.lengthAndBytes(item)
    }
    if let date = event.favoritedDate { writer.zigzag(date) }
    if header.hasFields {
      assert(event.fieldCount > 0, "fields that are announced are there")
      writer.varint(event.fieldCount)
      event.forEachField { field in
        writer.lengthAndBytes(field.name)
        writer.u8(field.tagByte)
        switch field.value {
        case .null, .bool: break
        case .int64(let value): writer.zigzag(value)
        case .double(let value): writer.u64(value.bitPattern)
        case .string(let bytes), .json(let bytes), .unknown(_, let bytes): writer.lengthAndBytes(bytes)
        }
      }
    }
    if header.hasMembers { write(members: event.unknownMembers, to: &writer) }
  }
}

/// Writes a row to memory that outlives the writer, as far as there is room, and counts the bytes of the whole row.
///
/// An array checks its storage for each appended byte, which took half of the time to write a row.
struct RowWriter: ByteOutput {
  /// The number of bytes in the row so far. Only the first `memory.count` of them are written.
  private(set) var byteCount = 0
  private let start: UnsafeMutableRawPointer?
  private let capacity: Int

  init(_ memory: UnsafeMutableRawBufferPointer) {
    start = memory.baseAddress
    capacity = memory.count
  }

  /// Claims the next bytes; nil if there is no room for all of them.
  @inline(__always)
  private mutating func claim(_ count: Int) -> UnsafeMutableRawPointer? {
    defer { byteCount += count }
    return byteCount + count <= capacity ? start?.advanced(by: byteCount) : nil
  }

  mutating func u8(_ value: UInt8) { claim(1)?.storeBytes(of: value, as: UInt8.self) }
  mutating func u32(_ value: UInt32) { claim(4)?.storeBytes(of: value.littleEndian, as: UInt32.self) }
  mutating func u64(_ value: UInt64) { claim(8)?.storeBytes(of: value.littleEndian, as: UInt64.self) }

  mutating func raw(_ value: UnsafeRawBufferPointer) {
    guard let memory = claim(value.count), let source = value.baseAddress else { return }
    memory.copyMemory(from: source, byteCount: value.count)
  }
}

/// The first byte of an event in both encodings: its action, and which parts follow.
///
/// Inlinable for block replay: called for each event, its accessors take 46 of 1,110 instructions per event.
@frozen @usableFromInline package struct EventHeader: RawRepresentable, Equatable, Sendable, BitwiseCopyable {
  /// The byte.
  @usableFromInline package let rawValue: UInt8

  static let withheld = EventHeader(rawValue: 5)
  static let unknown = EventHeader(rawValue: 6)

  /// Creates a header from a byte without checking it.
  @inlinable package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Creates the header of an event with these parts.
  init(_ action: Action, hasFavoritedDate: Bool, hasFields: Bool, hasMembers: Bool) {
    let code: UInt8 =
      switch action {
      case .added: 0
      case .removed: 1
      case .toggled(on: true): 2
      case .toggled(on: false): 3
      case .changed: 4
      }
    rawValue = code | (hasFavoritedDate ? 8 : 0) | (hasFields ? 16 : 0) | (hasMembers ? 32 : 0)
  }

  /// Throws if no event has this byte.
  init(checking byte: UInt8) throws(MalformedError) {
    self.init(rawValue: byte)
    guard isEvent ? byte < 64 : self == .withheld || self == .unknown else {
      throw MalformedError("an event that begins with the byte \(byte)")
    }
    guard !hasFavoritedDate || membership == true else {
      throw MalformedError("a favorited date with an event that makes no favorite")
    }
    guard !isEvent || membership != nil || hasFields || hasMembers else {
      throw MalformedError("a change without fields")
    }
  }

  /// The action; nil if the event is withheld or of a later version.
  package var action: Action? {
    switch rawValue & 7 {
    case 0: .added
    case 1: .removed
    case 2: .toggled(on: true)
    case 3: .toggled(on: false)
    case 4: .changed
    default: nil
    }
  }

  /// The membership that the event's action writes; nil if it writes none.
  @inlinable package var membership: Bool? { rawValue & 7 < 4 ? rawValue & 1 == 0 : nil }

  /// Whether this version knows the event and its content is present.
  @inlinable package var isEvent: Bool { rawValue & 7 < 5 }
  /// Whether anything follows the library and the item.
  var hasContent: Bool { rawValue & 56 != 0 }
  /// Whether a favorited date follows.
  @inlinable package var hasFavoritedDate: Bool { rawValue & 8 != 0 }
  /// Whether fields follow.
  @inlinable package var hasFields: Bool { rawValue & 16 != 0 }
  /// Whether members of a later version follow.
  @inlinable package var hasMembers: Bool { rawValue & 32 != 0 }
}

extension EventRecord {
  /// The first byte.
  var header: EventHeader {
    switch self {
    case .withheld: .withheld
    case .unknown: .unknown
    case .event(let event): event.header
    }
  }
}
