import HeartlogFiles
import HeartlogEngine
import Testing

@testable import Heartlog
@testable import HeartlogFormat
@testable import HeartlogSync

/// Content that a peer withholds although nobody erased it.
@Suite("Missing content")
struct MissingContentTests {
  private static let path = "/store"

  private let phone: FavoritesStore
  private let files = MemoryFileSystem()

  init() throws {
    phone = try FavoritesStore.inMemory(options: Self.options("phone"))
  }

  private static func options(_ name: String) -> StoreOptions {
    var options = StoreOptions()
    options.name = name
    return options
  }

  private func watch() throws -> FavoritesStore {
    try FavoritesStore(at: Self.path, on: files, options: Self.options("watch"))
  }

  @discardableResult
  private func sync(_ store: FavoritesStore, _ peer: FavoritesStore) throws -> SyncReport {
    try StoreCarrier(peer, description: "peer").sync(store, options: SyncOptions())
  }

  /// A run of the phone's commits, with what proves that it signed them.
  private func run(_ commits: ClosedRange<UInt64>, _ change: (Block) throws -> Block) throws -> StreamRun {
    let head = try #require(try phone.streamHeads().first { $0.replica == phone.replica })
    let run = try #require(
      try phone.streamRun(
        of: head.replica, after: commits.lowerBound - 1, upTo: CommitNumber(rawValue: commits.upperBound)))
    let block = try run.body.withUnsafeBytes {
      try BlockEncoding.decode(
        $0, replica: run.replica, firstCommit: run.firstCommit, commitCount: run.commitCount)
    }
    var changed = StreamRun(
      replica: run.replica, name: run.name, firstCommit: run.firstCommit, commitCount: run.commitCount,
      body: try BlockEncoding.encode(try change(block)), root: run.root)
    changed.proof = RunProof(
      checkpoint: try #require(head.checkpoint),
      extensionRoots: try phone.treeExtension(
        of: head.replica, from: commits.upperBound, to: head.commit.rawValue))
    return changed
  }

  /// A block without the content of all events but those of one library.
  private func withholding(allBut library: String, in block: Block) throws -> Block {
    var salts = Salts(block.secrets)
    var hasher = SHA256Hasher()
    let named = block.commits.flatMap { commit in
      commit.records.indices.compactMap { index -> ErasedEvent? in
        guard let event = commit.records[index].event, event.library != library else { return nil }
        return ErasedEvent(of: commit, at: index, salts: &salts, hasher: &hasher)
      }
    }
    return try #require(WithheldEvents(named).redacted(block))
  }

  private func missing() throws -> UInt64 {
    let verified = try FavoritesStore.verify(at: Self.path, on: files, progress: nil)
    #expect(verified.streams.allSatisfy { $0.finding == nil })
    return verified.streams.reduce(0) { $0 + $1.missingContents }
  }

  @Test("is counted by verify, and repair takes it from a device that has it")
  func silentRelay() throws {
    try phone.library("papers").add("a")
    try phone.library("cities").add("berlin")
    try phone.library("papers").add("b")
    try phone.prepareToShip()
    let watch = try watch()
    let relayed = try run(1...3) { try withholding(allBut: "papers", in: $0) }
    #expect(try watch.receive(relayed) == .appended(commits: 3, events: 3, changedItems: 2))
    try watch.close()
    #expect(try missing() == 1)

    // Who lacks it as well cannot help, and nothing changes.
    let tablet = try FavoritesStore.inMemory(options: Self.options("tablet"))
    _ = try tablet.receive(relayed)
    let useless = try FavoritesStore.repair(
      at: Self.path, on: files, from: StoreCarrier(tablet, description: "the tablet"),
      options: Self.options("watch"))
    #expect(!useless.isSound)
    #expect(useless.entries.map(\.outcome) == ["left unchanged: the tablet does not have it either"])
    #expect(try missing() == 1)

    let report = try FavoritesStore.repair(
      at: Self.path, on: files, from: StoreCarrier(phone, description: "the phone"),
      options: Self.options("watch"))
    #expect(report.isSound && report.entries.count == 1)
    #expect(try missing() == 0)
    let again = try self.watch()
    #expect(again.digest == phone.digest)
    #expect(try sync(again, phone).received.commits == 0)
  }

  @Test("does not include what was erased, also if the erasure arrives after the events")
  func explained() throws {
    try phone.library("cities").add("berlin")
    try phone.library("cities").add("paris")
    let laptop = try FavoritesStore.inMemory(options: Self.options("laptop"))
    try sync(laptop, phone)
    // In another stream than what it erases.
    try laptop.erase("berlin", in: "cities")
    try sync(phone, laptop)
    let watch = try watch()
    try sync(watch, laptop)
    #expect(watch.digest == phone.digest)
    try watch.close()
    #expect(try missing() == 0)
  }

  @Test("leaves no secret behind that no event with content confirms")
  func bogusSecret() throws {
    try phone.library("papers").add("a")
    try phone.library("cities").add("berlin")
    try phone.prepareToShip()
    let watch = try watch()
    // A relay withholds everything, and makes up the secret of which nothing is left.
    let forged = try run(1...2) { block in
      Block(
        replica: block.replica, firstCommit: block.firstCommit, headsAtStart: block.headsAtStart,
        secrets: [
          SegmentSecret(
            firstCommit: block.firstCommit, kind: .whole(Digest([UInt8](repeating: 7, count: 32))))
        ],
        commits: try withholding(allBut: "", in: block).commits)
    }
    #expect(try watch.receive(forged) == .appended(commits: 2, events: 2, changedItems: 0))
    try watch.seal()
    try watch.close()
    #expect(try missing() == 2)
  }

  @Test("a relay that lies about where a segment begins breaks nothing, also when the segments are joined")
  func segmentStart() throws {
    for number in 0..<30 { try phone.library("papers").add("\(number)") }
    try phone.prepareToShip()
    let watch = try watch()
    for commits in [1...10, 11...20, 21...30] as [ClosedRange<UInt64>] {
      let run = try run(commits) { block in
        guard commits.lowerBound == 11 else { return block }
        var salts = Salts(block.secrets)
        var hasher = SHA256Hasher()
        let secret = SegmentSecret(
          firstCommit: block.firstCommit,
          kind: .runs([
            RunSecret(
              run: 0,
              kind: .salts(
                block.commits.map {
                  EventSalt(
                    commit: $0.number, event: 0,
                    salt: salts.salt(commit: $0.number, event: 0, hasher: &hasher)!)
                }))
          ]))
        return Block(
          replica: block.replica, firstCommit: block.firstCommit, headsAtStart: block.headsAtStart,
          secrets: [secret], commits: block.commits)
      }
      #expect(try watch.receive(run) == .appended(commits: 10, events: 10, changedItems: 10))
    }
    try watch.seal()
    // Also by who gets it from there.
    let laptop = try FavoritesStore.inMemory(options: Self.options("laptop"))
    try sync(laptop, watch)
    try laptop.seal()
    #expect(laptop.digest == phone.digest && watch.digest == phone.digest)
    #expect(try laptop.verify().streams.allSatisfy { $0.finding == nil })
    try watch.close()
    #expect(try missing() == 0)
  }
}
