import HeartlogFormat

/// The state of one item: the values of its registers, without their stamps.
///
/// Two states are equal if their bytes are: no Unicode normalisation.
public struct ItemState: Sendable {
  /// The item's id in the library.
  public let id: String
  /// Whether it is a favorite.
  public let isFavorite: Bool
  /// When it became a favorite, and by which write; nil unless it is one.
  package let favoritedMoment: FavoritedMoment?
  /// The fields that hold a value other than null, sorted by the bytes of their names.
  public let fields: ItemFields

  /// Creates a state.
  ///
  /// - Parameters:
  ///   - id: the item's id in the library.
  ///   - isFavorite: whether it is a favorite.
  ///   - favoritedDate: when it became a favorite; ignored unless it is one.
  ///   - fields: without nulls or duplicates, sorted by the bytes of their names.
  package init(id: String, isFavorite: Bool, favoritedDate: Milliseconds? = nil, fields: [Field] = []) {
    self.init(
      id: id, isFavorite: isFavorite, favoritedMoment: favoritedDate.map { FavoritedMoment(date: $0) },
      fields: ItemFields(fields))
  }

  package init(id: String, isFavorite: Bool, favoritedMoment: FavoritedMoment?, fields: ItemFields) {
    self.id = id
    self.isFavorite = isFavorite
    self.favoritedMoment = isFavorite ? favoritedMoment : nil
    self.fields = fields
  }

  /// When it became a favorite; nil unless it is one.
  public var favoritedDate: Milliseconds? { favoritedMoment?.date }

  /// Whether it is a favorite or holds a value.
  package var isVisible: Bool { isFavorite || !fields.isEmpty }

  /// Whether it was written and nothing of it is visible any more.
  package var isTombstone: Bool { !isVisible }

  /// Returns the value of a field; nil if it holds none.
  public func value(of name: String) -> FieldValue? { fields[name] }
}

extension ItemState: Hashable {
  public static func == (a: ItemState, b: ItemState) -> Bool {
    a.isFavorite == b.isFavorite && a.favoritedDate == b.favoritedDate
      && a.id.utf8.elementsEqual(b.id.utf8)
      && a.fields == b.fields
  }

  public func hash(into hasher: inout Hasher) {
    // Equal bytes are equal strings, so the strings' own hashes are consistent.
    hasher.combine(id)
    hasher.combine(isFavorite)
    hasher.combine(favoritedDate)
    hasher.combine(fields.count)
  }
}

/// The order of a list of favorites.
///
/// Favorites of the same millisecond are in the order in which they were written, which is the same on every device; `newestFirst` is the
/// exact reverse of `oldestFirst`.
public enum ListOrder: Hashable, Sendable, CaseIterable {
  /// By favorited date, latest first.
  case newestFirst
  /// By favorited date, earliest first.
  case oldestFirst
  /// By the bytes of the ids.
  case byID

  /// Returns items in this order. In an order by date, items without a favorited date come last, by the bytes of their ids. So are items of
  /// the same date that were not read from a store.
  package func sorted(_ items: [ItemState]) -> [ItemState] {
    items.sorted { places($0.id, $0.favoritedMoment, before: $1.id, $1.favoritedMoment) }
  }

  /// Whether an item comes before another one.
  package func places(
    _ id: String, _ moment: FavoritedMoment?, before otherID: String, _ otherMoment: FavoritedMoment?
  ) -> Bool {
    if self != .byID {
      switch (moment, otherMoment) {
      case (let moment?, let other?) where moment != other:
        return self == .newestFirst ? moment > other : moment < other
      case (_?, nil): return true
      case (nil, _?): return false
      default: break
      }
    }
    return id.bytesPrecede(otherID)
  }
}

/// The number of favorites, items and events in a library.
public struct LibraryCounts: Hashable, Sendable {
  /// The number of current favorites.
  public let favorites: Int
  /// The number of items in the list of all items: favorites, items that hold a value, and items that once were favorites.
  public let items: Int
  /// The number of events that named the library. An event counts once, however often its commit arrived.
  public let events: UInt64

  /// Creates counts; by default those of a library that was never written.
  package init(favorites: Int = 0, items: Int = 0, events: UInt64 = 0) {
    self.favorites = favorites
    self.items = items
    self.events = events
  }
}

/// The fields of an item that hold a value, sorted by the bytes of their names.
///
/// They are stored in a single allocation, however many there are. A `Field`, and the string in it, is created on access. `isQuiet` is
/// always false, because it belongs to a write, not to a state.
public struct ItemFields: RandomAccessCollection, Sendable {
  // Unchecked, because packed fields are immutable.
  private enum Storage: @unchecked Sendable {
    case made([Field])
    case packed(PackedFields)
  }

  private let storage: Storage

  /// Creates a collection of fields.
  ///
  /// - Parameter fields: without nulls or duplicates, sorted by the bytes of their names.
  package init(_ fields: [Field]) { storage = .made(fields) }

  init(_ packed: PackedFields?) { storage = packed.map(Storage.packed) ?? .made([]) }

  public var startIndex: Int { 0 }

  public var endIndex: Int {
    switch storage {
    case .made(let fields): fields.count
    case .packed(let fields): fields.count
    }
  }

  /// Returns the field at an index. Creates the `Field` and the string in it.
  public subscript(index: Int) -> Field {
    switch storage {
    case .made(let fields): return fields[index]
    case .packed(let fields):
      precondition(indices.contains(index), "a field that is not there")
      return Field(name: fields.name(index), value: fields.value(index))
    }
  }

  /// Returns the value of a field; nil if it holds none. O(n), without creating the other fields.
  public subscript(name: String) -> FieldValue? {
    switch storage {
    case .made(let fields): fields.first { $0.name.hasSameBytes(as: name) }?.value
    case .packed(let fields): fields.index(of: name).map { fields.value($0) }
    }
  }

  /// The fields in packed form; nil if they are an array.
  var packed: PackedFields? { if case .packed(let fields) = storage { fields } else { nil } }
}

extension ItemFields: CustomStringConvertible, CustomReflectable {
  /// The names and values, as in `[minutes: 90, title: "Ribollita"]`.
  public var description: String { "[\(map(\.description).joined(separator: ", "))]" }

  /// The values by their names.
  public var customMirror: Mirror {
    Mirror(self, children: map { (label: $0.name, value: $0.value) }, displayStyle: .dictionary)
  }
}

extension ItemFields: Hashable {
  public static func == (a: ItemFields, b: ItemFields) -> Bool { a.elementsEqual(b) }

  public func hash(into hasher: inout Hasher) { hasher.combine(count) }
}

extension ItemFields: ExpressibleByArrayLiteral {
  public init(arrayLiteral elements: Field...) { self.init(elements) }
}

/// Reads the fields of an item by name, as a decoder asks for them, without creating a `Field`.
///
/// A name is compared by bytes; if none has the same bytes, by canonical equivalence. Reading counts no references to the fields, and no
/// function is generic, because generic functions are not specialized in other modules.
package struct FieldReader {
  private let fields: ItemFields
  /// What `fields` keeps alive, if they are packed.
  private let packed: Unmanaged<PackedFields>?

  package init(_ fields: ItemFields) {
    self.fields = fields
    packed = fields.packed.map(Unmanaged.passUnretained)
  }

  /// The names of all fields.
  package var names: [String] { fields.map(\.name) }

  package func contains(_ name: String) -> Bool { read(name) { _ in true } ?? false }

  /// Returns the value of a field; nil if there is none.
  package func value(of name: String) -> FieldValue? { read(name) { FieldValue(copying: $0) } }

  /// Returns whether the value of a field is null; nil if there is none.
  package func isNull(_ name: String) -> Bool? { read(name) { if case .null = $0 { true } else { false } } }

  /// Returns the value of a field that is a string; nil for any other value.
  package func string(of name: String) -> String? {
    read(name) { if case .string(let text) = $0 { String(decoding: text, as: UTF8.self) } else { nil } }
  }

  /// Returns the value of a field that is a time in UTC with all its digits; nil for any other value.
  package func time(of name: String) -> Milliseconds? {
    read(name) { if case .string(let text) = $0 { RFC3339.milliseconds(text) } else { nil } }
  }

  /// Returns the value of a field that is a list of strings without escapes; nil for any other value.
  package func strings(of name: String) -> [String]? {
    read(name) { if case .json(let text) = $0 { CanonicalJSON.plainStrings(text) } else { nil } }
  }

  @inline(__always)
  private func read<R>(_ name: String, _ body: (BorrowedValue) -> R?) -> R? {
    guard let packed else {
      let index =
        fields.firstIndex { $0.name.hasSameBytes(as: name) } ?? fields.firstIndex { $0.name == name }
      return index.flatMap { fields[$0].value.withBorrowed(body) }
    }
    return packed._withUnsafeGuaranteedRef { packed in
      guard let index = packed.index(of: name) ?? equivalent(of: name, in: packed) else { return nil }
      return packed.withBorrowedValue(at: index, body)
    }
  }

  private func equivalent(of name: String, in packed: PackedFields) -> Int? {
    // Two texts of ASCII are equivalent only if they are the same.
    if packed.namesAreASCII, name.utf8.allSatisfy({ $0 < 0x80 }) { return nil }
    return fields.firstIndex { $0.name == name }
  }
}

/// A field that an event writes. Its value is borrowed.
struct FieldWrite {
  let name: FieldNameSlot
  let value: BorrowedValue
  let isQuiet: Bool
}

/// Since when an item is a favorite, and by which write. Orders by date compare these: of two equal dates, the one that was written
/// later is the newer one.
package struct FavoritedMoment: Hashable, Sendable, Comparable {
  /// The favorited date. Compared first.
  package let date: Milliseconds
  /// The position of the membership's write in the `MergeOrder`.
  package let position: EventPosition

  /// Creates a moment.
  package init(date: Milliseconds, position: EventPosition) {
    self.date = date
    self.position = position
  }

  /// Creates the moment of an item that no store has written: it comes before all writes with the same date.
  package init(date: Milliseconds) {
    self.init(
      date: date,
      position: EventPosition(
        stamp: HybridTimestamp(rawValue: 0), replica: ReplicaID(high: 0, low: 0),
        sequence: SequenceNumber(rawValue: 0)))
  }

  package static func < (a: FavoritedMoment, b: FavoritedMoment) -> Bool {
    a.date == b.date ? a.position < b.position : a.date < b.date
  }
}
