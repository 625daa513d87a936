import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@testable import HeartlogEngine

@Suite("Many stores in one process")
struct ManyStoresTests {
  private static let filesMax = 12

  private let files = CountingFiles()
  private let budget = OpenFileBudget { ManyStoresTests.filesMax }

  private func stores(_ count: Int) throws -> [TestStore] {
    try (0..<count).map { index in
      let store = TestStore(files: files, path: "/store-\(index)")
      try store.create(seed: UInt64(index))
      return store
    }
  }

  private func options(_ change: (inout StorageOptions) -> Void = { _ in }) -> StorageOptions {
    var options = TestStore.options(segmentBytesMax: 6_000)
    options.budget = budget
    change(&options)
    return options
  }

  @Test("a store that received and sent runs keeps no file open when it rests, or is closed")
  func shipping() throws {
    let stores = try stores(2)
    let (log, peer) = (try stores[0].open(options()), try stores[1].open(options()))
    for number in 0..<3 {
      _ = try peer.write(number, .durable)
      for head in try peer.log.streamHeads() {
        let run = try #require(
          try peer.log.streamRun(
            of: head.replica, after: UInt64(number), upTo: CommitNumber(rawValue: UInt64(number) + 1)))
        _ = try log.log.receive(run)
      }
      _ = try log.log.streamHeads()
    }
    #expect(files.openCount > 0 && log.log.openFiles > 0)
    log.log.rest()
    peer.log.rest()
    #expect(files.openCount == 0 && log.log.openFiles == 0)
    _ = try log.log.streamHeads()
    log.log.close()
    peer.log.close()
    #expect(files.openCount == 0)
  }

  @Test(
    "60 open stores, written and read in turn, keep few files open", .timeLimit(.minutes(5)),
    arguments: [Durability.durable, .buffered])
  func inTurn(_ durability: Durability) throws {
    let stores = try stores(60)
    let logs = try stores.map { try $0.open(options()) }
    for round in 0..<8 {
      for (index, log) in logs.enumerated() {
        let commit = try log.write(round * 100 + index, durability, bytes: 400)
        #expect(commit.number.rawValue == UInt64(round) + 1)
        // What is buffered is flushed by other threads: a log that one of them uses at this moment does not rest, and tells when it can.
        if durability == .buffered {
          while budget.files > Self.filesMax { sched_yield() }
        } else {
          #expect(files.openCount <= Self.filesMax + 2 && budget.files <= Self.filesMax)
        }
      }
    }
    for log in logs {
      try log.log.flush()
      #expect(log.projection.commits.count == 8)
      expectNoGap(log.projection.commits)
    }
    for (store, log) in zip(stores, logs) {
      #expect(try store.read().commits == log.projection.commits)
      #expect(try store.verify()[0].finding == nil)
      log.log.close()
    }
    #expect(budget.files == 0 && files.openCount == 0)
  }

  @Test("a log that rested goes on behind what another process wrote, sealed and removed meanwhile")
  func othersGoOn() throws {
    let store = try stores(1)[0]
    let a = try store.open(options())
    let b = try store.open(options())
    for index in 0..<40 {
      try a.write(index * 2, bytes: 100)
      a.log.rest()
      try b.write(index * 2 + 1, bytes: 100)
      if index % 8 == 5 { _ = try b.log.seal() }
      if index % 3 == 0 { b.log.rest() }
    }
    a.log.rest()
    try a.log.refresh()
    try b.log.refresh()
    #expect(a.projection.commits == b.projection.commits && a.projection.commits.count == 80)
    expectNoGap(a.projection.commits)
    #expect(a.projection.now.applied.values.allSatisfy { $0 == 1 })
    #expect(try store.read().commits == a.projection.commits)
    #expect(try store.verify()[0].finding == nil)
  }

  @Test("a log that reads what another process wrote tells how many files it has open")
  func refreshed() throws {
    let store = try stores(1)[0]
    let reader = try store.open(options { $0.access = .readOnly })
    #expect(budget.files == 0)
    try store.open(TestStore.options()).write(1)
    let before = files.openCount
    try reader.log.refresh()
    #expect(files.openCount > before && budget.files == files.openCount - before)
  }

  @Test("a segment that a commit begins is counted when the commit is written")
  func firstSegment() throws {
    let open = try stores(1)[0].open(options())
    let pending = try #require(try open.log.stage(.durable) { .test(0) })
    #expect(budget.files == 0)
    _ = try open.log.finish(pending)
    #expect(files.openCount == 1 && budget.files == 1)
  }

  @Test("resting flushes what is buffered, and gives the lock to others")
  func lease() throws {
    let store = try stores(1)[0]
    let a = try store.open(options())
    try a.write(1, .buffered)
    a.log.rest()
    let b = try store.open(options { $0.lockMillisecondsMax = 0 })
    #expect(try b.write(2).number.rawValue == 2)
  }

  @Test("a log that holds the lock, or has commits in line, does not rest")
  func busy() throws {
    let store = try stores(1)[0]
    let open = try store.open(options())
    try open.write(1)
    let pending = try #require(try open.log.stage(.durable) { .test(2) })
    open.log.rest()
    #expect(files.openCount == 1)
    #expect(try open.log.finish(pending).number.rawValue == 2)
    open.log.rest()
    #expect(files.openCount == 0)
    #expect(try open.write(3).number.rawValue == 3)
  }

  @Test("a segment whose header was damaged while the log rested is reported, and not written to")
  func damaged() throws {
    let store = try stores(1)[0]
    let open = try store.open(options())
    for index in 0..<3 { try open.write(index) }
    open.log.rest()
    let path = "\(store.path)/replicas/\(open.replica)/0000000000000001.open"
    var bytes = try files.contents(of: path)
    bytes.replaceSubrange(..<SegmentHeader.byteCount, with: repeatElement(0, count: SegmentHeader.byteCount))
    try files.replaceContents(of: path, with: bytes)
    #expect(storageFailure { try open.write(3) }?.code == .corrupt)
    #expect(open.log.findings.map(\.verdict) == [.corrupt])
    #expect(try files.contents(of: path) == bytes)
  }

  @Test("a store that was used after a fork does not give back what is the other process's")
  func afterFork() throws {
    let store = try stores(1)[0]
    let open = try store.open(options())
    try open.write(1, .buffered)
    files.processID += 1
    open.log.rest()
    #expect(files.openCount == 1)
    #expect(storageFailure { try open.write(2) }?.code == .misuse)
  }
}
