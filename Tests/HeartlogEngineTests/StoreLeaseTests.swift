import Dispatch
import HeartlogCrashModel
import HeartlogFiles
import Testing

@testable import HeartlogEngine

@Suite("How long the lock is kept")
struct StoreLeaseTests {
  private static let millisecond: UInt64 = 1_000_000

  private func lease() throws -> StoreLease {
    let (store, files) = try TestStore.inMemory()
    let lock = try StoreLock(StoreDirectory(fileSystem: files, path: store.path))
    return StoreLease(lock, monitor: Monitor())
  }

  @Test("the lock is kept from the second durable batch of a series on")
  func series() throws {
    let lease = try lease()
    lease.noteBatch(from: 10 * Self.millisecond, to: 11 * Self.millisecond)
    #expect(!lease.isKept)
    lease.noteBatch(from: 11 * Self.millisecond + 1, to: 12 * Self.millisecond)
    #expect(lease.isKept)
    #expect(lease.isInSeries(at: 13 * Self.millisecond - 1))
    #expect(!lease.isInSeries(at: 13 * Self.millisecond))
  }

  @Test("batches a millisecond apart are no series")
  func apart() throws {
    let lease = try lease()
    lease.noteBatch(from: 10 * Self.millisecond, to: 11 * Self.millisecond)
    lease.noteBatch(from: 12 * Self.millisecond, to: 13 * Self.millisecond)
    #expect(!lease.isKept)
  }

  @Test("a series ends when another process writes or wants to")
  func end() throws {
    let lease = try lease()
    lease.noteBatch(from: 10 * Self.millisecond, to: 11 * Self.millisecond)
    lease.noteBatch(from: 11 * Self.millisecond, to: 12 * Self.millisecond)
    lease.endSeries()
    #expect(!lease.isKept)
    #expect(!lease.isInSeries(at: 12 * Self.millisecond))
    lease.noteBatch(from: 12 * Self.millisecond, to: 13 * Self.millisecond)
    #expect(!lease.isKept)
  }

  @Test("a lease ends although every thread for other work waits")
  func leaseEndsMeanwhile() throws {
    let gate = DispatchSemaphore(value: 0)
    let count = 32
    for _ in 0..<count { WorkerPool.shared.run { gate.wait() } }
    defer { for _ in 0..<count { gate.signal() } }
    let (store, _) = try TestStore.inMemory()
    let buffering = try store.open(TestStore.options())
    try buffering.write(0, .buffered)
    try store.open(TestStore.options(seed: 3)).write(1, .durable)
    withExtendedLifetime(buffering) {}
  }

  /// A log in the middle of a series, and another one that does not wait for the lock.
  private func inSeries() throws -> (series: OpenStore, other: OpenStore, scheduler: ManualScheduler) {
    let (store, _) = try TestStore.inMemory()
    let scheduler = ManualScheduler()
    var options = TestStore.options()
    options.keepsLockInSeries = true
    options.scheduler = scheduler
    let series = try store.open(options)
    var impatient = TestStore.options(seed: 3)
    impatient.lockMillisecondsMax = 0
    let other = try store.open(impatient)
    for index in 0..<2 { try series.write(index) }
    #expect(storageFailure { try other.write(2) }?.code == .locked)
    return (series, other, scheduler)
  }

  @Test("others get the lock when a series is over")
  func seriesIsOver() throws {
    let (series, other, scheduler) = try inSeries()
    scheduler.advance(milliseconds: 50)
    scheduler.runJobs()
    #expect(try other.write(2).number.rawValue == 3)
    #expect(try series.write(3).number.rawValue == 4)
  }

  @Test("others get the lock when a log rests in the middle of a series")
  func restInSeries() throws {
    let (series, other, _) = try inSeries()
    series.log.rest()
    #expect(try other.write(2).number.rawValue == 3)
    #expect(try series.write(3).number.rawValue == 4)
  }

  @Test(
    "where no thread can be created for a timer, others get the lock after each commit, which is durable then"
  )
  func noTimer() throws {
    let (store, files) = try TestStore.inMemory()
    var options = TestStore.options()
    options.keepsLockInSeries = true
    options.scheduler = ManualScheduler(createsThreads: false)
    let log = try store.open(options)
    options.lockMillisecondsMax = 0
    let other = try store.open(options)
    for index in 0..<8 {
      try (index < 4 ? log : other).write(index, index % 4 < 2 ? .buffered : .durable)
      for disk in files.crashStates(after: files.crashPoints, limit: 8, seed: 1) {
        #expect(try TestStore(files: disk, path: store.path).read().commits.count == index + 1)
      }
    }
  }

  @Test("logs that write series in turns both go on", arguments: FileSystemKind.allCases)
  func turns(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    let store = try place.store()
    var options = TestStore.options()
    options.keepsLockInSeries = true
    let a = try store.open(options)
    let b = try store.open(options)
    for round in 0..<10 {
      for index in 0..<5 { try a.write(round * 10 + index) }
      for index in 5..<10 { try b.write(round * 10 + index) }
    }
    let commits = try store.read().commits
    #expect(commits.map(\.number.rawValue) == Array(1...100))
    #expect(b.projection.commits == commits)
  }
}
