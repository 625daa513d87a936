import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import Testing

@testable import HeartlogEngine

@Suite("A received run that may not be durable")
struct ReceivedTailTests {
  private let store: TestStore
  private let files: MemoryFileSystem
  private var stream = ForgedStream(5)

  init() throws {
    (store, files) = try TestStore.inMemory()
    files.startJournal()
  }

  /// The next run of a stream, of one commit in the present.
  private mutating func nextRun() throws -> StreamRun {
    try stream.run([.init(HybridTimestamp(milliseconds: 1_772_000_000_000 + Int64(stream.commitCount)))])
  }

  /// Checks that whatever a power failure leaves, nothing names what is missing.
  private func expectNothingLost(_ commits: Int, _ comment: Comment? = nil) throws {
    for seed in 0..<20 {
      let found = TestStore(files: files.crashState(seed: UInt64(seed)), path: store.path)
      #expect(try found.verify().allSatisfy { $0.finding == nil }, comment)
      #expect(try found.read().commits.count == commits, comment)
    }
  }

  @Test("after a failed fsync, it is copied before a commit names it", arguments: [false, true])
  mutating func failedSync(keepsName: Bool) throws {
    let open = try store.open()
    #expect(try open.log.receive(nextRun()).isAppended)
    files.failNext(.synchronizeData, onPathSuffix: ".open", code: 5)
    if keepsName { files.failNext(.rename, code: 5) }
    let run = try nextRun()
    #expect(storageFailure { _ = try open.log.receive(run) }?.code == .outcomeUnknown)
    let commit = try open.write(1)
    #expect(commit.heads == [Head(replica: stream.replica, commit: CommitNumber(rawValue: 2))])
    #expect(try store.names(of: stream.replica) == ["0000000000000001.open"])
    try expectNothingLost(3)
    #expect(try open.log.receive(nextRun()).isAppended)
    try expectNothingLost(4)
  }

  @Test("where its receiver was killed at any moment, it is copied before a commit names it")
  mutating func killed() throws {
    let first = try nextRun()
    let second = try nextRun()
    try store.open().log.close()
    #expect(try store.open().log.receive(first).isAppended)
    func run(changesMax: Int, diesAtOnce: Bool) throws -> (files: KillableFiles, isTaken: Bool) {
      let copy = files.deepCopy()
      copy.startJournal()
      let killable = KillableFiles(copy, changesMax: changesMax, diesAtOnce: diesAtOnce)
      let dying = try TestStore(files: killable, path: store.path).open()
      return (killable, storageFailure { _ = try dying.log.receive(second) } == nil)
    }
    let whole = try run(changesMax: .max, diesAtOnce: false)
    #expect(whole.isTaken && whole.files.changeCount >= 3)
    for changes in 0..<whole.files.changeCount {
      for diesAtOnce in [false, true] {
        let dead = try run(changesMax: changes, diesAtOnce: diesAtOnce)
        #expect(!dead.isTaken)
        let left = dead.files.files.deepCopy()
        let commit = try TestStore(files: left, path: store.path).open().write(1)
        for seed in 0..<10 {
          let found = TestStore(files: left.crashState(seed: UInt64(seed)), path: store.path)
          #expect(
            try found.verify().allSatisfy { $0.finding == nil },
            "killed after \(changes) changes, \(commit.heads) seen")
        }
      }
    }
  }

  @Test("no snapshot has it before it is copied")
  mutating func snapshot() throws {
    let open = try store.open()
    #expect(try open.log.receive(nextRun()).isAppended)
    files.failNext(.synchronizeData, onPathSuffix: ".open", code: 5)
    let run = try nextRun()
    #expect(storageFailure { _ = try open.log.receive(run) }?.code == .outcomeUnknown)
    let replay = try LogReplay(at: store.path, on: files)
    let positions = try replay.run(givesPositions: true) { _ in }.positions
    #expect(positions.map(\.commit.rawValue) == [2])
    let failure = storageFailure { try replay.makeDurable(positions) }
    #expect(failure?.code == .inputOutput && failure?.file?.hasSuffix(".suspect") == true)
    try open.log.makeReceivedDurable()
    try replay.makeDurable(positions)
    try expectNothingLost(2)
  }

  @Test("a run that a power failure cut in half is cut off before the next commit")
  mutating func torn() throws {
    try store.open().log.close()
    #expect(try store.open().log.receive(nextRun()).isAppended)
    let path = "\(store.path)/replicas/\(stream.replica)/0000000000000001.open"
    let whole = try files.contents(of: path)
    #expect(try store.open().log.receive(nextRun()).isAppended)
    try files.replaceContents(of: path, with: Array(try files.contents(of: path).prefix(whole.count + 50)))
    #expect(try store.verify().compactMap(\.finding).map(\.verdict) == [.torn])
    try store.open().write(1)
    #expect(try files.contents(of: path) == whole)
    #expect(try store.verify().allSatisfy { $0.finding == nil })
    #expect(try store.names(of: stream.replica).contains("0000000000000001.cut-\(whole.count)"))
  }

  @Test("a run that failed before it was whole leaves nothing to make durable")
  mutating func failedWrite() throws {
    let open = try store.open()
    #expect(try open.log.receive(nextRun()).isAppended)
    files.failNext(.write, onPathSuffix: ".open", code: 28, partialBytes: 40)
    let run = try nextRun()
    #expect(storageFailure { _ = try open.log.receive(run) }?.code == .diskFull)
    files.clearTrace()
    try open.write(1)
    #expect(!files.trace.contains { $0.description.contains("\(stream.replica)") })
    #expect(try open.log.receive(run).isAppended)
    try expectNothingLost(3)
  }
}
