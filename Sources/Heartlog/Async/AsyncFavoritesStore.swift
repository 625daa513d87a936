import HeartlogStorage

/// A store for tasks: what waits for a disk or for another process waits on a thread of Heartlog's own, and suspends the task.
///
/// ```swift
/// try await store.async.write {
///   try papers.add(a)
///   try papers.remove(b)
/// }
/// ```
///
/// Writes that tasks await at the same time share their fsyncs. Those of one task, each awaited, come in its order.
///
/// Cancelling a task takes back a write that does not stand in line yet: it throws `cancelled`, and nothing was written. From then on the
/// write is finished, and the task hears what became of it. The other calls run to their end.
///
/// Reading needs none of this: `list`, `contains` and the like look into memory.
public struct AsyncFavoritesStore: Sendable {
  let store: FavoritesStore

  /// As `FavoritesStore.write`: everything that `body` does to this store is one commit.
  ///
  /// `body` runs on a thread of the store: it sees the task-local values of the task no more than its cancellation.
  ///
  /// - Throws: what `body` throws, and `HeartlogError`: `cancelled` where the task was cancelled in time.
  @discardableResult
  public func write<R: Sendable>(
    origin: String? = nil, durability: Durability? = nil, time: Milliseconds? = nil,
    _ body: @escaping @Sendable () throws -> R
  ) async throws -> R {
    try await writeReturningCommit(origin: origin, durability: durability, time: time, body).result
  }

  /// As `write`, and returns the commit too; nil where nothing was to be written.
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

  /// `write { }` for a body that throws nothing but the one error.
  @discardableResult
  func writeAsOne<R: Sendable>(
    _ body: @escaping @Sendable () throws(HeartlogError) -> R
  ) async throws(HeartlogError) -> R {
    do { return try await write { try body() } } catch {
      throw error as? HeartlogError ?? HeartlogError(.inputOutput, String(describing: error))
    }
  }

  /// Takes in what other processes wrote.
  public func refresh() async throws(HeartlogError) {
    try await run { store throws(HeartlogError) in try store.refresh() }
  }

  /// Makes every acknowledged commit durable.
  public func flush() async throws(HeartlogError) {
    try await run { store throws(HeartlogError) in try store.flush() }
  }

  /// Flushes, and lets go of everything; later writes throw. So do those that do not stand in line yet.
  public func close() async throws(HeartlogError) {
    try await run { store throws(HeartlogError) in try store.close() }
  }

  /// Rewrites the own log, its tail included, as large compressed blocks. Commits, numbers and hashes stay.
  @discardableResult
  public func seal(
    progress: (@Sendable (UInt64, UInt64) -> Void)? = nil
  ) async throws(HeartlogError) -> SealReport {
    try await run { store throws(HeartlogError) in try store.seal(progress: progress) }
  }

  private func run<R: Sendable>(
    _ call: @escaping @Sendable (FavoritesStore) throws(HeartlogError) -> R
  ) async throws(HeartlogError) -> R {
    let result = await withCheckedContinuation { continuation in
      WorkerPool.shared.run { [store] in
        continuation.resume(returning: Result { () throws(HeartlogError) in try call(store) })
      }
    }
    return try result.get()
  }
}

extension FavoritesStore {
  /// The same store for tasks, which must not wait for a disk.
  public var async: AsyncFavoritesStore { AsyncFavoritesStore(store: self) }
}
