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
import Testing

@testable import HeartlogEngine

@Suite("Who may write")
struct AccessTests {
  @Test("buffered commits keep the lock until they are flushed", arguments: FileSystemKind.allCases)
  func lease(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    let store = try place.store()
    (place.files as? MemoryFileSystem)?.startJournal()
    let a = try store.open()
    try a.write(0, .buffered)
    try a.write(1, .buffered)
    // Others see it before it is durable.
    #expect(try store.read().commits == a.projection.commits)
    try a.log.flush()
    var impatient = TestStore.options()
    impatient.lockMillisecondsMax = 5
    let b = try store.open(impatient)
    try b.write(2)
    if let files = place.files as? MemoryFileSystem {
      for state in files.crashStates(after: files.crashPoints, sectorBytes: 512, limit: 50, seed: 1) {
        #expect(try TestStore(files: state, path: store.path).read().commits == b.projection.commits)
      }
    }
  }

  @Test("whoever waits too long for the lock is told", arguments: FileSystemKind.allCases)
  func lockTimeOut(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    let store = try place.store()
    var options = TestStore.options()
    options.lockMillisecondsMax = 3
    let open = try store.open(options)
    let holder = try place.files.openLock("\(store.path)/lock")
    #expect(try holder.tryLock())
    let error = storageFailure { try open.write(1) }
    #expect(error?.code == .locked && error?.file == "\(store.path)/lock")
    #expect(storageFailure { _ = try open.log.seal() }?.code == .locked)
    try open.log.refresh()
    holder.unlock()
    try open.write(1)
  }

  @Test("a thread that waits for another one to get the lock is told when that one gives up")
  func waitingForAnotherThread() throws {
    let (store, files) = try TestStore.inMemory()
    let intercepted = InterceptedFiles(files)
    let scheduler = ManualScheduler()
    var options = TestStore.options()
    options.scheduler = scheduler
    options.lockMillisecondsMax = 10
    let open = try TestStore(files: intercepted, path: store.path).open(options)
    let holder = try files.openLock("\(store.path)/lock")
    #expect(try holder.tryLock())
    let second = Monitor<TestThread?>(nil)
    let secondError = Monitor<HeartlogError?>(nil)
    scheduler.beforeSleep {
      guard second.withLock({ $0 == nil }) else { return }
      let isInside = Monitor(false)
      intercepted.change { $0.beforeProcessID = { isInside.withLock { $0 = true } } }
      second.withLock {
        $0 = TestThread {
          let error = storageFailure { try open.write(2) }
          secondError.withLock { $0 = error }
        }
      }
      while !isInside.withLock({ $0 }) { sched_yield() }
      // It leaves the monitor when it waits.
      open.log.monitor.withLock {}
    }
    #expect(storageFailure { try open.write(1) }?.code == .locked)
    second.withLock { $0 }?.join()
    #expect(secondError.withLock { $0?.code } == .locked)
    holder.unlock()
    #expect(try open.write(3).number.rawValue == 1)
  }

  @Test("waiting for the lock is measured by a clock, however long each pause takes")
  func lockTimeOutByClock() throws {
    let (store, files) = try TestStore.inMemory()
    let holder = try files.openLock("\(store.path)/lock")
    #expect(try holder.tryLock())
    let clock = SlowPauses()
    var options = StorageOptions()
    options.scheduler = clock
    let lock = try StoreLock(StoreDirectory(fileSystem: files, path: store.path), options)
    let error = storageFailure { try lock.acquire(waitingAtMost: 10_000) }
    #expect(error?.code == .locked && error?.message.contains("10000 ms") == true)
    #expect(clock.uptimeNanoseconds() == 10_000_000_000)
  }

  /// Each pause takes a second, however short it was meant to be.
  private final class SlowPauses: Scheduler {
    private let seconds = Monitor<UInt64>(0)

    func uptimeNanoseconds() -> UInt64 { seconds.withLock { $0 } * 1_000_000_000 }
    func sleep(microseconds: UInt32) { seconds.withLock { $0 += 1 } }
    func run(_ job: @escaping @Sendable () -> Void) { job() }
    func runAtLowPriority(_ job: @escaping @Sendable () -> Void) { job() }
    func run(afterMilliseconds delay: Int, _ job: @escaping @Sendable () -> Void) -> Bool {
      job()
      return true
    }
  }

  /// What the system says of the process that holds a lock.
  private final class HeldFiles: LayeredFileSystem {
    let below: any FileSystem
    private let holder: @Sendable () -> LockHolder?
    /// How often `openLock` fails because another process extends the file.
    private let busyCount: Monitor<Int>

    init(_ below: any FileSystem, heldBy holder: @escaping @Sendable () -> LockHolder?, busyCount: Int = 0) {
      self.below = below
      self.holder = holder
      self.busyCount = Monitor(busyCount)
    }

    func lockHolder(of path: String) -> LockHolder? { holder() }
    func openLock(_ path: String) throws(HeartlogError) -> any LockFile {
      let isBusy = busyCount.withLock { count in
        count -= 1
        return count >= 0
      }
      if isBusy { throw HeartlogError(operation: "open", path: path, code: EWOULDBLOCK) }
      return try below.openLock(path)
    }
  }

  private func refusal(
    heldBy holder: LockHolder?, milliseconds: Int = 10_000
  ) throws -> (error: HeartlogError?, waitedMilliseconds: UInt64) {
    try refusal(milliseconds: milliseconds) { _ in holder }
  }

  /// - Parameter holder: who holds the lock after so many milliseconds.
  private func refusal(
    milliseconds: Int = 10_000, heldBy holder: @escaping @Sendable (_ milliseconds: UInt64) -> LockHolder?
  ) throws -> (error: HeartlogError?, waitedMilliseconds: UInt64) {
    let (store, files) = try TestStore.inMemory()
    let held = try files.openLock("\(store.path)/lock")
    #expect(try held.tryLock())
    let clock = ShortPauses()
    var options = StorageOptions()
    options.scheduler = clock
    let heldFiles = HeldFiles(files) { holder(clock.uptimeNanoseconds() / 1_000_000) }
    let directory = StoreDirectory(fileSystem: heldFiles, path: store.path)
    let lock = try StoreLock(directory, options)
    let error = storageFailure { try lock.acquire(waitingAtMost: milliseconds) }
    return (error, clock.uptimeNanoseconds() / 1_000_000)
  }

  @Test("the error of a wait names the process that has the lock")
  func lockHolderIsNamed() throws {
    let busy = try refusal(heldBy: LockHolder(process: 4_711, name: "heartlog"))
    #expect(busy.error?.code == .locked && busy.waitedMilliseconds == 10_000)
    #expect(busy.error?.message == "process 4711 (heartlog) has been writing to the store for 10000 ms")
    let unknown = try refusal(heldBy: nil)
    #expect(unknown.error?.message == "another process has been writing to the store for 10000 ms")
  }

  @Test("nobody waits longer than a second for a process that is stopped")
  func stoppedLockHolder() throws {
    let stopped = LockHolder(process: 4_711, name: "heartlog", isStopped: true)
    let found = try refusal(heldBy: stopped)
    #expect(found.error?.code == .locked && found.waitedMilliseconds <= 1_000)
    #expect(
      found.error?.message
        == "process 4711 (heartlog) holds the store's lock and is stopped: continue it, or end it")
    // A short wait is over before that is certain.
    #expect(try refusal(heldBy: stopped, milliseconds: 10).waitedMilliseconds == 10)
  }

  @Test("nor for one that goes on for a moment and is stopped again")
  func lockHolderStoppedAgain() throws {
    for start in stride(from: 0 as UInt64, to: 1_000, by: 10) {
      let found = try refusal { milliseconds in
        LockHolder(process: 4_711, isStopped: !(start..<start + 30).contains(milliseconds))
      }
      #expect(found.error?.code == .locked && found.waitedMilliseconds <= 1_000, "goes on after \(start) ms")
    }
  }

  @Test("a wait does not end because the process that waits was stopped itself", arguments: [500, 10_000])
  func stoppedWaiter(milliseconds: Int) throws {
    let (store, files) = try TestStore.inMemory()
    let held = try files.openLock("\(store.path)/lock")
    #expect(try held.tryLock())
    let clock = ShortPauses()
    // Whoever continues both may begin with the one that waits.
    let isHolderStopped = Monitor(true)
    clock.afterPause { pauses in
      switch pauses {
      case 10: clock.advance(byMilliseconds: 3_600_000)
      case 12: isHolderStopped.withLock { $0 = false }
      case 20: held.unlock()
      default: break
      }
    }
    var options = StorageOptions()
    options.scheduler = clock
    let heldFiles = HeldFiles(files) {
      LockHolder(process: 4_711, isStopped: isHolderStopped.withLock { $0 })
    }
    let lock = try StoreLock(StoreDirectory(fileSystem: heldFiles, path: store.path), options)
    try lock.acquire(waitingAtMost: milliseconds)
  }

  @Test("a lock file that another process makes is waited for, and not for ever")
  func busyLockFile() throws {
    let (store, files) = try TestStore.inMemory()
    let clock = ShortPauses()
    var options = StorageOptions()
    options.scheduler = clock
    func open(busyCount: Int) throws(HeartlogError) -> StoreLock {
      let held = HeldFiles(files, heldBy: { LockHolder(process: 4_711) }, busyCount: busyCount)
      return try StoreLock(StoreDirectory(fileSystem: held, path: store.path), options)
    }
    #expect(try open(busyCount: 5).hasPage)
    #expect(storageFailure { _ = try open(busyCount: .max) }?.code == .locked)
  }

  /// Each pause takes a millisecond.
  private final class ShortPauses: Scheduler {
    private let milliseconds = Monitor<UInt64>(0)
    private let pauses = Monitor(0)
    private let paused = Monitor<(@Sendable (_ pauses: Int) -> Void)?>(nil)

    /// Calls `body` after each pause, with the number of pauses so far.
    func afterPause(_ body: @escaping @Sendable (_ pauses: Int) -> Void) { paused.withLock { $0 = body } }
    func advance(byMilliseconds count: UInt64) { milliseconds.withLock { $0 += count } }

    func uptimeNanoseconds() -> UInt64 { milliseconds.withLock { $0 } * 1_000_000 }
    func sleep(microseconds: UInt32) {
      advance(byMilliseconds: 1)
      let count = pauses.withLock { pauses in
        pauses += 1
        return pauses
      }
      paused.withLock { $0 }?(count)
    }
    func run(_ job: @escaping @Sendable () -> Void) { job() }
    func runAtLowPriority(_ job: @escaping @Sendable () -> Void) { job() }
    func run(afterMilliseconds delay: Int, _ job: @escaping @Sendable () -> Void) -> Bool {
      job()
      return true
    }
  }

  @Test("after a fork, and after it was closed, a log throws")
  func misuse() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    try open.write(0, .buffered)
    files.processID = 2
    #expect(storageFailure { try open.write(1) }?.code == .misuse)
    #expect(storageFailure { try open.log.refresh() }?.code == .misuse)
    #expect(storageFailure { try open.log.flush() }?.code == .misuse)
    files.processID = 1
    open.log.close()
    #expect(storageFailure { try open.write(1) }?.code == .misuse)
    #expect(storageFailure { try open.log.refresh() }?.code == .misuse)
    #expect(storageFailure { try open.log.flush() }?.code == .misuse)
    #expect(storageFailure { _ = try open.log.seal() }?.code == .misuse)
    open.log.close()
    #expect(try store.read().commits.count == 1)
  }

  @Test("closing after a fork leaves the lock to the process that has it")
  func closingAfterFork() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    let other = try store.open(
      {
        var options = TestStore.options()
        options.lockMillisecondsMax = 2
        return options
      }())
    try open.log.withQueueHeld {
      // The lock is taken by staging, and kept while the line is held.
      let queued = open.queuedCount
      let thread = TestThread { _ = try? open.write(0) }
      while open.queuedCount == queued { sched_yield() }
      #expect(storageFailure { try other.write(1) }?.code == .locked)
      files.processID = 2
      open.log.close()
      files.processID = 1
      #expect(storageFailure { try other.write(1) }?.code == .locked)
      return thread
    }.join()
  }

  @Test("a read-only file system is read, and not written")
  func readOnlyFiles() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    try open.write(0)
    open.log.close()
    files.isReadOnly = true
    let reader = try store.open()
    #expect(reader.projection.commits.count == 1 && reader.log.findings.isEmpty)
    #expect(storageFailure { try reader.write(1) }?.code == .readOnly)
    #expect(storageFailure { _ = try reader.log.seal() }?.code == .readOnly)
    try reader.log.refresh()
    #expect(try store.verify()[0].finding == nil)
    let elsewhere = storageFailure { try TestStore(files: files, path: "/other").create() }
    #expect(elsewhere?.code == .readOnly)
  }

  @Test("a store opened for reading, or on a network file system, is not written")
  func readers() throws {
    let (store, files) = try TestStore.inMemory()
    let writer = try store.open()
    try writer.write(0)
    let reader = try store.open(TestStore.options(access: .readOnly))
    #expect(storageFailure { try reader.write(1) }?.code == .readOnly)
    files.onNetwork = true
    let remote = try store.open()
    #expect(remote.projection.commits == writer.projection.commits)
    let error = storageFailure { try remote.write(1) }
    #expect(error?.code == .readOnly && error?.message.contains("network") == true)
    // The page of another machine cannot be seen there: only looking tells.
    #expect(remote.log.seen.isCurrent && remote.log.watch {} == nil)
    try writer.write(1)
    try remote.log.refresh()
    #expect(remote.projection.commits == writer.projection.commits)
    let elsewhere = storageFailure { try TestStore(files: files, path: "/other").create() }
    #expect(elsewhere?.code == .readOnly)
  }

  @Test("a copied folder, or another machine, writes under a new replica and keeps the old stream")
  func copies() throws {
    for isMachine in [true, false] {
      let place = try TestPlace(.memory)
      let store = try place.store()
      let files = try #require(place.files as? MemoryFileSystem)
      let open = try store.open()
      for index in 0..<4 { try open.write(index) }
      _ = try open.log.seal()
      for index in 4..<6 { try open.write(index) }
      open.log.close()
      let copy: TestStore
      if isMachine {
        files.machineID = Array("another".utf8)
        copy = store
      } else {
        copy = TestStore(files: files, path: place.path("copy"))
        try files.copyTree(store.path, to: copy.path)
      }
      let second = try copy.open()
      #expect(second.projection.commits == open.projection.commits && second.log.findings.isEmpty)
      #expect(second.replica == open.replica, "reading alone changes nothing")
      let renewed = try second.write(10)
      #expect(second.replica != open.replica && renewed.replica == second.replica)
      #expect(renewed.heads == [Head(replica: open.replica, commit: CommitNumber(rawValue: 6))])
      #expect(try second.write(11).number.rawValue == 2)
      second.log.close()
      let third = try copy.open()
      #expect(try third.write(12).number.rawValue == 3)
      let verified = try copy.verify()
      #expect(verified.map(\.finding).allSatisfy { $0 == nil } && verified.count == 2)
      #expect(verified.first { $0.isOwn }?.replica == second.replica)
      // What was its own stream is sealed like any other.
      _ = try third.log.seal()
      #expect(try copy.names(of: open.replica).count == 1)
      #expect(try copy.verify().allSatisfy { $0.finding == nil })
      if !isMachine {
        #expect(try store.open().write(13).replica == open.replica)
      }
    }
  }
}

extension MemoryFileSystem {
  func copyTree(_ path: String, to newPath: String) throws {
    try createDirectory(newPath)
    for name in try entries(of: path) {
      if try info("\(path)/\(name)")?.kind == .directory {
        try copyTree("\(path)/\(name)", to: "\(newPath)/\(name)")
      } else {
        try open("\(newPath)/\(name)", .createNew).write(try contents(of: "\(path)/\(name)"), at: 0)
      }
    }
  }
}
