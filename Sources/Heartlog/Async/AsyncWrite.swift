import HeartlogFiles
import HeartlogEngine
import Synchronization

/// Whether the task of an awaited write was cancelled.
final class Cancellation: Sendable {
  private let isRequested = Atomic(false)

  func request() { isRequested.store(true, ordering: .releasing) }

  /// - Throws: `cancelled` if it was.
  func check() throws(HeartlogError) {
    guard isRequested.load(ordering: .acquiring) else { return }
    throw HeartlogError(
      .cancelled, "the task was cancelled before the commit was queued; nothing was written")
  }
}

/// The awaited writes of one store. One thread at a time serves them: it first stages all waiting writes in the commit queue, then finishes
/// them. Any number of tasks thus shares one fdatasync.
final class AsyncWriteQueue: Sendable {
  /// Stages a write in the commit queue. Returns what to call after all others are staged; nil if the write has ended.
  typealias Staging = @Sendable () -> (() -> Void)?

  private struct State {
    var waiting: [Staging] = []
    var isServed = false
  }

  private let state = Monitor(State())

  /// The number of writes that are not staged yet.
  var waitingCount: Int { state.withLock { $0.waiting.count } }

  func append(_ write: @escaping Staging) {
    let isServed = state.withLock { state in
      state.waiting.append(write)
      defer { state.isServed = true }
      return state.isServed
    }
    if !isServed { WorkerPool.shared.run(serve) }
  }

  private func serve() {
    let writes = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    for finish in writes.compactMap({ $0() }) { finish() }
    let isMore = state.withLock { state in
      state.isServed = !state.waiting.isEmpty
      return state.isServed
    }
    // Take turns with other stores.
    if isMore { WorkerPool.shared.run(serve) }
  }
}
