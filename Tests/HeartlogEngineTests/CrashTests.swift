import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import HeartlogEngine
import Testing

@Suite("The power goes at every moment")
struct CrashTests {
  private static let small = TestStore.options(segmentBytesMax: 5_000)

  @Test("while a store is created", arguments: [("/store", "/store"), ("/", "/folders/above/store")])
  func creation(root: String, path: String) throws {
    let files = MemoryFileSystem(root: root, recording: true)
    files.startJournal()
    let store = TestStore(files: files, path: path)
    try store.create()
    var check = CrashCheck(files)
    check.path = path
    check.createdAt = files.crashPoints
    try check.run()
  }

  @Test("while the first commits are written")
  func firstCommits() throws {
    let (store, files) = try TestStore.inMemory()
    files.startJournal()
    var check = CrashCheck(files)
    let open = try store.open()
    for index in 0..<3 { check.acknowledge([try open.write(index, bytes: 700)]) }
    try check.run()
  }

  @Test("while 64 commits are written as one batch")
  func batch() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    let first = try open.write(0)
    files.startJournal()
    var check = CrashCheck(files, before: [first])
    // One write, and so one batch: the others stand in line while the first one's turn comes.
    let commits = try open.writeTogether(1..<65, bytes: 150)
    check.acknowledge(commits)
    #expect(files.crashPoints == 2)
    try check.run()
  }

  @Test("while buffered commits are written and flushed")
  func buffered() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    let first = try open.write(0)
    files.startJournal()
    var check = CrashCheck(files, before: [first])
    var commits: [Commit] = []
    for round in 0..<2 {
      for index in 0..<5 {
        let commit = try open.write(1 + round * 5 + index, .buffered, bytes: 400)
        commits.append(commit)
        check.attempted[commit.number] = commit
      }
      try open.log.flush()
      check.acknowledge(commits)
      commits = []
    }
    try check.run(limit: 200)
  }

  @Test("while segments rotate, with buffered commits behind")
  func rotation() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open(Self.small)
    let first = try open.write(0)
    files.startJournal()
    var check = CrashCheck(files, before: [first])
    var unflushed: [Commit] = []
    for index in 1..<9 {
      let commit = try open.write(index, index % 3 == 0 ? .durable : .buffered, bytes: 600)
      check.attempted[commit.number] = commit
      unflushed.append(commit)
      if index % 3 == 0 {
        check.acknowledge(unflushed)
        unflushed = []
      }
    }
    #expect(try store.names(of: open.replica).count > 3)
    try check.run(limit: 100)
  }

  @Test("while the tail is sealed")
  func sealing() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    let commits = try (0..<20).map { try open.write($0) }
    files.startJournal()
    var check = CrashCheck(files, before: commits)
    #expect(try open.log.seal().sealedFiles == 1)
    check.acknowledge([try open.write(20)])
    try check.run()
  }

  @Test("while sealed and open neighbours are joined, and while these are joined again")
  func joining() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open(Self.small)
    var commits = try (0..<4).map { try open.write($0, bytes: 400) }
    _ = try open.log.seal()
    commits += try (4..<9).map { try open.write($0, bytes: 400) }
    #expect(try store.names(of: open.replica).count == 4)
    files.startJournal()
    var check = CrashCheck(files, before: commits)
    #expect(try open.log.seal().replacedFiles == 4)
    check.acknowledge([try open.write(9)])
    #expect(try open.log.seal().replacedFiles == 2)
    try check.run()
  }

  @Test("while a torn tail is cut")
  func cut() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    let commits = try (0..<3).map { try open.write($0, bytes: 900) }
    open.log.close()
    let path = "/store/replicas/\(open.replica)/0000000000000001.open"
    var bytes = try files.contents(of: path)
    let end = bytes.lastIndex { $0 != 0 } ?? 0
    for offset in end + 1_000..<end + 5_000 { bytes[offset] = UInt8(truncatingIfNeeded: offset) | 1 }
    try files.replaceContents(of: path, with: bytes)
    files.startJournal()
    var check = CrashCheck(files, before: commits)
    check.acknowledge([try store.open().write(3)])
    #expect(try store.names(of: open.replica).contains { $0.contains(".cut-") })
    try check.run()
  }

  @Test("while a batch is cut of which all but the first commit is whole", arguments: [false, true])
  func cutOfWholeFrames(_ isPageSilent: Bool) throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    let first = try open.write(0)
    let page = try files.contents(of: "/store/lock")
    _ = try open.writeTogether(1..<4, bytes: 1_100)
    open.log.close()
    let path = "/store/replicas/\(open.replica)/0000000000000001.open"
    var bytes = try files.contents(of: path)
    for offset in 4_192..<4_608 { bytes[offset] = 0 }
    try files.replaceContents(of: path, with: bytes)
    try files.replaceContents(of: "/store/lock", with: isPageSilent ? page.map { _ in 0 } : page)
    files.startJournal()
    var check = CrashCheck(files, before: [first])
    let second = try store.open()
    #expect(second.log.findings.map(\.verdict) == [.torn])
    // As long as the one that was torn: what is whole behind it would follow it.
    check.acknowledge([try second.write(1, bytes: 1_100)])
    check.acknowledge([try second.write(2, bytes: 1_100)])
    try check.run()
  }

  @Test("after a batch that failed half way: what was reported as not written does not come back")
  func failedBatch() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    let first = try open.write(0)
    files.startJournal()
    files.failNext(.write, code: 28, partialBytes: 700)
    #expect(storageFailure { _ = try open.writeTogether(1..<5, bytes: 200) }?.code == .diskFull)
    for state in files.crashStates(after: files.crashPoints, sectorBytes: 512, limit: 300, seed: 1) {
      let read = try TestStore(files: state, path: "/store").read()
      #expect(read.commits == [first] && read.findings.isEmpty)
    }
    for index in 5..<7 { try open.write(index, bytes: 200) }
    for state in files.crashStates(after: files.crashPoints, sectorBytes: 512, limit: 50, seed: 1) {
      #expect(try TestStore(files: state, path: "/store").read().commits == open.projection.commits)
    }
  }

  @Test("after an fsync that failed, and while its segment is replaced")
  func suspect() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    let commits = try (0..<3).map { try open.write($0, bytes: 300) }
    files.startJournal()
    var check = CrashCheck(files, before: commits)
    files.failNext(.synchronizeData, code: 5)
    var attempted: Commit?
    let error = storageFailure { attempted = try open.write(3, bytes: 300) }
    #expect(error?.code == .outcomeUnknown && attempted == nil)
    open.log.close()
    let second = try store.open()
    let last = try second.write(4)
    for commit in second.projection.commits { check.attempted[commit.number] = commit }
    #expect(second.projection.commits.count == 5)
    check.acknowledged.append((files.crashPoints, second.projection.commits[3]))
    check.acknowledged.append((files.crashPoints, last))
    try check.run()
  }

  @Test("while a copied store becomes a new replica")
  func newReplica() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    let commits = try (0..<3).map { try open.write($0) }
    open.log.close()
    files.machineID = Array("another".utf8)
    files.startJournal()
    let renewed = try store.open()
    let written = try renewed.write(3)
    let end = files.crashPoints
    for point in 0...end {
      for state in files.crashStates(after: point, sectorBytes: 512, limit: 100, seed: 5) {
        let copy = TestStore(files: state, path: "/store")
        let writer = try copy.open(TestStore.options(seed: 50))
        let last = try writer.write(4)
        #expect(last.replica != open.replica)
        let read = try copy.read()
        #expect(read.findings.isEmpty && writer.log.findings.isEmpty)
        #expect(Array(read.commits.filter { $0.replica == open.replica }) == commits)
        #expect(point < end || read.commits.contains(written))
        expectNoGap(read.commits)
      }
    }
  }
}
