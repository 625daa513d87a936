/// The records of a commit: a single reference, whatever their number.
///
/// Most commits have one. Accessing a record in an array copies it: six references to count. A record that is a constant of an
/// object is borrowed.
@frozen @usableFromInline package enum EventRecords: Hashable, Sendable {
  /// Exactly one record.
  case one(SingleRecord)
  /// Any other number of records.
  case several([EventRecord])

  /// The records of an array.
  package init(_ records: [EventRecord]) {
    self = records.count == 1 ? .one(SingleRecord(records[0])) : .several(records)
  }

  /// A single event.
  package init(_ event: Event) { self = .one(SingleRecord(.event(event))) }

  /// The number of records.
  @inlinable package var count: Int {
    switch self {
    case .one: 1
    case .several(let records): records.count
    }
  }

  /// All records; an array is created if there is only one.
  package var array: [EventRecord] {
    switch self {
    case .one(let single): [single.record]
    case .several(let records): records
    }
  }

  /// The record at an index.
  subscript(index: Int) -> EventRecord {
    switch self {
    case .one(let single): single.record
    case .several(let records): records[index]
    }
  }

  /// Visits the records in order without creating an array.
  @inlinable @inline(__always)
  package func forEach<E: Error>(_ body: (EventRecord) throws(E) -> Void) throws(E) {
    switch self {
    case .one(let single): try body(single.record)
    case .several(let records): for record in records { try body(record) }
    }
  }
}

extension EventRecords {
  /// Equal if the records are equal.
  @usableFromInline package static func == (a: EventRecords, b: EventRecords) -> Bool { a.array == b.array }

  /// Hashes the records.
  @usableFromInline package func hash(into hasher: inout Hasher) { hasher.combine(array) }
}

/// The record of a commit that has exactly one.
@usableFromInline package final class SingleRecord: Sendable {
  /// The record.
  @usableFromInline package let record: EventRecord

  /// Stores the record.
  package init(_ record: EventRecord) { self.record = record }
}
