import HeartlogCrashModel
import HeartlogFiles
import HeartlogFormat
import HeartlogTesting
import Testing

@testable import Heartlog
@testable import HeartlogSync

@Suite("Evidence that a device signed two histories")
struct EvidenceTests {
  private static let path = "/favorites.heartlog"

  private static func open(_ files: MemoryFileSystem, _ name: String) throws -> FavoritesStore {
    var options = StoreOptions()
    options.name = name
    options.snapshots = .manual
    return try FavoritesStore(at: path, on: files, options: options)
  }

  private static func write(_ count: Int, to store: FavoritesStore, _ tag: String) throws {
    let papers = try store.library("papers")
    for index in 0..<count { try papers.add("\(tag)-\(index)") }
  }

  @discardableResult
  private static func sync(_ store: FavoritesStore, with peer: FavoritesStore) throws -> SyncReport {
    try StoreCarrier(peer, description: "peer").sync(store, options: SyncOptions())
  }

  /// A phone and its copy, which was not noticed: both wrote on with the same key.
  private static func twins(_ first: Int, _ second: Int) throws -> (FavoritesStore, FavoritesStore) {
    let files = MemoryFileSystem()
    let phone = try open(files, "phone")
    try write(5, to: phone, "common")
    try phone.prepareToShip()
    try phone.close()
    let copy = files.deepCopy()
    let twins = (try open(files, "phone"), try open(copy, "phone"))
    try write(first, to: twins.0, "first")
    try write(second, to: twins.1, "second")
    try #require(twins.0.replica == twins.1.replica)
    return twins
  }

  private static func check(_ store: FavoritesStore, of replica: ReplicaID) throws {
    let evidence = try store.evidence()
    let proof = try #require(evidence.first?.proof)
    #expect(evidence.count >= 1 && proof.replica == replica)
    // With nothing but the bytes.
    #expect(try ProofFile(ProofFile.fork(proof).bytes) == .fork(proof))
    #expect(proof.earlier.checkpoint.root != proof.history.root)
  }

  @Test("both ends keep the proof, and both histories go on", arguments: [(3, 3), (2, 7), (7, 2), (1, 1)])
  func twins(first: Int, second: Int) throws {
    let (one, other) = try Self.twins(first, second)
    let replica = one.replica
    let report = try Self.sync(one, with: other)
    #expect(report.forks.map(\.replica) == [replica])
    for store in [one, other] { try Self.check(store, of: replica) }
    try Self.sync(one, with: other)
    #expect(one.digest == other.digest)
    #expect(try one.library("papers").favorites().count == 5 + first + second)
    #expect(one.replica != replica && other.replica != replica)
    #expect(try one.verify().streams.allSatisfy { $0.finding == nil })
  }

  @Test("a third device that saw one history finds the other one, and whoever meets it later gets the proof")
  func third() throws {
    let (one, other) = try Self.twins(4, 6)
    let replica = one.replica
    let (tablet, desk) = (
      try Self.open(MemoryFileSystem(), "tablet"),
      try Self.open(MemoryFileSystem(), "desk")
    )
    try Self.write(1, to: tablet, "tablet")
    try Self.sync(tablet, with: one)
    try Self.sync(desk, with: one)
    try Self.sync(tablet, with: other)
    for store in [tablet, other] { try Self.check(store, of: replica) }
    #expect(try desk.evidence().isEmpty)
    try Self.sync(desk, with: tablet)
    try Self.check(desk, of: replica)
    for _ in 0..<2 { for store in [one, other, desk] { try Self.sync(store, with: tablet) } }
    #expect(Set([one, other, tablet, desk].map(\.digest)).count == 1)
  }

  @Test("a fork that is found after one side has erased something leaves it erased, everywhere")
  func erased() throws {
    let files = MemoryFileSystem()
    let first = try Self.open(files, "phone")
    try Self.write(5, to: first, "common")
    try first.library("papers").add("regretted")
    try first.prepareToShip()
    try first.close()
    let copy = files.deepCopy()
    let (one, other) = (try Self.open(files, "phone"), try Self.open(copy, "phone"))
    let (tablet, desk) = (
      try Self.open(MemoryFileSystem(), "tablet"),
      try Self.open(MemoryFileSystem(), "desk")
    )
    try one.library("papers").set([Field(name: "@note", value: .string("regretted words"))], of: "regretted")
    try Self.write(3, to: one, "first")
    try Self.write(4, to: other, "second")
    // Several segments behind the end.
    try other.seal()
    try Self.write(2, to: other, "more")
    try one.seal()
    try Self.write(2, to: one, "even more")
    // The desk has one history, with the words; the tablet will know of the erasure; the copy of neither.
    try Self.sync(desk, with: one)
    #expect(try one.erase("regretted", in: "papers").eventCount == 2)
    try Self.sync(tablet, with: one)
    try Self.sync(tablet, with: other)
    for _ in 0..<3 { for store in [one, other, desk] { try Self.sync(store, with: tablet) } }
    for store in [one, other, tablet, desk] {
      #expect(store.digest == one.digest)
      #expect(try store.library("papers").item("regretted") == nil)
      let log = try store.readLog()
      while let commit = try log.next() { #expect(!"\(commit.records)".contains("regretted")) }
      #expect(try store.verify().streams.allSatisfy { $0.finding == nil })
    }
    #expect(try Set([one, other, tablet, desk].map { try $0.roots() }).count == 1)
    for (store, files) in [(one, files), (other, copy)] {
      try store.close()
      #expect(try ErasingTests.traces(of: "regretted", in: files, under: Self.path) == [])
    }
  }

  @Test(
    "devices that meet only in a folder find a fork, and the proof reaches all",
    arguments: ObjectPlace.Kind.allCases)
  func folder(kind: ObjectPlace.Kind) throws {
    let (one, other) = try Self.twins(4, 6)
    let replica = one.replica
    let tablet = try Self.open(MemoryFileSystem(), "tablet")
    let folder = try ObjectPlace(kind)
    for _ in 0..<4 { for store in [one, tablet, other] { _ = try folder.sync(store) } }
    #expect(Set([one, other, tablet].map(\.digest)).count == 1)
    for store in [one, other, tablet] { try Self.check(store, of: replica) }
  }

  @Test("a peer that says without proof that a signed stream has ended is not believed")
  func liar() throws {
    let phone = try Self.open(MemoryFileSystem(), "phone")
    let tablet = try Self.open(MemoryFileSystem(), "tablet")
    try Self.write(5, to: phone, "a")
    try Self.sync(tablet, with: phone)
    let files = MemoryFileSystem(recording: false)
    let misled = try Self.open(files, "liar")
    try Self.sync(misled, with: phone)
    try misled.endStream(phone.replica, after: CommitNumber(rawValue: 2))
    try misled.close()
    for store in [tablet, phone] {
      let liar = try Self.open(files.deepCopy(), "liar")
      // It keeps to that, whatever it is shown.
      let (one, other) = try DescriptorChannel.pair()
      let unheard = ForgingChannel(one) { message in
        guard case .facts(let facts) = message else { return message }
        return .facts(facts.map { StreamFacts($0.stream) })
      }
      let report = try Dialogue.between(store, liar, channels: (unheard, other)).calling.get()
      #expect(report.skipped.map(\.replica) == [phone.replica])
      #expect(try store.streamHead(of: phone.replica)?.isEnded == false)
      #expect(try store.evidence().isEmpty)
      let (near, far) = try DescriptorChannel.pair()
      let unsaid = ForgingChannel(far, answering: 1) { message in
        guard case .answer(var answer) = message, case .other(let position) = answer.states[0] else {
          return message
        }
        answer.facts = []
        answer.states = [.other(.init(commit: position.commit, isEnded: false, root: position.root))]
        return .answer(answer)
      }
      _ = try Dialogue.between(liar, store, channels: (near, unsaid))
      #expect(try liar.streamHead(of: phone.replica)?.isEnded == true)
      #expect(try store.streamHead(of: phone.replica)?.isEnded == false)
    }
    try Self.write(1, to: phone, "b")
    try Self.sync(tablet, with: phone)
    #expect(tablet.digest == phone.digest)
  }
}
