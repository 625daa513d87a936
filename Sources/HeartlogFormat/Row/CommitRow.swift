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

/// An event as stored in a row. Its bytes are valid as long as the row's; a copy counts no references.
package struct RowEvent: EventView {
  package let header: EventHeader
  package let favoritedDate: Milliseconds?
  package let fieldCount: Int
  package private(set) var fieldsAreSorted = true
  package let library: UnsafeRawBufferPointer
  package let item: UnsafeRawBufferPointer
  /// The offset of the first field; of the content, if the record is not an event.
  private var content: ByteReader

  /// Reads up to the fields, which the caller reads.
  @inline(__always)
  fileprivate init(_ header: EventHeader, from reader: inout ByteReader) throws(MalformedError) {
    self.header = header
    if header.isEvent {
      library = try reader.lengthAndBytes()
      item = try reader.lengthAndBytes()
      favoritedDate = header.hasFavoritedDate ? try reader.zigzag() : nil
      // A field has at least a length, one byte of name, and a tag.
      fieldCount = header.hasFields ? try reader.count(atMost: reader.remaining / 3, "fields") : 0
    } else {
      library = UnsafeRawBufferPointer(start: nil, count: 0)
      item = library
      favoritedDate = nil
      fieldCount = 0
    }
    content = reader
  }

  /// Reads an event to its end. Checks that it is well-formed; the rules are checked by `validate`.
  init(from reader: inout ByteReader) throws(MalformedError) {
    try self.init(try EventHeader(checking: try reader.u8()), from: &reader)
    try item.checkUTF8()
    if header.hasFields, fieldCount == 0 { throw MalformedError("fields that are announced and absent") }
    var before: UnsafeRawBufferPointer?
    for _ in 0..<fieldCount {
      let field = try BorrowedField(from: &reader)
      try field.name.checkUTF8()
      switch field.value {
      case .string(let text): try text.checkUTF8()
      case .json(let text): _ = try CanonicalJSON(canonical: text)
      default: break
      }
      if let before, !before.bytesPrecede(field.name) { fieldsAreSorted = false }
      before = field.name
    }
    try Self.passRest(header, &reader)
  }

  /// Skips everything after the fields.
  fileprivate static func passRest(
    _ header: EventHeader, _ reader: inout ByteReader
  ) throws(MalformedError) {
    if !header.isEvent {
      _ = try placeholder(header, from: &reader)
    } else if header.hasMembers {
      _ = try RowEncoding.readMembers(from: &reader)
    }
  }

  package func withNames(
    _ body: (_ library: UnsafeRawBufferPointer, _ item: UnsafeRawBufferPointer) -> Void
  ) { body(library, item) }

  package func forEachField(_ body: (BorrowedField) -> Void) {
    var reader = content
    ByteReader.reading { () throws(MalformedError) in
      for _ in 0..<fieldCount { body(try BorrowedField(from: &reader)) }
    }
  }

  package var unknownMembers: [UnknownMember] {
    guard header.hasMembers else { return [] }
    return ByteReader.reading { () throws(MalformedError) in
      var reader = content
      for _ in 0..<fieldCount { _ = try BorrowedField(from: &reader) }
      return try RowEncoding.readMembers(from: &reader)
    }
  }

  /// The event, or its placeholder, as a value.
  var record: EventRecord {
    if header.isEvent { return .event(Event(copying: self)) }
    var reader = content
    return ByteReader.reading { () throws(MalformedError) in try Self.placeholder(header, from: &reader) }
  }

  private static func placeholder(
    _ header: EventHeader, from reader: inout ByteReader
  ) throws(MalformedError) -> EventRecord {
    if header == .withheld { return .withheld(try reader.digest()) }
    return .unknown(kind: try reader.varint(), bytes: Array(try reader.lengthAndBytes()))
  }
}

/// A cursor over the events of a row, which have been read before and are well-formed.
package struct RowEvents {
  private var reader: ByteReader
  /// The part of the last event that must be skipped before the next one.
  private var header = EventHeader(rawValue: 0)
  private var fieldCount = 0

  init(_ reader: ByteReader) { self.reader = reader }

  /// - Precondition: there is a next event.
  package mutating func next() -> RowEvent {
    ByteReader.reading { () throws(MalformedError) in
      if fieldCount > 0 || !header.isEvent || header.hasMembers { try passContent() }
      let event = try RowEvent(EventHeader(rawValue: try reader.u8()), from: &reader)
      header = event.header
      fieldCount = event.fieldCount
      return event
    }
  }

  private mutating func passContent() throws(MalformedError) {
    for _ in 0..<fieldCount { _ = try BorrowedField(from: &reader) }
    try RowEvent.passRest(header, &reader)
  }
}

extension BorrowedField {
  /// Reads a field. The caller checks whether its texts are well-formed.
  fileprivate init(from reader: inout ByteReader) throws(MalformedError) {
    name = try reader.lengthAndBytes()
    let tagByte = try reader.u8()
    isQuiet = tagByte & ValueTag.quietBit != 0
    let tag = tagByte & ~ValueTag.quietBit
    guard tag <= ValueTag.unknown.upperBound else { throw MalformedError("a value with tag byte \(tag)") }
    value = try BorrowedValue(
      tag: tag,
      number: { () throws(MalformedError) in
        tag == ValueTag.int64 ? try reader.zigzag() : Int64(bitPattern: try reader.u64())
      },
      text: { () throws(MalformedError) in try reader.lengthAndBytes() })
  }
}

extension ByteReader {
  /// Reads bytes that have been read before and are well-formed.
  @inline(__always)
  fileprivate static func reading<R>(_ body: () throws(MalformedError) -> R) -> R {
    do throws(MalformedError) { return try body() } catch {
      preconditionFailure("a row that was checked: \(error.reason)")
    }
  }
}

/// The tags of values in both encodings. `BorrowedValue` maps them to values and back.
@usableFromInline package enum ValueTag {
  @inlinable package static var null: UInt8 { 0 }
  @inlinable package static var no: UInt8 { 1 }
  @inlinable package static var yes: UInt8 { 2 }
  @inlinable package static var int64: UInt8 { 3 }
  @inlinable package static var double: UInt8 { 4 }
  @inlinable package static var string: UInt8 { 5 }
  @inlinable package static var json: UInt8 { 6 }
  /// Tags that this version does not know; their values are prefixed with their length.
  static let unknown: ClosedRange<UInt8> = 7...63
  /// Combined with the tag in the same byte.
  static let quietBit: UInt8 = 0x80

  /// A tag and the quiet bit.
  static func byte(_ tag: UInt8, isQuiet: Bool) -> UInt8 { isQuiet ? tag | quietBit : tag }
}
