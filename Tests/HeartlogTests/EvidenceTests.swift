import HeartlogCrashModel
import HeartlogFiles
import HeartlogEngine
import Testing

@testable import Heartlog

/// Snapshots are disposable, but what they prove is not thrown away.
@Suite("What a snapshot knows of the log")
struct EvidenceTests {
  private let test = TestStore()
  private let folder = "\(TestStore.path)/snapshots"

  private func fill(_ store: FavoritesStore, _ range: Range<Int>) throws {
    let library = try store.library("papers")
    for number in range {
      test.clock.now += 1_000
      try library.toggle("paper-\(number)")
    }
  }

  /// Forgets what the lock's page knows, as a restart of the machine may.
  private func clearPage() throws {
    try test.files.replaceContents(of: "\(TestStore.path)/lock", with: [UInt8](repeating: 0, count: 4_096))
  }

  private func segments(of replica: ReplicaID) throws -> [String] {
    let folder = "\(TestStore.path)/replicas/\(replica)"
    return try test.files.entries(of: folder).map { "\(folder)/\($0)" }
  }

  @Test(
    "a log that is shorter than its snapshot has lost commits: told, kept aside, and no number is used again")
  func lost() throws {
    var store = try test.open()
    try fill(store, 0..<40)
    try store.seal()
    try fill(store, 40..<60)
    try store.seal()
    try store.snapshot()
    let replica = store.replica
    let before = try store.library("papers").favorites()
    try store.close()
    #expect(try FavoritesStore.verify(at: TestStore.path, on: test.files, progress: nil).isSound)
    for segment in try segments(of: replica) { try test.files.remove(segment) }
    try clearPage()

    let found = try FavoritesStore.verify(at: TestStore.path, on: test.files, progress: nil)
    let finding = try #require(found.streams.first?.finding)
    #expect(
      finding.verdict == .lost
        && finding.error.commits == CommitNumber(rawValue: 1)...CommitNumber(rawValue: 60))
    for _ in 0..<2 {
      let reader = try test.open { $0.access = .readOnly }
      #expect(reader.findings.map(\.verdict) == [.lost])
      #expect(try reader.library("papers").favorites() == before)
      #expect(try reader.state().eventCount == 0, "a moment is made from the log alone")
      #expect(try test.files.entries(of: folder).count == 1, "who reads throws nothing away")
    }
    store = try test.open()
    try fill(store, 59..<61)
    #expect(store.replica != replica && store.findings.map(\.verdict) == [.lost])
    try store.close()
    #expect(try test.files.entries(of: folder).allSatisfy { $0.hasSuffix(".snapshot.lost") })
    store = try test.open()
    #expect(store.findings.map(\.verdict) == [.lost] && store.droppedSnapshots.isEmpty)
    let ids = try store.library("papers").favorites().map(\.id)
    #expect(ids.count == 60 && ids.first == "paper-60" && !ids.contains("paper-59"), "one was toggled off")
    let digest = store.digest
    try store.close()
    let remembered = try FavoritesStore.verify(at: TestStore.path, on: test.files, progress: nil)
    #expect(remembered.streams.compactMap(\.finding).map(\.error.commits) == [finding.error.commits])

    // Nobody else can have them: what the snapshot knows is written anew, and the loss is settled.
    var options = StoreOptions()
    options.clock = { [clock = test.clock] in clock.now }
    let report = try FavoritesStore.repair(at: TestStore.path, on: test.files, options: options)
    #expect(report.isSound, "\(report.entries)")
    store = try test.open()
    #expect(store.digest == digest)
    #expect(try store.state().digest == digest && store.findings.isEmpty)
    #expect(try FavoritesStore.verify(at: TestStore.path, on: test.files, progress: nil).isSound)
  }

  @Test("a tail that was cut in front of a snapshot's position is lost, and not an unfinished batch")
  func cutTail() throws {
    var store = try test.open()
    try fill(store, 0..<10)
    try store.snapshot()
    let replica = store.replica
    try store.close()
    let segment = try #require(try segments(of: replica).first)
    let bytes = try test.files.contents(of: segment)
    let end = try #require(bytes.lastIndex { $0 != 0 })
    try test.files.replaceContents(of: segment, with: Array(bytes[..<end]))
    try clearPage()
    let found = try FavoritesStore.verify(at: TestStore.path, on: test.files, progress: nil)
    #expect(found.streams.first?.finding?.verdict == .lost)
    store = try test.open()
    try fill(store, 20..<21)
    #expect(store.replica != replica && store.findings.contains { $0.verdict == .lost })
  }

  @Test("a snapshot never knows more than a power cut leaves: what it was made from is durable before it")
  func buffered() throws {
    let files = MemoryFileSystem(recording: true)
    var options = StoreOptions()
    options.durability = .buffered
    options.snapshots = .manual
    let store = try FavoritesStore(at: TestStore.path, on: files, options: options)
    for number in 0..<20 { try store.library("papers").add("paper-\(number)") }
    // Another process makes it: what this one has not flushed is none of its own.
    options.createsIfMissing = false
    let other = try FavoritesStore(at: TestStore.path, on: files, options: options)
    #expect(try other.snapshots.make()?.events == 20)
    for state in files.crashStates(after: files.crashPoints, sectorBytes: 512, limit: 200, seed: 3) {
      let found = try FavoritesStore(at: TestStore.path, on: state, options: options)
      try found.library("papers").add("new")
      #expect(!found.findings.contains { $0.verdict == .lost })
      #expect(found.replica == store.replica)
    }
  }

  @Test("a snapshot of other commits than the log has stays, however many are made after it")
  func otherCommits() throws {
    var store = try test.open()
    try fill(store, 0..<6)
    try store.snapshot()
    let name = try #require(try test.files.entries(of: folder).first)
    let known = try test.files.contents(of: "\(folder)/\(name)")
    let replica = store.replica
    try store.close()
    // The same store with another sixth commit, and as many events.
    let segment = try #require(try segments(of: replica).first)
    let bytes = try test.files.contents(of: segment)
    try test.files.remove("\(folder)/\(name)")
    let twin = TestStore(files: test.files.deepCopy(), clock: test.clock)
    try test.files.replaceContents(of: segment, with: bytes)
    store = try twin.open()
    try fill(store, 50..<51)
    try store.snapshot()
    let other = try #require(try twin.files.entries(of: folder).first)
    let foreign = try twin.files.contents(of: "\(folder)/\(other)")
    try store.close()
    store = try test.open()
    try fill(store, 60..<61)
    try store.snapshot()
    try store.close()
    try test.files.open("\(folder)/\(other)", .createNew).write(foreign, at: 0)
    try test.files.open("\(folder)/\(name)", .createNew).write(known, at: 0)
    for round in 0..<2 {
      let found = try FavoritesStore.verify(at: TestStore.path, on: test.files, progress: nil)
      #expect(found.streams.first?.finding?.verdict == .corrupt, "round \(round)")
      store = try test.open()
      _ = try? store.snapshot()
      try store.close()
      #expect(try test.files.entries(of: folder).contains(other), "round \(round)")
    }
  }

  @Test("a snapshot is made beside one that knows more, and takes nothing of what that proves")
  func madeBeside() throws {
    var store = try test.open()
    try fill(store, 0..<40)
    try store.seal()
    try store.snapshot()
    let replica = store.replica
    try store.close()
    for segment in try segments(of: replica) { try test.files.remove(segment) }
    try clearPage()
    store = try test.open()
    try store.snapshot()
    try store.close()
    store = try test.open()
    try fill(store, 50..<51)
    #expect(store.replica != replica)
    #expect(store.findings.map(\.verdict) == [.lost])
  }

  @Test("verify looks at every page of a snapshot", arguments: 0..<12)
  func everyPage(part: Int) throws {
    let store = try test.open()
    try fill(store, 0..<120)
    try store.snapshot()
    try store.close()
    let name = try #require(try test.files.entries(of: folder).first)
    let whole = try test.files.contents(of: "\(folder)/\(name)")
    var changed = whole
    changed[64 + (whole.count - 128) * part / 12] ^= 0x40
    try test.files.replaceContents(of: "\(folder)/\(name)", with: changed)
    let found = try FavoritesStore.verify(at: TestStore.path, on: test.files, progress: nil)
    #expect(found.streams.allSatisfy { $0.finding == nil })
    // Some bytes are padding that means nothing.
    if let problem = found.snapshots[0].problem {
      #expect(!problem.isEmpty)
    } else {
      let reader = try test.open { $0.access = .readOnly }
      #expect(reader.digest == (try reader.state().digest))
    }
  }
}

extension StoreVerification {
  fileprivate var isSound: Bool {
    streams.allSatisfy { $0.finding == nil } && snapshots.allSatisfy { $0.problem == nil }
  }
}
