import HeartlogFiles

/// One write that a task awaits: on its way until it stands in line, or is cancelled.
final class AsyncWrite<Outcome: Sendable>: Sendable {
  private enum Step {
    case waiting
    case drafting
    /// Cancelled while its closure ran: what it did is thrown away.
    case abandoned
    /// Past the point of no return: the commit is written, and its outcome is what the task gets.
    case staged
    case done
  }

  private struct State {
    var step = Step.waiting
    var continuation: CheckedContinuation<Outcome, any Error>?
  }

  private let state = Locked(State())

  static var cancelled: HeartlogError {
    HeartlogError(.cancelled, "the task was cancelled before the commit stood in line; nothing was written")
  }

  /// Notes who waits.
  ///
  /// - Returns: false where the task was cancelled before; it has its answer then.
  func begin(_ continuation: CheckedContinuation<Outcome, any Error>) -> Bool {
    let isWaiting = state.withLock { state in
      guard state.step == .waiting else { return false }
      state.continuation = continuation
      return true
    }
    if !isWaiting { continuation.resume(throwing: Self.cancelled) }
    return isWaiting
  }

  /// Runs the closure that says what to write, between two looks at whether it is still wanted.
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

  /// Whoever still waits gets its answer at once; a closure that runs is let run to its end.
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
