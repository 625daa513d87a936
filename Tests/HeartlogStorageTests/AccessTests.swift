#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif
import HeartlogEvents
import HeartlogFiles
import Testing

@testable import HeartlogStorage

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
    #expect(try store.read().commits == a.sink.commits)
    try a.log.flush()
    var impatient = TestStore.options()
    impatient.lockMillisecondsMax = 5
    let b = try store.open(impatient)
    try b.write(2)
    if let files = place.files as? MemoryFileSystem {
      for state in files.crashStates(after: files.crashPoints, sectorBytes: 512, limit: 50, seed: 1) {
        #expect(try TestStore(files: state, path: store.path).read().commits == b.sink.commits)
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

  @Test("waiting for the lock is measured by a clock, however long each pause takes")
  func lockTimeOutByClock() throws {
    let (store, files) = try TestStore.inMemory()
    let holder = try files.openLock("\(store.path)/lock")
    #expect(try holder.tryLock())
    let clock = SlowPauses()
    let lock = try StoreLock(StoreDirectory(fileSystem: files, path: store.path), scheduler: clock)
    let error = storageFailure { try lock.acquire(waitingAtMost: 10_000) }
    #expect(error?.code == .locked && error?.reason.contains("10000 ms") == true)
    #expect(clock.uptimeNanoseconds() == 10_000_000_000)
  }

  /// Each pause takes a second, however short it was meant to be.
  private final class SlowPauses: Scheduler {
    private let seconds = Locked<UInt64>(0)

    func uptimeNanoseconds() -> UInt64 { seconds.withLock { $0 } * 1_000_000_000 }
    func sleep(microseconds: UInt32) { seconds.withLock { $0 += 1 } }
    func run(_ job: @escaping @Sendable () -> Void) { job() }
    func runUnhurried(_ job: @escaping @Sendable () -> Void) { job() }
    func run(afterMilliseconds delay: Int, _ job: @escaping @Sendable () -> Void) { job() }
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
    #expect(reader.sink.commits.count == 1 && reader.log.findings.isEmpty)
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
    #expect(remote.sink.commits == writer.sink.commits)
    let error = storageFailure { try remote.write(1) }
    #expect(error?.code == .readOnly && error?.reason.contains("network") == true)
    // The page of another machine cannot be seen there: only looking tells.
    #expect(remote.log.isBehind)
    try writer.write(1)
    try remote.log.refresh()
    #expect(remote.sink.commits == writer.sink.commits)
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
      #expect(second.sink.commits == open.sink.commits && second.log.findings.isEmpty)
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
