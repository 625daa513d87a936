import Heartlog

/// Which items of a library are favorites: first all of them, then each change in order.
///
/// A change has the value that it had when it became part of the state. A reader that is behind sees every
/// change in order, or `all` if some were dropped. It never sees a change that lost to a later write, or that
/// is part of the initial state.
struct MembershipFeed {
  enum Update: Equatable {
    /// So many changes occurred that some were dropped: read everything again.
    case all
    case one(id: String, isFavorite: Bool)
  }

  private let library: FavoritesLibrary
  private var changes: Changes.Iterator
  /// By item: the position of the write that its membership reflects.
  private var positions: [String: EventPosition] = [:]
  private(set) var favorites: Set<String> = []

  /// Starts with the current state. One pass over the library.
  init(_ library: FavoritesLibrary) {
    self.library = library
    // Subscribe first, then read the state: a change in between is received twice, and recognized by its
    // position.
    changes = library.changes.makeAsyncIterator()
    readAll()
  }

  /// Whether an item is a favorite; `nil` if it never was made one, nor removed.
  func decided(_ id: String) -> Bool? { positions[id] == nil ? nil : favorites.contains(id) }

  private mutating func readAll() {
    (positions, favorites) = library.store.read { [library] state in
      var positions: [String: EventPosition] = [:]
      var favorites: Set<String> = []
      for item in state.items(in: library.name) {
        positions[item.id] = state.membershipPosition(of: item.id, in: library.name)
        if item.isFavorite { favorites.insert(item.id) }
      }
      return (positions, favorites)
    }
  }

  /// The next change; `nil` after the task is cancelled or the store is closed.
  mutating func next() async -> Update? {
    while let notice = await changes.next() {
      if let update = take(notice) { return update }
    }
    return nil
  }

  /// The update for a notice; `nil` if it changes no flag, lost to a later write, or is already reflected in
  /// the state.
  mutating func take(_ notice: ChangeNotice) -> Update? {
    guard case .change(let change) = notice else {
      readAll()
      return .all
    }
    let position = EventPosition(
      stamp: change.stamp, replica: change.id.replica, sequence: change.id.sequence)
    let id = change.event.item
    guard let isFavorite = change.event.action.isFavorite else { return nil }
    if let shown = positions[id], position < shown { return nil }
    positions[id] = position
    guard isFavorite != favorites.contains(id) else { return nil }
    if isFavorite { favorites.insert(id) } else { favorites.remove(id) }
    return .one(id: id, isFavorite: isFavorite)
  }
}
