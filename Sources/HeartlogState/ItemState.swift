import HeartlogEvents

/// What is true of one item: the values of its registers, without their stamps.
///
/// Two states are equal where their bytes are: no Unicode normalisation.
public struct ItemState: Sendable {
  /// As the library knows it.
  public let id: String
  /// Whether it is a favorite.
  public let isFavorite: Bool
  /// When it became a favorite; nil while it is none.
  public let favoritedDate: Milliseconds?
  /// The fields that hold a value other than null, sorted by the bytes of their names.
  public let fields: ItemFields

  /// - Parameter fields: without nulls, sorted by the bytes of their names, without duplicates.
  public init(id: String, isFavorite: Bool, favoritedDate: Milliseconds? = nil, fields: [Field] = []) {
    self.init(id: id, isFavorite: isFavorite, favoritedDate: favoritedDate, fields: ItemFields(fields))
  }

  init(id: String, isFavorite: Bool, favoritedDate: Milliseconds?, fields: ItemFields) {
    self.id = id
    self.isFavorite = isFavorite
    self.favoritedDate = isFavorite ? favoritedDate : nil
    self.fields = fields
  }

  /// A favorite, or one that holds a value.
  public var isVisible: Bool { isFavorite || !fields.isEmpty }

  /// It was written to, and nothing of it is left to see.
  public var isTombstone: Bool { !isVisible }

  /// The value of a field; nil where it holds none.
  public func value(of name: String) -> FieldValue? { fields[name] }
}

extension ItemState: Hashable {
  public static func == (a: ItemState, b: ItemState) -> Bool {
    a.isFavorite == b.isFavorite && a.favoritedDate == b.favoritedDate
      && a.id.utf8.elementsEqual(b.id.utf8)
      && a.fields == b.fields
  }

  public func hash(into hasher: inout Hasher) {
    // Equal bytes are equal strings, so that the strings' own hashes will do.
    hasher.combine(id)
    hasher.combine(isFavorite)
    hasher.combine(favoritedDate)
    hasher.combine(fields.count)
  }
}

/// How a library's favorites are listed. Ties of the favorited date fall by id bytes, ascending in every order.
public enum ListOrder: Hashable, Sendable, CaseIterable {
  /// By favorited date, the latest first.
  case newestFirst
  /// By favorited date, the earliest first.
  case oldestFirst
  /// By the bytes of the ids.
  case byID

  /// Items in this order; those without a favorited date come last, by the bytes of their ids.
  public func sorted(_ items: [ItemState]) -> [ItemState] {
    items.sorted { a, b in
      if self != .byID {
        switch (a.favoritedDate, b.favoritedDate) {
        case (let first?, let second?) where first != second:
          return self == .newestFirst ? first > second : first < second
        case (_?, nil): return true
        case (nil, _?): return false
        default: break
        }
      }
      return a.id.utf8.lexicographicallyPrecedes(b.id.utf8)
    }
  }
}

/// What a library holds.
public struct LibraryCounts: Hashable, Sendable {
  /// What is a favorite now.
  public let favorites: Int
  /// What the list of everything holds: favorites, items that hold a value, and those that were favorites once.
  public let items: Int
  /// Events that named the library, each counted once however often its commit arrived.
  public let events: UInt64

  /// Counts as given; without any, those of a library that was never written to.
  public init(favorites: Int = 0, items: Int = 0, events: UInt64 = 0) {
    self.favorites = favorites
    self.items = items
    self.events = events
  }
}
