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
package struct UnknownMember: Hashable, Sendable {
  /// The member's tag in the format.
  package let tag: UInt64
  /// Its content, unchanged.
  package let bytes: [UInt8]

  /// Creates a member.
  ///
  /// - Parameters:
  ///   - tag: the member's tag in the format.
  ///   - bytes: its content.
  package init(tag: UInt64, bytes: [UInt8]) {
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
  package let unknownMembers: [UnknownMember]

  /// Creates an event without checking its parts; `validate` checks them.
  package init(
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
@usableFromInline package enum EventRecord: Hashable, Sendable {
  /// An event with its content.
  case event(Event)
  /// An event whose content is withheld or erased. Its hash keeps the stream verifiable.
  case withheld(HeartlogDigest)
  /// An event of a later format version. `kind` is at least 8; `bytes` is its unchanged content.
  case unknown(kind: UInt64, bytes: [UInt8])

  /// Whether only its hash is known.
  var isWithheld: Bool { if case .withheld = self { true } else { false } }

  /// The event; nil if its content is missing or unknown.
  package var event: Event? {
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

/// The value of a field.
public enum FieldValue: Hashable, Sendable {
  /// Clears the field.
  case null
  /// True or false.
  case bool(Bool)
  /// A whole number.
  case int64(Int64)
  /// A finite number that `Int64(exactly:)` does not accept; all others are `int64`. Never -0.
  case double(Double)
  /// At most `Limits.valueBytesMax` bytes of UTF-8.
  case string(String)
  /// An object or an array as RFC 8785 text of at most `Limits.valueBytesMax` bytes.
  case json(CanonicalJSON)
  /// A value of a later format version, stored, shown and shipped unchanged. `tag` is 7...63.
  case unknown(tag: UInt8, bytes: [UInt8])

  /// Returns the value of a number: an `int64` if that is exact, otherwise a `double`; nil for NaN and infinity.
  public static func number(_ value: Double) -> FieldValue? {
    guard value.isFinite else { return nil }
    if let integer = Int64(exactly: value) { return .int64(integer) }
    return .double(value)
  }
}

/// A named value of an item.
public struct Field: Hashable, Sendable {
  /// 1 to `Limits.fieldNameBytesMax` bytes of UTF-8 without control characters. Names that start with `@` are reserved for the store.
  public let name: String
  /// The value; null clears the field.
  public let value: FieldValue
  /// Whether the write is quiet. A quiet write merges like any other but never opens a conflict.
  public let isQuiet: Bool

  /// Creates a field without checking it. Writing an invalid field throws.
  ///
  /// - Parameters:
  ///   - name: the name of the field.
  ///   - value: the value; null clears the field.
  ///   - isQuiet: whether the write never opens a conflict.
  public init(name: String, value: FieldValue, isQuiet: Bool = false) {
    self.name = name
    self.value = value
    self.isQuiet = isQuiet
  }
}

// Names, ids and values compare by bytes. `==` on strings treats canonically equivalent texts as equal, which would lose a write that only
// changes the normal form. Equal bytes have equal hashes, so the synthesized hashes are consistent.

extension FieldValue {
  public static func == (a: FieldValue, b: FieldValue) -> Bool {
    a.withBorrowed { a in b.withBorrowed { a.isSame(as: $0) } }
  }

  /// Whether the value clears a field.
  package var isNull: Bool { if case .null = self { true } else { false } }
}

extension Field {
  public static func == (a: Field, b: Field) -> Bool {
    a.isQuiet == b.isQuiet && a.name.hasSameBytes(as: b.name) && a.value == b.value
  }
}

extension FieldValue: CustomStringConvertible {
  /// The value as JSON.
  public var description: String {
    if case .unknown(let tag, let bytes) = self { return "unknown(tag: \(tag), \(bytes.count) bytes)" }
    return jsonValue.jsonText
  }
}

extension Field: CustomStringConvertible {
  /// The name and the value, as in `minutes: 90`.
  public var description: String { "\(name): \(value)\(isQuiet ? " (quiet)" : "")" }
}

/// A field's value, borrowed from its storage: no `FieldValue` is created.
///
/// Its bytes are valid as long as the storage that it borrows.
@frozen @usableFromInline package enum BorrowedValue {
  case null
  case bool(Bool)
  case int64(Int64)
  case double(Double)
  /// UTF-8.
  case string(UnsafeRawBufferPointer)
  /// RFC 8785 text.
  case json(UnsafeRawBufferPointer)
  /// A value of a later format version.
  case unknown(tag: UInt8, bytes: UnsafeRawBufferPointer)

  /// The value with the given tag. All tags are read here.
  ///
  /// - Parameters:
  /// - number: called for a whole number, and for the bits of a double.
  /// - text: called for a value that has bytes.
  @inlinable @inline(__always)
  package init<E: Error>(
    tag: UInt8, number: () throws(E) -> Int64, text: () throws(E) -> UnsafeRawBufferPointer
  ) throws(E) {
    switch tag {
    case ValueTag.null: self = .null
    case ValueTag.no: self = .bool(false)
    case ValueTag.yes: self = .bool(true)
    case ValueTag.int64: self = .int64(try number())
    case ValueTag.double: self = .double(Double(bitPattern: UInt64(bitPattern: try number())))
    case ValueTag.string: self = .string(try text())
    case ValueTag.json: self = .json(try text())
    default: self = .unknown(tag: tag, bytes: try text())
    }
  }

  /// The tag that the value is written with.
  package var tag: UInt8 {
    switch self {
    case .null: ValueTag.null
    case .bool(false): ValueTag.no
    case .bool(true): ValueTag.yes
    case .int64: ValueTag.int64
    case .double: ValueTag.double
    case .string: ValueTag.string
    case .json: ValueTag.json
    case .unknown(let tag, _): tag
    }
  }

  /// The bytes of a text, a nested value or an unknown value; nil for other values.
  @inline(__always)
  package var bytes: UnsafeRawBufferPointer? {
    switch self {
    case .null, .bool, .int64, .double: nil
    case .string(let bytes), .json(let bytes), .unknown(_, let bytes): bytes
    }
  }

  /// Whether both have the same type and the same bytes.
  @inline(__always)
  package func isSame(as other: BorrowedValue) -> Bool {
    switch (self, other) {
    case (.null, .null): return true
    case (.bool(let a), .bool(let b)): return a == b
    case (.int64(let a), .int64(let b)): return a == b
    case (.double(let a), .double(let b)): return a.bitPattern == b.bitPattern
    default:
      guard let mine = bytes, let others = other.bytes, tag == other.tag else { return false }
      return mine.hasSameBytes(as: others)
    }
  }

  /// The rule that the value breaks; nil if it is valid.
  @inline(__always)
  package var problem: String? {
    switch self {
    case .null, .bool, .int64: return nil
    case .double(let value):
      if !value.isFinite { return "a number that is not finite" }
      return Int64(exactly: value) == nil ? nil : "a whole number as a double"
    case .string(let bytes), .json(let bytes): return Self.problem(ofByteCount: bytes.count)
    case .unknown(let tag, _):
      return ValueTag.unknown.contains(tag) ? nil : "a value of a later version with tag \(tag)"
    }
  }

  static func problem(ofByteCount count: Int) -> String? {
    count <= Limits.valueBytesMax ? nil : "a value of \(count) bytes, the most is \(Limits.valueBytesMax)"
  }
}

extension FieldValue {
  /// The value, borrowed until `body` returns.
  package func withBorrowed<R>(_ body: (BorrowedValue) throws -> R) rethrows -> R {
    switch self {
    case .null: return try body(.null)
    case .bool(let isTrue): return try body(.bool(isTrue))
    case .int64(let integer): return try body(.int64(integer))
    case .double(let number): return try body(.double(number))
    case .string(let text): return try text.withUTF8Bytes { try body(.string($0)) }
    case .json(let json): return try json.text.withUTF8Bytes { try body(.json($0)) }
    case .unknown(let tag, let bytes):
      return try bytes.withUnsafeBytes { try body(.unknown(tag: tag, bytes: $0)) }
    }
  }

  /// A copy of a value whose bytes are well-formed.
  package init(copying value: BorrowedValue) {
    switch value {
    case .null: self = .null
    case .bool(let isTrue): self = .bool(isTrue)
    case .int64(let integer): self = .int64(integer)
    case .double(let number): self = .double(number)
    case .string(let bytes): self = .string(String(decoding: bytes, as: UTF8.self))
    case .json(let bytes): self = .json(CanonicalJSON(checked: String(decoding: bytes, as: UTF8.self)))
    case .unknown(let tag, let bytes): self = .unknown(tag: tag, bytes: Array(bytes))
    }
  }
}
