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
  public init(id: String, isFavorite: Bool, favoritedDate: Milliseconds? = nil, fields: [Field] = []) {
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
  public var isVisible: Bool { isFavorite || !fields.isEmpty }

  /// Whether it was written and nothing of it is visible any more.
  public var isTombstone: Bool { !isVisible }

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
  public func sorted(_ items: [ItemState]) -> [ItemState] {
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
    return id.utf8.lexicographicallyPrecedes(otherID.utf8)
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
  public init(favorites: Int = 0, items: Int = 0, events: UInt64 = 0) {
    self.favorites = favorites
    self.items = items
    self.events = events
  }
}
