#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The favorites among the items of one type: any `Codable & Identifiable & Sendable` type whose id can be written as text.
///
/// An item is kept as flat fields, by its `Codable` form. `id`, `isFavorite` and `favoritedDate` are never fields: where an item has
/// properties of these names, they are set from the store when it is read.
public struct Favorites<Item: Codable & Identifiable & Sendable>: Sendable where Item.ID: FavoriteID {
  /// The same library by id and fields.
  public let library: FavoritesLibrary
  /// What stands in for fields that an item lacks.
  private let template: ItemTemplate?

  init(_ library: FavoritesLibrary) throws(HeartlogError) {
    self.library = library
    do { template = try ItemTemplate(of: Item.self) } catch {
      throw HeartlogError(.invalidItem, "the template of \(Item.self): \(error)")
    }
  }

  // MARK: - Reading

  /// Whether the item of that id is a favorite. One look-up; inside of `write { }` with the closure's changes.
  public func contains(_ id: Item.ID) -> Bool { library.contains(id.favoriteID) }

  /// How many favorites there are, those that cannot be read as an `Item` among them. O(1); inside of `write { }` as many as before the
  /// closure.
  public var count: Int { library.counts.favorites }

  /// The ids of the favorites, in no order that means anything: much cheaper than a list of the items.
  ///
  /// An id that is no `Item.ID` is left out here, and named by `load`.
  public var ids: [Item.ID] {
    library.store.read { $0.favoriteIDs(in: library.name) }.compactMap(Item.ID.init(favoriteID:))
  }

  /// The item of that id as the store holds it, favorite or not; nil where the store has no fields of it.
  ///
  /// - Throws: `invalidItem` where its fields do not make an `Item`.
  public func item(_ id: Item.ID) throws(HeartlogError) -> Item? {
    guard let state = library.item(id.favoriteID), state.isVisible else { return nil }
    return try decode(state)
  }

  /// Since when the item of that id is a favorite, in whole milliseconds; nil where it is none. One look-up.
  public func favoritedDate(of id: Item.ID) -> Date? {
    library.item(id.favoriteID)?.favoritedDate.map(Date.init(milliseconds:))
  }

  /// The favorites, newest first unless asked otherwise; those of one millisecond by the bytes of their ids.
  ///
  /// An item whose fields do not make an `Item` is left out here, and named by `load` and `failures`; a debug build tells of the first on
  /// standard error. O(n log n) for all; of the first few only they are decoded.
  ///
  /// - Parameters:
  ///   - order: by date, one way or the other, or by id.
  ///   - limit: the most to return; all of them where nil. Fewer are returned only where there are no more.
  public func list(order: ListOrder = .newestFirst, limit: Int? = nil) -> [Item] {
    load(order: order, limit: limit).items
  }

  /// The favorites as `list(order:limit:)` has them, and what could not be read as one: one bad item never hides the others.
  ///
  /// - Parameters:
  ///   - order: by date, one way or the other, or by id.
  ///   - limit: the most items to return; all of them where nil. What cannot be read does not count.
  /// - Returns: the items, and for each that is none and stands before the last of them its id with an error of the code `invalidItem`.
  public func load(
    order: ListOrder = .newestFirst, limit: Int? = nil
  ) -> (items: [Item], failures: [(id: String, error: HeartlogError)]) {
    let most = limit.map { max(0, $0) }
    var wanted = most
    var states = library.favorites(order: order, limit: wanted)
    var page = read(states, upTo: most)
    // Fewer than were asked for, and there are more: a page is full where it can be.
    while let most, let count = wanted, states.count == count, page.items.count < most {
      wanted = count * 2
      let more = library.favorites(order: order, limit: wanted)
      if more.starts(with: states) {
        let rest = read(more.dropFirst(states.count), upTo: most - page.items.count)
        page.items += rest.items
        page.failures += rest.failures
      } else {
        // Something was written meanwhile.
        page = read(more, upTo: most)
      }
      states = more
    }
    return page
  }

  /// Decodes items until there are enough.
  private func read(
    _ states: some Sequence<ItemState>, upTo limit: Int?
  ) -> (items: [Item], failures: [(id: String, error: HeartlogError)]) {
    var items: [Item] = []
    var failures: [(id: String, error: HeartlogError)] = []
    for state in states {
      if let limit, items.count >= limit { break }
      do throws(HeartlogError) { items.append(try decode(state, isListed: true)) } catch {
        failures.append((state.id, error))
      }
    }
    return (items, failures)
  }

  /// Those of some items that can be read.
  func readable(_ states: [ItemState]) -> [Item] { read(states, upTo: nil).items }

  /// What is a favorite and cannot be read as an `Item`: each by its id, with an error of the code `invalidItem` that names the field.
  /// Decodes all favorites.
  ///
  /// An older version of an app finds here what a newer one wrote, and a newer one items that lack a property without a default: see
  /// ``FavoriteItem/template``.
  public var failures: [(id: String, error: HeartlogError)] { load().failures }

  /// - Parameter isListed: whether nobody would hear that it is left out.
  private func decode(_ state: ItemState, isListed: Bool = false) throws(HeartlogError) -> Item {
    do {
      return try FieldDecoder.decode(
        Item.self, id: state.id, isFavorite: state.isFavorite, favoritedDate: state.favoritedDate,
        fields: state.fields, template: template)
    } catch {
      #if DEBUG
        if isListed { DebugWarnings.current.tell(error, of: state.id, in: library.name, as: Item.self) }
      #endif
      throw HeartlogError(.invalidItem, "\(library.name) \(state.id): \(error)")
    }
  }

  // MARK: - Writing

  /// Makes an item a favorite. What is one already stays as it is, its date included.
  ///
  /// - Parameters:
  ///   - item: what is known of it is stored with it: the fields that differ from those that the store holds.
  ///   - date: since when, rounded down to milliseconds; the commit's time where nil.
  /// - Returns: whether it was none before.
  /// - Throws: `invalidItem` for an item that cannot be stored; what every write throws: <doc:WhatCanGoWrong>.
  @discardableResult
  public func add(_ item: Item, since date: Date? = nil) throws(HeartlogError) -> Bool {
    try library.add(
      item.id.favoriteID, fields: try fields(of: item), favoritedDate: date?.milliseconds
    ).isChange
  }

  /// Flips what the store holds, whatever the item itself says. Switched on, what is known of it is stored with it.
  ///
  /// - Returns: whether it is a favorite now.
  /// - Throws: `invalidItem` for an item that cannot be stored; what every write throws: <doc:WhatCanGoWrong>.
  @discardableResult
  public func toggle(_ item: Item) throws(HeartlogError) -> Bool {
    try library.toggle(item.id.favoriteID, fields: try fields(of: item)).isFavorite
  }

  /// Makes the item of that id no favorite. What is known of it stays.
  ///
  /// - Returns: whether it was one before; where it was not, no event is written.
  /// - Throws: what every write throws: <doc:WhatCanGoWrong>.
  @discardableResult
  public func remove(_ id: Item.ID) throws(HeartlogError) -> Bool {
    try library.remove(id.favoriteID).isChange
  }

  /// Makes an item no favorite, by its id.
  ///
  /// - Returns: whether it was one before.
  /// - Throws: what every write throws: <doc:WhatCanGoWrong>.
  @discardableResult
  public func remove(_ item: Item) throws(HeartlogError) -> Bool { try remove(item.id) }

  /// Writes what is new about an item, favorite or not: only fields that differ, and nothing about its being a favorite.
  ///
  /// - Returns: whether anything differed.
  /// - Throws: `invalidItem` for an item that cannot be stored; what every write throws: <doc:WhatCanGoWrong>.
  @discardableResult
  public func update(_ item: Item) throws(HeartlogError) -> Bool {
    try library.set(try fields(of: item), of: item.id.favoriteID).isChange
  }

  private func fields(of item: Item) throws(HeartlogError) -> [Field] {
    do { return try FieldEncoder.fields(of: item) } catch {
      throw HeartlogError(.invalidItem, "\(library.name) \(item.id.favoriteID): \(error)")
    }
  }

  // MARK: - Catalogs

  /// Puts the favorites' flags into a catalog: replaced by id, not or-ed; order and everything else of the catalog stay.
  ///
  /// In the style of Smart City's MergePersistedFavoritesUseCase. One look-up an element. Nothing is written.
  ///
  /// - Parameters:
  ///   - catalog: any list, in which an id may be more than once.
  ///   - id: the item that an element stands for.
  ///   - set: puts the flag, and the date of a favorite, into an element.
  /// - Returns: the catalog, and the favorites that it does not list, newest first.
  public func merge<Element>(
    into catalog: [Element], id: (Element) -> Item.ID,
    set: (inout Element, _ isFavorite: Bool, _ date: Date?) -> Void
  ) -> CatalogMerge<Element> {
    library.store.read { state in
      state.merge(into: catalog, of: library.name, id: { id($0).favoriteID }) { element, isFavorite, date in
        set(&element, isFavorite, date.map(Date.init(milliseconds:)))
      }
    }
  }
}

extension FavoritesStore {
  /// The favorites of a type, in a library of its own.
  ///
  /// - Parameters:
  ///   - type: what the items of the library are read and written as.
  ///   - library: 1 to 64 bytes of a–z, 0–9, `-`, `_` and `.`. It needs no making.
  /// - Throws: `invalid` for a name that is none; `invalidItem` for a template that cannot be stored.
  public func favorites<Item: Codable & Identifiable & Sendable>(
    of type: Item.Type, in library: String
  ) throws(HeartlogError) -> Favorites<Item> where Item.ID: FavoriteID {
    try Favorites(try self.library(library))
  }

  /// The favorites of a type that names its library.
  ///
  /// - Throws: `invalid` where the type's name of it is none; `invalidItem` where its template cannot be stored.
  public func favorites<Item: FavoriteItem>(of type: Item.Type) throws(HeartlogError) -> Favorites<Item> {
    try favorites(of: type, in: Item.library)
  }
}

extension Date {
  /// Milliseconds since 1970.
  package init(milliseconds: Milliseconds) {
    self.init(timeIntervalSince1970: Double(milliseconds) / 1_000)
  }

  /// Milliseconds since 1970, rounded down; dates beyond the format's years are taken to its ends.
  ///
  /// A date of whole milliseconds is a double near them, on either side: the floor is taken among dates, so that a date that was read
  /// from a store is the same when it is written again.
  package var milliseconds: Milliseconds {
    let estimate = (timeIntervalSince1970 * 1_000).rounded(.down)
    guard estimate > Double(Limits.dateMillisecondsMin) else { return Limits.dateMillisecondsMin }
    guard estimate < Double(Limits.dateMillisecondsMax) else { return Limits.dateMillisecondsMax }
    let milliseconds = Milliseconds(estimate)
    if Date(milliseconds: milliseconds) > self { return milliseconds - 1 }
    return Date(milliseconds: milliseconds + 1) <= self ? milliseconds + 1 : milliseconds
  }
}
