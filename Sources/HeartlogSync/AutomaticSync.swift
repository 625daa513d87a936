import Heartlog
import HeartlogFiles
import Observation
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Syncs a store with a place by itself: at once, some seconds after a tap, at intervals, and when a hub tells of something new. Views show its
/// state.
///
/// A sync that failed is tried again, after pauses that grow up to the interval, and up to ten minutes. Keep the object as long as the store is
/// to be synced, and call ``stop()`` before you close the store.
@MainActor @Observable
public final class AutomaticSync {
  /// Whether a sync runs.
  public private(set) var isSyncing = false
  /// When the last sync ended that came to its end; `nil` before the first.
  public private(set) var lastSync: Date?
  /// What the last sync did that did not fail.
  public private(set) var report: SyncReport?
  /// Why the last sync failed; `nil` after one that came to its end.
  public private(set) var error: HeartlogError?
  /// The recovery code of the vault, if these syncs have encrypted it. Show it, let the person write it down, and set it to `nil` then: it is
  /// not reported again.
  public var recoveryCode: String?
  /// Whether no sync begins by itself, and no connection stays open: while the network costs money, and before the store is suspended.
  /// ``sync(deadline:joiningVault:)`` still works. A sync begins when it becomes false again.
  public var isPaused = false {
    didSet {
      guard isPaused != oldValue, !isStopped else { return }
      if isPaused { release() } else { wake() }
    }
  }

  /// The store that is synced.
  public let store: FavoritesStore
  private let carrier: any Carrier
  private let interval: Duration
  private let delay: Duration
  private let options: SyncOptions

  @ObservationIgnored private var isStopped = false
  /// Whether the last sync came to its end.
  @ObservationIgnored private var isAtItsEnd = false
  /// What ends the sync that runs before it is done.
  @ObservationIgnored private let limit = SyncLimit()
  /// Those who wait for the end of the sync that runs, by number.
  @ObservationIgnored private var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
  @ObservationIgnored private var callCount = 0
  /// Whether a sync is due that has not begun.
  @ObservationIgnored private var isDue = true
  /// The pause between two syncs, and how long the next one is.
  @ObservationIgnored private var pause: Task<Void, Never>?
  @ObservationIgnored private var nextPause: Duration
  @ObservationIgnored private var pauses = Backoff(first: 5_000, largest: 600_000)
  /// How long to leave a hub alone whose stream of changes failed although syncs work.
  @ObservationIgnored private var watchPauses = Backoff(first: 5_000, largest: 600_000)
  /// Wakes some time after a write, and when.
  @ObservationIgnored private var timer: (end: ContinuousClock.Instant, task: Task<Void, Never>)?
  @ObservationIgnored private var tasks: [Task<Void, Never>] = []

  /// A changed field is sent after so many times the delay of a tap: a position changes all the time.
  private nonisolated static let fieldDelays = 20

  init(
    _ store: FavoritesStore, _ carrier: any Carrier, every interval: Duration, afterTap delay: Duration,
    _ options: SyncOptions
  ) {
    self.store = store
    self.carrier = carrier
    self.interval = interval
    self.delay = delay
    self.options = options
    nextPause = interval
    let changes = store.changes
    tasks = [
      Task.detached { [weak self, weak store] in
        for await notice in changes {
          guard let replica = store?.replica else { return }
          if let delays = Self.delays(notice, of: replica) { await self?.wake(afterDelays: delays) }
        }
      },
      Task { [weak self] in
        while let pause = await self?.round() { await pause.value }
      },
    ]
  }

  deinit {
    for task in tasks + [pause, timer?.task].compactMap(\.self) { task.cancel() }
  }

  // MARK: - Calls of the app

  /// Syncs now: when the app becomes active, when a list is pulled down, or in a background task. If a sync runs, this one follows it.
  ///
  /// Cancelling the task ends the sync, as its deadline does.
  ///
  /// - Parameters:
  ///   - deadline: when the sync ends, done or not, and one that runs before it: a background task has about 30 seconds.
  ///   - joinsVault: whether this sync may join the vault of the place, although the store belongs to another one: see `SyncOptions`.
  /// - Returns: whether nothing is left to send or to receive, apart from what waits for another device or for a file. Otherwise `error` or
  ///   `report` says why, unless it was stopped or cancelled before it began.
  @discardableResult
  public func sync(deadline: ContinuousClock.Instant? = nil, joiningVault joinsVault: Bool = false) async
    -> Bool
  {
    callCount += 1
    let number = callCount
    await withTaskCancellationHandler {
      while isSyncing, !Task.isCancelled {
        if let deadline { limit.lower(to: deadline) }
        await withCheckedContinuation { waiters[number] = $0 }
      }
    } onCancel: {
      Task { @MainActor in self.waiters.removeValue(forKey: number)?.resume() }
    }
    guard !isStopped, !Task.isCancelled else { return false }
    let isDone = await run(deadline, joinsVault)
    // The loop waits from now on.
    pause?.cancel()
    return isDone
  }

  /// Ends these syncs for good, and waits for the one that runs.
  public func stop() async {
    isStopped = true
    for task in tasks { task.cancel() }
    limit.lower(to: .now)
    release()
    while isSyncing { await endOfSync() }
  }

  // MARK: - Syncs

  private func endOfSync() async {
    callCount += 1
    await withCheckedContinuation { waiters[callCount] = $0 }
  }

  private func run(_ deadline: ContinuousClock.Instant?, _ joinsVault: Bool) async -> Bool {
    isSyncing = true
    isDue = false
    limit.begin(deadline)
    var options = options
    options.deadline = nil
    if joinsVault { options.joinsVault = true }
    options.isCancelled = { [limit, isCancelled = options.isCancelled] in limit.isReached || isCancelled() }
    let result: Result<SyncReport, HeartlogError>
    do throws(HeartlogError) {
      result = .success(try await store.sync(with: carrier, options: options))
    } catch {
      result = .failure(error)
    }
    isSyncing = false
    isAtItsEnd = false
    switch result {
    case .success(let report):
      self.report = report
      recoveryCode = report.recoveryCode ?? recoveryCode
      isAtItsEnd = report.unfinished == nil
      if isAtItsEnd { (lastSync, error) = (Date(), nil) }
    case .failure(let failure): error = failure
    }
    if isAtItsEnd { pauses.reset() }
    nextPause = isAtItsEnd ? interval : min(interval, pauses.nextDuration())
    let waiting = waiters.values
    waiters = [:]
    for waiter in waiting { waiter.resume() }
    return (try? result.get())?.isComplete ?? false
  }

  /// Syncs, if a sync is due.
  ///
  /// - Returns: the pause before the next look; `nil` if there is none.
  private func round() async -> Task<Void, Never>? {
    while isDue, !isPaused, !isStopped {
      if isSyncing { await endOfSync() } else { _ = await run(nil, false) }
    }
    guard !isStopped else { return nil }
    let (duration, hub) = (nextPause, isPaused || !isAtItsEnd ? nil : carrier as? HubCarrier)
    let task = Task { [weak self, store] in
      if let hub, await !Self.watch(hub, store, for: duration) {
        guard !Task.isCancelled, let pause = self?.watchPauses.nextDuration() else { return }
        guard (try? await Task.sleep(for: min(duration, pause))) != nil else { return }
      } else if hub == nil {
        guard (try? await Task.sleep(for: duration)) != nil else { return }
      } else {
        self?.watchPauses.reset()
      }
      if !Task.isCancelled { self?.isDue = true }
    }
    pause = task
    return task
  }

  /// Waits until a hub tells of something new, the time is over, or the task is cancelled.
  ///
  /// - Returns: false if the hub tells nothing: the connection failed.
  private nonisolated static func watch(
    _ hub: HubCarrier, _ store: FavoritesStore, for duration: Duration
  ) async -> Bool {
    let limit = SyncLimit()
    let milliseconds = Int(clamping: duration.wholeMilliseconds)
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        do throws(HeartlogError) {
          try WorkerThread {
            let hasNews = try? hub.watch(store, milliseconds: milliseconds) { limit.isReached }
            continuation.resume(returning: hasNews != nil)
          }.leave()
        } catch {
          continuation.resume(returning: false)
        }
      }
    } onCancel: {
      limit.lower(to: .now)
    }
  }

  // MARK: - Pauses

  /// Ends the pause, and syncs.
  private func wake() {
    isDue = true
    pause?.cancel()
  }

  /// Ends the pause, the timer, and the connection that a hub keeps open.
  private func release() {
    timer?.task.cancel()
    // What was to be sent is, once it is not paused any more.
    if timer != nil { isDue = true }
    timer = nil
    pause?.cancel()
    (carrier as? HubCarrier)?.disconnect()
  }

  private func wake(afterDelays count: Int) {
    guard !isStopped else { return }
    if isPaused {
      isDue = true
      return
    }
    let end = ContinuousClock.now + delay * count
    if let timer, timer.end <= end { return }
    timer?.task.cancel()
    let task = Task { [weak self] in
      guard (try? await Task.sleep(until: end)) != nil, !Task.isCancelled else { return }
      self?.timer = nil
      self?.wake()
    }
    timer = (end, task)
  }

  /// After how many times the delay of a tap a change is sent; `nil` for one that came from elsewhere.
  private nonisolated static func delays(_ notice: ChangeNotice, of replica: ReplicaID) -> Int? {
    guard case .change(let change) = notice else { return 1 }
    guard change.id.replica == replica else { return nil }
    return change.event.action.isFavorite == nil ? fieldDelays : 1
  }
}

extension FavoritesStore {
  /// Syncs with a place now and from then on, as long as the result is kept: at intervals, when a hub tells of something new, some seconds
  /// after a tap, and twenty times as long after another change.
  ///
  /// - Parameters:
  ///   - carrier: the way to the place.
  ///   - interval: how long to wait between two syncs without a tap: from a second to a year.
  ///   - delay: how long to wait after a tap, for others that follow it.
  ///   - options: what the syncs do. Their deadline is ignored.
  @MainActor
  public func syncAutomatically(
    with carrier: any Carrier, every interval: Duration = .seconds(300),
    afterTap delay: Duration = .seconds(3),
    options: SyncOptions = SyncOptions()
  ) -> AutomaticSync {
    let longest = Duration.seconds(365 * 86_400)
    return AutomaticSync(
      self, carrier, every: min(max(interval, .seconds(1)), longest),
      afterTap: min(max(delay, .zero), longest), options)
  }
}

extension Backoff {
  fileprivate mutating func nextDuration() -> Duration { .milliseconds(next { .random(in: 0...1) }) }
}

/// When a sync ends, done or not. It can come earlier while the sync runs.
private final class SyncLimit: Sendable {
  private let end = Mutex<ContinuousClock.Instant?>(nil)

  var isReached: Bool { end.withLock { $0 }.map { ContinuousClock.now >= $0 } ?? false }

  func begin(_ deadline: ContinuousClock.Instant?) { end.withLock { $0 = deadline } }

  func lower(to deadline: ContinuousClock.Instant) { end.withLock { $0 = min($0 ?? deadline, deadline) } }
}
