import HeartlogFiles
import HeartlogEngine

/// A write that a task awaits, until it is in the commit queue or cancelled.
final class AsyncWrite<Outcome: Sendable>: Sendable {
  private enum Step {
    case waiting
    case drafting
    /// Cancelled while its closure ran. The closure's changes are discarded.
    case abandoned
    /// Past the point of no return: the commit will be written, and the task gets its outcome.
    case staged
    case done
  }

  private struct State {
    var step = Step.waiting
    var continuation: CheckedContinuation<Outcome, any Error>?
  }

  private let state = Monitor(State())

  static var cancelled: HeartlogError {
    HeartlogError(.cancelled, "the task was cancelled before the commit was queued; nothing was written")
  }

  /// Stores the continuation to resume.
  ///
  /// - Returns: false if the task was already cancelled; then the continuation has been resumed.
  func begin(_ continuation: CheckedContinuation<Outcome, any Error>) -> Bool {
    let isWaiting = state.withLock { state in
      guard state.step == .waiting else { return false }
      state.continuation = continuation
      return true
    }
    if !isWaiting { continuation.resume(throwing: Self.cancelled) }
    return isWaiting
  }

  /// Runs the closure that makes the changes. Checks for cancellation before and after it.
  func draft<R>(_ body: () throws -> R) throws -> R {
    try advance(from: .waiting, to: .drafting)
    let result = try body()
    try advance(from: .drafting, to: .staged)
    return result
  }

  private func advance(from: Step, to next: Step) throws {
    let isWanted = state.withLock { state in
      guard state.step == from else { return false }
      state.step = next
      return true
    }
    if !isWanted { throw Self.cancelled }
  }

  func finish(_ outcome: Result<Outcome, any Error>) { take()?.resume(with: outcome) }

  /// Resumes a task that is still waiting. A running closure is not interrupted.
  func cancel() {
    let isOver = state.withLock { state in
      switch state.step {
      case .waiting: return true
      case .drafting:
        state.step = .abandoned
        return false
      case .abandoned, .staged, .done: return false
      }
    }
    if isOver { take()?.resume(throwing: Self.cancelled) }
  }

  private func take() -> CheckedContinuation<Outcome, any Error>? {
    state.withLock { state in
      state.step = .done
      defer { state.continuation = nil }
      return state.continuation
    }
  }
}

/// The awaited writes of one store. One thread at a time serves them: it first stages all waiting writes in the commit queue, then finishes
/// them. Any number of tasks thus shares one fdatasync.
final class AsyncWriteQueue: Sendable {
  /// Stages a write in the commit queue. Returns what to call after all others are staged; nil if the write has already ended.
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
