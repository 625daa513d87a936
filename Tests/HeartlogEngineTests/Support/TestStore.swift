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
import TestSupport
import Testing

@testable import HeartlogEngine

/// A store at a place where it can be opened several times.
struct TestStore {
  let files: any FileSystem
  let path: String

  /// An empty store in memory.
  static func inMemory(seed: UInt64 = 1) throws -> (TestStore, MemoryFileSystem) {
    let files = MemoryFileSystem(root: "/store", recording: true)
    let store = TestStore(files: files, path: "/store")
    try store.create(seed: seed)
    return (store, files)
  }

  static func options(
    seed: UInt64 = 2, segmentBytesMax: UInt64 = 1 << 20, access: StoreAccess = .readWrite
  ) -> StorageOptions {
    var options = StorageOptions()
    let generator = SharedGenerator(seed: seed)
    options.random = { generator.next() }
    options.segmentBytesMax = segmentBytesMax
    options.sealsInBackground = false
    options.keepsLockInSeries = false
    options.access = access
    options.lockMillisecondsMax = 60_000
    return options
  }

  func create(seed: UInt64 = 1, name: String = "Test") throws {
    try CommitLog.create(at: path, on: files, name: name, options: Self.options(seed: seed))
  }

  func open(_ options: StorageOptions = Self.options()) throws -> OpenStore {
    let projection = RecordingProjection()
    return OpenStore(
      log: try CommitLog(at: path, on: files, options: options, projection: projection),
      projection: projection)
  }

  /// All commits that a reader finds, and what is wrong.
  func read() throws -> (commits: [Commit], findings: [Finding]) {
    let open = try open(Self.options(access: .readOnly))
    return (open.projection.commits, open.log.findings)
  }

  func verify() throws -> [StreamVerification] { try Verification.run(at: path, on: files) }

  /// The names in the own stream's folder, or in another's.
  func names(of replica: ReplicaID) throws -> [String] {
    try files.entries(of: "\(path)/replicas/\(replica)")
  }
}

/// A log and its projection, which lives at least as long.
final class OpenStore: Sendable {
  let projection: RecordingProjection
  let log: CommitLog

  init(log: CommitLog, projection: RecordingProjection) {
    self.log = log
    self.projection = projection
  }

  var replica: ReplicaID { log.ownIdentity.replica }

  @discardableResult
  func write(
    _ index: Int, _ durability: Durability = .durable, events: Int = 1, bytes: Int = 12,
    at wallTime: Milliseconds? = nil
  ) throws -> Commit {
    let commit = try log.write(durability) { .test(index, events: events, bytes: bytes, at: wallTime) }?
      .commit
    return try #require(commit)
  }
}

extension CommitLog {
  /// Writes one commit, whatever it is.
  ///
  /// - Returns: the commit, acknowledged according to `durability`, or nil if there was nothing to write.
  @discardableResult
  func write(_ durability: Durability, _ draft: () throws -> CommitDraft?) throws -> PendingCommit? {
    let pending = try stage(durability, draft)
    if let pending { _ = try finish(pending) }
    return pending
  }
}

extension CommitLog {
  /// Queues what a closure drafts.
  func stage(_ durability: Durability, _ draft: () throws -> CommitDraft?) throws -> PendingCommit? {
    try stage(durability) { (try draft(), ()) }.pending
  }
}

extension CommitDraft {
  /// A commit that its index makes different from others.
  static func test(
    _ index: Int, events: Int = 1, bytes: Int = 12, at wallTime: Milliseconds? = nil
  ) -> CommitDraft {
    // Not to be compressed, so that sizes are what a test asks for.
    var generator = SeededGenerator(seed: UInt64(index))
    let note = (0..<bytes).map { _ in Character(UnicodeScalar(UInt8(33 + generator.next() % 90))) }
    return CommitDraft(
      wallTime: wallTime ?? 1_772_000_000_000 + Int64(index) * 1_000, origin: index % 3 == 0 ? "test" : nil,
      records: (0..<events).map { event in
        .event(
          Event(
            library: "papers", item: "item-\(index)-\(event)", action: .added,
            fields: [Field(name: "@note", value: .string(String(note)))]))
      })
  }
}

/// The numbers rise by one from 1, and so do the sequence numbers.
func expectNoGap(_ commits: [Commit], _ comment: Comment? = nil) {
  var next: [ReplicaID: (CommitNumber, SequenceNumber)] = [:]
  for commit in commits {
    let expected = next[commit.replica] ?? (CommitNumber(rawValue: 1), SequenceNumber(rawValue: 1))
    #expect(commit.number == expected.0 && commit.firstSequence == expected.1, comment)
    next[commit.replica] = (commit.number.next, commit.nextSequence)
  }
}

/// The storage error that `body` fails with, nil where it does not fail.
func storageFailure(_ body: () throws -> Void) -> HeartlogError? {
  do {
    try body()
    return nil
  } catch {
    return error as? HeartlogError ?? HeartlogError(.misuse, "another error: \(error)")
  }
}

extension OpenStore {
  /// How many commits are drafted and not published.
  var queuedCount: Int { log.monitor.withLock { log.queuedCommits?.count ?? 0 } }

  /// Durable commits of several threads that come as one batch: in line before the first one's turn.
  func writeTogether(_ indices: Range<Int>, bytes: Int = 12) throws -> [Commit] {
    let before = queuedCount
    let results = Mutex<[Result<Commit, any Error>]>([])
    try log.withQueueHeld {
      let threads = indices.map { index in
        let ready = queuedCount
        let thread = TestThread {
          let result = Result { try self.write(index, bytes: bytes) }
          results.withLock { $0.append(result) }
        }
        // In order: the next one starts when this one stands in line.
        while queuedCount == ready { sched_yield() }
        return thread
      }
      precondition(queuedCount == before + indices.count)
      return threads
    }.forEach { $0.join() }
    return try results.withLock { try $0.map { try $0.get() } }.sorted { $0.number < $1.number }
  }
}

extension CommitLog {
  /// Prevents the queue from being written while `body` runs outside the monitor. It becomes a single batch.
  func withQueueHeld<R>(_ body: () throws -> R) throws -> R {
    monitor.enter()
    defer { monitor.leave() }
    while isBusy { monitor.wait() }
    defer {
      takeFlushOutcome()
      didBecomeIdle()
    }
    return try whileBusy(body)
  }
}
