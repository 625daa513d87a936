import HeartlogCrashModel
import Foundation
import HeartlogFiles
import HeartlogEngine
import Testing

@testable import Heartlog

@Suite("A store at rest")
struct RestTests {
  private let test = TestStore()

  /// Runs nothing in the background, as in a process that is stopped.
  private struct Frozen: Scheduler {
    func uptimeNanoseconds() -> UInt64 { MonotonicClock.nanoseconds() }
    func sleep(microseconds: UInt32) { usleep(microseconds) }
    func run(_ job: @escaping @Sendable () -> Void) {}
    func runAtLowPriority(_ job: @escaping @Sendable () -> Void) {}
    func run(afterMilliseconds delay: Int, _ job: @escaping @Sendable () -> Void) -> Bool { true }
  }

  private func openFrozen(_ durability: Durability) throws -> FavoritesStore {
    try test.open {
      $0.durability = durability
      $0.changeStorage = { $0.scheduler = Frozen() }
    }
  }

  @Test("holds no lock, so others write at once", arguments: [Durability.buffered, .durable])
  func lock(_ durability: Durability) throws {
    let frozen = try openFrozen(durability)
    let other = try test.open { $0.lockTimeout = .zero }
    // A series of commits keeps the lock, as a buffered commit does.
    for id in 1...20 { try frozen.records.add(Record(id: id, title: "a")) }
    #expect(throws: HeartlogError.self) { try other.records.remove(1) }
    try frozen.suspend()
    #expect(try other.records.remove(1) && other.records.count == 19)
    #expect(try frozen.records.count == 19)
  }

  @Test("what was acknowledged is durable")
  func durable() throws {
    let files = MemoryFileSystem(recording: true)
    let store = try TestStore(files: files).open {
      $0.durability = .buffered
      $0.changeStorage = { $0.scheduler = Frozen() }
    }
    try store.records.add(Record(id: 1, title: "a"))
    files.clearTrace()
    try store.suspend()
    #expect(files.trace.contains { if case .synchronizeData = $0 { true } else { false } })
    #expect(files.trace.contains { if case .unlock = $0 { true } else { false } })
    files.clearTrace()
    try store.suspend()
    #expect(files.trace.isEmpty)
  }

  @Test("has no file of the store open, and watches nothing")
  func descriptors() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let store = try FavoritesStore(at: folder)
    let changes = store.changes
    try store.records.add(Record(id: 1, title: "a"))
    func openFiles() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
        try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
      }.filter { $0.contains(folder.lastPathComponent) }
    }
    #expect(try !openFiles().isEmpty)
    try store.suspend()
    #expect(try openFiles().isEmpty)
    withExtendedLifetime(changes) {}
  }

  @Test(
    "the next call wakes it, and its subscribers are told what they missed",
    arguments: [
      { _ = try $0.records.count }, { try $0.refresh() }, { try $0.library("other").add("b") },
    ] as [@Sendable (FavoritesStore) throws -> Void])
  func waking(_ call: @Sendable (FavoritesStore) throws -> Void) async throws {
    let store = try test.open()
    let other = try test.open()
    var iterator = try store.records.changes.makeAsyncIterator()
    #expect(test.files.watchCount == 1)
    try await store.suspend()
    #expect(test.files.watchCount == 0)
    try await other.records.add(Record(id: 1, title: "a"))
    try call(store)
    #expect(test.files.watchCount == 1)
    try await other.records.add(Record(id: 2, title: "b"))
    for id in ["1", "2"] {
      guard case .change(let change)? = await iterator.next() else { throw CancellationError() }
      #expect(change.event.item == id)
    }
  }

  @Test("a task's rest comes after the writes that it awaits")
  func tasks() async throws {
    let store = try test.open { $0.durability = .buffered }
    let other = try test.open { $0.lockTimeout = .zero }
    await withTaskGroup { group in
      for id in 1...10 {
        group.addTask { _ = try? await store.records.add(Record(id: id, title: "a")) }
      }
      await group.waitForAll()
    }
    try await store.suspend()
    #expect(try await other.records.remove(1))
  }

  @Test("it rests though others write all the time, from threads of its own process")
  func busy() throws {
    let store = try test.open { $0.durability = .buffered }
    let isOver = Monitor(false)
    let writer = Thread {
      var id = 0
      while !isOver.withLock({ $0 }) {
        _ = try? store.records.add(Record(id: id, title: "a"))
        id += 1
      }
    }
    writer.start()
    while try store.records.count < 5 { sched_yield() }
    for _ in 1...5 { try store.suspend() }
    isOver.withLock { $0 = true }
    while !writer.isFinished { sched_yield() }
    let count = try store.records.count
    try store.suspend()
    #expect(try test.open().records.count == count)
  }

  @Test("sealing and snapshots in the background are abandoned, and are made later")
  func background() throws {
    let jobs = Monitor<[@Sendable () -> Void]>([])
    let scheduler = Recorded(jobs: jobs)
    let store = try test.open {
      $0.durability = .buffered
      $0.changeStorage = {
        $0.scheduler = scheduler
        $0.segmentBytesMax = 4_096 + 2_000
      }
    }
    try store.records.add(contentsOf: (1...1_000).map { Record(id: $0, title: "a") })
    try store.records.add(contentsOf: (1_001...20_001).map { Record(id: $0, title: "a") })
    #expect(jobs.withLock { $0.count } == 2)
    try store.suspend()
    func runJobs() {
      for job in jobs.withLock({ jobs in
        defer { jobs = [] }; return jobs
      }) { job() }
    }
    runJobs()
    #expect(!has(".sealed", in: "replicas/\(store.replica)"))
    #expect(!has(".snapshot", in: "snapshots") && store.snapshotFailure == nil)
    // The snapshot is due again, and the next full segment is sealed.
    try store.records.add(contentsOf: (30_000...30_100).map { Record(id: $0, title: "b") })
    runJobs()
    #expect(has(".snapshot", in: "snapshots") && has(".sealed", in: "replicas/\(store.replica)"))
    #expect(store.sealingFailure == nil)
  }

  private func has(_ suffix: String, in folder: String) -> Bool {
    ((try? test.files.entries(of: "\(TestStore.path)/\(folder)")) ?? []).contains { $0.hasSuffix(suffix) }
  }

  private struct Recorded: Scheduler {
    let jobs: Monitor<[@Sendable () -> Void]>
    func uptimeNanoseconds() -> UInt64 { MonotonicClock.nanoseconds() }
    func sleep(microseconds: UInt32) { usleep(microseconds) }
    func run(_ job: @escaping @Sendable () -> Void) {}
    func runAtLowPriority(_ job: @escaping @Sendable () -> Void) { jobs.withLock { $0.append(job) } }
    func run(afterMilliseconds delay: Int, _ job: @escaping @Sendable () -> Void) -> Bool { true }
  }

  @Test("it is refused inside write { } and after close")
  func refused() throws {
    let store = try test.open()
    try store.write { #expect(throws: HeartlogError.self) { try store.suspend() } }
    try store.close()
    let error = #expect(throws: HeartlogError.self) { try store.suspend() }
    #expect(error?.code == .misuse)
  }
}
