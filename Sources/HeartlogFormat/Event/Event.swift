/// The kind of an event.
public enum Action: Hashable, Sendable {
  /// The item became a favorite.
  case added
  /// The item was removed from the favorites; its fields stayed.
  case removed
  /// A toggle, recorded with the membership that it switched to.
  case toggled(on: Bool)
  /// Fields were written; the membership stayed.
  case changed

  /// The membership that the action writes; nil if it writes none.
  public var isFavorite: Bool? {
    switch self {
    case .added: true
    case .removed: false
    case .toggled(let isOn): isOn
    case .changed: nil
    }
  }
}

/// A member of an event or a commit that this version does not know. It is stored, hashed and shipped unchanged.
public struct UnknownMember: Hashable, Sendable {
  /// The member's tag in the format.
  public let tag: UInt64
  /// Its content, unchanged.
  public let bytes: [UInt8]

  /// Creates a member.
  ///
  /// - Parameters:
  ///   - tag: the member's tag in the format.
  ///   - bytes: its content.
  public init(tag: UInt64, bytes: [UInt8]) {
    self.tag = tag
    self.bytes = bytes
  }
}

/// One change to one item.
public struct Event: Hashable, Sendable {
  /// The library of the item: 1 to 64 bytes of a–z, 0–9, `-`, `_` and `.`.
  public let library: String
  /// The id of the item: 1 to 4,096 bytes of UTF-8 without control characters.
  public let item: String
  /// What the event did with the item's membership.
  public let action: Action
  /// Set only if the action makes the item a favorite and the date differs from the commit's wall time.
  public let favoritedDate: Milliseconds?
  /// The fields that the event writes, sorted by the bytes of their names, without duplicates.
  public let fields: [Field]
  /// Members that this version does not know, sorted by tag, without duplicates.
  public let unknownMembers: [UnknownMember]

  /// Creates an event without checking its parts; `validate` checks them.
  public init(
    library: String, item: String, action: Action, favoritedDate: Milliseconds? = nil,
    fields: [Field] = [], unknownMembers: [UnknownMember] = []
  ) {
    self.library = library
    self.item = item
    self.action = action
    self.favoritedDate = favoritedDate
    self.fields = fields
    self.unknownMembers = unknownMembers
  }
}

/// An entry of a commit: an event, or a placeholder for one.
public enum EventRecord: Hashable, Sendable {
  /// An event with its content.
  case event(Event)
  /// An event whose content is withheld or erased. Its hash keeps the stream verifiable.
  case withheld(HeartlogDigest)
  /// An event of a later format version. `kind` is at least 8; `bytes` is its unchanged content.
  case unknown(kind: UInt64, bytes: [UInt8])

  /// The event; nil if its content is missing or unknown.
  public var event: Event? {
    if case .event(let event) = self { event } else { nil }
  }
}

extension Event {
  /// Libraries and items compare by bytes.
  public static func == (a: Event, b: Event) -> Bool {
    a.action == b.action && a.favoritedDate == b.favoritedDate && a.library.hasSameBytes(as: b.library)
      && a.item.hasSameBytes(as: b.item) && a.fields == b.fields && a.unknownMembers == b.unknownMembers
  }
}

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
