#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// Batches. A commit has at most 50,000 events and 16 MiB, so a large batch is written as several, each as a whole: 50,000 items at most,
// fewer if they have more than 8 MiB of content. What is there already is not written again, so a batch that was interrupted is continued
// by the same call. Inside `write { }` a batch is part of that one commit, whatever its size.

extension Favorites {
  /// Makes many items favorites: in one commit, or in several if they are more than 50,000 items or 8 MiB.
  ///
  /// After an error or a crash, a batch of several commits is there in part. The same call completes it.
  ///
  /// - Parameters:
  ///   - items: the items, favorites or not.
  ///   - date: the favorited date of all of them; the time of their commit if nil.
  /// - Returns: how many were not favorites before.
  /// - Throws: `invalidItem` if an item cannot be stored; then nothing of its commit is written. Any error of a write: see
  ///   <doc:WhatCanGoWrong>.
  @discardableResult
  public func add(
    contentsOf items: some Sequence<Item>, since date: Date? = nil
  ) throws(HeartlogError) -> Int {
    try library.store.writeBatch(items) { item throws(HeartlogError) in try add(item, since: date) }
  }

  /// Removes many items from the favorites: in one commit, or in several if they are more than 50,000.
  ///
  /// After an error or a crash, a batch of several commits is there in part. The same call completes it.
  ///
  /// - Parameter ids: the ids of the items, favorites or not.
  /// - Returns: how many were favorites before.
  /// - Throws: any error of a write: see <doc:WhatCanGoWrong>.
  @discardableResult
  public func remove(contentsOf ids: some Sequence<Item.ID>) throws(HeartlogError) -> Int {
    try library.store.writeBatch(ids) { id throws(HeartlogError) in try remove(id) }
  }

  /// Removes all favorites, also those that cannot be read as an `Item`, as `remove(contentsOf:)` does. Their stored fields stay.
  ///
  /// - Returns: how many there were.
  /// - Throws: any error of a write: see <doc:WhatCanGoWrong>.
  @discardableResult
  public func removeAll() throws(HeartlogError) -> Int {
    try library.store.writeBatch(library.favorites()) { item throws(HeartlogError) in
      try library.perform(.remove, on: item.id).isChange
    }
  }

  /// Updates the stored fields of many items, favorites or not: in one commit, or in several if they are more than 50,000 items or 8 MiB.
  ///
  /// After an error or a crash, a batch of several commits is there in part. The same call completes it.
  ///
  /// - Parameter items: the items; only fields that differ from the stored ones are written.
  /// - Returns: how many items had a field that differed.
  /// - Throws: `invalidItem` if an item cannot be stored; then nothing of its commit is written. Any error of a write: see
  ///   <doc:WhatCanGoWrong>.
  @discardableResult
  public func update(contentsOf items: some Sequence<Item>) throws(HeartlogError) -> Int {
    try library.store.writeBatch(items) { item throws(HeartlogError) in try update(item) }
  }

  /// Takes over favorites that an app kept elsewhere. What the store has had before stays as it is: an item that was removed since then does
  /// not come back, and a second call changes nothing. It is one commit, or several as for `add(contentsOf:)`.
  ///
  /// - Parameters:
  ///   - old: the items, and since when each is a favorite: nil if that is not known, for the time of the commit.
  ///   - origin: what they come from, such as `import:user-defaults`; it is kept in the log; at most 256 bytes.
  /// - Returns: how many were new.
  /// - Throws: `invalidItem` if an item cannot be stored; then nothing of its commit is written. Any error of a write: see
  ///   <doc:WhatCanGoWrong>.
  @discardableResult
  public func migrate(
    from old: some Sequence<(item: Item, since: Date?)>, origin: String
  ) throws(HeartlogError) -> Int {
    // Dates are stored in milliseconds. Those of one millisecond are listed in the order in which they are written.
    let sorted = old.enumerated().sorted { a, b in
      let dates = (a.element.since ?? .distantFuture, b.element.since ?? .distantFuture)
      return dates.0 == dates.1 ? a.offset < b.offset : dates.0 < dates.1
    }.map(\.element)
    return try library.store.writeBatch(sorted, origin: origin) { old throws(HeartlogError) in
      guard library.item(old.item.id.favoriteID) == nil else { return false }
      return try add(old.item, since: old.since)
    }
  }
}

extension FavoritesStore {
  /// Writes elements one after the other, in as few commits as they fit into; inside `write { }` as a part of its commit.
  ///
  /// - Parameter write: writes one element, and says whether that changed anything.
  /// - Returns: how many elements changed something.
  @discardableResult
  func writeBatch<Element>(
    _ elements: some Sequence<Element>, origin: String? = nil,
    _ write: (Element) throws(HeartlogError) -> Bool
  ) throws(HeartlogError) -> Int {
    let isPart = WriteTransaction.joined(by: self) != nil
    var iterator = elements.makeIterator()
    var element = iterator.next()
    var changes = 0
    repeat {
      try writeAsOne(origin: origin) { () throws(HeartlogError) in
        let transaction = WriteTransaction.joined(by: self)
        while let next = element, isPart || transaction?.isFull == false {
          if try write(next) { changes += 1 }
          element = iterator.next()
        }
      }
    } while element != nil
    return changes
  }
}
