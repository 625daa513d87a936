import Observation

/// The favorites of one type for views: reading it in a view, or inside of `Observations { }`, is all that it takes to be kept up to date.
///
/// Own taps show when they return; what other processes and devices wrote shows within 250 ms of its being there. A burst of changes is
/// one reload: O(n log n) for n favorites. <doc:FollowingChanges> has an example.
@MainActor @Observable
public final class FavoritesModel<Item: Codable & Identifiable & Sendable> where Item.ID: FavoriteID {
  /// The favorites in the order that was asked for.
  public private(set) var items: [Item] = []
  /// What is a favorite and could not be read as an item, and so is missing from `items`: by its id, with an error that names the field.
  public private(set) var failures: [(id: String, error: HeartlogError)] = []
  /// Why the last tap came to nothing; nil after one that did not.
  public private(set) var lastError: HeartlogError?

  /// The favorites that it shows, for everything that a model has no words for.
  @ObservationIgnored public let favorites: Favorites<Item>
  @ObservationIgnored private let order: ListOrder
  /// How many events of the library the items are the outcome of.
  @ObservationIgnored private var shownEvents: UInt64 = 0
  @ObservationIgnored private var listening: Task<Void, Never>?

  /// A model that follows the store until it is let go of. It has its items when this returns: one pass over the library.
  public init(_ favorites: Favorites<Item>, order: ListOrder = .newestFirst) {
    self.favorites = favorites
    self.order = order
    // The stream first, the state second: what comes between the two is read twice, and nothing is missed.
    let changes = favorites.changes
    reload()
    listening = Task { [weak self] in
      let iterator = changes.makeAsyncIterator()
      while await iterator.subscription.next() != nil {
        // A burst is one reload: what came meanwhile is part of the state already.
        iterator.subscription.skipWaiting()
        guard let self else { return }
        self.reload()
      }
    }
  }

  deinit { listening?.cancel() }

  /// Reads the state, where it has changed since it was last read.
  private func reload() {
    let events = favorites.library.counts.events
    guard events != shownEvents else { return }
    shownEvents = events
    let loaded = favorites.load(order: order)
    items = loaded.items
    failures = loaded.failures
  }

  /// Whether the item of that id is a favorite.
  public func contains(_ id: Item.ID) -> Bool {
    access(keyPath: \.items)
    return favorites.contains(id)
  }

  /// Flips what the store holds; what goes wrong shows in `lastError`.
  public func toggle(_ item: Item) {
    attempt { () throws(HeartlogError) in try favorites.toggle(item) }
  }

  /// Makes the item of that id no favorite; what goes wrong shows in `lastError`.
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
