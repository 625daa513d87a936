import Dispatch
import HeartlogFiles
import HeartlogFormat
import HeartlogState
import Synchronization

/// Delivers changes to all subscribers, in the order in which they became part of the state.
package final class ChangeHub: Sendable {
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

  private let state = Monitor(State())
  /// Read on every commit, so that a store without subscribers pays only one load.
  private let listenerCount = Atomic(0)

  package init() {}

  /// - Parameter follow: begins to follow other processes, until the result is released. Called with the hub locked, so it must only start
  ///   what it wants to do.
  package func onSubscription(_ follow: @escaping @Sendable () -> (any Following)?) {
    state.withLock { $0.follow = follow }
  }

  fileprivate func add(_ subscription: ChangeSubscription) {
    let isFinished = state.withLock { state in
      guard !state.isFinished else { return true }
      state.listeners.append(Listener(subscription: subscription))
      listenerCount.store(state.listeners.count, ordering: .releasing)
      state.isAtRest = false
      if state.following == nil { state.following = state.follow?() }
      return false
    }
    if isFinished { subscription.finish() }
  }

  /// Stops following other processes, until `wake`, the next subscriber, or the next commit.
  package func rest() {
    // Ends a watch, so it is released outside of the lock.
    let ended = state.withLock { state in
      state.isAtRest = true
      defer { state.following = nil }
      return state.following
    }
    withExtendedLifetime(ended) {}
  }

  /// Follows other processes again, for the subscribers that are left.
  package func wake() {
    state.withLock { state in
      guard state.isAtRest else { return }
      state.isAtRest = false
      if !state.listeners.isEmpty, !state.isFinished { state.following = state.follow?() }
    }
  }

  /// Whether there are subscribers. One that subscribes after a commit became part of the state finds it there.
  package var hasListeners: Bool { listenerCount.load(ordering: .acquiring) > 0 }

  /// Delivers a commit that has just become part of the state.
  package func tell(_ commit: Commit) {
    guard hasListeners else { return }
    let changes = commit.records.indices.compactMap { Change(at: $0, in: commit) }
    for subscription in state.withLock({ $0.listeners.compactMap(\.subscription) }) {
      subscription.offer(changes)
    }
    wake()
  }

  /// Tells all subscribers that the state was built anew, because some of the log is no longer there.
  package func tellRestart() {
    guard hasListeners else { return }
    for subscription in state.withLock({ $0.listeners.compactMap(\.subscription) }) {
      subscription.offerMissed()
    }
  }

  /// Ends all streams. Streams requested later end at once.
  package func finish() {
    let subscriptions = state.withLock { state in
      state.isFinished = true
      return state.listeners.compactMap(\.subscription)
    }
    for subscription in subscriptions { subscription.finish() }
    removeFinishedListeners()
  }

  /// Forgets the streams that have ended. Nothing is followed without a subscriber.
  package func removeFinishedListeners() {
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

/// A reader's position in the stream of changes. Its memory is bounded.
package final class ChangeSubscription: Sendable {
  /// How many changes a reader may be behind: about a screen's worth of taps, or the commit of one import.
  package static let changesMax = 4_096

  private struct State {
    var waiting: [ChangeNotice] = []
    /// How many of `waiting` were delivered. They are removed together, which keeps each delivery cheap.
    var handedOut = 0
    /// Whether changes were left out.
    var hasMissed = false
    var reader: CheckedContinuation<ChangeNotice?, Never>?
    var isFinished = false

    mutating func take() -> ChangeNotice? {
      if handedOut < waiting.count {
        defer {
          handedOut += 1
          if handedOut == waiting.count {
            waiting.removeAll(keepingCapacity: true)
            handedOut = 0
          }
        }
        return waiting[handedOut]
      }
      defer { hasMissed = false }
      return hasMissed ? .missed : nil
    }
  }

  private let state = Monitor(State())
  package let library: String?
  private let hubs: [ChangeHub]

  fileprivate init(library: String?, hubs: [ChangeHub]) {
    self.library = library
    self.hubs = hubs
    for hub in hubs { hub.add(self) }
  }

  deinit { for hub in hubs { hub.removeFinishedListeners() } }

  /// Tells the reader to reload what it shows, because the state was built anew.
  package func offerMissed() { deliver { $0.hasMissed = true } }

  package func offer(_ changes: [Change]) {
    let wanted =
      library.map { library in changes.filter { $0.event.library.utf8.elementsEqual(library.utf8) } }
      ?? changes
    guard !wanted.isEmpty else { return }
    deliver { state in
      guard !state.hasMissed else { return }
      if state.waiting.count - state.handedOut + wanted.count <= Self.changesMax {
        state.waiting += wanted.map(ChangeNotice.change)
      } else {
        state.hasMissed = true
      }
    }
  }

  /// Adds something to what waits to be delivered, and delivers it if the reader waits.
  private func deliver(_ add: (inout State) -> Void) {
    let (reader, notice) = state.withLock {
      state -> (CheckedContinuation<ChangeNotice?, Never>?, ChangeNotice?) in
      guard !state.isFinished else { return (nil, nil) }
      add(&state)
      guard let reader = state.reader else { return (nil, nil) }
      state.reader = nil
      return (reader, state.take())
    }
    reader?.resume(returning: notice)
  }

  package func next() async -> ChangeNotice? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let notice = state.withLock { state -> ChangeNotice?? in
          if let notice = state.take() { return .some(notice) }
          if state.isFinished || Task.isCancelled { return .some(nil) }
          precondition(state.reader == nil, "a stream of changes has one reader at a time")
          state.reader = continuation
          return nil
        }
        if let notice { continuation.resume(returning: notice) }
      }
    } onCancel: {
      finish()
    }
  }

  /// Takes everything that waits to be delivered, for a reader that handles a burst at once.
  package func takeWaiting() -> [ChangeNotice] {
    state.withLock { state in
      var notices: [ChangeNotice] = []
      while let notice = state.take() { notices.append(notice) }
      return notices
    }
  }

  /// Ends the stream. Undelivered changes can still be read.
  package func finish() {
    let reader = state.withLock { state in
      state.isFinished = true
      defer { state.reader = nil }
      return state.reader
    }
    reader?.resume(returning: nil)
    for hub in hubs { hub.removeFinishedListeners() }
  }

  package var isFinished: Bool { state.withLock(\.isFinished) }
}

/// An element of a stream of changes.
public enum ChangeNotice: Hashable, Sendable {
  /// An event became part of the state. A later write that was already there may take precedence over it.
  case change(Change)
  /// The reader was too slow, and changes were left out. It should reload what it shows; the changes that follow are complete again.
  case missed
}

/// The changes of a store or of one library, as they are acknowledged.
///
/// A stream begins when it is created. Its memory is bounded: if a reader falls behind by more than the buffer, one `missed` replaces the
/// changes that were left out.
public struct Changes: AsyncSequence, Sendable {
  package let subscription: ChangeSubscription

  /// - Parameter hubs: what tells of the changes.
  package init(_ hubs: ChangeHub..., library: String?) {
    subscription = ChangeSubscription(library: library, hubs: hubs)
  }

  public func makeAsyncIterator() -> Iterator { Iterator(subscription: subscription) }

  /// A reader's position in the stream.
  public struct Iterator: AsyncIteratorProtocol {
    let subscription: ChangeSubscription

    /// Returns the next notice; nil once the task is cancelled or the store is closed.
    public mutating func next() async -> ChangeNotice? { await subscription.next() }
  }
}

/// How a store with subscribers learns of what other processes write. Ends when it is released.
package protocol Following: AnyObject, Sendable {}

/// Other processes announce what they write.
package final class Watching: Following {
  private let watch: any LockFileWatch

  /// Nil if nothing would be told: the lock file is on a network file system or cannot be written, or the system allows no more watches.
  package init?(_ log: CommitLog, _ scheduler: any Scheduler) {
    let refresh: @Sendable () -> Void = { [weak log] in
      if let log { scheduler.run { log.refreshWatched() } }
    }
    guard let watch = log.watch(refresh) else { return nil }
    self.watch = watch
    refresh()
  }
}

/// Something is called again and again, which looks.
package final class Polling: Following {
  package static let milliseconds = 250
  private let timer: Monitor<any DispatchSourceTimer>

  package init(_ look: @escaping @Sendable () -> Void) {
    let timer = DispatchSource.makeTimerSource()
    let interval = DispatchTimeInterval.milliseconds(Self.milliseconds)
    timer.schedule(deadline: .now() + interval, repeating: interval, leeway: .milliseconds(50))
    timer.setEventHandler(handler: look)
    timer.activate()
    self.timer = Monitor(timer)
  }

  deinit { timer.withLock { $0.cancel() } }
}
