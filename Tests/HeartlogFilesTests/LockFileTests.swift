import HeartlogFormat
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

@Suite("Lock files")
struct LockFileTests {
  @Test("one open holds the lock at a time", arguments: FileSystemKind.allCases)
  func exclusion(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    let first = try place.files.openLock(place.path("lock"))
    let second = try place.files.openLock(place.path("lock"))
    #expect(try first.tryLock())
    #expect(try first.tryLock())
    #expect(try !second.tryLock())
    second.unlock()
    #expect(try !second.tryLock())
    first.unlock()
    #expect(try second.tryLock())
    #expect(try !first.tryLock())
  }

  @Test(
    "every open that watches is told of an announcement, until it lets go", arguments: FileSystemKind.allCases
  )
  func announcements(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    let writer = try place.files.openLock(place.path("lock"))
    let others = [try place.files.openLock(place.path("lock")), try place.files.openLock(place.path("lock"))]
    let told = Monitor([0, 0])
    func wait(_ isDone: ([Int]) -> Bool) { while !told.withLock({ isDone($0) }) { sched_yield() } }
    var watches: [(any LockFileWatch)?] = []
    for index in 0...1 { watches.append(try others[index].watch { told.withLock { $0[index] += 1 } }) }
    #expect(try writer.tryLock())
    writer.announce()
    wait { $0[0] > 0 && $0[1] > 0 }
    watches[0] = nil
    let before = told.withLock { $0 }
    writer.announce()
    wait { $0[1] > before[1] }
    #expect(told.withLock { $0[0] } == before[0])
  }

  @Test("increments of several opens all count", arguments: FileSystemKind.allCases)
  func increments(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    let first = try place.files.openLock(place.path("lock"))
    let second = try place.files.openLock(place.path("lock"))
    first.increment(12)
    second.increment(12)
    #expect(first.load(12) == 2 && first.isWritable)
  }

  @Test("closing gives the lock back", arguments: FileSystemKind.allCases)
  func closing(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    var first: (any LockFile)? = try place.files.openLock(place.path("lock"))
    let second = try place.files.openLock(place.path("lock"))
    #expect(try first?.tryLock() == true)
    first = nil
    #expect(try second.tryLock())
  }

  @Test(
    "a lock whose name stands for another file is refused: it would exclude nobody",
    arguments: FileSystemKind.allCases)
  func replaced(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    let lock = try place.files.openLock(place.path("lock"))
    #expect(try lock.tryLock())
    try place.files.remove(place.path("lock"))
    #expect(try lock.tryLock(), "held is held")
    lock.unlock()
    #expect(failure { _ = try lock.tryLock() } == ENOENT)
    #expect(try place.files.openLock(place.path("lock")).tryLock())
    #expect(failure { _ = try lock.tryLock() } == ESTALE)
    lock.store(7, 3)
    #expect(lock.load(3) == 7)
  }

  @Test("the file stays open between two locks, until it rests; a held lock does not rest")
  func resting() throws {
    let place = try TestPlace(.posix)
    let lock = try place.files.openLock(place.path("lock"))
    let other = try place.files.openLock(place.path("lock"))
    #expect(!lock.isOpen)
    #expect(try lock.tryLock())
    lock.rest()
    #expect(try lock.isOpen && !other.tryLock())
    lock.unlock()
    #expect(lock.isOpen)
    lock.rest()
    #expect(!lock.isOpen)
    #expect(try other.tryLock())
    #expect(try !lock.tryLock())
    lock.rest()
    #expect(!lock.isOpen, "a try that failed holds nothing")
  }

  @Test("all opens see the same 512 words, which are in the file", arguments: FileSystemKind.allCases)
  func words(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    let first = try place.files.openLock(place.path("lock"))
    #expect(try place.files.info(place.path("lock"))?.size == 4096)
    let second = try place.files.openLock(place.path("lock"))
    first.store(.max, 0)
    second.store(0x0102_0304_0506_0708, 511)
    #expect(second.load(0) == .max)
    #expect(first.load(511) == 0x0102_0304_0506_0708)
    #expect(first.load(1) == 0)
    let bytes = try place.files.bytes(place.path("lock"))
    #expect(bytes.prefix(8) == [255, 255, 255, 255, 255, 255, 255, 255])
    let third = try place.files.openLock(place.path("lock"))
    #expect(third.load(511) == 0x0102_0304_0506_0708)
  }

  @Test("a short lock file is filled with zeros behind what it has", arguments: FileSystemKind.allCases)
  func short(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    try place.files.make(place.path("lock"), [1])
    let lock = try place.files.openLock(place.path("lock"))
    lock.store(2, 511)
    #expect(lock.load(0).littleEndian & 0xff == 1)
    #expect(try place.files.bytes(place.path("lock")).count == 4096)
  }

  @Test("a short lock file that another process fills is not waited for, and its holder is named")
  func heldShort() throws {
    let place = try TestPlace(.posix)
    let path = place.path("lock")
    let descriptor = open(path, O_RDWR | O_CREAT, 0o600)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    try #require(flock(descriptor, LOCK_EX) == 0)
    expectFailure("open", path, EWOULDBLOCK) {
      _ = try place.files.openLock(path)
    }
    #if os(Linux)
      let holder = try #require(place.files.lockHolder(of: path))
      #expect(holder.process == getpid() && holder.name?.isEmpty == false && !holder.isStopped)
    #endif
    try #require(flock(descriptor, LOCK_UN) == 0)
    #expect(try place.files.openLock(path).tryLock())
  }

  @Test("a lock in a folder that is not there cannot be made", arguments: FileSystemKind.allCases)
  func missingFolder(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    #expect(failure { _ = try place.files.openLock(place.path("none/lock")) } == ENOENT)
  }

  @Test("where memory cannot be written, words are loaded and the lock is refused")
  func readOnlyMemory() throws {
    let files = MemoryFileSystem(recording: true)
    try files.openLock("lock").store(7, 3)
    files.isReadOnly = true
    let lock = try files.openLock("lock")
    #expect(lock.load(3) == 7)
    #expect(failure { _ = try lock.tryLock() } == EROFS)
    let missing = try files.openLock("missing")
    #expect(missing.load(3) == 0)
    #expect(failure { _ = try missing.tryLock() } == EROFS)
    #expect(try files.entries(of: "/") == ["lock"])
  }

  @Test(
    "where the system's files cannot be written, words are loaded and the lock is refused",
    .enabled(if: geteuid() != 0, "root may write everything"))
  func readOnlySystem() throws {
    let place = try TestPlace(.posix)
    try place.files.openLock(place.path("lock")).store(7, 3)
    #expect(chmod(place.path("lock"), 0o444) == 0)
    try place.files.make(place.path("short"), [1])
    #expect(chmod(place.path("short"), 0o444) == 0)
    #expect(chmod(place.root, 0o555) == 0)
    defer { chmod(place.root, 0o755) }
    let lock = try place.files.openLock(place.path("lock"))
    #expect(lock.load(3) == 7)
    #expect(failure { _ = try lock.tryLock() } == EACCES)
    let short = try place.files.openLock(place.path("short"))
    #expect(short.load(0).littleEndian == 1)
    #expect(short.load(511) == 0)
    let missing = try place.files.openLock(place.path("missing"))
    #expect(missing.load(3) == 0)
    #expect(failure { _ = try missing.tryLock() } == EACCES)
  }
}
