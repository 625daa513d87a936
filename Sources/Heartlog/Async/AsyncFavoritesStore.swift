import HeartlogStorage

/// A store for tasks. Waiting for a disk or another process happens on one of Heartlog's own threads and suspends the task.
///
/// ```swift
/// try await store.async.write {
///   try papers.add(a)
///   try papers.remove(b)
/// }
/// ```
///
/// Concurrent writes of several tasks share their fsyncs. Awaited writes of one task are committed in order.
///
/// Cancelling a task cancels a write that is not in the commit queue yet: it throws `cancelled`, and nothing is written. After that point
/// the write completes, and the task gets its result. The other calls ignore cancellation.
///
/// Reading needs none of this: `list`, `contains` and the other reads only access memory.
public struct AsyncFavoritesStore: Sendable {
  package let store: FavoritesStore

  /// Like `FavoritesStore.write`: everything that `body` writes to this store is one commit.
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
    try await writeReturningCommit(origin: origin, durability: durability, time: time, body).result
  }

  /// Like `write`, but returns the commit too; nil if there was nothing to write.
  @discardableResult
  public func writeReturningCommit<R: Sendable>(
    origin: String? = nil, durability: Durability? = nil, time: Milliseconds? = nil,
    _ body: @escaping @Sendable () throws -> R
  ) async throws -> (result: R, commit: Commit?) {
    let write = AsyncWrite<(result: R, commit: Commit?)>()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        guard write.begin(continuation) else { return }
        store.asyncWrites.append { [store] in
          do {
            let staged = try store.stage(origin: origin, durability: durability, time: time) { _ in
              try write.draft(body)
            }
            return { write.finish(Result { try store.finish(staged) }) }
          } catch {
            write.finish(.failure(error))
            return nil
          }
        }
      }
    } onCancel: {
      write.cancel()
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

  /// Reads what other processes wrote.
  public func refresh() async throws(HeartlogError) {
    try await run { store throws(HeartlogError) in try store.refresh() }
  }

  /// Makes every acknowledged commit durable.
  public func flush() async throws(HeartlogError) {
    try await run { store throws(HeartlogError) in try store.flush() }
  }

  /// Lets go of everything that must not be held while the process is suspended, as `FavoritesStore.rest()` does, once the writes that are
  /// awaited by then are written.
  public func rest() async throws(HeartlogError) {
    let result = await withCheckedContinuation { continuation in
      store.asyncWrites.append { [store] in
        // Called when the writes that came before are finished.
        { continuation.resume(returning: Result { () throws(HeartlogError) in try store.rest() }) }
      }
    }
    try result.get()
  }

  /// Flushes and releases all resources. Later writes throw, and so do writes that are not in the commit queue yet.
  public func close() async throws(HeartlogError) {
    try await run { store throws(HeartlogError) in try store.close() }
  }

  /// Rewrites the store's own log, including its tail, as large compressed blocks. Commits, numbers and hashes stay the same.
  ///
  /// - Parameter progress: called from time to time, with the bytes done so far and in total.
  @discardableResult
  public func seal(
    progress: (@Sendable (UInt64, UInt64) -> Void)? = nil
  ) async throws(HeartlogError) -> SealReport {
    try await run { store throws(HeartlogError) in try store.seal(progress: progress) }
  }

  /// Undoes events, by new events that restore what the registers they wrote would show without them.
  ///
  /// - Parameters:
  ///   - scope: the events to undo.
  ///   - isDryRun: whether to write nothing, and only return what would be written.
  @discardableResult
  public func undo(_ scope: UndoScope, isDryRun: Bool = false) async throws(HeartlogError) -> UndoPlan {
    try await run { store throws(HeartlogError) in try store.undo(scope, isDryRun: isDryRun) }
  }

  /// Makes favorites, favorited dates and fields equal to those at a moment, by new events.
  ///
  /// - Parameters:
  ///   - moment: the moment to restore.
  ///   - library: the only library to restore; all if nil.
  ///   - isDryRun: whether to write nothing, and only return what would be written.
  @discardableResult
  public func restore(
    to moment: LogMoment, library: String? = nil, isDryRun: Bool = false
  ) async throws(HeartlogError) -> UndoPlan {
    try await run { store throws(HeartlogError) in
      try store.restore(to: moment, library: library, isDryRun: isDryRun)
    }
  }

  /// Runs calls on one of Heartlog's own threads.
  ///
  /// - Parameter time: the time of their commits; that of the clock if nil.
  package func run<R: Sendable, E: Error>(
    at time: Milliseconds? = nil, _ call: @escaping @Sendable (FavoritesStore) throws(E) -> R
  ) async throws(E) -> R {
    let result = await withCheckedContinuation { continuation in
      WorkerPool.shared.run { [store] in
        let result = FavoritesStore.$timeOfTap.withValue(time) { Result { () throws(E) in try call(store) } }
        continuation.resume(returning: result)
      }
    }
    return try result.get()
  }
}

extension FavoritesStore {
  /// The same store for tasks, which must not block on a disk.
  public var async: AsyncFavoritesStore { AsyncFavoritesStore(store: self) }
}
