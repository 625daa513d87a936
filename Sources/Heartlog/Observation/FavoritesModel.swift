import HeartlogFormat
import HeartlogState
import Observation

/// The items of a query, for views. A view that reads the model, or code inside `Observations { }`, is updated automatically.
///
/// A tap shows at once. It is written in the background, with the time of the tap; if that fails, the tap is taken back, and
/// `failedTaps` has the item and the error. Writes of other processes and devices show as soon as they have arrived in the store.
///
/// A change costs the main actor one look-up, one decoded item and a few hundred moved ones. What must be read as a whole, such as a long
/// list or another query, is read and decoded in the background. <doc:FollowingChanges> has an example.
@MainActor @Observable
public final class FavoritesModel<Item: Codable & Identifiable & Sendable> where Item.ID: FavoriteID {
  /// The items of the query.
  public private(set) var items: ItemList<Item> = []
  /// The favorites that could not be decoded and so are missing from `items`: the id of each, with an error that names the field.
  public private(set) var failures: [(id: String, error: HeartlogError)] = []
  /// The taps that could not be written, one for each item, the latest last. Each stays until it is dismissed, or until a later tap on the
  /// same item is written.
  public private(set) var failedTaps: [WriteFailure<Item.ID>] = []
  /// The error of the last of `failedTaps`; nil if there is none. Setting it to nil, as an alert's binding does, dismisses all of them;
  /// it cannot be set to an error.
  public var lastError: HeartlogError? {
    get { failedTaps.last?.error }
    set { if newValue == nil, !failedTaps.isEmpty { failedTaps = [] } }
  }
  /// Whether `items` is being read in the background. Until it is, it contains the first items, or those that were there before.
  public private(set) var isLoading = false

  /// What is shown. Another query is read in the background.
  public var query: Favorites<Item>.Query {
    didSet {
      let (library, old) = (query.favorites.library, oldValue.favorites.library)
      if library.store !== old.store || library.name != old.name {
        taps = [:]
        listen()
      }
      load()
    }
  }
  /// The text that the items contain, as a search field sets it; empty for all.
  public var search: String {
    get { query.search.text }
    set { if newValue != search { query = query.search(newValue, options: query.search.options) } }
  }

  /// Where taps are recorded, so that a person can take them back; nil if they cannot. With a stack of another store, taps fail with `misuse`.
  @ObservationIgnored public var undoStack: UndoStack?

  /// The favorites that the model shows. Use them for everything that the model does not offer.
  public var favorites: Favorites<Item> { query.favorites }

  /// What is shown, with its order.
  @ObservationIgnored private var rows: QueryRows<Item>
  /// The items whose taps are being written. They are shown as they were tapped.
  private var taps: [UTF8Key: Tap] = [:]
  /// The number of taps so far.
  @ObservationIgnored private var tapCount: UInt64 = 0
  /// Raised by every change, also of an item that is not in `items`.
  private var changeCount = 0
  /// The items that changed while `items` is being read.
  @ObservationIgnored private var changedMeanwhile: Set<UTF8Key> = []
  /// Whether `items` must be read again after that.
  @ObservationIgnored private var loadsAgain = false
  @ObservationIgnored private var listening: Task<Void, Never>?
  /// The write of the last tap, after those of the taps before it.
  @ObservationIgnored private var writing: Task<Void, Never>?

  private struct Tap {
    /// The item as it will be stored.
    let state: ItemState
    /// The number of taps whose writes have not ended.
    var count: Int
  }

  /// Items that are decoded before `init` returns: more than a screen shows.
  private static var firstItems: Int { 200 }
  /// Items of a library that are read at once, whatever the query.
  private static var fewItems: Int { 1_000 }
  /// Changes at once above which the list is read anew.
  private static var changesMax: Int { 16 }

  /// Creates a model that follows the store until the model is deallocated.
  ///
  /// In an order by date or id without a search, the first 200 items are there when it returns, and the others are read in the background.
  /// With a search, a filter or another order, that is so for a library of up to 1,000 items, and all are read in the background otherwise.
  ///
  /// - Parameter query: the items to show.
  public init(_ query: Favorites<Item>.Query) {
    self.query = query
    rows = QueryRows(query, upTo: 0)
    // Subscribe first, then read: a change in between is read twice, but none is missed.
    listen()
    rows = QueryRows(query, upTo: Self.itemsRead(of: query))
    tell()
    if rows.lacksItems { load() }
  }

  /// How many items are read at once.
  private static func itemsRead(of query: Favorites<Item>.Query) -> Int {
    if query.favorites.library.counts.items <= fewItems { return fewItems }
    return query.isListed && !query.hasFilter ? firstItems : 0
  }

  private func listen() {
    let changes = query.favorites.library.allChanges
    listening?.cancel()
    listening = Task { [weak self] in
      let subscription = changes.subscription
      while let notice = await subscription.next() {
        let notices = [notice] + subscription.takeWaiting()
        if Task.isCancelled { return }
        self?.take(notices)
      }
    }
  }

  /// Creates a model of all favorites, newest first.
  public convenience init(_ favorites: Favorites<Item>) { self.init(favorites.query) }

  deinit { listening?.cancel() }

  /// Returns whether the item with this id is a favorite, or will be when its tap is written.
  public func contains(_ id: Item.ID) -> Bool {
    access(keyPath: \.changeCount)
    if let tap = taps[UTF8Key(id.favoriteID)] { return tap.state.isFavorite }
    return favorites.contains(id)
  }

  // MARK: - Taps

  /// Makes an item a favorite if the model shows that it is none, and removes it otherwise. An error appears in `failedTaps`.
  public func toggle(_ item: Item) { tap(item.id, contains(item.id) ? nil : item) }

  /// Removes the item with this id from the favorites. An error appears in `failedTaps`.
  public func remove(_ id: Item.ID) { tap(id, nil) }

  /// Dismisses the failed tap on the item with this id.
  public func dismissFailure(of id: Item.ID) { failedTaps.add(nil, of: id) }

  /// Waits until all taps so far are written, or have failed: call it before the app is suspended.
  public func finishWriting() async { await writing?.value }

  /// - Parameter item: the item to add; nil to remove it.
  private func tap(_ id: Item.ID, _ item: Item?) {
    let key = UTF8Key(id.favoriteID)
    let time = favorites.library.store.options.clock()
    tapCount += 1
    // As if it were written after everything else, which it will be.
    let moment = FavoritedMoment(date: time, position: .draft(tapCount))
    let tap = Tap(
      state: favorites.state(of: id, with: item, since: moment), count: (taps[key]?.count ?? 0) + 1)
    taps[key] = tap
    if show(tap, of: key) { tell() }
    let earlier = writing
    writing = Task { [weak self, favorites, undoStack] in
      await earlier?.value
      let store = favorites.library.store
      var failure: HeartlogError?
      do {
        if let undoStack, undoStack.store !== store {
          throw HeartlogError(.misuse, "the model's undo stack is that of another store")
        } else if let undoStack {
          try await undoStack.write(UndoStack.name(ofTapThatAdds: item != nil), at: time) {
            try Self.write(item, id, to: favorites)
          }
        } else {
          try await store.run(at: time) { _ in try Self.write(item, id, to: favorites) }
        }
      } catch { failure = HeartlogError(wrapping: error) }
      self?.didWrite(id, failure)
    }
  }

  private nonisolated static func write(_ item: Item?, _ id: Item.ID, to favorites: Favorites<Item>) throws {
    _ = if let item { try favorites.add(item) } else { try favorites.remove(id) }
  }

  /// Returns whether that changed what is shown.
  @discardableResult
  private func show(_ tap: Tap, of key: UTF8Key) -> Bool {
    // Of what is shown, which is another query while the new one is read.
    if let row = try? rows.query.row(of: tap.state, isDraft: tap.state.isFavorite) {
      return rows.place(row.item, row.key)
    }
    return rows.remove(key)
  }

  private func didWrite(_ id: Item.ID, _ failure: HeartlogError?) {
    let key = UTF8Key(id.favoriteID)
    failedTaps.add(failure, of: id)
    taps[key]?.count -= 1
    guard taps[key]?.count == 0 else { return }
    taps[key] = nil
    update([key])
  }

  // MARK: - Changes

  private func take(_ notices: [ChangeNotice]) {
    guard let ids = changedItems(notices), ids.count <= Self.changesMax else {
      changeCount += 1
      return load()
    }
    update(ids)
  }

  /// Shows items as the store has them, unless a tap on them is being written.
  private func update(_ ids: Set<UTF8Key>) {
    if isLoading { changedMeanwhile.formUnion(ids) }
    changeCount += 1
    var isOther = false
    for id in ids where taps[id] == nil { if rows.update(id) { isOther = true } }
    // A view is not told of what it shows already, such as a tap when it is written.
    if isOther { tell() }
    // When the last tap is written, the question is asked again.
    if taps.isEmpty, !isLoading, rows.lacksItems { load() }
  }

  /// Tells the views what the rows are now.
  private func tell() {
    items = rows.items
    failures = rows.failures
  }

  // MARK: - Loading

  /// Reads all items in the background.
  private func load() {
    guard !isLoading else { return loadsAgain = true }
    isLoading = true
    changedMeanwhile = []
    Task { [weak self, query] in
      self?.didLoad(await Self.load(query))
    }
  }

  @concurrent
  private nonisolated static func load(_ query: Favorites<Item>.Query) async -> QueryRows<Item> {
    QueryRows(query)
  }

  private func didLoad(_ loaded: consuming QueryRows<Item>) {
    isLoading = false
    let former = (items, rows)
    rows = loaded
    // To release many items takes longer than to draw a frame.
    Task.detached { withExtendedLifetime(former) {} }
    for (key, tap) in taps { show(tap, of: key) }
    guard !loadsAgain else {
      loadsAgain = false
      tell()
      return load()
    }
    update(changedMeanwhile)
    tell()
  }
}

/// A write of a model that failed: a tap that was taken back.
///
/// A model keeps it until it is dismissed, or until a later write of the same item succeeds.
public struct WriteFailure<ID: Hashable & Sendable>: Identifiable, Sendable {
  /// What was to be written: the id of the item.
  public let id: ID
  /// Why it was not written.
  public let error: HeartlogError
}

extension Array {
  /// Adds the result of a write. A failure replaces an earlier one of the same item, and a success ends it.
  package mutating func add<ID>(_ error: HeartlogError?, of id: ID) where Element == WriteFailure<ID> {
    // Not written to if nothing changes: a view would be updated.
    if contains(where: { $0.id == id }) { removeAll { $0.id == id } }
    if let error { append(WriteFailure(id: id, error: error)) }
  }
}
