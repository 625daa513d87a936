import Heartlog
import Synchronization

/// The stores that a command opened, and what was reported about them.
final class OpenedStores: Sendable {
  private struct State {
    var stores: [(store: FavoritesStore, told: Int)] = []
    /// What is still to be reported about stores that were closed.
    var dropped: [DroppedSnapshot] = []
    var wasOpenToOthers = false

    mutating func takeDroppedSnapshots() -> [DroppedSnapshot] {
      var new = dropped
      dropped = []
      for index in stores.indices {
        let all = stores[index].store.droppedSnapshots
        new += all.dropFirst(stores[index].told)
        stores[index].told = all.count
      }
      return new
    }
  }

  private let state = Mutex(State())

  func add(_ store: FavoritesStore) { state.withLock { $0.stores.append((store, 0)) } }

  /// Whether one of the stores was open to other users and was closed to them.
  func takeClosed() -> Bool {
    state.withLock { state in state.wasOpenToOthers || state.stores.contains { $0.store.wasOpenToOthers } }
  }

  /// The snapshots that were dropped since the last call.
  func takeDroppedSnapshots() -> [DroppedSnapshot] { state.withLock { $0.takeDroppedSnapshots() } }

  /// Closes and releases all stores, but not this one.
  func closePeers(of store: FavoritesStore? = nil) throws(HeartlogError) {
    let peers = state.withLock { state in state.stores.map(\.store).filter { $0 !== store } }
    // Closing may write a snapshot, and so drop another.
    defer {
      state.withLock { state in
        state.dropped = state.takeDroppedSnapshots()
        state.wasOpenToOthers = state.wasOpenToOthers || peers.contains(where: \.wasOpenToOthers)
        state.stores.removeAll { $0.store !== store }
      }
    }
    for peer in peers { try peer.close() }
  }
}
