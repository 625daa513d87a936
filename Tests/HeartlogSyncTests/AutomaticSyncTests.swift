import Foundation
import Heartlog
import HeartlogTesting
import Synchronization
import Testing

@testable import HeartlogSync

@MainActor @Suite("A store that syncs by itself")
struct AutomaticSyncTests {
  /// A place that counts syncs, and does what a test says.
  private final class CountedCarrier: Carrier {
    typealias Action = @Sendable (SyncOptions) throws(HeartlogError) -> SyncReport

    let description = "a counted place"
    private let count = Mutex(0)
    private let action = Mutex<Action>({ _ in SyncReport() })

    var syncs: Int { count.withLock { $0 } }

    func act(_ new: @escaping Action) { action.withLock { $0 = new } }

    /// Takes the options of each sync, and goes on until it is over or has been told to.
    func block(until isOver: @escaping @Sendable () -> Bool = { false }) {
      act { options throws(HeartlogError) in
        while !isOver(), !options.isOver { usleep(1_000) }
        return options.isOver ? .unfinished(options) : SyncReport()
      }
    }

    func sync(_ store: FavoritesStore, options: SyncOptions) throws(HeartlogError) -> SyncReport {
      count.withLock { $0 += 1 }
      let body = action.withLock { $0 }
      return try body(options)
    }
  }

  private struct InVain: Error {}

  /// Waits until something is so. It counts its own turns, not the time, which other tests may take.
  private func until(_ isSo: () -> Bool) async throws {
    for _ in 0..<30_000 {
      if isSo() { return }
      try await Task.sleep(for: .milliseconds(2))
    }
    throw InVain()
  }

  /// Lets go on what goes on by itself.
  private func rest() async throws { try await Task.sleep(for: .milliseconds(50)) }

  private let store: FavoritesStore
  private let carrier = CountedCarrier()

  init() throws { store = try FavoritesStore.inMemory(clock: ManualClock()) }

  private func start(
    every interval: Duration = .seconds(3_600), afterTap delay: Duration = .zero
  ) -> AutomaticSync {
    AutomaticSync(store, carrier, every: interval, afterTap: delay, SyncOptions())
  }

  /// One whose first sync is over.
  private func started(afterTap delay: Duration = .zero) async throws -> AutomaticSync {
    let sync = start(afterTap: delay)
    try await until { carrier.syncs == 1 && !sync.isSyncing }
    return sync
  }

  @Test("syncs at once, after a tap, and at intervals; and no more once it is stopped")
  func moments() async throws {
    let sync = try await started()
    #expect(sync.lastSync != nil && sync.error == nil && sync.report?.isComplete == true)
    try store.library("papers").toggle("a")
    try await until { carrier.syncs == 2 }
    await sync.stop()
    let often = start(every: .milliseconds(1))
    try await until { carrier.syncs > 5 }
    await often.stop()
    let count = carrier.syncs
    try store.library("papers").toggle("b")
    #expect(await often.sync() == false)
    often.isPaused = true
    often.isPaused = false
    try await rest()
    #expect(carrier.syncs == count)
  }

  @Test(
    "a changed field waits twenty times as long as a tap, so that a position causes few syncs",
    arguments: [false, true])
  func fields(isTap: Bool) async throws {
    let library = try store.library("books")
    let sync = try await started(afterTap: .milliseconds(20))
    let starts = Mutex<[ContinuousClock.Instant]>([])
    carrier.act { _ in
      starts.withLock { $0.append(.now) }
      return SyncReport()
    }
    let written = ContinuousClock.now
    if isTap {
      try library.toggle("a")
    } else {
      try library.set([Field(name: "position", value: .int64(1))], of: "a")
    }
    try await until { starts.withLock { !$0.isEmpty } }
    let first = try #require(starts.withLock { $0.first })
    #expect(first - written >= .milliseconds(isTap ? 20 : 400))
    await sync.stop()
  }

  @Test("a failure shows, is tried again, and is over with the next sync that works")
  func failure() async throws {
    carrier.act { _ throws(HeartlogError) in throw HeartlogError(.inputOutput, "no network") }
    let sync = start(every: .milliseconds(1))
    try await until { carrier.syncs > 3 && sync.error != nil }
    #expect(sync.error?.message == "no network" && sync.lastSync == nil)
    #expect(await sync.sync() == false)
    carrier.act { _ in SyncReport() }
    try await until { sync.error == nil }
    #expect(sync.lastSync != nil)
    await sync.stop()
  }

  @Test("a sync of the app that failed is tried again, too, long before the interval is over")
  func failureOfTheApp() async throws {
    let sync = try await started()
    carrier.act { _ throws(HeartlogError) in throw HeartlogError(.timedOut, "no network") }
    #expect(await sync.sync() == false)
    carrier.act { _ in SyncReport() }
    try await until { sync.error == nil }
    await sync.stop()
  }

  @Test("while it is paused, only a sync that is asked for runs; then what was tapped is sent")
  func paused() async throws {
    let sync = start()
    sync.isPaused = true
    try store.library("papers").toggle("a")
    try await rest()
    #expect(carrier.syncs == 0)
    #expect(await sync.sync())
    #expect(carrier.syncs == 1)
    sync.isPaused = false
    try await until { carrier.syncs >= 2 }
    await sync.stop()
  }

  @Test("what was tapped while a sync ran is not sent once it is paused")
  func pausedMeanwhile() async throws {
    let sync = try await started()
    let isOver = Atomic(false)
    carrier.block { isOver.load(ordering: .relaxed) }
    let call = Task { await sync.sync() }
    try await until { carrier.syncs == 2 }
    try store.library("papers").toggle("a")
    try await rest()
    sync.isPaused = true
    isOver.store(true, ordering: .relaxed)
    #expect(await call.value)
    try await rest()
    #expect(carrier.syncs == 2)
    await sync.stop()
  }

  @Test("a deadline, a cancelled task and a stop each end the sync that runs", arguments: 0...2)
  func endings(way: Int) async throws {
    let sync = try await started()
    carrier.block()
    switch way {
    case 0: #expect(await sync.sync(deadline: .now + .milliseconds(20)) == false)
    case 1:
      let task = Task { await sync.sync() }
      try await until { sync.isSyncing }
      task.cancel()
      #expect(await task.value == false)
    default:
      let task = Task { await sync.sync() }
      try await until { sync.isSyncing }
      await sync.stop()
      #expect(await task.value == false)
    }
    #expect(!sync.isSyncing && sync.report?.unfinished != nil)
    await sync.stop()
  }

  @Test("a sync that waits for another is cancelled alone, and the other goes on")
  func waiters() async throws {
    let sync = try await started()
    let isOver = Atomic(false)
    carrier.block { isOver.load(ordering: .relaxed) }
    let first = Task { await sync.sync() }
    try await until { carrier.syncs == 2 }
    let (second, third) = (Task { await sync.sync() }, Task { await sync.sync() })
    try await rest()
    second.cancel()
    #expect(await second.value == false)
    #expect(sync.isSyncing && carrier.syncs == 2)
    isOver.store(true, ordering: .relaxed)
    #expect(await first.value)
    #expect(await third.value)
    #expect(carrier.syncs == 3)
    await sync.stop()
  }

  @Test("what a cut sync did not bring comes soon, and is no success")
  func unfinished() async throws {
    carrier.block()
    let sync = start()
    try await until { sync.isSyncing }
    #expect(await sync.sync(deadline: .now + .milliseconds(5)) == false)
    #expect(sync.lastSync == nil && sync.report?.unfinished != nil)
    carrier.act { _ in SyncReport() }
    try await until { sync.lastSync != nil }
    await sync.stop()
  }

  @Test("the recovery code stays until it was shown")
  func recoveryCode() async throws {
    carrier.act { _ in
      var report = SyncReport()
      report.recoveryCode = "A-B-C"
      return report
    }
    let sync = try await started()
    carrier.act { _ in SyncReport() }
    #expect(await sync.sync())
    #expect(sync.recoveryCode == "A-B-C" && sync.report?.recoveryCode == nil)
    await sync.stop()
  }

  @Test("one sync joins another vault, those after it do not")
  func joining() async throws {
    let sync = try await started()
    let wishes = Mutex<[Bool]>([])
    carrier.act { options in
      wishes.withLock { $0.append(options.joinsVault) }
      return SyncReport()
    }
    #expect(await sync.sync(joiningVault: true))
    #expect(await sync.sync())
    #expect(wishes.withLock { $0 } == [true, false])
    await sync.stop()
  }

  @Test("nothing is left of one that nobody keeps")
  func released() async throws {
    weak var released: AutomaticSync?
    do { released = try await started() }
    try await until { released == nil }
    try store.library("papers").toggle("a")
    try await rest()
    #expect(carrier.syncs == 1)
  }
}
