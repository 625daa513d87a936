import HeartlogCrashModel
import HeartlogFiles
import Testing

@testable import Heartlog
@testable import HeartlogEngine

@Suite("Files of a store that are missing")
struct MissingFilesTests {
  private let test = TestStore()
  private var files: MemoryFileSystem { test.files }

  private func segment(_ replica: ReplicaID, _ name: String = "0000000000000001.open") -> String {
    "\(TestStore.path)/replicas/\(replica)/\(name)"
  }

  /// As a cloud client does it; returns the path of the placeholder.
  private func evict(_ path: String) throws -> String {
    let placeholder = StoreDirectory.placeholder(for: path)
    try files.rename(path, to: placeholder)
    return placeholder
  }

  private func write(_ ids: [String], _ change: (inout StoreOptions) -> Void = { _ in }) throws -> ReplicaID {
    let store = try test.open(change)
    let papers = try store.library("papers")
    for id in ids { try papers.add(id) }
    try store.close()
    return store.replica
  }

  private func findings() throws -> [Finding] {
    try FavoritesStore.verify(at: TestStore.path, on: files, progress: nil).streams.compactMap(\.finding)
  }

  private func faults() throws -> Set<Fault.Kind> {
    let clock = test.clock
    var options = StoreOptions()
    options.clock = { clock.now }
    return Set(try FavoritesStore.diagnose(at: TestStore.path, on: files, options: options).map(\.kind))
  }

  @Test("an evicted tail is not lost: it is named, nothing is written, and when it is back, everything is")
  func evictedTail() throws {
    let replica = try write(["a", "b", "c"])
    let digest = try test.open().digest
    let placeholder = try evict(segment(replica))

    let store = try test.open()
    #expect(store.findings.map(\.error.isNotDownloaded) == [true])
    #expect(store.findings.first?.error.file == placeholder)
    let refusal = #expect(throws: HeartlogError.self) { try store.library("papers").add("d") }
    #expect(refusal?.isNotDownloaded == true && refusal?.message.contains("not downloaded") == true)
    #expect(store.replica == replica, "it has not become a new one")
    #expect(try findings().map(\.error.isNotDownloaded) == [true])
    #expect(try findings().first?.error.commits?.lowerBound == CommitNumber(rawValue: 1))
    #expect(try faults().isSuperset(of: [.notDownloaded]) && !faults().contains(.lostCommits))
    #expect(throws: HeartlogError.self) { try FavoritesStore.repair(at: TestStore.path, on: files) }

    try files.rename(placeholder, to: segment(replica))
    try store.library("papers").add("d")
    #expect(store.findings.isEmpty && store.replica == replica)
    try store.close()
    let papers = try test.open().library("papers")
    for id in ["a", "b", "c", "d"] { #expect(papers.item(id) != nil) }
    #expect(try findings().isEmpty && digest != test.open().digest)
  }

  @Test("an evicted segment in the middle is no gap")
  func evictedMiddle() throws {
    let replica = try write(["a", "b"]) { $0.snapshots = .manual }
    let store = try test.open { $0.snapshots = .manual }
    try store.seal()
    try store.library("papers").add("c")
    try store.close()
    for evictsTail in [false, true] {
      var placeholders = [try evict(segment(replica, "0000000000000001.sealed"))]
      if evictsTail { placeholders.append(try evict(segment(replica, "0000000000000003.open"))) }
      #expect(try findings().map(\.error.file) == [placeholders[0]])
      #expect(try test.open().findings.map(\.error.isNotDownloaded) == [true])
      try files.rename(placeholders[0], to: segment(replica, "0000000000000001.sealed"))
      if evictsTail { try files.rename(placeholders[1], to: segment(replica, "0000000000000003.open")) }
    }
    #expect(try findings().isEmpty)
  }

  @Test(
    "a store whose identity or whole folder is not downloaded is no missing store, and none is made over it")
  func evictedStore() throws {
    _ = try write(["a"])
    let identity = "\(TestStore.path)/store"
    for path in [identity, TestStore.path] {
      let placeholder = try evict(path)
      let opening = #expect(throws: HeartlogError.self) { try test.open() }
      #expect(opening?.isNotDownloaded == true && opening?.isRepairable == false)
      let making = #expect(throws: HeartlogError.self) {
        try FavoritesStore.create(at: TestStore.path, on: files, in: nil, options: StoreOptions())
      }
      #expect(making?.isNotDownloaded == true)
      try files.rename(placeholder, to: path)
    }
    #expect(try test.open().findings.isEmpty)
  }

  @Test("a loss is remembered after the store has gone on as a new replica, until the commits are back")
  func lossUntilReturn() throws {
    let replica = try write(["a", "b"])
    let bytes = try files.contents(of: segment(replica))
    try files.remove(segment(replica))
    #expect(try write(["c"]) != replica)
    for _ in 0..<2 {
      #expect(try findings().map(\.verdict) == [.lost])
      #expect(try findings().first?.replica == replica)
      #expect(try findings().first?.error.commits?.lowerBound == CommitNumber(rawValue: 1))
      #expect(try faults().contains(.lostCommits))
      _ = try write(["d"])
    }
    try files.open(segment(replica), .createNew).write(bytes, at: 0)
    #expect(try findings().isEmpty && !faults().contains(.lostCommits))
  }

  @Test("a loss is settled when a person retires the replica")
  func lossUntilRetired() throws {
    let replica = try write(["a", "b"])
    try files.remove(segment(replica))
    _ = try write(["c"])
    let store = try test.open()
    #expect(try store.lostReplicas() == [replica])
    #expect(try store.retire(replica))
    #expect(try store.lostReplicas() == [])
    try store.close()
    #expect(try findings().isEmpty && !faults().contains(.lostCommits))
  }

  @Test("what a snapshot knew and the log has lost is remembered, too")
  func lossThatASnapshotKnew() throws {
    let store = try test.open { $0.snapshots = .manual }
    let papers = try store.library("papers")
    for id in ["a", "b", "c"] { try papers.add(id) }
    try store.snapshot()
    try store.close()
    try files.remove(segment(store.replica))
    try files.replaceContents(of: "\(TestStore.path)/lock", with: [UInt8](repeating: 0, count: lockPageBytes))
    _ = try write(["d"])
    let commits = try #require(try findings().first?.error.commits)
    #expect(commits == CommitNumber(rawValue: 1)...CommitNumber(rawValue: 3))
  }

  @Test("a damaged list of losses stops nothing")
  func damagedList() throws {
    _ = try write(["a"])
    try files.open("\(TestStore.path)/lost", .createNew).write(Array("heartlog".utf8), at: 0)
    _ = try write(["b"])
    #expect(try findings().isEmpty)
  }
}
