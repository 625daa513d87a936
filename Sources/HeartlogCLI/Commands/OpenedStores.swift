import Heartlog
import Synchronization

/// The stores that a command opened, and what was told of them.
final class OpenedStores: Sendable {
  private let stores = Mutex<[(store: FavoritesStore, told: Int)]>([])

  func add(_ store: FavoritesStore) { stores.withLock { $0.append((store, 0)) } }

  /// Whether one of them was open to other users, and is not any more.
  func takeClosed() -> Bool { stores.withLock { $0.contains { $0.store.wasOpenToOthers } } }

  /// The snapshots that were dropped since the last call.
  func takeDroppedSnapshots() -> [DroppedSnapshot] {
    stores.withLock { stores in
      var new: [DroppedSnapshot] = []
      for index in stores.indices {
        let dropped = stores[index].store.droppedSnapshots
        new += dropped.dropFirst(stores[index].told)
        stores[index].told = dropped.count
      }
      return new
    }
  }
}
