import Observation

/// The favorites of one type, for views. A view that reads the model, or code inside `Observations { }`, is updated automatically.
///
/// Own taps show as soon as they return. Writes of other processes and devices show within 250 ms of arriving in the store. A burst of
/// changes causes one reload: O(n log n) for n favorites. <doc:FollowingChanges> has an example.
@MainActor @Observable
public final class FavoritesModel<Item: Codable & Identifiable & Sendable> where Item.ID: FavoriteID {
  /// The favorites in the requested order.
  public private(set) var items: [Item] = []
  /// The favorites that could not be decoded and so are missing from `items`: the id of each, with an error that names the field.
  public private(set) var failures: [(id: String, error: HeartlogError)] = []
  /// The error of the last tap; nil if it succeeded.
  public private(set) var lastError: HeartlogError?

  /// The favorites that the model shows. Use them for everything that the model does not offer.
  @ObservationIgnored public let favorites: Favorites<Item>
  @ObservationIgnored private let order: ListOrder
  /// The number of events in the library when `items` was loaded.
  @ObservationIgnored private var shownEvents: UInt64 = 0
  @ObservationIgnored private var listening: Task<Void, Never>?

  /// Creates a model that follows the store until the model is deallocated. Loads `items` before it returns: one pass over the library.
  ///
  /// - Parameters:
  ///   - favorites: the favorites to show.
  ///   - order: the order of the result.
  public init(_ favorites: Favorites<Item>, order: ListOrder = .newestFirst) {
    self.favorites = favorites
    self.order = order
    // Subscribe first, then load: a change in between is read twice, but none is missed.
    let changes = favorites.changes
    reload()
    listening = Task { [weak self] in
      let iterator = changes.makeAsyncIterator()
      while await iterator.subscription.next() != nil {
        // A burst is one reload: the changes still waiting are already part of the state.
        iterator.subscription.skipWaiting()
        guard let self else { return }
        self.reload()
      }
    }
  }

  deinit { listening?.cancel() }

  /// Reloads the items if the state changed since the last load.
  private func reload() {
    let events = favorites.library.counts.events
    guard events != shownEvents else { return }
    shownEvents = events
    let loaded = favorites.load(order: order)
    items = loaded.items
    failures = loaded.failures
  }

  /// Returns whether the item with this id is a favorite.
  public func contains(_ id: Item.ID) -> Bool {
    access(keyPath: \.items)
    return favorites.contains(id)
  }

  /// Toggles whether an item is a favorite. The stored state decides. An error appears in `lastError`.
  public func toggle(_ item: Item) {
    attempt { () throws(HeartlogError) in try favorites.toggle(item) }
  }

  /// Removes the item with this id from the favorites. An error appears in `lastError`.
  public func remove(_ id: Item.ID) {
    attempt { () throws(HeartlogError) in try favorites.remove(id) }
  }

  private func attempt(_ write: () throws(HeartlogError) -> Bool) {
    do throws(HeartlogError) {
      _ = try write()
      lastError = nil
      reload()
    } catch {
      lastError = error
    }
  }
}
