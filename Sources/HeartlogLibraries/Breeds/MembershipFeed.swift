import Heartlog

/// Which items of a library are favorites: first all of them, then one change after the other.
///
/// A change is what it was when it became part of the state. A reader that is behind sees every step, in order, and never one that lost
/// to a later write, or that was part of what it saw at first.
struct MembershipFeed {
  enum Update: Equatable {
    /// So many changes came that some were left out: all is to be read anew.
    case all
    case one(id: String, isFavorite: Bool)
  }

  private let library: FavoritesLibrary
  private var changes: Changes.Iterator
  /// The writes that the memberships show.
  private var positions: [String: EventPosition] = [:]
  private(set) var favorites: Set<String> = []

  /// Begins with the present. One pass over the library.
  init(_ library: FavoritesLibrary) {
    self.library = library
    // The stream first, the state second: what comes between the two comes twice, and is told by its position.
    changes = library.changes.makeAsyncIterator()
    readAll()
  }

  private mutating func readAll() { (positions, favorites) = Self.present(of: library) }

  /// The favorites of a library, and the writes that the memberships of its items show. One pass over the library.
  static func present(
    of library: FavoritesLibrary
  ) -> (positions: [String: EventPosition], favorites: Set<String>) {
    library.store.read { state in
      var positions: [String: EventPosition] = [:]
      var favorites: Set<String> = []
      for item in state.items(in: library.name) {
        positions[item.id] = state.membershipPosition(of: item.id, in: library.name)
        if item.isFavorite { favorites.insert(item.id) }
      }
      return (positions, favorites)
    }
  }

  /// The next change; nil once the task is cancelled or the store is closed.
  mutating func next() async -> Update? {
    while let notice = await changes.next() {
      if let update = take(notice) { return update }
    }
    return nil
  }

  /// What a notice changes; nil for one that changes no flag, that lost to a later write, or that the reader has seen the outcome of.
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
