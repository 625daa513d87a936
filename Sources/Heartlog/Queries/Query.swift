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
  /// - Complexity: In an order by date without a filter, a query with a limit reads and decodes what it returns. A search reads the texts of
  ///   all favorites, and decodes what it finds. A filter and an order by a value decode all favorites.
  public struct Query: Sendable {
    /// The favorites that are asked for.
    public let favorites: Favorites
    /// The text that the items contain; empty for all.
    public private(set) var text = ""
    private var search = TextSearch("")
    private var searchOptions = SearchOptions()
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
      case collection(ItemCollection)
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
  /// - Parameter isIncluded: depends on the item alone: it is called again only when an item changes.
  public func filter(_ isIncluded: @escaping @Sendable (Item) -> Bool) -> Self {
    with { $0.filters.append(isIncluded) }
  }

  /// Only the items that contain a text. An empty text is in all of them.
  public func search(_ text: String, options: SearchOptions = SearchOptions()) -> Self {
    with {
      $0.text = text
      $0.search = TextSearch(text, options: options)
      $0.searchOptions = options
    }
  }

  /// In one of the orders that cost no more than the items that are returned.
  public func sorted(by order: ListOrder) -> Self { with { $0.order = .listed(order) } }

  /// By a value: numbers and dates by value, texts as people sort them, without regard to case and diacritics, and with the numbers in them
  /// by value, so that "Part 10" comes after "Part 9". Of equal ones the newest favorite comes first.
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

  /// The items that come after one of the query: the next page. `updates` and a model begin at the beginning all the same.
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

  /// Returns the number of items. Without a filter, a search and a limit, that is the number of favorites, in O(1).
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
    let all = load(upTo: nil).page
    guard let place = all.items.firstIndex(where: { $0.id == last }) else {
      throw HeartlogError(
        .notFound,
        "\(favorites.library.name) \(last.favoriteID): no longer in the list; begin at its first page")
    }
    let items = all.items[(place + 1)...]
    return Favorites.Page(items: Array(limit.map { items.prefix($0) } ?? items), failures: all.failures)
  }
}

// MARK: - Rows

/// How the items of a query are ordered.
enum QueryOrder<Item: Sendable>: Sendable {
  case listed(ListOrder)
  case byValue(@Sendable (Item) -> SortValue, SortOrder)
  /// By the places in a collection.
  case byPlace(ItemCollection)
}

/// What places an item in the list of a query.
struct QueryKey: Sendable {
  let id: UTF8Key
  let moment: FavoritedMoment?
  let value: SortValue
}

extension Favorites.Query {
  /// An item of the query, as the store has it; nil if it is none.
  ///
  /// - Throws: `invalidItem` if it is one that cannot be decoded.
  func row(of state: ItemState) throws(HeartlogError) -> (key: QueryKey, item: Item)? {
    guard isMember(state), search.isEmpty || search.isFound(in: state) else { return nil }
    let item = try favorites.decode(state, isListed: true)
    return isIncluded(item) ? (key(of: item, state), item) : nil
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

  /// Reads the items.
  ///
  /// - Parameter most: the maximum number of items.
  func load(upTo most: Int?) -> (page: Favorites.Page, keys: [QueryKey]) {
    let isIncluded: ((Item) -> Bool)? = filters.isEmpty ? nil : { self.isIncluded($0) }
    if case .listed(let order) = order, search.isEmpty, case .favorites = members {
      let page = favorites.page(order: order, limit: most, where: isIncluded)
      return (
        page, page.states.map { QueryKey(id: UTF8Key($0.id), moment: $0.favoritedMoment, value: .none) }
      )
    }
    if case .listed(let order) = order {
      let page = favorites.read(candidates(order), upTo: most, where: isIncluded)
      return (page, keys(of: page))
    }
    // All of them, because a value is not known before an item is decoded.
    var page = favorites.read(candidates(.newestFirst), upTo: nil, where: isIncluded)
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

  /// The items, as the store has them, without a look at their values; favorites in an order.
  private func candidates(_ order: ListOrder) -> [ItemState] {
    switch members {
    case .favorites: return favorites.library.search(text, options: searchOptions, order: order)
    case .collection:
      return order.sorted(
        favorites.library.items().filter { isMember($0) && (search.isEmpty || search.isFound(in: $0)) })
    case .item(let id):
      return [favorites.library.item(id.favoriteID)].compactMap { state in
        state.flatMap { isMember($0) && (search.isEmpty || search.isFound(in: $0)) ? $0 : nil }
      }
    }
  }

  private func isMember(_ state: ItemState) -> Bool {
    switch members {
    case .favorites: state.isFavorite
    case .collection(let collection): state.isVisible && collection.key(of: state) != nil
    case .item(let id): state.isVisible && state.id.hasSameBytes(as: id.favoriteID)
    }
  }

  private func isIncluded(_ item: Item) -> Bool { filters.allSatisfy { $0(item) } }

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
