import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import Testing

@testable import HeartlogEngine

@Suite("What the lock holder does with a tail")
struct TailRecoveryTests {
  private let files: MemoryFileSystem
  private let replica: ReplicaID
  private let path: String
  /// The bytes of the own stream's segment, up to the end of its three commits.
  private let bytes: [UInt8]

  init() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    for index in 0..<3 { try open.write(index) }
    open.log.close()
    self.files = files
    replica = open.replica
    path = "/store/replicas/\(replica)/0000000000000001.open"
    let end = try #require(try LogParts(files.deepCopy()).streamSet.own.cursor?.offset)
    bytes = Array(try files.contents(of: path)[..<Int(end)])
  }

  /// After a restart of the machine, the lock page knows nothing.
  private func clearLockPage(of files: MemoryFileSystem) throws {
    try files.replaceContents(of: "/store/lock", with: [UInt8](repeating: 0, count: lockPageBytes))
  }

  private func folder(_ name: String) -> String { "/store/replicas/\(replica)/\(name)" }

  @Test("a sound tail is opened where it ends, and found ready the next time")
  func sound() throws {
    let parts = try LogParts(files)
    try parts.recovery.recover()
    let writer = try #require(parts.appender.writer)
    #expect(writer.offset == UInt64(bytes.count) && writer.durableOffset == writer.offset)
    #expect(parts.trace.isEmpty && parts.recovery.reports.isEmpty)
    let generation = parts.lease.lock.generation
    try parts.recovery.recover()
    #expect(parts.appender.writer === writer && parts.lease.lock.generation == generation)
  }

  @Test("a tail of which the page says nothing is made durable, with the names that lead to it")
  func silentPage() throws {
    try clearLockPage(of: files)
    let parts = try LogParts(files)
    try parts.recovery.recover()
    let name = "replicas/\(replica)"
    #expect(
      parts.trace == [
        "synchronizeDirectory \(name)", "synchronizeDirectory replicas", "synchronizeDirectory .",
        "synchronizeData \(name)/0000000000000001.open",
      ])
    let page = parts.lease.lock.page()
    #expect(page.replica == replica && page.durableBytes == UInt64(bytes.count))
  }

  @Test("torn bytes are kept aside, durably, before they are cut, and reported once")
  func torn() throws {
    try clearLockPage(of: files)
    try files.replaceContents(of: path, with: bytes + [1, 2, 3])
    let parts = try LogParts(files)
    #expect(parts.streamSet.findings.map(\.verdict) == [.torn])
    try parts.recovery.recover()
    #expect(try files.contents(of: path) == bytes)
    let cut = folder("0000000000000001.cut-\(bytes.count)")
    #expect(try files.contents(of: cut) == [1, 2, 3])
    #expect(parts.recovery.reports.map(\.verdict) == [.torn] && parts.streamSet.findings.isEmpty)
    #expect(parts.streamSet.identity.replica == replica)
    let steps = parts.trace.compactMap { $0.split(separator: " ").first }
    #expect(
      steps.prefix(6) == [
        "createFile", "write", "synchronize", "synchronizeDirectory", "truncate", "synchronize",
      ])
    try parts.recovery.recover()
    #expect(parts.recovery.reports.count == 1)

    // Another tear at the same place does not replace what was kept.
    let later = files.deepCopy()
    try clearLockPage(of: later)
    try later.replaceContents(of: path, with: bytes + [4])
    try LogParts(later).recovery.recover()
    #expect(try later.contents(of: cut) == [1, 2, 3] && later.contents(of: cut + ".2") == [4])
  }

  @Test("lost commits end the own stream, and the page forgets them only behind the new identity")
  func lost() throws {
    try files.replaceContents(of: path, with: Array(bytes.dropLast(8)))
    let parts = try LogParts(files)
    let recorded = parts.lease.lock.page()
    files.failNext(.rename, onPathSuffix: "store", code: 5)
    #expect(storageFailure { try parts.recovery.recover() }?.code == .inputOutput)
    #expect(parts.streamSet.identity.replica == replica)
    #expect(parts.lease.lock.page().durableBytes == recorded.durableBytes)
    #expect(parts.recovery.reports.isEmpty && parts.streamSet.findings.map(\.verdict) == [.lost])

    try parts.recovery.recover()
    let directory = StoreDirectory(fileSystem: files, path: "/store")
    let next = try StoreIdentity.read(directory).replica
    #expect(next != replica && parts.streamSet.identity.replica == next)
    #expect(parts.recovery.reports.map(\.verdict) == [.lost] && parts.streamSet.findings.isEmpty)
    #expect(parts.lease.lock.page().durableBytes == 0 && parts.appender.writer == nil)
  }

  @Test("an empty segment in place of the one with lost commits stays whole")
  func replaced() throws {
    var header = try bytes.withUnsafeBytes { try SegmentHeader.decode($0, file: path).header }
    header.id = SegmentID(words: (1, 2))
    try files.replaceContents(of: path, with: header.encoded())
    let parts = try LogParts(files)
    #expect(parts.streamSet.findings.map(\.verdict) == [.lost])
    try parts.recovery.recover()
    #expect(try files.contents(of: path) == header.encoded())
    #expect(parts.streamSet.identity.replica != replica && parts.recovery.reports.map(\.verdict) == [.lost])
  }

  @Test("the store does not go on with numbers that another replica has seen")
  func seenElsewhere() throws {
    let parts = try LogParts(files)
    try parts.recovery.recover()
    var tail = StreamTail(replica: ReplicaID(high: 7, low: 7))
    let head = Head(replica: replica, commit: CommitNumber(rawValue: 4))
    try tail.extend(
      by: Commit(
        replica: tail.replica, number: tail.next, firstSequence: tail.nextSequence,
        stamp: .lastOfClocks, wallTime: 0, heads: [head],
        records: [.event(Event(library: "papers", item: "a", action: .added))]))
    let directory = StoreDirectory(fileSystem: files, path: "/store")
    parts.streamSet.readers[tail.replica] = StreamReader(directory, replica: tail.replica, from: tail)
    try parts.recovery.recover()
    #expect(parts.streamSet.identity.replica != replica && parts.appender.writer == nil)
  }

  @Test("where anything is damaged, nothing is changed")
  func damaged() throws {
    var damaged = bytes
    damaged[SegmentHeader.byteCount + 50] ^= 1
    try files.replaceContents(of: path, with: damaged)
    let parts = try LogParts(files)
    let page = parts.lease.lock.page()
    let failure = storageFailure { try parts.recovery.recover() }
    #expect(failure?.code == .corrupt && failure?.file == path)
    #expect(parts.trace.isEmpty && parts.lease.lock.page() == page)
    #expect(parts.appender.writer == nil && parts.recovery.reports.isEmpty)
  }

  @Test("unfinished files are removed once, and looked for again when names have changed")
  func leftovers() throws {
    let leftover = folder("0000000000000001.sealed.tmp-1")
    _ = try files.open(leftover, .createNew)
    let parts = try LogParts(files)
    let own = parts.streamSet.own
    let structure = parts.lease.lock.structure
    try parts.recovery.resolve(own)
    #expect(try files.info(leftover) == nil)
    #expect(parts.lease.lock.structure == structure + 1 && own.resolvedStructure == structure + 1)

    _ = try files.open(leftover, .createNew)
    try parts.recovery.resolve(own)
    #expect(try files.info(leftover) != nil, "no name has changed since, as far as the page says")
    parts.lease.lock.update { $0.structure &+= 1 }
    try parts.recovery.resolve(own)
    #expect(try files.info(leftover) == nil)
  }
}
