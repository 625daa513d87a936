import HeartlogFiles
import Synchronization

/// Delivers changes to all subscribers, in the order in which they became part of the state.
final class ChangeHub: Sendable {
  private struct Listener {
    weak var subscription: ChangeSubscription?
  }

  private struct State {
    var listeners: [Listener] = []
    /// Begins to follow other processes, until the result is released.
    var follow: (@Sendable () -> (any Following)?)?
    /// Other processes are followed only while there are subscribers.
    var following: (any Following)?
    /// Whether other processes are not followed although there are subscribers.
    var isAtRest = false
    /// Whether the store is closed. No more changes are delivered then.
    var isFinished = false
  }

  private let state = Locked(State())
  /// Read on every commit, so that a store without subscribers pays only one load.
  private let listenerCount = Atomic(0)

  /// - Parameter follow: begins to follow other processes, until the result is released. Called with the hub locked, so it must only start
  ///   what it wants to do.
  func onSubscription(_ follow: @escaping @Sendable () -> (any Following)?) {
    state.withLock { $0.follow = follow }
  }

  func subscribe(to library: String?) -> ChangeSubscription {
    let subscription = ChangeSubscription(library: library, hub: self)
    let isFinished = state.withLock { state in
      guard !state.isFinished else { return true }
      state.listeners.append(Listener(subscription: subscription))
      listenerCount.store(state.listeners.count, ordering: .releasing)
      state.isAtRest = false
      if state.following == nil { state.following = state.follow?() }
      return false
    }
    if isFinished { subscription.finish() }
    return subscription
  }

  /// Stops following other processes, until `wake`, the next subscriber, or the next commit.
  func rest() {
    // Ends a watch, so it is released outside of the lock.
    let ended = state.withLock { state in
      state.isAtRest = true
      defer { state.following = nil }
      return state.following
    }
    withExtendedLifetime(ended) {}
  }

  /// Follows other processes again, for the subscribers that are left.
  func wake() {
    state.withLock { state in
      guard state.isAtRest else { return }
      state.isAtRest = false
      if !state.listeners.isEmpty, !state.isFinished { state.following = state.follow?() }
    }
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
    wake()
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
    removeFinishedListeners()
  }

  /// Forgets the streams that have ended. Nothing is followed without a subscriber.
  func removeFinishedListeners() {
    // What is released calls this function or ends a watch, so it is released outside of the lock.
    let released = state.withLock { state -> ((any Following)?, [ChangeSubscription]) in
      let present = state.listeners.compactMap(\.subscription)
      state.listeners = present.filter { !$0.isFinished }.map { Listener(subscription: $0) }
      listenerCount.store(state.listeners.count, ordering: .releasing)
      guard state.listeners.isEmpty else { return (nil, present) }
      defer { state.following = nil }
      return (state.following, present)
    }
    withExtendedLifetime(released) {}
  }
}
