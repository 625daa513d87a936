#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// Batches: one commit, one fsync, all or nothing.

extension Favorites {
  /// Makes many items favorites, as one commit.
  ///
  /// - Parameters:
  ///   - items: at most 50,000 that are none yet; more need more than one commit.
  ///   - date: since when, for all of them; the commit's time where nil.
  /// - Returns: how many were none before.
  /// - Throws: `invalidItem` for an item that cannot be stored, and then none is; what every write throws: <doc:WhatCanGoWrong>.
  @discardableResult
  public func add(contentsOf items: some Sequence<Item>, since date: Date? = nil) throws(HeartlogError) -> Int
  {
    try batch(items) { item throws(HeartlogError) in try add(item, since: date) }
  }

  /// Makes many items no favorites, as one commit.
  ///
  /// - Returns: how many were one before.
  /// - Throws: what every write throws: <doc:WhatCanGoWrong>.
  @discardableResult
  public func remove(contentsOf ids: some Sequence<Item.ID>) throws(HeartlogError) -> Int {
    try batch(ids) { id throws(HeartlogError) in try remove(id) }
  }

  /// Writes what is new about many items, favorites or not, as one commit.
  ///
  /// - Returns: of how many something differed.
  /// - Throws: `invalidItem` for an item that cannot be stored, and then none is; what every write throws: <doc:WhatCanGoWrong>.
  @discardableResult
  public func update(contentsOf items: some Sequence<Item>) throws(HeartlogError) -> Int {
    try batch(items) { item throws(HeartlogError) in try update(item) }
  }

  private func batch<Element>(
    _ elements: some Sequence<Element>, _ write: (Element) throws(HeartlogError) -> Bool
  ) throws(HeartlogError) -> Int {
    try library.store.writeAsOne { () throws(HeartlogError) in
      var count = 0
      for element in elements where try write(element) { count += 1 }
      return count
    }
  }
}
