import Dispatch
import HeartlogFiles
import Synchronization

/// Delivers changes to all subscribers, in the order in which they became part of the state.
final class ChangeHub: Sendable {
  private struct Listener {
    weak var subscription: ChangeSubscription?
  }

  private struct State {
    var listeners: [Listener] = []
    /// Polls for commits of other processes. Runs only while there are subscribers.
    var poll: (any DispatchSourceTimer)?
    var refresh: (@Sendable () -> Void)?
    /// Whether the store is closed. No more changes are delivered then.
    var isFinished = false
  }

  private let state = Locked(State())
  /// Read on every commit, so that a store without subscribers pays only one load.
  private let listenerCount = Atomic(0)

  /// The interval at which commits of other processes are polled while there are subscribers.
  private static let pollMilliseconds = 250

  /// - Parameter refresh: reads what other processes wrote.
  func onPoll(_ refresh: @escaping @Sendable () -> Void) { state.withLock { $0.refresh = refresh } }

  func subscribe(to library: String?) -> ChangeSubscription {
    let subscription = ChangeSubscription(library: library)
    let isFinished = state.withLock { state in
      guard !state.isFinished else { return true }
      state.listeners.append(Listener(subscription: subscription))
      listenerCount.store(state.listeners.count, ordering: .releasing)
      guard state.poll == nil, let refresh = state.refresh else { return false }
      let poll = DispatchSource.makeTimerSource()
      let interval = DispatchTimeInterval.milliseconds(Self.pollMilliseconds)
      poll.schedule(deadline: .now() + interval, repeating: interval, leeway: .milliseconds(50))
      poll.setEventHandler { [weak self] in
        refresh()
        self?.forgetTheGone()
      }
      poll.resume()
      state.poll = poll
      return false
    }
    if isFinished { subscription.finish() }
    return subscription
  }

  /// Whether there are subscribers. One that subscribes after a commit became part of the state finds it there.
  var hasListeners: Bool { listenerCount.load(ordering: .acquiring) > 0 }

  /// Delivers a commit that has just become part of the state.
  ///
  /// - Parameter heads: the heads of the state before the commit.
  func tell(_ commit: Commit, before heads: () -> [Head]) {
    guard hasListeners else { return }
    let changes = commit.records.enumerated().compactMap { index, record in
      record.event.map { event in
        Change(
          id: commit.eventID(at: index), commit: commit.number, stamp: commit.stamp,
          wallTime: commit.wallTime,
          origin: commit.origin, event: event)
      }
    }
    for subscription in state.withLock({ $0.listeners.compactMap(\.subscription) }) {
      subscription.offer(changes, after: heads)
    }
  }

  /// Tells all subscribers that the state was built anew, because some of the log is no longer there.
  func tellRestart(heads: () -> [Head]) {
    guard hasListeners else { return }
    let heads = heads()
    for subscription in state.withLock({ $0.listeners.compactMap(\.subscription) }) {
      subscription.offerMissed(after: heads)
    }
  }

  /// Ends all streams. Streams requested later end at once.
  func finish() {
    let subscriptions = state.withLock { state in
      state.isFinished = true
      return state.listeners.compactMap(\.subscription)
    }
    for subscription in subscriptions { subscription.finish() }
    forgetTheGone()
  }

  private func forgetTheGone() {
    state.withLock { state in
      state.listeners.removeAll { $0.subscription?.isFinished ?? true }
      listenerCount.store(state.listeners.count, ordering: .releasing)
      if state.listeners.isEmpty {
        state.poll?.cancel()
        state.poll = nil
      }
    }
  }
}
