#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Favorites {
  /// All favorites, newest first: what every query begins with.
  public var query: Query { Query(favorites: self) }

  /// Which items a list shows, in which order, and how many. It is run once, or followed.
  ///
  /// ```swift
  /// let quick = recipes.query.filter { $0.minutes < 30 }.sorted(by: \.title).limit(50)
  /// let items = try quick.items()
  /// for await update in quick.updates { show(update.items) }
  /// ```
  ///
  /// Items that cannot be decoded are left out: `Update.failures` and ``Favorites/failures`` name them.
  ///
  /// Of several searches, orders, collections and items the last one counts; a collection also brings its order.
  ///
  /// - Complexity: In an order by date or id, a query with a limit decodes what it returns, and what a filter leaves out before that. A
  ///   search reads the texts of all favorites, and decodes what it finds. An order by a value decodes all favorites.
  public struct Query: Sendable {
    /// The favorites that are asked for.
    public let favorites: Favorites
    private(set) var search = TextSearch("")
    private var filters: [@Sendable (Item) -> Bool] = []
    private var members = Members.favorites
    var order = QueryOrder<Item>.listed(.newestFirst)
    /// The maximum number of items; all if nil.
    var limit: Int?
    /// The id of the item that those of the query come after.
    private var last: Item.ID?

    fileprivate enum Members {
      case favorites
      /// The items of a collection.
      case collection(ItemCollection<String>)
      /// One item.
      case item(Item.ID)
    }

    fileprivate init(favorites: Favorites) { self.favorites = favorites }
  }
}

// MARK: - What is asked for

extension Favorites.Query {
  /// Only the items for which a closure returns true. Several filters must all do so.
  ///
  /// - Parameter isIncluded: must depend on the item alone: it is called whenever an item is read.
  public func filter(_ isIncluded: @escaping @Sendable (Item) -> Bool) -> Self {
    with { $0.filters.append(isIncluded) }
  }

  /// Only the items that contain a text. An empty text is in all of them.
  public func search(_ text: String, options: SearchOptions = SearchOptions()) -> Self {
    with { $0.search = TextSearch(text, options: options) }
  }

  /// In one of the orders that cost no more than the items that are returned.
  public func sorted(by order: ListOrder) -> Self { with { $0.order = .listed(order) } }

  /// By a value: numbers and dates by value, texts as people sort them, without regard to case and diacritics, and with the numbers in them
  /// by value, so that "Part 10" comes after "Part 9". Of equal ones the newest favorite comes first, and what is no number comes last.
  public func sorted<Value: Comparable & Sendable>(
    by value: KeyPath<Item, Value> & Sendable, order: SortOrder = .forward
  ) -> Self {
    let sortValue = SortValue.maker(of: Value.self)
    return with { $0.order = .byValue({ sortValue($0[keyPath: value]) }, order) }
  }

  /// By a value that an item may lack: those that lack it come last, whatever the order.
  public func sorted<Value: Comparable & Sendable>(
    by value: KeyPath<Item, Value?> & Sendable, order: SortOrder = .forward
  ) -> Self {
    let sortValue = SortValue.maker(of: Value.self)
    return with { $0.order = .byValue({ $0[keyPath: value].map(sortValue) ?? .none }, order) }
  }

  /// The items of a collection in its own order, favorites or not.
  ///
  /// - Throws: `invalid` for a name that no collection can have.
  public func collection(_ name: String) throws(HeartlogError) -> Self {
    let collection = try favorites.library.collection(name)
    return with {
      $0.members = .collection(collection)
      $0.order = .byPlace(collection)
    }
  }

  /// One item, favorite or not; none until it is stored.
  public func item(_ id: Item.ID) -> Self { with { $0.members = .item(id) } }

  /// So many items at most; all if nil.
  public func limit(_ count: Int?) -> Self { with { $0.limit = count.map { max(0, $0) } } }

  /// The items that come after one of the query: the next page. What follows a query begins at its beginning all the same.
  public func after(_ id: Item.ID) -> Self { with { $0.last = id } }

  private func with(_ change: (inout Self) -> Void) -> Self {
    var query = self
    change(&query)
    return query
  }
}

// MARK: - Running it once

extension Favorites.Query {
  /// Returns the items.
  ///
  /// - Throws: `notFound` if the item of `after` is no longer one of the query: begin again at the first page.
  public func items() throws(HeartlogError) -> [Item] { try result().items }

  /// Returns the first item; nil if there is none.
  ///
  /// - Throws: as `items()`.
  public func first() throws(HeartlogError) -> Item? { try limit(min(1, limit ?? 1)).items().first }

  /// Returns the ids of the items.
  ///
  /// - Throws: as `items()`.
  public func ids() throws(HeartlogError) -> [Item.ID] { try items().map(\.id) }

  /// Returns the number of items. Without a filter, a search and a limit, that is `Favorites.count`, in O(1), which includes items that
  /// cannot be decoded.
  ///
  /// - Throws: as `items()`.
  public func count() throws(HeartlogError) -> Int {
    isEverything ? favorites.count : try items().count
  }

  /// Returns the items in sections of those with the same key, which are in the order of their first items.
  ///
  /// - Throws: as `items()`.
  public func sections<Key: Hashable>(
    by key: (Item) -> Key
  ) throws(HeartlogError) -> [(key: Key, items: [Item])] {
    ItemList(try items()).sections(by: key)
  }

  /// Whether it asks for all favorites.
  var isEverything: Bool {
    guard case .favorites = members else { return false }
    return filters.isEmpty && search.isEmpty && limit == nil && last == nil
  }

  private func result() throws(HeartlogError) -> Favorites.Page {
    guard let last else { return load(upTo: limit).page }
    func place(in ids: some Sequence<String>) throws(HeartlogError) -> Int {
      let id = last.favoriteID
      if let place = Array(ids).firstIndex(where: { $0.hasSameBytes(as: id) }) { return place + 1 }
      throw HeartlogError(
        .notFound, "\(favorites.library.name) \(id): no longer in the list; begin at its first page")
    }
    if case .listed(let order) = order {
      let states = candidates(order)
      let place = try place(in: states.lazy.map(\.id))
      return favorites.read(Array(states[place...]), upTo: limit, where: filter)
    }
    var page = load(upTo: nil).page
    let place = try place(in: page.states.lazy.map(\.id))
    page.items = Array(page.items[place...].prefix(limit ?? .max))
    return page
  }
}

// MARK: - Rows

/// How the items of a query are ordered.
enum QueryOrder<Item: Sendable>: Sendable {
  case listed(ListOrder)
  case byValue(@Sendable (Item) -> SortValue, SortOrder)
  /// By the places in a collection.
  case byPlace(ItemCollection<String>)
}

/// What places an item in the list of a query.
struct QueryKey: Sendable {
  let id: UTF8Key
  let moment: FavoritedMoment?
  let value: SortValue
}

extension Favorites.Query {
  /// An item of the query; nil if it is none.
  ///
  /// - Parameters:
  ///   - state: the item as the store has it.
  ///   - isDraft: whether the store does not have it yet.
  /// - Throws: `invalidItem` if it is one that cannot be decoded.
  func row(
    of state: ItemState, isDraft: Bool = false
  ) throws(HeartlogError) -> (key: QueryKey, item: Item)? {
    guard isCandidate(state) else { return nil }
    let item = try favorites.decode(state, isListed: !isDraft, isDraft: isDraft)
    return filter?(item) ?? true ? (key(of: item, state), item) : nil
  }

  /// Whether few items are read of many: those at the beginning of all favorites in one of the store's own orders.
  var isListed: Bool {
    guard case .listed = order, case .favorites = members else { return false }
    return search.isEmpty
  }

  /// Whether one key comes before another one in the query.
  func places(_ key: QueryKey, before other: QueryKey) -> Bool {
    switch order {
    case .listed(let order): return order.places(key.id.text, key.moment, before: other.id.text, other.moment)
    case .byPlace:
      if let isBefore = key.value.isBefore(other.value) { return isBefore }
      return ListOrder.byID.places(key.id.text, nil, before: other.id.text, nil)
    case .byValue(_, let order):
      if let isBefore = key.value.isBefore(other.value, order) { return isBefore }
      return ListOrder.newestFirst.places(key.id.text, key.moment, before: other.id.text, other.moment)
    }
  }

  var hasFilter: Bool { !filters.isEmpty }

  /// Reads the items.
  ///
  /// - Parameter most: the maximum number of items.
  func load(upTo most: Int?) -> (page: Favorites.Page, keys: [QueryKey]) {
    if most == 0 { return (Favorites.Page(), []) }
    if case .listed(let order) = order {
      let page =
        isListed
        ? favorites.page(order: order, limit: most, where: filter)
        : favorites.read(candidates(order), upTo: most, where: filter)
      return (page, keys(of: page))
    }
    // All of them, because a value is not known before an item is decoded. In the order of those with the same value.
    let isByPlace = if case .byPlace = order { true } else { false }
    var page = favorites.read(candidates(isByPlace ? .byID : .newestFirst), upTo: nil, where: filter)
    let keys = keys(of: page)
    let places = sorted(keys).prefix(most ?? .max)
    (page.items, page.states) = (places.map { page.items[$0] }, places.map { page.states[$0] })
    return (page, places.map { keys[$0] })
  }

  /// The positions of keys in the order of the query, of equal values in the order of the keys.
  private func sorted(_ keys: [QueryKey]) -> [Int] {
    var direction = SortOrder.forward
    if case .byValue(_, let order) = order { direction = order }
    return keys.withUnsafeBufferPointer { keys in
      let none = keys.indices.filter { keys[$0].value.isNone }
      var some = keys.indices.filter { !keys[$0].value.isNone }.map { (keys[$0].value.rank, $0) }
      // Most values differ in their ranks, which are compared without a look at the keys.
      some.sort { a, b in
        if a.0 != b.0 { return direction == .forward ? a.0 < b.0 : a.0 > b.0 }
        return keys[a.1].value.isBefore(keys[b.1].value, direction) ?? (a.1 < b.1)
      }
      return some.map(\.1) + none
    }
  }

  /// The items, as the store has them, without a look at their values.
  private func candidates(_ order: ListOrder) -> [ItemState] {
    let library = favorites.library
    switch members {
    case .favorites: return library.search(search.text, options: search.options, order: order)
    case .collection: return order.sorted(library.items().filter(isCandidate))
    case .item(let id): return [library.item(id.favoriteID)].compactMap(\.self).filter(isCandidate)
    }
  }

  private func isCandidate(_ state: ItemState) -> Bool {
    let isMember =
      switch members {
      case .favorites: state.isFavorite
      case .collection(let collection): collection.key(of: state) != nil
      case .item(let id): state.isVisible && state.id.hasSameBytes(as: id.favoriteID)
      }
    return isMember && (search.isEmpty || search.isFound(in: state))
  }

  private var filter: ((Item) -> Bool)? {
    filters.isEmpty ? nil : { item in filters.allSatisfy { $0(item) } }
  }

  private func keys(of page: Favorites.Page) -> [QueryKey] {
    page.items.withUnsafeBufferPointer { items in
      page.states.indices.map { key(of: items[$0], page.states[$0]) }
    }
  }

  private func key(of item: Item, _ state: ItemState) -> QueryKey {
    let value: SortValue =
      switch order {
      case .listed: .none
      case .byValue(let value, _): value(item)
      case .byPlace(let collection): collection.key(of: state).map { .bytes(Array($0.text.utf8)) } ?? .none
      }
    return QueryKey(id: UTF8Key(state.id), moment: state.favoritedMoment, value: value)
  }
}

extension Favorites.Query: CustomStringConvertible {
  /// The favorites that it asks, as in `query of favorites of Recipe in recipes`.
  public var description: String { "query of \(favorites)" }
}
