import Heartlog
import HeartlogFiles
import Observation
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Keeps a store in step with a place as long as it is kept itself: at once, some seconds after a tap, at intervals, and when a hub tells of
/// something new. Views show its state.
///
/// A sync that failed is tried again, after pauses that grow up to the interval. Whatever it did not bring, the next one brings.
@MainActor @Observable
public final class AutomaticSync {
  /// Whether a sync runs.
  public private(set) var isSyncing = false
  /// When the last sync ended that worked.
  public private(set) var lastSync: Date?
  /// What that sync did.
  public private(set) var report: SyncReport?
  /// Why the last sync failed; `nil` after one that worked.
  public private(set) var error: HeartlogError?
  /// Whether no sync begins by itself, as while the network is metered. ``sync(deadline:)`` still works. Once it is false again, a sync begins.
  public var isPaused = false {
    didSet { if oldValue, !isPaused { wake() } }
  }

  /// The store that is synced.
  public let store: FavoritesStore
  private let carrier: any Carrier
  private let interval: Duration
  private let delay: Duration
  private let options: SyncOptions

  /// What ends the sync that runs before it is done.
  @ObservationIgnored private let limit = SyncLimit()
  /// Those who wait for the end of the sync that runs.
  @ObservationIgnored private var waiters: [CheckedContinuation<Void, Never>] = []
  @ObservationIgnored private var pauses = Backoff(first: 5_000, largest: 600_000)
  /// The pause between two syncs.
  @ObservationIgnored private var pause: Task<Void, Never>?
  /// Whether a sync is due that has not begun: the next pause is left out.
  @ObservationIgnored private var isDue = false
  /// Wakes some seconds after a tap.
  @ObservationIgnored private var tapTimer: Task<Void, Never>?
  @ObservationIgnored private var tasks: [Task<Void, Never>] = []

  init(
    _ store: FavoritesStore, _ carrier: any Carrier, every interval: Duration, afterTap delay: Duration,
    _ options: SyncOptions
  ) {
    self.store = store
    self.carrier = carrier
    self.interval = interval
    self.delay = delay
    self.options = options
    let changes = store.changes
    tasks = [
      Task { [weak self] in
        for await notice in changes { self?.take(notice) }
      },
      Task { [weak self] in
        while let pause = await self?.round() { await pause.value }
      },
    ]
  }

  deinit {
    for task in tasks + [pause, tapTimer].compactMap(\.self) { task.cancel() }
    limit.lower(to: .now)
  }

  /// Syncs now: when the app becomes active, when a list is pulled down, or in a background task. If a sync runs, this one follows it.
  ///
  /// Cancelling the task ends the sync, as its deadline does.
  ///
  /// - Parameter deadline: when the sync ends, done or not: a background task has about 30 seconds.
  /// - Returns: whether nothing is left to send or to receive. Otherwise `error` or `report` says why.
  @discardableResult
  public func sync(deadline: ContinuousClock.Instant? = nil) async -> Bool {
    await withTaskCancellationHandler {
      while isSyncing {
        if let deadline { limit.lower(to: deadline) }
        await withCheckedContinuation { waiters.append($0) }
      }
      return await run(deadline)
    } onCancel: {
      limit.lower(to: .now)
    }
  }

  /// Ends all syncs for good, as before the store is closed.
  public func stop() async {
    for task in tasks { task.cancel() }
    isPaused = true
    pause?.cancel()
    tapTimer?.cancel()
    limit.lower(to: .now)
    while isSyncing { await withCheckedContinuation { waiters.append($0) } }
  }

  private func run(_ deadline: ContinuousClock.Instant?) async -> Bool {
    isSyncing = true
    isDue = false
    limit.begin(deadline)
    var options = options
    options.deadline = nil
    options.isCancelled = { [limit, isCancelled = options.isCancelled] in limit.isReached || isCancelled() }
    let result: Result<SyncReport, HeartlogError>
    do throws(HeartlogError) {
      result = .success(try await store.sync(with: carrier, options: options))
    } catch {
      result = .failure(error)
    }
    switch result {
    case .success(let report):
      (self.report, lastSync, error) = (report, Date(), nil)
      if report.unfinished == nil { pauses.reset() }
    case .failure(let failure): error = failure
    }
    isSyncing = false
    for waiter in waiters { waiter.resume() }
    waiters = []
    return (try? result.get())?.isComplete ?? false
  }

  /// Syncs, unless it is paused.
  ///
  /// - Returns: the pause before the next sync; `nil` if there is none.
  private func round() async -> Task<Void, Never>? {
    if !isPaused { await sync() }
    guard !Task.isCancelled else { return nil }
    if isDue, !isPaused { return Task {} }
    let isDone = error == nil && report?.unfinished == nil
    let next = Self.pause(
      for: isDone ? interval : min(interval, .milliseconds(pauses.next { .random(in: 0...1) })),
      watching: isDone && !isPaused ? carrier as? HubCarrier : nil, of: store)
    pause = next
    return next
  }

  private static func pause(
    for duration: Duration, watching hub: HubCarrier?, of store: FavoritesStore
  ) -> Task<Void, Never> {
    Task {
      guard let hub else {
        // Woken early, it throws.
        try? await Task.sleep(for: duration)
        return
      }
      let limit = SyncLimit()
      await withTaskCancellationHandler {
        let milliseconds = Int(clamping: duration.wholeMilliseconds)
        let hasEnded = await withCheckedContinuation { continuation in
          do throws(HeartlogError) {
            try WorkerThread {
              let news = try? hub.watch(store, milliseconds: milliseconds) { limit.isReached }
              continuation.resume(returning: news != nil)
            }.leave()
          } catch {
            continuation.resume(returning: false)
          }
        }
        // The next sync says what is wrong with the hub.
        if !hasEnded { try? await Task.sleep(for: .seconds(5)) }
      } onCancel: {
        limit.lower(to: .now)
      }
    }
  }

  /// Ends the pause, if there is one.
  private func wake() {
    isDue = true
    pause?.cancel()
  }

  /// A tap on this device is sent some seconds later, with those that follow it. What is written all the time, such as a position, waits for
  /// the interval.
  private func take(_ notice: ChangeNotice) {
    if case .change(let change) = notice {
      guard change.id.replica == store.replica else { return }
      let event = change.event
      guard event.action.isFavorite != nil || !event.fields.allSatisfy(\.isQuiet) else { return }
    }
    guard tapTimer == nil else { return }
    tapTimer = Task { [weak self, delay] in
      guard (try? await Task.sleep(for: delay)) != nil else { return }
      self?.tapTimer = nil
      self?.wake()
    }
  }
}

extension FavoritesStore {
  /// Syncs with a place now and from then on, until nothing keeps the result any more, or it is stopped: at intervals, some seconds after
  /// each tap, and when a hub tells of something new.
  ///
  /// - Parameters:
  ///   - carrier: the way to the place.
  ///   - interval: how long to wait between two syncs without a tap.
  ///   - delay: how long to wait after a tap, for others that follow it.
  ///   - options: what the syncs do. Their deadline is ignored.
  @MainActor
  public func syncAutomatically(
    with carrier: any Carrier, every interval: Duration = .seconds(300),
    afterTap delay: Duration = .seconds(3),
    options: SyncOptions = SyncOptions()
  ) -> AutomaticSync {
    AutomaticSync(self, carrier, every: interval, afterTap: delay, options)
  }
}

/// When a sync ends, done or not. It can come earlier while the sync runs.
private final class SyncLimit: Sendable {
  private let end = Mutex<ContinuousClock.Instant?>(nil)

  var isReached: Bool { end.withLock { $0 }.map { ContinuousClock.now >= $0 } ?? false }

  func begin(_ deadline: ContinuousClock.Instant?) { end.withLock { $0 = deadline } }

  func lower(to deadline: ContinuousClock.Instant) { end.withLock { $0 = min($0 ?? deadline, deadline) } }
}
