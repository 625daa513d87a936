import Heartlog
import HeartlogFiles

/// The names of an object store, as far as it told them.
///
/// A name that another device has deleted since may remain. Where reading finds that it is absent, it stays, because it may as well be late;
/// where the store knows that it was deleted, it goes.
struct ObjectCatalogue: Sendable {
  /// By name.
  private(set) var entries: [String: ObjectList.Entry] = [:]
  private(set) var foreignCount = 0
  /// The position after the last update.
  private(set) var cursor: ObjectCursor?

  /// Continues from where the last update ended.
  ///
  /// - Parameter options: End it between two answers.
  /// - Throws: `inputOutput` if there are more than `directoryNamesMax` names.
  mutating func update(from objects: any ObjectStore, _ options: SyncOptions) throws(HeartlogError) {
    var hasMore = true
    var listedCount = 0
    while hasMore {
      let list = try objects.list(after: cursor)
      if list.startsOver {
        entries.removeAll(keepingCapacity: true)
        foreignCount = 0
      }
      for entry in list.entries { add(entry) }
      foreignCount += list.foreignCount
      cursor = list.cursor
      // Whoever may put objects may put any number, and a server may list them without end.
      listedCount += list.entries.count + list.foreignCount
      guard entries.count <= directoryNamesMax, listedCount <= 2 * directoryNamesMax else {
        throw HeartlogError(
          .inputOutput, "cannot list \(objects.description): more than \(directoryNamesMax) objects are there"
        )
      }
      hasMore = list.hasMore && !options.isOver
    }
  }

  /// Notes an object that was told, or that this device has put: it may be told later.
  mutating func add(_ entry: ObjectList.Entry) {
    // A folder may have a placeholder beside the file that was downloaded in its place.
    guard entry.byteCount != nil || entries[entry.name]?.byteCount == nil else { return }
    entries[entry.name] = entry
  }

  /// Forgets an object that was deleted.
  mutating func remove(_ name: String) { entries[name] = nil }
}
