#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// Batches: one commit and one fsync, all or nothing.

extension Favorites {
  /// Makes many items favorites, in one commit.
  ///
  /// - Parameters:
  ///   - items: at most 50,000 items that are not favorites yet. Split more than that into several calls.
  ///   - date: the favorited date of all of them; the time of the commit if nil.
  /// - Returns: how many were not favorites before.
  /// - Throws: `invalidItem` if an item cannot be stored; then nothing is written. Any error of a write: see <doc:WhatCanGoWrong>.
  @discardableResult
  public func add(contentsOf items: some Sequence<Item>, since date: Date? = nil) throws(HeartlogError) -> Int
  {
    try batch(items) { item throws(HeartlogError) in try add(item, since: date) }
  }

  /// Removes many items from the favorites, in one commit.
  ///
  /// - Parameter ids: the ids of the items, favorites or not.
  /// - Returns: how many were favorites before.
  /// - Throws: any error of a write: see <doc:WhatCanGoWrong>.
  @discardableResult
  public func remove(contentsOf ids: some Sequence<Item.ID>) throws(HeartlogError) -> Int {
    try batch(ids) { id throws(HeartlogError) in try remove(id) }
  }

  /// Updates the stored fields of many items, favorites or not, in one commit.
  ///
  /// - Parameter items: the items; only fields that differ from the stored ones are written.
  /// - Returns: how many items had a field that differed.
  /// - Throws: `invalidItem` if an item cannot be stored; then nothing is written. Any error of a write: see <doc:WhatCanGoWrong>.
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
