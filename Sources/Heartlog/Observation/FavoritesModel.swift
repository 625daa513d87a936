import HeartlogFormat
import HeartlogState
import Observation

/// The favorites of one type, for views. A view that reads the model, or code inside `Observations { }`, is updated automatically.
///
/// A tap shows at once. It is written in the background, with the time of the tap; if that fails, the tap is taken back, and
/// `failedTaps` has the item and the error. Writes of other processes and devices show as soon as they have arrived in the store.
///
/// A change costs the main actor one look-up, one decoded item and a few hundred moved ones. What must be read as a whole, such as a long list or the results of a search, is read and decoded in the
/// background. <doc:FollowingChanges> has an example.
@MainActor @Observable
public final class FavoritesModel<Item: Codable & Identifiable & Sendable> where Item.ID: FavoriteID {
  /// The favorites that contain `search`, in the order `order`, `limit` at most.
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

  /// The order of `items`.
  public var order: ListOrder { didSet { if order != oldValue { load() } } }
  /// The maximum number of items; all if nil.
  public var limit: Int? { didSet { if limit != oldValue { load() } } }
  /// A text that the items contain, as `Favorites.search` finds it; empty for all.
  public var search = "" { didSet { if search != oldValue { load() } } }

  /// The favorites that the model shows. Use them for everything that the model does not offer.
  @ObservationIgnored public let favorites: Favorites<Item>
  /// Where the items of `items` are.
  @ObservationIgnored private var positions: ListPositions
  /// The items whose taps are being written. They are shown as they were tapped.
  private var taps: [UTF8Key: Tap] = [:]
  /// The number of taps so far.
  @ObservationIgnored private var tapCount: UInt64 = 0
  /// Raised by every change, also of an item that is not in `items`.
  private var changeCount = 0
  /// Whether an item was added at the end of `items`, although favorites that are not in the list may come before it.
  @ObservationIgnored private var isEndUncertain = false
  /// The items that changed while `items` is being read.
  @ObservationIgnored private var changedMeanwhile: Set<UTF8Key> = []
  /// Whether `items` must be read again after that.
  @ObservationIgnored private var loadsAgain = false
  @ObservationIgnored private var listening: [Task<Void, Never>] = []
  /// The write of the last tap, after those of the taps before it.
  @ObservationIgnored private var writing: Task<Void, Never>?

  private struct Tap {
    /// Nil if it removes the item.
    let item: Item?
    /// The number of taps whose writes have not ended.
    var count: Int
    /// As if it were written after everything else, which it will be.
    let moment: FavoritedMoment
  }

  /// Items that are decoded before `init` returns: more than a screen shows.
  private static var firstItems: Int { 200 }
  /// Changes at once above which the list is read anew.
  private static var changesMax: Int { 16 }

  /// Creates a model that follows the store until the model is deallocated. Loads the first 200 items before it returns, and the others in
  /// the background.
  ///
  /// - Parameters:
  ///   - favorites: the favorites to show.
  ///   - order: the order of the items.
  ///   - limit: the maximum number of items; all if nil.
  public init(_ favorites: Favorites<Item>, order: ListOrder = .newestFirst, limit: Int? = nil) {
    self.favorites = favorites
    self.order = order
    self.limit = limit
    // Subscribe first, then load: a change in between is read twice, but none is missed.
    let changes = favorites.changes
    let local = favorites.library.localChanges.map { [$0] } ?? []
    let first = favorites.page(order: order, limit: min(Self.firstItems, limit ?? Self.firstItems))
    positions = ListPositions(of: first.states, in: order)
    items = ItemList(first.items)
    failures = first.failures
    if items.count < limit ?? .max, items.count + failures.count < favorites.count { load() }
    listening = ([changes] + local).map { changes in
      Task { [weak self] in
        let subscription = changes.subscription
        while let notice = await subscription.next() {
          self?.take([notice] + subscription.takeWaiting())
        }
      }
    }
  }

  deinit { for task in listening { task.cancel() } }

  /// Returns whether the item with this id is a favorite, or will be when its tap is written.
  public func contains(_ id: Item.ID) -> Bool {
    access(keyPath: \.changeCount)
    if let tap = taps[UTF8Key(id.favoriteID)] { return tap.item != nil }
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
    let tap = Tap(
      // As it will be read. One that cannot be written shows as it is until that is told.
      item: item.map { (try? favorites.stored($0, since: time)) ?? $0 }, count: (taps[key]?.count ?? 0) + 1,
      moment: FavoritedMoment(date: time, position: .draft(tapCount)))
    taps[key] = tap
    show(tap, of: key)
    let earlier = writing
    writing = Task { [weak self, favorites] in
      await earlier?.value
      var failure: HeartlogError?
      do throws(HeartlogError) {
        try await favorites.library.store.async.run(at: time) { _ throws(HeartlogError) in
          _ = if let item { try favorites.add(item) } else { try favorites.remove(id) }
        }
      } catch { failure = error }
      self?.didWrite(id, failure)
    }
  }

  private func show(_ tap: Tap, of key: UTF8Key) {
    changeCount += 1
    guard let item = tap.item else { return remove(key) }
    // Whether it contains the text is known when it is written.
    if search.isEmpty { place(item, key, tap.moment) }
  }

  private func didWrite(_ id: Item.ID, _ failure: HeartlogError?) {
    let key = UTF8Key(id.favoriteID)
    failedTaps.add(failure, of: id)
    taps[key]?.count -= 1
    guard taps[key]?.count == 0 else { return }
    taps[key] = nil
    guard search.isEmpty else { return load() }
    update(key)
    if lacksItems { load() }
  }

  // MARK: - Changes

  private func take(_ notices: [ChangeNotice]) {
    changeCount += 1
    var changed: Set<UTF8Key> = []
    for notice in notices {
      guard case .change(let change) = notice, search.isEmpty, changed.count < Self.changesMax else {
        return load()
      }
      changed.insert(UTF8Key(change.event.item))
    }
    for key in changed { update(key) }
    if lacksItems { load() }
  }

  /// Shows an item as the store has it, unless a tap on it is being written.
  private func update(_ key: UTF8Key) {
    changeCount += 1
    if isLoading { changedMeanwhile.insert(key) }
    guard taps[key] == nil else { return }
    if failures.contains(where: { UTF8Key($0.id) == key }) { failures.removeAll { UTF8Key($0.id) == key } }
    guard let state = favorites.library.item(key.text), state.isFavorite else { return remove(key) }
    do throws(HeartlogError) {
      place(try favorites.decode(state, isListed: true), key, state.favoritedMoment)
    } catch {
      remove(key)
      failures.append((key.text, error))
    }
  }

  private func place(_ item: Item, _ key: UTF8Key, _ moment: FavoritedMoment?) {
    if let (position, isChange) = positions.keep(key, since: moment) {
      if isChange, position == items.count - 1 { isEndUncertain = true }
      // A view is not told of what it shows already, such as a tap when it is written.
      if !favorites.isSame(items[position], item) { items[position] = item }
      return
    }
    remove(key)
    let position = positions.insert(key, since: moment)
    guard position < limit ?? .max else {
      _ = positions.remove(key)
      return
    }
    if position == items.count { isEndUncertain = true }
    items.insert(item, at: position)
    guard let limit, items.count > limit else { return }
    items.removeLast()
    positions.removeLast()
  }

  private func remove(_ key: UTF8Key) {
    guard let position = positions.remove(key) else { return }
    items.remove(at: position)
  }

  /// Whether favorites may be missing from a list with a limit: one that was behind it when another one has gone.
  private var lacksItems: Bool {
    // When the last tap is written, the question is asked again.
    guard let limit, taps.isEmpty, isEndUncertain || items.count < limit else { return false }
    return items.count + failures.count < favorites.count
  }

  // MARK: - Loading

  private struct Loaded: Sendable {
    let items: ItemList<Item>
    let positions: ListPositions
    let failures: [(id: String, error: HeartlogError)]
  }

  /// Reads all items in the background.
  private func load() {
    guard !isLoading else { return loadsAgain = true }
    isLoading = true
    changedMeanwhile = []
    Task { [weak self, favorites, search, order, limit] in
      let loaded = await Self.load(favorites, search, order, limit)
      self?.didLoad(loaded)
    }
  }

  @concurrent
  private nonisolated static func load(
    _ favorites: Favorites<Item>, _ search: String, _ order: ListOrder, _ limit: Int?
  ) async -> Loaded {
    let page =
      search.isEmpty
      ? favorites.page(order: order, limit: limit)
      : favorites.read(favorites.library.search(search, order: order), upTo: limit)
    return Loaded(
      items: ItemList(page.items), positions: ListPositions(of: page.states, in: order),
      failures: page.failures)
  }

  private func didLoad(_ loaded: Loaded) {
    (isLoading, isEndUncertain) = (false, false)
    let former = (items, positions)
    (items, positions, failures) = (loaded.items, loaded.positions, loaded.failures)
    changeCount += 1
    // To release many items takes longer than to draw a frame.
    Task.detached { withExtendedLifetime(former) {} }
    for (key, tap) in taps { show(tap, of: key) }
    guard !loadsAgain else {
      loadsAgain = false
      return load()
    }
    for key in changedMeanwhile { update(key) }
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
