/// The records of a commit: a reference, however many there are.
///
/// Most commits have one. Of a record in an array, a copy is made to look at it: six references to count. One that is a constant of an
/// object is lent.
@frozen @usableFromInline package enum EventRecords: Hashable, Sendable {
  /// The only one.
  case one(SingleRecord)
  /// Any other number of them.
  case several([EventRecord])

  /// Those of an array.
  package init(_ records: [EventRecord]) {
    self = records.count == 1 ? .one(SingleRecord(records[0])) : .several(records)
  }

  /// A single event.
  package init(_ event: Event) { self = .one(SingleRecord(.event(event))) }

  /// How many there are.
  @inlinable package var count: Int {
    switch self {
    case .one: 1
    case .several(let records): records.count
    }
  }

  /// All of them; of one an array is made.
  package var array: [EventRecord] {
    switch self {
    case .one(let single): [single.record]
    case .several(let records): records
    }
  }

  /// One of them.
  subscript(index: Int) -> EventRecord {
    switch self {
    case .one(let single): single.record
    case .several(let records): records[index]
    }
  }

  /// Gives them one by one, and makes no array.
  @inlinable @inline(__always)
  package func forEach<E: Error>(_ body: (EventRecord) throws(E) -> Void) throws(E) {
    switch self {
    case .one(let single): try body(single.record)
    case .several(let records): for record in records { try body(record) }
    }
  }
}

extension EventRecords {
  /// They are equal where the records are.
  @usableFromInline package static func == (a: EventRecords, b: EventRecords) -> Bool { a.array == b.array }

  /// Hashes the records.
  @usableFromInline package func hash(into hasher: inout Hasher) { hasher.combine(array) }
}

/// The record of a commit that has one.
@usableFromInline package final class SingleRecord: Sendable {
  /// The record.
  @usableFromInline package let record: EventRecord

  /// That record.
  package init(_ record: EventRecord) { self.record = record }
}
