import HeartlogFiles
import HeartlogStorage

extension FavoritesStore {
  /// A log of more bytes takes too long to read while a person waits for a completion.
  private static let glanceBytesMax: UInt64 = 2 << 20

  /// Reads a state of the store in a folder within a few milliseconds: the current one, or that of the newest snapshot if much was written
  /// since. Creates nothing and takes no lock.
  ///
  /// - Returns: nil if there is no store, if it cannot be read, or if it has no snapshot and a long log.
  package static func glance<R>(at path: String, _ body: (FavoritesState) -> R) -> R? {
    let fileSystem = POSIXFileSystem()
    var options = StoreOptions()
    options.access = .readOnly
    options.createsIfMissing = false
    let found = SnapshotKeeper(at: path, on: fileSystem, options: options).newest()
    do {
      guard let bytes = try CommitLog.bytes(behind: found?.positions ?? [], at: path, on: fileSystem) else {
        return nil
      }
      if bytes <= glanceBytesMax {
        return try FavoritesStore(at: path, on: fileSystem, options: options).read(body)
      }
    } catch {
      return nil
    }
    guard let found else { return nil }
    let result = body(found.state)
    return found.state.isDamaged ? nil : result
  }
}
