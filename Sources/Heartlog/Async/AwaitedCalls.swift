import HeartlogEngine

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// The same calls for tasks, which must not block on a disk: waiting for one, or for another process, happens on one of Heartlog's own
// threads and suspends the task. Swift chooses them where a task awaits.
//
// Concurrent writes of several tasks share their fsyncs. Awaited writes of one task are committed in order.
//
// Cancelling a task cancels a write that is not in the commit queue yet: when its turn comes, it throws `cancelled`, and nothing is written.
// After that point the write completes, and the task gets its result. Calls in `run` ignore cancellation.
//
// Reading needs none of this: `list`, `contains` and the other reads only access memory.

extension FavoritesStore {
  /// Writes everything that `body` does to this store as one commit, and awaits it.
  ///
  /// ```swift
  /// try await store.write {
  ///   try papers.add(a)
  ///   try papers.remove(b)
  /// }
  /// ```
  ///
  /// `body` runs on a thread of the store. It sees neither the task's task-local values nor its cancellation.
  ///
  /// - Parameters:
  ///   - origin: the origin of the commit; that of the options if nil.
  ///   - durability: when the write returns; as the options say if nil.
  ///   - time: the wall time of the commit, in milliseconds since 1970; that of the clock if nil.
  ///   - body: the writes.
  /// - Throws: any error of `body`, and `HeartlogError`: `cancelled` if the task was cancelled in time.
  @discardableResult
  public func write<R: Sendable>(
    origin: String? = nil, durability: Durability? = nil, time: Milliseconds? = nil,
    _ body: @escaping @Sendable () throws -> R
  ) async throws -> R {
    try await commit(origin: origin, durability: durability, time: time, body).result
  }

  /// Like `write`, but returns the commit too; nil if there was nothing to write.
  @discardableResult
  package func commit<R: Sendable>(
    origin: String? = nil, durability: Durability? = nil, time: Milliseconds? = nil,
    _ body: @escaping @Sendable () throws -> R
  ) async throws -> (result: R, commit: Commit?) {
    let cancellation = Cancellation()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        asyncWrites.append { [self] in
          do {
            try cancellation.check()
            let staged = try stage(origin: origin, durability: durability, time: time) { _ in
              let result = try body()
              // The last check: after it the commit is written, whatever happens to the task.
              try cancellation.check()
              return result
            }
            return { continuation.resume(with: Result { try self.finish(staged) }) }
          } catch {
            continuation.resume(throwing: error)
            return nil
          }
        }
      }
    } onCancel: {
      cancellation.request()
    }
  }

  /// `write { }` for a body that throws only `HeartlogError`.
  @discardableResult
  func writeAsOne<R: Sendable>(
    _ body: @escaping @Sendable () throws(HeartlogError) -> R
  ) async throws(HeartlogError) -> R {
    do { return try await write { try body() } } catch {
      throw HeartlogError(wrapping: error)
    }
  }

  /// Lets go of everything that must not be held while the process is suspended, once the writes that are awaited by then are written.
  public func suspend() async throws(HeartlogError) {
    let result = await withCheckedContinuation { continuation in
      asyncWrites.append { [self] in
        // Called when the writes that came before are finished.
        { continuation.resume(returning: Result { () throws(HeartlogError) in try self.suspend() }) }
      }
    }
    try result.get()
  }

  /// Runs any other calls on one of Heartlog's own threads: `refresh`, `flush`, `close`, `seal`, an undo, or a batch of several commits.
  ///
  /// ```swift
  /// let plan = try await store.run { try $0.undo(.lastCommits(1)) }
  /// ```
  ///
  /// - Parameters:
  ///   - time: the time of their commits, in milliseconds since 1970; that of the clock if nil.
  ///   - call: the calls. They see neither the task's task-local values nor its cancellation.
  /// - Throws: any error of `call`.
  @discardableResult
  public func run<R: Sendable, E: Error>(
    at time: Milliseconds? = nil, _ call: @escaping @Sendable (FavoritesStore) throws(E) -> R
  ) async throws(E) -> R {
    let result = await withCheckedContinuation { continuation in
      WorkerPool.shared.run { [self] in
        let result = Self.$timeOfTap.withValue(time) { Result { () throws(E) in try call(self) } }
        continuation.resume(returning: result)
      }
    }
    return try result.get()
  }
}

extension Favorites {
  /// Makes an item a favorite. An item that already is a favorite stays one, with its date.
  ///
  /// - Parameters:
  ///   - item: the item. Its fields that differ from the stored ones are written too.
  ///   - date: the favorited date; the time of the commit if nil.
  /// - Returns: whether it was not a favorite before.
  @discardableResult
  public func add(_ item: Item, since date: Date? = nil) async throws(HeartlogError) -> Bool {
    try await write { favorites throws(HeartlogError) in try favorites.add(item, since: date) }
  }

  /// Makes the item with this id a favorite. Its stored fields stay as they are.
  ///
  /// - Returns: whether it was not a favorite before.
  @discardableResult
  public func add(_ id: Item.ID, since date: Date? = nil) async throws(HeartlogError) -> Bool {
    try await write { favorites throws(HeartlogError) in try favorites.add(id, since: date) }
  }

  /// Toggles whether the item with this id is a favorite. Its stored fields stay as they are.
  ///
  /// - Returns: whether it is a favorite now.
  @discardableResult
  public func toggle(_ id: Item.ID) async throws(HeartlogError) -> Bool {
    try await write { favorites throws(HeartlogError) in try favorites.toggle(id) }
  }

  /// Changes the stored item with this id as it is now, as `update(_:_:)` does.
  ///
  /// - Returns: whether any field differed.
  @discardableResult
  public func update(
    _ id: Item.ID, _ change: @escaping @Sendable (inout Item) throws -> Void
  ) async throws -> Bool {
    try await library.store.write { try self.update(id, change) }
  }

  /// Changes the stored item with this id at most once in an interval, as `update(_:coalescing:_:)` does.
  ///
  /// - Returns: whether anything was written now.
  @discardableResult
  public func update(
    _ id: Item.ID, coalescing interval: Duration, _ change: @escaping @Sendable (inout Item) throws -> Void
  ) async throws -> Bool {
    let result = await library.store.run { _ in Result { try self.update(id, coalescing: interval, change) } }
    return try result.get()
  }

  /// Toggles whether an item is a favorite. The stored state decides, not the item's own properties.
  ///
  /// - Returns: whether it is a favorite now.
  @discardableResult
  public func toggle(_ item: Item) async throws(HeartlogError) -> Bool {
    try await write { favorites throws(HeartlogError) in try favorites.toggle(item) }
  }

  /// Removes the item with this id from the favorites. Its stored fields stay.
  ///
  /// - Returns: whether it was a favorite before.
  @discardableResult
  public func remove(_ id: Item.ID) async throws(HeartlogError) -> Bool {
    try await write { favorites throws(HeartlogError) in try favorites.remove(id) }
  }

  /// Removes an item from the favorites. Only its id is used.
  ///
  /// - Returns: whether it was a favorite before.
  @discardableResult
  public func remove(_ item: Item) async throws(HeartlogError) -> Bool { try await remove(item.id) }

  /// Updates the stored fields of an item, favorite or not. Writes only fields that differ. The item's own `isFavorite` and
  /// `favoritedDate` are ignored.
  ///
  /// - Returns: whether any field differed.
  @discardableResult
  public func update(_ item: Item) async throws(HeartlogError) -> Bool {
    try await write { favorites throws(HeartlogError) in try favorites.update(item) }
  }

  /// Sets the note of an item, favorite or not. Nil or an empty note clears it.
  ///
  /// - Returns: whether the note changed.
  @discardableResult
  public func setNote(_ note: String?, of id: Item.ID) async throws(HeartlogError) -> Bool {
    let id = id.favoriteID
    return try await write { favorites throws(HeartlogError) in try favorites.library.setNote(note, of: id) }
  }

  private func write<R: Sendable>(
    _ body: @escaping @Sendable (Favorites<Item>) throws(HeartlogError) -> R
  ) async throws(HeartlogError) -> R {
    try await library.store.writeAsOne { () throws(HeartlogError) in try body(self) }
  }
}
