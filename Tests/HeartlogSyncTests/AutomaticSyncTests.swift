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
    let description = "a counted place"
    let count = Mutex(0)
    let action = Mutex<@Sendable (SyncOptions) throws(HeartlogError) -> SyncReport>({ _ in SyncReport() })

    func sync(_ store: FavoritesStore, options: SyncOptions) throws(HeartlogError) -> SyncReport {
      count.withLock { $0 += 1 }
      return try action.withLock { $0 }(options)
    }

    var syncs: Int { count.withLock { $0 } }
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

  private let store: FavoritesStore
  private let carrier = CountedCarrier()

  init() throws { store = try FavoritesStore.inMemory(clock: ManualClock()) }

  private func start(every interval: Duration = .seconds(3_600), afterTap: Duration = .zero) -> AutomaticSync
  {
    store.syncAutomatically(with: carrier, every: interval, afterTap: afterTap)
  }

  @Test("syncs at once, after a tap, and at intervals")
  func moments() async throws {
    let sync = start()
    try await until { carrier.syncs == 1 && !sync.isSyncing }
    #expect(sync.lastSync != nil && sync.error == nil && sync.report?.isComplete == true)
    try store.library("papers").toggle("a")
    try await until { carrier.syncs == 2 }
    await sync.stop()
    let often = start(every: .milliseconds(1))
    try await until { carrier.syncs > 5 }
    await often.stop()
    let count = carrier.syncs
    try store.library("papers").toggle("b")
    try await Task.sleep(for: .milliseconds(50))
    #expect(carrier.syncs == count)
  }

  @Test(
    "a position that is written all the time causes no sync, and a value that a person wrote does")
  func quietWrites() async throws {
    let library = try store.library("books")
    let sync = start()
    try await until { carrier.syncs == 1 && !sync.isSyncing }
    try library.set([Field(name: "position", value: .double(1.5), isQuiet: true)], of: "a")
    try await Task.sleep(for: .milliseconds(50))
    #expect(carrier.syncs == 1)
    try library.set([Field(name: "title", value: .string("A"))], of: "a")
    try await until { carrier.syncs == 2 }
    await sync.stop()
  }

  @Test("a failure shows, and is over with the next sync that works")
  func failure() async throws {
    carrier.action.withLock { action in
      action = { _ throws(HeartlogError) in throw HeartlogError(.inputOutput, "no network") }
    }
    let sync = start()
    try await until { sync.error != nil }
    #expect(sync.error?.message == "no network" && sync.lastSync == nil)
    #expect(await sync.sync() == false)
    carrier.action.withLock { action in action = { _ in SyncReport() } }
    #expect(await sync.sync())
    #expect(sync.error == nil && sync.lastSync != nil)
    await sync.stop()
  }

  @Test("while it is paused, only a sync that is asked for runs")
  func paused() async throws {
    let sync = start()
    sync.isPaused = true
    try store.library("papers").toggle("a")
    try await Task.sleep(for: .milliseconds(50))
    let count = carrier.syncs
    #expect(await sync.sync())
    #expect(carrier.syncs == count + 1)
    sync.isPaused = false
    try await until { carrier.syncs == count + 2 }
    await sync.stop()
  }

  @Test(
    "a deadline, a cancelled task and a stop each end the sync that runs",
    arguments: 0...2)
  func endings(way: Int) async throws {
    let isEndless = Atomic(true)
    carrier.action.withLock { action in
      action = { options throws(HeartlogError) in
        while isEndless.load(ordering: .relaxed), !options.isOver { usleep(1_000) }
        return options.isOver ? .unfinished(options) : SyncReport()
      }
    }
    let sync = start()
    try await until { sync.isSyncing }
    switch way {
    case 0: #expect(await sync.sync(deadline: .now + .milliseconds(20)) == false)
    case 1:
      let task = Task { await sync.sync() }
      await Task.yield()
      task.cancel()
      #expect(await task.value == false)
    default: break
    }
    await sync.stop()
    #expect(!sync.isSyncing)
    if way < 2 { #expect(sync.report?.unfinished != nil) }
  }

  @Test("nothing is left of one that nobody keeps")
  func released() async throws {
    weak var released: AutomaticSync?
    do {
      let sync = start()
      released = sync
      try await until { carrier.syncs == 1 && !sync.isSyncing }
    }
    try await until { released == nil }
    try store.library("papers").toggle("a")
    try await Task.sleep(for: .milliseconds(50))
    #expect(carrier.syncs == 1)
  }
}
