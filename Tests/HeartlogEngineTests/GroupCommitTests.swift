#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif
import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import Synchronization
import Testing

@testable import HeartlogEngine

@Suite("Many threads write")
struct GroupCommitTests {
  @Test(
    "16 threads, 200 durable commits each: all acknowledged, in order", arguments: FileSystemKind.allCases)
  func manyThreads(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    let store = try place.store()
    let open = try store.open(TestStore.options(segmentBytesMax: 64 << 10))
    let perThread = Mutex<[[Commit]]>(Array(repeating: [], count: 16))
    TestThread.run(16) { thread in
      for index in 0..<200 {
        guard let commit = try? open.write(thread * 1_000 + index) else { continue }
        perThread.withLock { $0[thread].append(commit) }
      }
    }
    let all = perThread.withLock { $0 }
    #expect(all.allSatisfy { $0.count == 200 })
    // What one thread wrote one after the other is in that order.
    #expect(all.allSatisfy { $0.map(\.number) == $0.map(\.number).sorted() })
    let commits = open.projection.commits
    #expect(Set(all.joined()) == Set(commits) && commits.count == 3_200)
    expectNoGap(commits)
    #expect(open.projection.now.published == commits)
    #expect(try store.read().commits == commits)
    #expect(try store.verify()[0].finding == nil)
  }

  @Test("a line of durable commits is one write and one fdatasync")
  func oneSync() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    try open.write(0)
    files.clearTrace()
    let commits = try open.writeTogether(1..<101)
    #expect(commits.map(\.number.rawValue) == Array(2...101))
    #expect(files.trace.count { if case .write = $0 { true } else { false } } == 1)
    #expect(files.trace.count { if case .synchronizeData = $0 { true } else { false } } == 1)
  }

  @Test("a queue that is full is written before more is queued")
  func fullQueue() throws {
    let (store, _) = try TestStore.inMemory()
    let open = try store.open()
    open.log.queue.batchBytesMax = 200
    var pending: [CommitLog.PendingCommit] = []
    for index in 0..<10 {
      pending.append(try #require(try open.log.stage(.durable) { .test(index, bytes: 40) }))
      #expect(open.log.queue.waiting.count <= 2)
    }
    #expect(try #require(pending.first).isOver)
    #expect(try #require(pending.last).isOver == false)
    for commit in pending { _ = try open.log.finish(commit) }
    #expect(open.projection.commits == pending.map(\.commit))
    expectNoGap(open.projection.commits)
    #expect(try store.read().commits == open.projection.commits)
  }

  @Test("what one thread stages before it finishes anything is one write and one fdatasync")
  func oneThread() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    try open.write(0)
    files.clearTrace()
    let pending = try (1..<101).compactMap { index in try open.log.stage(.durable) { .test(index) } }
    #expect(open.projection.commits.count == 1, "nobody sees what is not written")
    #expect(try pending.map { try open.log.finish($0).number.rawValue } == Array(2...101))
    #expect(files.trace.count { if case .synchronizeData = $0 { true } else { false } } == 1)
  }

  @Test("a thread that has commits in line goes on where another process waits for its turn")
  func givingWay() throws {
    let (store, _) = try TestStore.inMemory()
    let a = try store.open()
    let b = try store.open()
    let first = try #require(try a.log.stage(.durable) { .test(1) })
    let other = TestThread { _ = try? b.write(2) }
    // The other one has asked for the lock when this log begins to give way.
    while !a.log.lease.lock.isWanted { sched_yield() }
    #expect(try a.log.stage(.durable) { nil } === nil)
    let second = try #require(try a.log.stage(.durable) { .test(3) })
    #expect(try a.log.finish(first).number.rawValue == 1)
    #expect(try a.log.finish(second).number.rawValue > 1)
    other.join()
    try a.log.refresh()
    #expect(a.projection.commits.count == 3)
  }

  @Test(
    "threads that write durably and buffered, through two logs of one store",
    arguments: FileSystemKind.allCases)
  func twoLogs(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    let store = try place.store()
    let logs = [
      try store.open(TestStore.options(seed: 1, segmentBytesMax: 20_000)),
      try store.open(TestStore.options(seed: 2, segmentBytesMax: 20_000)),
    ]
    let failures = Mutex<[String]>([])
    // The waiting log gets its turn while the other goes on: else this would not end.
    TestThread.run(6) { thread in
      for index in 0..<40 {
        do {
          try logs[thread % 2].write(thread * 1_000 + index, (thread + index) % 3 == 0 ? .buffered : .durable)
        } catch {
          failures.withLock { $0.append("\(error)") }
        }
      }
    }
    #expect(failures.withLock { $0 } == [])
    for open in logs {
      try open.log.flush()
      try open.log.refresh()
    }
    #expect(logs[0].projection.commits == logs[1].projection.commits)
    #expect(logs[0].projection.commits.count == 240)
    #expect(logs.allSatisfy { $0.projection.now.applied.values.allSatisfy { $0 == 1 } })
    expectNoGap(logs[0].projection.commits)
    #expect(try store.read().commits == logs[0].projection.commits)
    #expect(try store.verify()[0].finding == nil)
  }

  @Test(
    "background sealing goes on beside writers and a reader that follows", arguments: FileSystemKind.allCases)
  func backgroundSealing(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    let store = try place.store()
    var options = TestStore.options(segmentBytesMax: 8_000)
    options.sealsInBackground = true
    let a = try store.open(options)
    let b = try store.open(options)
    let reader = try store.open(TestStore.options(access: .readOnly))
    let failures = Mutex<[String]>([])
    let isDone = Atomic(false)
    let following = TestThread {
      while !isDone.load(ordering: .acquiring) {
        if let error = storageFailure({ try reader.log.refresh() }) {
          failures.withLock { $0.append("\(error)") }
        }
        let corrupt = reader.log.findings.filter { $0.verdict != .torn }
        failures.withLock { $0 += corrupt.map { "\($0)" } }
        sched_yield()
      }
    }
    let verifying = TestThread {
      while !isDone.load(ordering: .acquiring) {
        do {
          for stream in try store.verify() {
            if let finding = stream.finding { failures.withLock { $0.append("verify: \(finding)") } }
          }
        } catch {
          failures.withLock { $0.append("verify: \(error)") }
        }
        sched_yield()
      }
    }
    TestThread.run(4) { thread in
      for index in 0..<60 {
        if let error = storageFailure({
          try (thread % 2 == 0 ? a : b).write(
            thread * 1_000 + index, index % 2 == 0 ? .buffered : .durable, bytes: 200)
        }) {
          failures.withLock { $0.append("\(error)") }
        }
      }
    }
    isDone.store(true, ordering: .releasing)
    following.join()
    verifying.join()
    a.log.close()
    b.log.close()
    #expect(failures.withLock { $0 } == [])
    #expect(a.log.sealingFailure == nil && b.log.sealingFailure == nil)
    try reader.log.refresh()
    #expect(reader.projection.commits.count == 240)
    #expect(reader.projection.now.applied.values.allSatisfy { $0 == 1 })
    expectNoGap(reader.projection.commits)
    let names = try store.names(of: a.replica)
    #expect(names.contains { $0.hasSuffix(".sealed") })
    #expect(try store.verify()[0].finding == nil)
    #expect(try store.read().commits == reader.projection.commits)
  }

  @Test("closing while threads write loses nothing that was acknowledged")
  func closing() throws {
    for round in 0..<20 {
      let (store, _) = try TestStore.inMemory()
      let open = try store.open()
      let acknowledged = Mutex<[Commit]>([])
      let codes = Mutex<[HeartlogError.Code]>([])
      TestThread.run(5) { thread in
        if thread == 4 {
          while acknowledged.withLock({ $0.count }) < round { sched_yield() }
          return open.log.close()
        }
        for index in 0..<50 {
          let error = storageFailure {
            let commit = try open.write(thread * 100 + index, index % 2 == 0 ? .durable : .buffered)
            acknowledged.withLock { $0.append(commit) }
          }
          if let error { codes.withLock { $0.append(error.code) } }
        }
      }
      #expect(codes.withLock { $0.allSatisfy { $0 == .misuse } })
      let commits = acknowledged.withLock { $0 }
      #expect(Set(try store.read().commits) == Set(commits))
      // The lock is free.
      try store.open().write(9_999)
    }
  }
}
