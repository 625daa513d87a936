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

@Suite("Operations fail")
struct FaultTests {
  /// EIO and ENOSPC, the same on all platforms.
  private static let inputOutput: Int32 = 5
  private static let noSpace: Int32 = 28

  @Test("a failed fsync leaves the outcome open, stops writing, and loses nothing acknowledged")
  func failedSync() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    let acknowledged = try (0..<3).map { try open.write($0) }
    files.failNext(.synchronizeData, code: Self.inputOutput)
    let errors = Mutex<[HeartlogError.Code?]>([])
    var threads: [TestThread] = []
    try open.log.withQueueHeld {
      for index in 3..<6 {
        let queued = open.queuedCount
        threads.append(
          TestThread {
            let code = storageFailure { try open.write(index) }?.code
            errors.withLock { $0.append(code) }
          })
        while open.queuedCount == queued { sched_yield() }
      }
    }
    for thread in threads { thread.join() }
    #expect(errors.withLock { $0 } == [.outcomeUnknown, .outcomeUnknown, .outcomeUnknown])
    #expect(open.queuedCount == 0 && open.projection.commits == acknowledged)
    #expect(try store.names(of: open.replica) == ["0000000000000001.suspect"])
    #expect(storageFailure { try open.write(7) }?.code == .outcomeUnknown)
    #expect(storageFailure { try open.write(7, .buffered) }?.code == .outcomeUnknown)
    #expect(storageFailure { try open.log.flush() }?.code == .outcomeUnknown)
    // Reading goes on.
    try open.log.refresh()
    #expect(Array(open.projection.commits.prefix(3)) == acknowledged)
    let reader = try store.read()
    #expect(Array(reader.commits.prefix(3)) == acknowledged && reader.findings.isEmpty)
    open.log.close()

    let second = try store.open()
    let last = try second.write(8)
    #expect(
      Array(second.projection.commits.prefix(3)) == acknowledged && second.projection.commits.last == last)
    #expect(try store.names(of: second.replica) == ["0000000000000001.open"])
    expectNoGap(second.projection.commits)
    #expect(try store.verify()[0].finding == nil)
  }

  @Test("another open log replaces the suspect of a failed fsync, and goes on")
  func suspectOfAnother() throws {
    let (store, files) = try TestStore.inMemory()
    let a = try store.open()
    let b = try store.open()
    try a.write(0)
    try b.write(1)
    try a.write(2)
    files.failNext(.synchronizeData, code: Self.inputOutput)
    #expect(storageFailure { try a.write(3) }?.code == .outcomeUnknown)
    let last = try b.write(4)
    #expect(last.number.rawValue == 5, "the commit of unknown outcome reappeared")
    expectNoGap(b.projection.commits)
    try a.log.refresh()
    #expect(a.projection.commits == b.projection.commits)
    #expect(try store.verify()[0].finding == nil)
  }

  @Test("a failed fsync of a lease is told by the flush")
  func failedFlush() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    try open.write(0)
    try open.write(1, .buffered)
    files.failNext(.synchronizeData, code: Self.inputOutput)
    #expect(storageFailure { try open.log.flush() }?.code == .outcomeUnknown)
    #expect(storageFailure { try open.write(2) }?.code == .outcomeUnknown)
    #expect(try store.read().commits.count == 2)
  }

  @Test("a commit that came while a flush failed keeps no lock")
  func failedFlushBesideWriter() throws {
    let (store, files) = try TestStore.inMemory()
    let intercepted = InterceptedFiles(files)
    let scheduler = ManualScheduler()
    var options = TestStore.options()
    options.scheduler = scheduler
    let open = try TestStore(files: intercepted, path: store.path).open(options)
    try open.write(0)
    try open.write(1, .buffered)
    intercepted.change { hooks in
      hooks.beforeSync = { () throws(HeartlogError) in
        _ = try? open.write(2, .buffered)
        throw HeartlogError(operation: "synchronize", path: store.path, code: Self.inputOutput)
      }
    }
    // The lease ends.
    scheduler.runJobs()
    #expect(open.projection.commits.count == 3)
    #expect(storageFailure { try open.write(3) }?.code == .outcomeUnknown)
    var impatient = TestStore.options(seed: 3)
    impatient.lockMillisecondsMax = 0
    let other = try store.open(impatient)
    try other.write(4)
    expectNoGap(other.projection.commits)
    #expect(try store.verify()[0].finding == nil)
  }

  @Test(
    "on a full disk, commits fit into the zeros written ahead, and then the error says how much room is missing"
  )
  func zerosAhead() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    try open.write(0)
    files.setFreeBytes(0)
    var commits = try (1..<20).map { try open.write($0, bytes: 2_000) }
    var failure: HeartlogError?
    while failure == nil { failure = storageFailure { commits.append(try open.write(100, bytes: 2_000)) } }
    #expect(failure?.code == .diskFull)
    let said = try #require(
      failure?.message.firstMatch(of: /the commits need ([0-9]+) bytes, and ([0-9]+) are free$/))
    #expect(try #require(Int(said.1)) > #require(Int(said.2)))
    // A smaller one still fits into the room of the one that was taken back.
    commits.append(try open.write(101))
    #expect(try Array(store.read().commits.dropFirst()) == commits)
    // With room for the commits alone, no zeros are written.
    files.setFreeBytes(5_000)
    for index in 102..<106 { commits.append(try open.write(index, bytes: 500)) }
    #expect(try Array(store.read().commits.dropFirst()) == commits && store.verify()[0].finding == nil)
  }

  @Test("on a full disk, a new segment needs no more room than its header and the commits")
  func rotationWithoutZeros() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open(TestStore.options(segmentBytesMax: 4_200))
    try open.write(0, bytes: 500)
    files.setFreeBytes(4_095)
    let failure = storageFailure { try open.write(1) }
    #expect(failure?.code == .diskFull && failure?.message.contains("; the commits need 4") == true)
    files.setFreeBytes(4_096 + 500)
    try open.write(1)
    #expect(try store.read().commits == open.projection.commits && store.read().commits.count == 2)
  }

  @Test("a full disk takes a write back, wherever it stopped, and the next one succeeds")
  func fullDisk() throws {
    for partial in [0, 1, 39, 40, 95, 96, 97, 200, 288] {
      let (store, files) = try TestStore.inMemory()
      let open = try store.open()
      try open.write(0)
      files.failNext(.write, code: Self.noSpace, partialBytes: partial)
      #expect(storageFailure { try open.write(1, bytes: 500) }?.code == .diskFull)
      #expect(open.queuedCount == 0 && open.projection.commits.count == 1)
      #expect(try store.read().findings.isEmpty && store.read().commits.count == 1)
      let commit = try open.write(2)
      #expect(commit.number.rawValue == 2)
      #expect(try store.read().commits == open.projection.commits)
      #expect(try store.verify()[0].finding == nil)
      // What was reported as not written does not come back after a crash either.
      var check = CrashCheck(files, before: [])
      check.createdAt = files.crashPoints
      let states = files.crashStates(after: files.crashPoints, sectorBytes: 512, limit: 100, seed: 3)
      for state in states {
        #expect(try TestStore(files: state, path: "/store").read().commits == open.projection.commits)
      }
    }
  }

  @Test("a rotation that fails at any of its steps is tried again by the next write")
  func failedRotation() throws {
    for kind in [FaultKind.createFile, .write, .synchronizeData, .rename, .synchronizeDirectory] {
      let (store, files) = try TestStore.inMemory()
      let open = try store.open(TestStore.options(segmentBytesMax: 4_200))
      var commits = try (0..<2).map { try open.write($0) }
      try files.clearTraceAndFail(kind, suffix: nil)
      let code = storageFailure { try open.write(2) }?.code
      #expect(code == .inputOutput, "\(kind)")
      commits += try (3..<6).map { try open.write($0) }
      #expect(try store.read().commits == commits, "\(kind)")
      expectNoGap(commits)
      #expect(try store.verify()[0].finding == nil)
      #expect(try store.names(of: open.replica).allSatisfy { !$0.contains(".tmp-") })
    }
  }

  @Test("whatever single operation fails, a commit is acknowledged and kept, or an error is thrown")
  func everyOperation() throws {
    var tried = 0
    for kind in FaultKind.allCases {
      let isChange = ![.open, .read, .entries, .openLock, .lock].contains(kind)
      for code in kind == .write ? [Self.inputOutput, Self.noSpace] : [Self.inputOutput] {
        // There are hundreds of readings, much alike.
        for skip in stride(from: 0, to: 400, by: isChange ? 1 : 7) {
          let (didFail, problem) = try runWithFault(kind, after: skip, code: code)
          #expect(problem == nil, "\(kind), after \(skip), errno \(code)")
          guard didFail else { break }
          tried += 1
        }
      }
    }
    #expect(tried > 100)
  }

  /// A day of a store with one failure in it. What the store says it has, it must have, at the end and after a crash.
  private func runWithFault(_ kind: FaultKind, after skip: Int, code: Int32) throws -> (Bool, String?) {
    let files = MemoryFileSystem(root: "/store", recording: true)
    let store = TestStore(files: files, path: "/store")
    files.failNext(kind, after: skip, code: code, partialBytes: kind == .write ? 50 : nil)
    var didFail = false
    func attempt(_ body: () throws -> Void) {
      if storageFailure(body) != nil { didFail = true }
    }
    attempt { try store.create() }
    if didFail, let again = storageFailure({ try store.create() }), again.code != .exists {
      return (true, "cannot be created again: \(again)")
    }
    var acknowledged: [Commit] = []
    for round in 0..<3 {
      var opened: OpenStore?
      attempt { opened = try store.open(TestStore.options(seed: UInt64(round), segmentBytesMax: 4_600)) }
      guard let open = opened else { continue }
      for index in 0..<5 {
        attempt { acknowledged.append(try open.write(round * 10 + index, bytes: 200)) }
      }
      if round == 1 { attempt { _ = try open.log.seal() } }
      attempt { acknowledged.append(try open.write(round * 10 + 8)) }
      open.log.close()
      if round == 0 {
        // The fault may strike this look into the folder, too.
        var names: [String] = []
        attempt { names = try heartlogErrors { try store.names(of: open.replica) } }
        let tail = names.last { $0.hasSuffix(".open") || $0.hasSuffix(".suspect") }
        if let tail { try files.tear("/store/replicas/\(open.replica)/\(tail)") }
      }
    }
    files.clearFaults()
    return (didFail, try Self.problem(store, acknowledged) ?? crashed(files, acknowledged))
  }

  private func crashed(_ files: MemoryFileSystem, _ acknowledged: [Commit]) throws -> String? {
    for state in files.crashStates(after: files.crashPoints, sectorBytes: 512, limit: 2, seed: 9) {
      if let problem = try Self.problem(TestStore(files: state, path: "/store"), acknowledged) {
        return "after a crash: " + problem
      }
    }
    return nil
  }

  static func problem(_ store: TestStore, _ acknowledged: [Commit]) throws -> String? {
    do {
      let open = try store.open(TestStore.options(seed: 77))
      let last = try open.write(1_000)
      let commits = open.projection.commits
      let there = Set(commits)
      for commit in acknowledged where !there.contains(commit) { return "commit \(commit.number) is lost" }
      for (index, commit) in commits.enumerated() where commit.number.rawValue != UInt64(index + 1) {
        return "a gap before \(commit.number)"
      }
      if commits.last != last { return "the last commit is not the last" }
      if let finding = open.log.findings.first(where: { $0.verdict != .torn }) { return "\(finding)" }
      for stream in try store.verify() {
        if let finding = stream.finding { return "\(finding)" }
      }
      return nil
    } catch {
      return "\(error)"
    }
  }
}

extension MemoryFileSystem {
  fileprivate func clearTraceAndFail(_ kind: FaultKind, suffix: String?) throws {
    clearTrace()
    failNext(kind, onPathSuffix: suffix, code: 5)
  }
}
