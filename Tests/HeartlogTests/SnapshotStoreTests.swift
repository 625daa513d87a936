import HeartlogCrashModel
import HeartlogFiles
import HeartlogEngine
import Testing

@testable import Heartlog
@testable import HeartlogEngine

@Suite("Stores and their snapshots")
struct SnapshotStoreTests {
  private let test = TestStore()
  private let folder = "\(TestStore.path)/snapshots"

  private func fill(_ store: FavoritesStore, _ range: Range<Int>) throws {
    let library = try store.library("papers")
    for number in range {
      test.clock.now += 1_000
      try store.write {
        try library.toggle("paper-\(number % 300)")
        try library.set(
          [Field(name: "title", value: .string("the title of \(number), which is long"))],
          of: "paper-\(number % 50)")
      }
    }
  }

  private func snapshotNames() throws -> [String] {
    guard try test.files.info(folder) != nil else { return [] }
    return try test.files.entries(of: folder).sorted()
  }

  /// Changes a byte of the newest snapshot.
  private func damage(_ offset: (Int) -> Int) throws {
    let name = try #require(try snapshotNames().last)
    var bytes = try test.files.contents(of: "\(folder)/\(name)")
    bytes[offset(bytes.count)] ^= 0x10
    try test.files.replaceContents(of: "\(folder)/\(name)", with: bytes)
  }

  @Test("a store that opens from a snapshot has all that it had, and what came later")
  func reopened() throws {
    var store = try test.open()
    try fill(store, 0..<400)
    let report = try #require(try store.snapshot())
    #expect(report.events == store.read { $0.eventCount })
    #expect(report.isNew)
    let again = try #require(try store.snapshot())
    #expect(again.events == report.events && again.bytes == report.bytes && !again.isNew)
    try fill(store, 400..<450)
    let digest = store.digest
    let heads = store.read { $0.heads }
    let favorites = try store.library("papers").favorites(limit: 20)
    try store.close()
    for _ in 0..<2 {
      store = try test.open()
      #expect(store.droppedSnapshots.isEmpty)
      #expect(store.digest == digest)
      #expect(store.read { $0.heads } == heads)
      #expect(try store.library("papers").favorites(limit: 20) == favorites)
      #expect(try store.state().digest == digest)
      try store.seal()
      try store.close()
    }
    store = try test.open()
    #expect(store.droppedSnapshots.isEmpty)
    try fill(store, 450..<460)
    #expect(try store.state().digest == store.digest)
  }

  @Test("snapshots are written as the policy says, and old ones go")
  func policy() throws {
    let store = try test.open { $0.snapshots = SnapshotPolicy(eventsMin: .max, eventsMinAtClose: 100) }
    try fill(store, 0..<20)
    try store.close()
    #expect(try snapshotNames().isEmpty)
    for round in 1..<12 {
      let store = try test.open { $0.snapshots = SnapshotPolicy(eventsMin: .max, eventsMinAtClose: 100) }
      try fill(store, 100 * round..<100 * round + 70)
      try store.close()
      #expect(try snapshotNames().count >= 1)
    }
    #expect(try snapshotNames().count < 5)
    let reader = try test.open { $0.access = .readOnly }
    #expect(reader.droppedSnapshots.isEmpty)
    #expect(try reader.snapshot() == nil)
    #expect(try reader.state().digest == reader.digest)
  }

  @Test(
    "a snapshot in the background: writers go on, and the next opening has everything",
    .timeLimit(.minutes(1)))
  func background() async throws {
    let store = try test.open { $0.snapshots = SnapshotPolicy(eventsMin: 200, eventsMinAtClose: .max) }
    try fill(store, 0..<300)
    while try snapshotNames().filter({ $0.hasSuffix(".snapshot") }).isEmpty { await Task.yield() }
    try fill(store, 300..<350)
    let digest = store.digest
    try store.close()
    let reopened = try test.open()
    #expect(reopened.droppedSnapshots.isEmpty)
    #expect(reopened.digest == digest)
  }

  @Test("why a snapshot was not written is told until one is, and nothing is lost")
  func failure() throws {
    let policy = SnapshotPolicy(eventsMin: .max, eventsMinAtClose: 100)
    var store = try test.open { $0.snapshots = policy }
    try fill(store, 0..<200)
    let digest = store.digest
    test.files.failNext(.rename, onPathSuffix: ".snapshot", code: 28)
    try store.close()
    #expect(store.snapshotFailure?.code == .diskFull)
    #expect(try snapshotNames().isEmpty)

    store = try test.open { $0.snapshots = policy }
    #expect(store.snapshotFailure == nil && store.digest == digest)
    test.files.failNext(.rename, onPathSuffix: ".snapshot", code: 28)
    let error = #expect(throws: HeartlogError.self) { try store.snapshot() }
    #expect(error?.code == .diskFull)
    try store.close()
    #expect(store.snapshotFailure == nil)
    #expect(try snapshotNames().count == 1)
  }

  @Test("a damaged snapshot is dropped and named, whenever the damage is met", arguments: 0..<60)
  func damaged(step: Int) throws {
    var store = try test.open()
    try fill(store, 0..<350)
    try store.snapshot()
    try fill(store, 350..<360)
    let digest = store.digest
    let favorites = try store.library("papers").favorites()
    try store.close()
    try damage { size in (size - 1) * step / 59 }

    store = try test.open()
    #expect(try store.library("papers").favorites() == favorites)
    #expect(store.digest == digest)
    // A copy that is kept meets no damage either.
    let copy = store.read { $0 }
    #expect(copy.digest == digest)
    try fill(store, 360..<365)
    #expect(try store.state().digest == store.digest)
    if let dropped = store.droppedSnapshots.first {
      #expect(store.droppedSnapshots.count == 1)
      #expect(try !snapshotNames().contains(dropped.name))
    }
  }

  @Test("damage that is met while writing loses nothing", arguments: 0..<20)
  func damagedWhileWriting(step: Int) throws {
    var store = try test.open()
    try fill(store, 0..<350)
    try store.snapshot()
    try store.close()
    try damage { size in size * (step + 1) / 22 }
    store = try test.open()
    try fill(store, 0..<120)
    #expect(try store.state().digest == store.digest)
  }

  @Test("where sealing moved what a snapshot stands behind, it is looked for once")
  func moved() throws {
    var store = try test.open()
    try fill(store, 0..<120)
    try store.snapshot()
    try fill(store, 120..<130)
    // As in the background, where nobody tells the snapshot.
    _ = try store.log.seal(progress: nil)
    let digest = store.digest
    try store.close()
    for isMoved in [true, false, false] {
      store = try test.open()
      #expect(store.log.movedPositions.isEmpty != isMoved)
      #expect(store.digest == digest)
      #expect(store.droppedSnapshots.isEmpty)
      try store.close()
    }
    let note = try #require(try snapshotNames().first { $0.hasSuffix(".places") })
    for bytes in [[], [1, 2, 3], Array(repeating: 0xFF, count: 300)] as [[UInt8]] {
      try test.files.replaceContents(of: "\(folder)/\(note)", with: bytes)
      store = try test.open()
      #expect(!store.log.movedPositions.isEmpty)
      #expect(store.digest == digest)
      try store.close()
    }
    store = try test.open()
    try fill(store, 130..<140)
    try store.snapshot()
    #expect(store.droppedSnapshots.isEmpty)
    #expect(try store.state().digest == store.digest)
  }

  @Test("time travel notes where the positions of its snapshot went")
  func movedBeforeTravel() async throws {
    let store = try test.open()
    try fill(store, 0..<120)
    let older = try #require(try store.snapshot().flatMap { _ in try snapshotNames().last })
    try fill(store, 120..<130)
    let digest = store.digest
    let moment = test.clock.now
    try fill(store, 130..<300)
    // As in the background, where nobody tells the snapshot.
    _ = try store.log.seal(progress: nil)
    let bound = try #require(
      try LogReplay(at: TestStore.path, on: test.files).bound(of: .milliseconds(moment)))
    for isMoved in [true, false] {
      let start = try #require(store.snapshots.newest { $0.allSatisfy(bound.contains) })
      #expect(start.file.name == older)
      let outcome = try LogReplay(at: TestStore.path, on: test.files)
        .run(from: start.positions, upTo: bound) { _ in }
      #expect(outcome.movedPositions.isEmpty != isMoved)
      #expect(try store.state(at: .milliseconds(moment)).digest == digest)
      while try !snapshotNames().contains(older + ".places") { await Task.yield() }
    }
    #expect(store.droppedSnapshots.isEmpty)
  }

  @Test("where the log is damaged as well, what is sound is shown, and nothing is written")
  func damagedLog() throws {
    var store = try test.open()
    try fill(store, 0..<350)
    try store.seal()
    try store.snapshot()
    let replica = "\(TestStore.path)/replicas/\(store.replica)"
    try store.close()
    let segment = try #require(try test.files.entries(of: replica).first { $0.hasSuffix(".sealed") })
    var bytes = try test.files.contents(of: "\(replica)/\(segment)")
    bytes[bytes.count - 100] ^= 1
    try test.files.replaceContents(of: "\(replica)/\(segment)", with: bytes)
    let name = try damageEveryPage()

    store = try test.open()
    #expect(store.findings.isEmpty && store.droppedSnapshots.isEmpty)
    let library = try store.library("papers")
    let failure = #expect(throws: HeartlogError.self) { try library.toggle("paper-1") }
    #expect(failure?.code == .corrupt)
    #expect(throws: HeartlogError.self) { try store.write { try library.toggle("paper-2") } }
    #expect(store.findings.map(\.verdict) == [.corrupt])
    #expect(store.snapshotFailure?.code == .corrupt)
    #expect(store.droppedSnapshots.map(\.name) == [name])
    #expect(store.read { $0.eventCount } == 0)
  }

  @Test("that the log cannot be read in the place of a damaged snapshot is told, and writes are refused")
  func unreadableLog() throws {
    var store = try test.open()
    try fill(store, 0..<350)
    try store.seal()
    try store.snapshot()
    try store.close()
    try damageEveryPage()

    store = try test.open()
    let library = try store.library("papers")
    test.files.failNext(.open, onPathSuffix: ".sealed", code: 5, times: .max)
    let failure = #expect(throws: HeartlogError.self) { try library.toggle("paper-1") }
    #expect(failure?.code == .inputOutput)
    #expect(store.snapshotFailure?.code == .inputOutput)
    test.files.clearFaults()
    store = try test.open()
    #expect(store.snapshotFailure == nil)
    #expect(try store.state().digest == store.digest)
    try store.library("papers").toggle("paper-1")
  }

  /// Changes every page of the newest snapshot, and not its directory, which is read on opening.
  @discardableResult
  private func damageEveryPage() throws -> String {
    let name = try #require(try snapshotNames().last)
    var snapshot = try test.files.contents(of: "\(folder)/\(name)")
    for offset in stride(from: 64, to: snapshot.count - 2_048, by: 64) { snapshot[offset] ^= 1 }
    try test.files.replaceContents(of: "\(folder)/\(name)", with: snapshot)
    return name
  }

  @Test("the snapshot of another store is dropped")
  func foreign() throws {
    let other = TestStore()
    var store = try other.open()
    try store.library("papers").add("foreign")
    try store.snapshot()
    let name = try #require(try other.files.entries(of: folder).first)
    let content = try other.files.contents(of: "\(folder)/\(name)")

    store = try test.open()
    try store.library("papers").add("own")
    try store.close()
    try test.files.createDirectory(folder)
    try test.files.open("\(folder)/\(name)", .createNew).write(content, at: 0)
    store = try test.open()
    #expect(store.droppedSnapshots.map(\.name) == [name])
    #expect(try store.library("papers").favorites().map(\.id) == ["own"])
    #expect(try snapshotNames().isEmpty)
  }

  @Test("who only reads leaves what is of no use, and looks at it once")
  func readOnly() throws {
    let other = TestStore()
    var store = try other.open()
    try store.library("papers").add("foreign")
    try store.snapshot()
    let foreign = try #require(try other.files.entries(of: folder).first)
    let content = try other.files.contents(of: "\(folder)/\(foreign)")

    store = try test.open()
    try fill(store, 0..<350)
    try store.snapshot()
    let digest = store.digest
    try store.close()
    try damage { $0 / 2 }
    try test.files.open("\(folder)/\(foreign)", .createNew).write(content, at: 0)
    let names = try snapshotNames()
    #expect(names.count == 2)
    for _ in 0..<2 {
      let reader = try test.open { $0.access = .readOnly }
      #expect(reader.digest == digest)
      #expect(try reader.state(at: .milliseconds(test.clock.now)).digest == digest)
      #expect(try reader.state(at: .milliseconds(test.clock.now)).digest == digest)
      #expect(reader.droppedSnapshots.map(\.name).sorted() == names)
      #expect(try snapshotNames() == names)
    }
    store = try test.open()
    #expect(store.digest == digest)
    #expect(try store.state(at: .milliseconds(test.clock.now)).digest == digest)
    #expect(try snapshotNames().isEmpty)
  }

  @Test("without their snapshots, stores are as they were")
  func removed() throws {
    var store = try test.open()
    try fill(store, 0..<100)
    try store.snapshot()
    let digest = store.digest
    for name in try snapshotNames() { try test.files.remove("\(folder)/\(name)") }
    #expect(store.digest == digest)
    try store.close()
    store = try test.open()
    #expect(store.digest == digest)
    #expect(store.droppedSnapshots.isEmpty)
  }

  @Test("the state at each time is the same from snapshots as from the start")
  func timeTravel() throws {
    let store = try test.open()
    var digests: [(Milliseconds, EventID, Digest)] = []
    for round in 0..<40 {
      try fill(store, round * 7..<round * 7 + 5)
      let head = try #require(store.read { $0.heads }.first)
      let sequence = store.read { $0.eventCount(of: head.replica) }
      digests.append(
        (
          test.clock.now, EventID(replica: head.replica, sequence: SequenceNumber(rawValue: sequence)),
          store.digest
        ))
      if round % 8 == 5 { try store.snapshot() }
      if round == 20 { try store.seal() }
    }
    #expect(try snapshotNames().count == 1)
    for (time, event, digest) in digests {
      #expect(try store.state(at: .milliseconds(time)).digest == digest)
      #expect(try store.state(at: .event(event)).digest == digest)
    }
    #expect(store.droppedSnapshots.isEmpty)
  }

  @Test("conflicts and what devices had seen of each other come with the snapshot")
  func merged() throws {
    let other = TestStore()
    let phone = try test.open()
    let laptop = try other.open()
    try phone.library("papers").add("a")
    try laptop.library("papers").add("a")
    try laptop.library("papers").set([Field(name: "note", value: .string("of the laptop"))], of: "a")
    try phone.library("papers").set([Field(name: "note", value: .string("of the phone"))], of: "a")
    try MergeTests.ship(laptop, to: phone)
    #expect(phone.conflicts.count == 1)
    try phone.snapshot()
    try phone.close()
    let reopened = try test.open()
    #expect(reopened.droppedSnapshots.isEmpty)
    #expect(reopened.conflicts.count == 1)
    try laptop.library("papers").set([Field(name: "note", value: .string("again"))], of: "a")
    try MergeTests.ship(laptop, to: reopened)
    try reopened.library("papers").set([Field(name: "note", value: .string("settled"))], of: "a")
    #expect(reopened.conflicts.isEmpty)
    #expect(try reopened.state().digest == reopened.digest)
  }

  @Test("a repair writes anew what a snapshot has of lost commits, with dates and fields, and only once")
  func lostSegment() throws {
    func title(_ text: String) -> [Field] { [Field(name: "title", value: .string(text))] }
    var store = try test.open()
    let library = try store.library("papers")
    for number in 1...5 {
      test.clock.now += 1_000
      try library.add("paper-\(number)", fields: title("T\(number)"))
    }
    try library.remove("paper-2")
    let before = library.favorites()
    try store.seal()
    try store.snapshot()
    let stream = "\(TestStore.path)/replicas/\(store.replica)"
    try store.close()
    for name in try test.files.entries(of: stream) where name.hasSuffix(".sealed") {
      try test.files.remove("\(stream)/\(name)")
    }
    store = try test.open()
    #expect(try store.library("papers").favorites() == before)
    #expect(store.findings.map(\.verdict) == [.lost])
    // What is written before the repair is later than what the snapshot has.
    test.clock.now += 1_000
    try store.library("papers").remove("paper-1")
    try store.library("papers").add("paper-1", fields: title("new"))
    try store.close()

    func repair(isDryRun: Bool = false) throws -> RepairReport {
      var options = StoreOptions()
      options.clock = { [clock = test.clock] in clock.now }
      return try FavoritesStore.repair(
        at: TestStore.path, on: test.files, isDryRun: isDryRun, options: options)
    }
    for isDryRun in [true, false] {
      let report = try repair(isDryRun: isDryRun)
      #expect(report.isSound && report.entries.count == 1)
      #expect(report.entries.first?.outcome.contains("4 items") == true)
    }
    store = try test.open()
    let after = try store.library("papers").favorites()
    #expect(Array(after.dropFirst()) == Array(before.dropLast()))
    #expect(after.first?.id == "paper-1" && after.first?.value(of: "title") == .string("new"))
    #expect(try store.library("papers").item("paper-2")?.value(of: "title") == .string("T2"))
    #expect(store.findings.isEmpty)
    try store.library("papers").remove("paper-3")
    try store.close()
    #expect(try repair().entries.isEmpty, "what was written since stays as it is")
  }
}
