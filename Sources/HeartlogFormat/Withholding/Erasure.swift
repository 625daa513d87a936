/// The content of an erasing event: the events that every store is to erase. Source: docs/format.md, "Erased events".
package struct Erasure: Hashable, Sendable {
  /// The kind of an erasing event.
  package static let kind: UInt64 = 8
  /// The maximum number of erased events that one erasing event names.
  package static let eventsMax = 16_384

  /// At least one; by stream, then along it, without duplicates.
  package let events: [ErasedEvent]

  /// The erasing events that name these events, in any order, each at most `eventsMax` of them.
  package static func naming(_ events: [ErasedEvent]) -> [Erasure] {
    let sorted = Set(events).sorted(by: ErasedEvent.precedes)
    return stride(from: 0, to: sorted.count, by: eventsMax).map {
      Erasure(events: Array(sorted[$0..<min($0 + eventsMax, sorted.count)]))
    }
  }

  private init(events: [ErasedEvent]) { self.events = events }

  /// The record as which it is stored.
  package var record: EventRecord { .unknown(kind: Self.kind, bytes: bytes) }

  /// Its encoding.
  package var bytes: [UInt8] {
    var writer = ByteWriter()
    writer.varint(events.count)
    for event in events { event.write(to: &writer) }
    return writer.bytes
  }

  /// Reads the content of an erasing event.
  package init(_ bytes: UnsafeRawBufferPointer) throws(MalformedError) {
    var reader = ByteReader(bytes)
    let count = try reader.count(
      atMost: min(Self.eventsMax, reader.remaining / ErasedEvent.byteCountMin), "erased events")
    guard count > 0 else { throw MalformedError("an erasing event that names no event") }
    var events: [ErasedEvent] = []
    events.reserveCapacity(count)
    for _ in 0..<count {
      let event = try ErasedEvent(from: &reader)
      guard events.last.map({ ErasedEvent.precedes($0, event) }) ?? true else {
        throw MalformedError("erased events that are not in order")
      }
      events.append(event)
    }
    try reader.end()
    self.events = events
  }

  /// Nil if the record is no erasing event, or a malformed one.
  package init?(_ record: EventRecord) {
    guard case .unknown(Self.kind, let bytes) = record,
      let erasure = try? bytes.withBytes({ (bytes) throws(MalformedError) in try Erasure(bytes) })
    else { return nil }
    self = erasure
  }
}

/// A commit that erases.
package struct ErasingCommit: Hashable, Sendable {
  /// The commit.
  package let source: Head
  /// What its erasing events say; at least one.
  package let erasures: [Erasure]

  /// The erasing commit with this number.
  package init(source: Head, erasures: [Erasure]) {
    self.source = source
    self.erasures = erasures
  }

  /// Nil if no event of the commit erases.
  package init?(_ commit: Commit) {
    let erasures = commit.records.compactMap(Erasure.init)
    guard !erasures.isEmpty else { return nil }
    self.init(source: Head(replica: commit.replica, commit: commit.number), erasures: erasures)
  }

  /// The events that it names.
  package var events: [ErasedEvent] { erasures.flatMap(\.events) }
}

extension EventRecord {
  /// The events that this event erases; nil if it is no erasing event, or a malformed one.
  package var erasedEvents: [ErasedEvent]? { Erasure(self)?.events }
}

/// An event whose content is to be erased, named without its content.
package struct ErasedEvent: Hashable, Sendable {
  /// The stream of the event.
  package let replica: ReplicaID
  /// The first commit of the open segment that the event was written to. The segment's secret leads to the event's salt.
  package let segment: CommitNumber
  /// The commit of the event.
  package let commit: CommitNumber
  /// The commit's stamp, by which its copies in branches of the stream are found.
  package let stamp: HybridTimestamp
  /// The event's index in its commit, from 0.
  package let index: Int
  /// The event's hash, which stays in its place.
  package let hash: Digest

  /// Names an event.
  package init(
    replica: ReplicaID, segment: CommitNumber, commit: CommitNumber, stamp: HybridTimestamp, index: Int,
    hash: Digest
  ) {
    self.replica = replica
    self.segment = segment
    self.commit = commit
    self.stamp = stamp
    self.index = index
    self.hash = hash
  }

  /// Names an event of a commit; nil if no secret covers it.
  package init?(of commit: Commit, at index: Int, salts: inout Salts, hasher: inout SHA256Hasher) {
    guard let segment = salts.segment(of: commit.number),
      let salt = salts.salt(commit: commit.number, event: index, hasher: &hasher)
    else { return nil }
    self.init(
      replica: commit.replica, segment: segment, commit: commit.number, stamp: commit.stamp, index: index,
      hash: commit.contents[index].hash(salt: salt, hasher: &hasher))
  }

  /// A replica, a commit and its distance, a stamp, an index, and a hash.
  package static let byteCountMin = 16 + 1 + 1 + 8 + 1 + 32
  /// The same, with the longest numbers.
  package static let byteCountMax = 16 + 8 + 8 + 8 + 3 + 32

  /// Writes the event as erasing events contain it.
  package func write(to writer: inout ByteWriter) {
    writer.replica(replica)
    writer.varint(commit.rawValue)
    writer.varint(commit.rawValue - segment.rawValue)
    writer.u64(stamp.rawValue)
    writer.varint(index)
    writer.raw(hash)
  }

  /// Reads what `write` wrote.
  package init(from reader: inout ByteReader) throws(MalformedError) {
    let replica = try reader.replica()
    let commit = try reader.varint()
    let behind = try reader.varint()
    guard (1...Limits.numberMax).contains(commit), behind < commit else {
      throw MalformedError("an erased event of commit \(commit), \(behind) after its segment's first")
    }
    self.init(
      replica: replica, segment: CommitNumber(rawValue: commit - behind),
      commit: CommitNumber(rawValue: commit), stamp: HybridTimestamp(rawValue: try reader.u64()),
      index: try reader.count(atMost: Limits.commitEventsMax - 1, "an event's place"),
      hash: try reader.digest())
  }

  /// The order of an erasing event: by stream, then along it.
  package static func precedes(_ a: ErasedEvent, _ b: ErasedEvent) -> Bool {
    a.replica == b.replica ? (a.commit, a.index) < (b.commit, b.index) : a.replica < b.replica
  }
}
