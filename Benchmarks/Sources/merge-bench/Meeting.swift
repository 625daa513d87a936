import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Two devices that went apart, and what it costs each to take in what the other did.
struct Meeting {
  static let names = [
    "first sync, bytes/event", "diverged sync, bytes/event", "decode", "hash", "apply",
    "decode, hash and apply",
    "decode to commits", "apply commits", "receive in memory", "receive on disk", "open on disk",
  ]

  private let events: Double
  private let base: [StreamRun]
  /// What each did after it had heard of the base.
  private let mine: [StreamRun]
  private let theirs: [StreamRun]
  /// What each knew before they met.
  private var mineBefore = FavoritesState()
  private var theirsBefore = FavoritesState()
  private var baseTree = MerkleTree()

  init(base: [Trace.Step], mine: [Trace.Step], theirs: [Trace.Step]) throws {
    let a = Device(try .inMemory())
    let b = Device(try .inMemory())
    try a.play(base)
    self.base = try a.runs(after: 0)
    let baseLast = self.base.last?.lastCommit.rawValue ?? 0
    for run in self.base { _ = try b.store.receive(run) }
    try a.play(mine)
    try b.play(theirs)
    self.mine = try a.runs(after: baseLast)
    self.theirs = try b.runs(after: 0)
    events = Double(mine.count)
    for run in self.base { try hash(try decode(run), into: &baseTree) }
    mineBefore = try state([self.base, self.mine])
    theirsBefore = try state([self.base, self.theirs])
  }

  private func state(_ streams: [[StreamRun]]) throws -> FavoritesState {
    var state = FavoritesState()
    for run in streams.joined() { state.apply(try decode(run)) }
    return state
  }

  /// One round of everything; times are nanoseconds an event, the mean of the two sides.
  func measure() throws -> [String: Double] {
    var result: [String: Double] = [:]
    let bytes = (mine + theirs).reduce(0) { $0 + $1.body.count }
    result["first sync, bytes/event"] =
      Double(base.reduce(0) { $0 + $1.body.count }) / Double(base.reduce(0) { $0 + $1.commitCount })
    result["diverged sync, bytes/event"] = Double(bytes) / (2 * events)

    let commits = try timed(&result, "decode to commits") {
      try (mine + theirs).map { try decode($0).commits() }
    }
    var met = states()
    timed(&result, "apply commits") {
      for commit in commits[mine.count...].joined() { met.0.apply(commit) }
      for commit in commits[..<mine.count].joined() { met.1.apply(commit) }
    }
    let digest = met.0.digest
    guard met.1.digest == digest else { throw Difference() }

    let blocks = try timed(&result, "decode") { try (mine + theirs).map(decode) }
    let mineTree = try timed(&result, "hash") {
      var trees = (self.baseTree, MerkleTree())
      for block in blocks[..<mine.count] { try hash(block, into: &trees.0) }
      for block in blocks[mine.count...] { try hash(block, into: &trees.1) }
      return trees.0
    }
    guard mineTree.root == mine.last?.root else { throw Difference() }
    met = states()
    timed(&result, "apply") {
      for block in blocks[mine.count...] { met.0.apply(block) }
      for block in blocks[..<mine.count] { met.1.apply(block) }
    }
    guard met.0.digest == digest, met.1.digest == digest else { throw Difference() }
    met = states()
    try timed(&result, "decode, hash and apply") {
      try take(theirs, after: MerkleTree(), into: &met.0)
      try take(mine, after: baseTree, into: &met.1)
    }
    guard met.0.digest == digest, met.1.digest == digest else { throw Difference() }

    let a = try store(.inMemory(), [base, mine])
    let b = try store(.inMemory(), [base, theirs])
    try timed(&result, "receive in memory") {
      for run in theirs { _ = try a.receive(run) }
      for run in mine { _ = try b.receive(run) }
    }
    guard a.read({ $0.digest }) == digest, b.read({ $0.digest }) == digest else {
      throw Difference()
    }

    try withFolder { folder in
      let a = try store(FavoritesStore(at: folder + "/a"), [base, mine])
      let b = try store(FavoritesStore(at: folder + "/b"), [base, theirs])
      try timed(&result, "receive on disk") {
        for run in theirs { _ = try a.receive(run) }
        for run in mine { _ = try b.receive(run) }
      }
      try a.close()
      let opened = nanoseconds()
      let again = try FavoritesStore(at: folder + "/a")
      result["open on disk"] = Double(nanoseconds() - opened) / (3 * events)
      guard again.read({ $0.digest }) == digest else { throw Difference() }
    }
    return result
  }

  struct Difference: Error {}

  /// What each knew before, in storage of its own: what copying it costs is not measured.
  private func states() -> (FavoritesState, FavoritesState) {
    var states = (mineBefore, theirsBefore)
    warm(&states.0)
    warm(&states.1)
    return states
  }

  private func decode(_ run: StreamRun) throws -> ColumnBlock {
    try run.body.withUnsafeBytes {
      try BlockEncoding.decodeColumns(
        $0, replica: run.replica, firstCommit: run.firstCommit, commitCount: run.commitCount)
    }
  }

  private func hash(_ block: ColumnBlock, into tree: inout MerkleTree) throws {
    var hasher = SHA256Hasher()
    let parts = BlockLeafHasher(block)
    for part in 0..<parts.count { tree.append(try parts.hashes(of: part), hasher: &hasher) }
  }

  /// Decodes runs, verifies the root that each leads to, and applies them.
  private func take(_ runs: [StreamRun], after before: MerkleTree, into state: inout FavoritesState) throws {
    var tree = before
    for run in runs {
      let block = try decode(run)
      try hash(block, into: &tree)
      guard tree.root == run.root else { throw Difference() }
      state.apply(block)
    }
  }

  private func timed<R>(_ result: inout [String: Double], _ name: String, _ body: () throws -> R) rethrows
    -> R
  {
    let started = nanoseconds()
    let value = try body()
    result[name] = Double(nanoseconds() - started) / (2 * events)
    return value
  }

  /// Writes one item anew, which makes the copy's storage its own.
  private func warm(_ state: inout FavoritesState) {
    let replica = ReplicaID(high: 0, low: 1)
    for library in ["papers", "books"] {
      let number = state.head(of: replica)?.next ?? CommitNumber(rawValue: 1)
      let event = Event(
        library: library, item: "warm", action: .changed, fields: [Field(name: "date", value: .null)])
      state.apply(
        Commit(
          replica: replica, number: number, firstSequence: SequenceNumber(rawValue: number.rawValue),
          stamp: HybridTimestamp(rawValue: number.rawValue), wallTime: 0, records: [.event(event)]))
    }
  }

  private func store(_ store: FavoritesStore, _ streams: [[StreamRun]]) throws -> FavoritesStore {
    for run in streams.joined() { _ = try store.receive(run) }
    return store
  }

  private func withFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "merge-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder.path)
  }
}
