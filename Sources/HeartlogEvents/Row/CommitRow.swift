/// A commit as it lies in its row, checked: for those who apply it and need no `Commit`.
///
/// Its bytes are valid as long as what they were borrowed from; it must not be kept. To copy one counts no references.
package struct CommitRow {
  /// Who wrote it.
  package let replica: ReplicaID
  /// Its number in the replica's stream.
  package let number: CommitNumber
  /// The sequence number of its first event.
  package let firstSequence: SequenceNumber
  /// Its place in the total order.
  package let stamp: HybridTimestamp
  /// The wall time of the replica when it wrote, in milliseconds since 1970.
  package let wallTime: Milliseconds
  /// How many events it has, at least 1.
  package let eventCount: Int
  private let bytes: UnsafeRawBufferPointer
  /// 0 for none.
  private let headsOffset: Int
  private let eventsOffset: Int

  /// - Returns: nil where a row needs another look: it is malformed, or has what only `RowEncoding.decode` reads.
  package init?(_ bytes: UnsafeRawBufferPointer, replica: ReplicaID, number: CommitNumber) {
    do throws(MalformedError) {
      try self.init(checking: bytes, replica: replica, number: number)
    } catch { return nil }
  }

  private init(
    checking bytes: UnsafeRawBufferPointer, replica: ReplicaID, number: CommitNumber
  ) throws(MalformedError) {
    guard bytes.count <= Limits.commitBytesMax else { throw .anotherLook }
    var reader = ByteReader(bytes)
    // Members are of a later version.
    let presence = try reader.u8()
    guard presence < 4 else { throw .anotherLook }
    stamp = HybridTimestamp(rawValue: try reader.u64())
    let (wallTime, overflow) = stamp.milliseconds.addingReportingOverflow(try reader.zigzag())
    firstSequence = SequenceNumber(rawValue: try reader.varint())
    eventCount = try reader.count(
      atMost: min(Limits.commitEventsMax, reader.remaining), "events of a commit")
    guard !overflow, (0...Limits.timeMillisecondsMax).contains(wallTime), stamp <= .last, eventCount > 0,
      (1...Limits.numberMax).contains(number.rawValue), firstSequence.rawValue >= 1,
      firstSequence.rawValue <= Limits.numberMax - UInt64(eventCount - 1)
    else { throw .anotherLook }
    if presence & 1 != 0 { try NameRules.checkOrigin(try reader.wellFormed()) }
    if presence & 2 != 0 {
      headsOffset = reader.offset
      let heads = try RowEncoding.readHeads(from: &reader)
      guard !heads.isEmpty else { throw .anotherLook }
      try Head.validate(heads, of: replica)
    } else {
      headsOffset = 0
    }
    self.replica = replica
    self.number = number
    self.wallTime = wallTime
    self.bytes = bytes
    eventsOffset = reader.offset
    for _ in 0..<eventCount { try Self.checkEvent(&reader, wallTime: wallTime) }
    try reader.end()
  }

  /// What the replica had newly seen of others, by replica.
  package var heads: [Head] {
    guard headsOffset > 0 else { return [] }
    do throws(MalformedError) {
      var reader = ByteReader(UnsafeRawBufferPointer(rebasing: bytes[headsOffset...]))
      return try RowEncoding.readHeads(from: &reader)
    } catch {
      preconditionFailure("heads that were checked: \(error.reason)")
    }
  }

  private static func checkEvent(_ reader: inout ByteReader, wallTime: Milliseconds) throws(MalformedError) {
    let head = try EventHeader(checking: try reader.u8())
    guard head.isEvent, !head.hasMembers else { throw .anotherLook }
    try NameRules.checkLibrary(try reader.lengthAndBytes())
    let item = try reader.lengthAndBytes()
    if item.isEmpty || item.count > Limits.itemBytesMax || !item.isPrintableASCII {
      _ = try String(wellFormed: item)
      try NameRules.checkItem(item)
    }
    if head.hasFavoritedDate { try Event.checkFavoritedDate(try reader.zigzag(), wallTime: wallTime) }
    guard head.hasFields else { return }
    let count = try reader.count(atMost: reader.remaining / 3, "fields")
    guard count > 0 else { throw .anotherLook }
    var before: UnsafeRawBufferPointer?
    for _ in 0..<count {
      let name = try reader.lengthAndBytes()
      if name.isEmpty || name.count > Limits.fieldNameBytesMax || !name.isPrintableASCII {
        _ = try String(wellFormed: name)
        try NameRules.checkFieldName(name)
      }
      if let before, !before.bytesPrecede(name) { throw .anotherLook }
      before = name
      try checkValue(tag: try reader.u8() & ~ValueTag.quietBit, &reader)
    }
  }

  private static func checkValue(tag: UInt8, _ reader: inout ByteReader) throws(MalformedError) {
    switch tag {
    case ValueTag.null, ValueTag.no, ValueTag.yes: return
    case ValueTag.int64: _ = try reader.varint()
    case ValueTag.double:
      let value = Double(bitPattern: try reader.u64())
      guard value.isFinite, Int64(exactly: value) == nil else { throw .anotherLook }
    case ValueTag.string: try FieldValue.checkByteCount(try reader.wellFormed().count)
    case ValueTag.json:
      let text = try reader.text()
      try FieldValue.checkByteCount(text.utf8.count)
      _ = try CanonicalJSON(canonical: text)
    default: throw .anotherLook
    }
  }

  /// The commit, for those who keep it.
  package func commit() -> Commit {
    do throws(MalformedError) {
      return try RowEncoding.decode(bytes, replica: replica, number: number)
    } catch {
      preconditionFailure("a row that was checked: \(error.reason)")
    }
  }

  /// In front of the first event.
  package var events: Events {
    Events(UnsafeRawBufferPointer(rebasing: bytes[eventsOffset...]), wallTime: wallTime)
  }
}

extension CommitRow {
  /// A way along the events of a row, which are known to be well-formed.
  package struct Events {
    private var bytes: UnsafeRawBufferPointer
    private var offset = 0
    private let wallTime: Milliseconds

    fileprivate init(_ bytes: UnsafeRawBufferPointer, wallTime: Milliseconds) {
      self.bytes = bytes
      self.wallTime = wallTime
    }

    package struct Event {
      package let head: EventHeader
      package let library: UnsafeRawBufferPointer
      package let item: UnsafeRawBufferPointer
      /// The commit's wall time where the event names no other date.
      package let favoritedDate: Milliseconds
      /// As many calls of `nextField` follow.
      package let fieldCount: Int
    }

    /// - Precondition: there is one, and all fields of the one before were passed.
    package mutating func next() -> Event {
      let head = EventHeader(rawValue: byte())
      let library = text()
      let item = text()
      let date = head.hasFavoritedDate ? zigzag() : wallTime
      return Event(
        head: head, library: library, item: item, favoritedDate: date,
        fieldCount: head.hasFields ? Int(varint()) : 0)
    }

    package mutating func nextField() -> (name: UnsafeRawBufferPointer, value: BorrowedValue, isQuiet: Bool) {
      let name = text()
      let tag = byte()
      return (name, value(tag: tag & ~ValueTag.quietBit), tag & ValueTag.quietBit != 0)
    }

    private mutating func value(tag: UInt8) -> BorrowedValue {
      switch tag {
      case ValueTag.no: return .bool(false)
      case ValueTag.yes: return .bool(true)
      case ValueTag.int64: return .int64(zigzag())
      case ValueTag.double:
        defer { offset += 8 }
        let word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        return .double(Double(bitPattern: UInt64(littleEndian: word)))
      case ValueTag.string: return .string(text())
      case ValueTag.json: return .json(text())
      default: return .null
      }
    }

    private mutating func byte() -> UInt8 {
      defer { offset += 1 }
      return bytes[offset]
    }

    private mutating func varint() -> UInt64 {
      var value: UInt64 = 0
      var shift: UInt64 = 0
      while true {
        let next = byte()
        value |= UInt64(next & 0x7F) &<< shift
        if next < 0x80 { return value }
        shift += 7
      }
    }

    private mutating func zigzag() -> Int64 {
      let value = varint()
      return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    private mutating func text() -> UnsafeRawBufferPointer {
      let count = Int(varint())
      defer { offset += count }
      return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
    }
  }
}

extension MalformedError {
  /// The row is left to `RowEncoding.decode`, which says what is wrong with it, if anything is.
  fileprivate static var anotherLook: MalformedError { MalformedError("another look") }
}

extension ByteReader {
  /// A length and that many bytes of well-formed UTF-8.
  fileprivate mutating func wellFormed() throws(MalformedError) -> UnsafeRawBufferPointer {
    let bytes = try lengthAndBytes()
    if !bytes.isPrintableASCII { _ = try String(wellFormed: bytes) }
    return bytes
  }
}
