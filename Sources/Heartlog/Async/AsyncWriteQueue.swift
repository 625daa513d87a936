import HeartlogFiles
import HeartlogStorage

/// The writes of one store that tasks await. One thread at a time serves them: it puts all that wait in line, and then finishes them, so
/// that they share an fdatasync however many tasks there are.
final class AsyncWriteQueue: Sendable {
  /// Puts a write in line; what is to be called when all others were, nil where it is over already.
  typealias Staging = @Sendable () -> (() -> Void)?

  private struct State {
    var waiting: [Staging] = []
    var isServed = false
  }

  private let state = Locked(State())

  /// How many wait that nobody has looked at yet.
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
    // In turn with the other stores.
    if isMore { WorkerPool.shared.run(serve) }
  }
}
