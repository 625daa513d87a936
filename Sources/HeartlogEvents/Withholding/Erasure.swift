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
