import HeartlogCrashModel
import HeartlogFiles
import Testing

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

@Suite("The file system in memory")
struct MemoryFileSystemTests {
  @Test("the trace has a line for each operation, in order, with the file's name of the moment")
  func trace() throws {
    let files = MemoryFileSystem(root: "/home/store", recording: true)
    try files.createDirectory("/home/store")
    try files.synchronizeDirectory("/home")
    let file = try files.make("/home/store/temporary", [1, 2, 3])
    try file.put([1], at: 4096)
    try file.truncate(to: 100)
    try file.synchronize()
    try files.rename("/home/store/temporary", to: "/home/store/a")
    try files.synchronizeDirectory("/home/store")
    try file.put([1], at: 0)
    try file.synchronizeData()
    let lock = try files.openLock("/home/store/lock")
    #expect(try lock.tryLock())
    #expect(try lock.tryLock())
    lock.store(1, 1)
    lock.unlock()
    lock.unlock()
    _ = try files.open("/home/store/a", .read).size()
    try files.remove("/home/store/a")
    try file.synchronizeData()
    #expect(
      files.trace.map(\.description) == [
        "createDirectory .",
        "synchronizeDirectory /home",
        "createFile temporary",
        "write temporary 0+3",
        "write temporary 4096+1",
        "truncate temporary 100",
        "synchronize temporary",
        "rename temporary a",
        "synchronizeDirectory .",
        "write a 0+1",
        "synchronizeData a",
        "createFile lock",
        "write lock 0+4096",
        "lock lock",
        "unlock lock",
        "remove a",
        "synchronizeData a (removed)",
      ])
    files.clearTrace()
    #expect(files.trace.isEmpty)
  }

  @Test("nothing is recorded where nothing is asked for")
  func silent() throws {
    let files = MemoryFileSystem()
    let file = try files.make("a", [1, 2])
    try file.synchronizeData()
    try files.rename("a", to: "b")
    #expect(files.trace.isEmpty)
    #expect(files.crashPoints == 0)
    #expect(try files.bytes("b") == [1, 2])
  }

  @Test("the fault strikes the operation it was meant for, and does nothing of it")
  func faults() throws {
    let files = MemoryFileSystem(recording: true)
    let a = try files.make("a")
    let b = try files.make("b")
    files.failNext(.synchronizeData, onPathSuffix: "b", after: 1, code: EIO)
    try a.synchronizeData()
    try b.synchronizeData()
    try a.synchronizeData()
    try b.synchronize()
    #expect(failure { try b.synchronizeData() } == EIO)
    try b.synchronizeData()

    files.failNext(.rename, onPathSuffix: "c", code: ENOSPC)
    #expect(failure { try files.rename("a", to: "c") } == ENOSPC)
    files.failNext(.truncate, code: EIO)
    #expect(failure { try a.truncate(to: 5) } == EIO)
    files.failNext(.remove, code: EIO)
    #expect(failure { try files.remove("a") } == EIO)
    files.failNext(.createFile, code: ENOSPC)
    #expect(failure { try files.make("d") } == ENOSPC)
    files.failNext(.createDirectory, code: ENOSPC)
    #expect(failure { try files.createDirectory("d") } == ENOSPC)
    files.failNext(.synchronizeDirectory, code: EIO)
    #expect(failure { try files.synchronizeDirectory("/") } == EIO)
    files.failNext(.read, code: EIO)
    #expect(failure { _ = try a.bytes(at: 0, count: 1) } == EIO)
    files.failNext(.open, code: EMFILE)
    #expect(failure { _ = try files.open("a", .read) } == EMFILE)
    files.failNext(.entries, code: EIO)
    #expect(failure { _ = try files.entries(of: "/") } == EIO)
    files.failNext(.openLock, code: ENOSPC)
    #expect(failure { _ = try files.openLock("lock") } == ENOSPC)
    #expect(try files.entries(of: "/") == ["a", "b"])
    #expect(try a.size() == 0)
    #expect(files.trace.contains(.failed(.rename(from: "a", to: "c"))))
    #expect(files.trace.contains { $0.description == "failed synchronizeData b" })
  }

  @Test("a write that fails may leave its first part")
  func partialWrite() throws {
    let files = MemoryFileSystem(recording: true)
    let file = try files.make("a", [1, 2])
    files.clearTrace()
    files.failNext(.write, code: ENOSPC, partialBytes: 2, times: 2)
    #expect(failure { try file.put([3, 4, 5], at: 2) } == ENOSPC)
    #expect(failure { try file.put([6], at: 2) } == ENOSPC)
    try file.put([7], at: 0)
    #expect(try files.contents(of: "a") == [7, 2, 6, 4])
    #expect(
      files.trace.map(\.description) == [
        "write a 2+2", "failed write a 2+3", "write a 2+1", "failed write a 2+1", "write a 0+1",
      ])
    files.failNext(.write, code: ENOSPC)
    files.clearFaults()
    try file.put([7], at: 0)
  }

  @Test("a read-only place refuses every change and nothing else")
  func readOnly() throws {
    let files = MemoryFileSystem(recording: true)
    let file = try files.make("a", [1])
    files.isReadOnly = true
    #expect(failure { try file.put([2], at: 0) } == EROFS)
    #expect(failure { try file.truncate(to: 0) } == EROFS)
    #expect(failure { _ = try files.open("a", .readWrite) } == EROFS)
    #expect(failure { _ = try files.open("b", .createNew) } == EROFS)
    #expect(failure { try files.createDirectory("b") } == EROFS)
    #expect(failure { try files.rename("a", to: "b") } == EROFS)
    #expect(failure { try files.remove("a") } == EROFS)
    #expect(try files.bytes("a") == [1])
  }

  @Test("a restart keeps all that was done, and neither locks nor open files")
  func restart() throws {
    let files = MemoryFileSystem(recording: true)
    files.machineID = [1, 2]
    files.processID = 77
    files.onNetwork = true
    let file = try files.make("a", [1])
    let gone = try files.make("gone", [1])
    try files.remove("gone")
    let lock = try files.openLock("lock")
    #expect(try lock.tryLock())
    lock.store(5, 5)
    let restarted = files.deepCopy()
    try file.put([2], at: 0)
    try gone.put([2], at: 0)
    lock.store(6, 5)
    #expect(try restarted.contents(of: "a") == [1])
    #expect(try restarted.entries(of: "/") == ["a", "lock"])
    let other = try restarted.openLock("lock")
    #expect(try other.tryLock())
    #expect(other.load(5) == 5)
    #expect(restarted.machineID == [1, 2])
    #expect(restarted.processID == 77)
    #expect(try restarted.isOnNetwork("a"))
    #expect(restarted.trace == [.lock(path: "lock")])
  }

  @Test("contents can be changed behind everybody's back")
  func corruption() throws {
    let files = MemoryFileSystem(recording: true)
    let file = try files.make("a", [1, 2, 3])
    files.clearTrace()
    try files.replaceContents(of: "a", with: [9])
    #expect(try file.bytes(at: 0, count: 9) == [9])
    #expect(files.trace.isEmpty)
    #expect(failure { try files.replaceContents(of: "b", with: []) } == ENOENT)
    #expect(failure { _ = try files.contents(of: "/") } == EISDIR)
  }

  @Test("threads do not disturb each other")
  func threads() async throws {
    let files = MemoryFileSystem(recording: true)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        group.addTask {
          let file = try files.make("\(number)")
          for step in 0..<200 { try file.put([UInt8(number)], at: UInt64(step)) }
          try files.rename("\(number)", to: "done-\(number)")
        }
      }
      try await group.waitForAll()
    }
    for number in 0..<8 {
      #expect(try files.contents(of: "done-\(number)") == [UInt8](repeating: UInt8(number), count: 200))
    }
    #expect(files.crashPoints == 8 * 202)
  }
}
