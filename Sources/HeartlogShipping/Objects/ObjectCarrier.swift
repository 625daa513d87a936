import Heartlog
import Synchronization

/// A carrier through an object store: a folder, or another place with the same layout.
package final class ObjectCarrier: Carrier {
  private let objects: any ObjectStore
  /// What earlier syncs found out, so that a carrier that is reused repeats no work.
  private let memory = Mutex(ObjectSyncPass.Memory())

  package var description: String { objects.description }

  package init(_ objects: any ObjectStore) { self.objects = objects }

  /// Receives what other devices put, and puts what is missing.
  ///
  /// - Throws: `HeartlogError`: what the object store and `store` throw.
  package func sync(_ store: FavoritesStore, options: SyncOptions) throws(HeartlogError) -> SyncReport {
    try sync(streams: store, options: options)
  }

  /// Syncs through the same place, whose calls are made on behalf of this sync.
  package func sync(
    _ store: FavoritesStore, through objects: any ObjectStore, options: SyncOptions
  ) throws(HeartlogError) -> SyncReport {
    try sync(streams: store, through: objects, options: options)
  }

  /// Waits until there may be objects that no sync has seen, at most so long.
  ///
  /// - Returns: Whether there may be some.
  package func watch(through objects: any ObjectStore, milliseconds: Int) throws(HeartlogError) -> Bool {
    guard let cursor = memory.withLock({ $0.catalogue.cursor }) else { return true }
    return try objects.watch(after: cursor, milliseconds: milliseconds)
  }

  func sync(streams store: any ShippedStreams, options: SyncOptions) throws(HeartlogError) -> SyncReport {
    try sync(streams: store, through: objects, options: options)
  }

  private func sync(
    streams store: any ShippedStreams, through objects: any ObjectStore, options: SyncOptions
  ) throws(HeartlogError) -> SyncReport {
    var pass = ObjectSyncPass(
      store: store, objects: objects, options: options, memory: memory.withLock { $0 })
    let report = Result { () throws(HeartlogError) in
      try store.traced { () throws(HeartlogError) in try pass.run() }
    }
    memory.withLock { $0.take(pass.memory, deleted: pass.deleted) }
    return try report.get()
  }
}
