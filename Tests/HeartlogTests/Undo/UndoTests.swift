import HeartlogCrashModel
import HeartlogFiles
import HeartlogTesting
import Testing

@testable import Heartlog
@testable import HeartlogFormat

@Suite("Undo and restore")
struct UndoTests {
  private let test = TestStore()

  private func event(_ store: FavoritesStore, _ sequence: UInt64) -> EventID {
    EventID(replica: store.replica, sequence: SequenceNumber(rawValue: sequence))
  }

  private func expectError(_ code: HeartlogError.Code, _ body: () throws -> Void) {
    let error = #expect(throws: HeartlogError.self) { try body() }
    #expect(error?.code == code, "\(String(describing: error))")
  }

  @Test("an erasure cannot be undone, and is said to be one")
  func erasure() throws {
    let store = try test.open()
    let papers = try store.library("papers")
    try papers.add("a")
    try papers.add("b")
    try store.erase("a", in: "papers")
    let error = #expect(throws: HeartlogError.self) { try store.undo(.events([event(store, 3)])) }
    #expect(error?.code == .notFound && error?.message.contains("erased content") == true)
    let plan = try store.undo(.lastCommits(1))
    #expect(plan.erasures == [event(store, 3)] && plan.unreadable == plan.erasures)
    #expect(plan.writes.isEmpty && plan.events.isEmpty)
    let more = try store.undo(.lastCommits(2))
    #expect(more.erasures == [event(store, 3)] && more.writes.map(\.item) == ["b"])
  }

  @Test(
    "a removal is undone with the date, a change with the value, a note and a position with what they were")
  func each() throws {
    let store = try test.open()
    let papers = try store.library("papers")
    try papers.add("a", fields: [Field(name: "title", value: .string("A"))], favoritedDate: 1_000)
    try papers.setNote("read", of: "a")
    for id in ["a", "b", "c"] { try papers.collection("list").insert(id) }
    let before = store.digest
    let state = try #require(papers.item("a"))
    test.clock.now += 60_000
    for change in [
      { try papers.remove("a") },
      { try papers.set([Field(name: "title", value: .null)], of: "a") },
      { try papers.setNote("read twice", of: "a") },
      { try papers.setNote(nil, of: "a") },
      { try papers.collection("list").move("a", to: 2) },
      { try papers.collection("list").remove("b") },
      { try papers.add("new", favoritedDate: 5) },
    ] {
      #expect(try change())
      let plan = try store.undo(.lastCommits(1))
      #expect(plan.writes.count == 1 && plan.kept.isEmpty && plan.events.count == 1)
      #expect(store.digest == before)
    }
    #expect(papers.item("a") == state)
    #expect(try papers.collection("list").ids == ["a", "b", "c"])
    // What was never there is no favorite again; that it was written stays known.
    #expect(papers.item("new")?.isTombstone == true)
  }

  @Test("a plan says what is restored, what shows it now, and what is kept with the later event")
  func plan() throws {
    let clocks = [ManualClock(), ManualClock()]
    let phone = try FavoritesStore.inMemory(clock: clocks[0], seed: 1)
    let tablet = try FavoritesStore.inMemory(clock: clocks[1], seed: 2)
    let papers = try phone.library("papers")
    try papers.add("a", favoritedDate: 7)
    try phone.write {
      try papers.remove("a")
      try papers.setNote("old", of: "a")
    }
    try MergeTests.ship(phone, to: tablet)
    clocks[1].advance(by: 60)
    try tablet.library("papers").setNote("from the tablet", of: "a")
    try MergeTests.ship(tablet, to: phone)

    let plan = try phone.undo(.events([event(phone, 2), event(phone, 3)]))
    #expect(plan.writes.map(\.register) == [.membership])
    #expect(plan.writes.map(\.value) == [.membership(isFavorite: true, favoritedDate: 7)])
    #expect(plan.writes.map(\.replaced.event) == [event(phone, 2)])
    #expect(plan.kept.map(\.register) == [.field("@note")])
    #expect(plan.kept.map(\.undone) == [event(phone, 3)])
    #expect(plan.kept.map(\.later.event) == [event(tablet, 1)])
    #expect(plan.kept.map(\.later.value) == [.field(.string("from the tablet"))])
    #expect(plan.events == [event(phone, 4)] && plan.unreadable.isEmpty)
    #expect(papers.note(of: "a") == "from the tablet" && papers.contains("a"))
    // The same again: everything was written later.
    let again = try phone.undo(.events([event(phone, 2), event(phone, 3)]))
    #expect(again.writes.isEmpty && again.events.isEmpty && again.kept.count == 2)
    // The tablet's event can be undone here, as an event of the phone.
    let other = try phone.undo(.since(.milliseconds(0), replica: tablet.replica))
    #expect(other.writes.map(\.value) == [.field(.string("old"))])
    #expect(other.events == [event(phone, 5)])
  }

  @Test("an event that changed nothing visible has nothing to undo, and no commit is written")
  func nothing() throws {
    let clocks = [ManualClock(), ManualClock()]
    let phone = try FavoritesStore.inMemory(clock: clocks[0], seed: 1)
    let tablet = try FavoritesStore.inMemory(clock: clocks[1], seed: 2)
    #expect(try phone.undo(.lastCommits(3)) == UndoPlan())
    #expect(try phone.undo(.events([])) == UndoPlan())
    // Both make it a favorite, with one date.
    try phone.library("papers").add("a", favoritedDate: 7)
    clocks[1].advance(by: 60)
    try tablet.library("papers").add("a", favoritedDate: 7)
    try MergeTests.ship(tablet, to: phone)
    let heads = phone.read(\.heads)
    #expect(try phone.undo(.events([event(tablet, 1)])) == UndoPlan())
    #expect(try phone.undo(.after(.milliseconds(clocks[1].milliseconds))) == UndoPlan())
    #expect(phone.read(\.heads) == heads)
    // Its own write lost.
    let plan = try phone.undo(.lastCommits(1))
    #expect(plan.writes.isEmpty && plan.kept.map(\.later.event) == [event(tablet, 1)])
  }

  @Test("an undo closes a conflict as any write does; the undo of a quiet write is quiet")
  func conflicts() throws {
    let clocks = [ManualClock(), ManualClock()]
    let phone = try FavoritesStore.inMemory(clock: clocks[0], seed: 1)
    let tablet = try FavoritesStore.inMemory(clock: clocks[1], seed: 2)
    try phone.library("papers").setNote("phone", of: "a")
    clocks[1].advance(by: 60)
    try tablet.library("papers").setNote("tablet", of: "a")
    try MergeTests.ship(tablet, to: phone)
    #expect(phone.conflicts.count == 1)
    let plan = try phone.undo(.events([event(tablet, 1)]))
    #expect(try phone.library("papers").note(of: "a") == "phone" && phone.conflicts.isEmpty)
    try phone.undo(.events(plan.events))
    // Visible is what was visible; the conflict stays closed.
    #expect(try phone.library("papers").note(of: "a") == "tablet" && phone.conflicts.isEmpty)

    let quiet = Field(name: "position", value: .int64(5), isQuiet: true)
    try phone.library("books").set([quiet], of: "b")
    try phone.undo(.lastCommits(1))
    let last = try #require(try phone.allCommits().last?.records.first?.event)
    #expect(last.fields == [Field(name: "position", value: .null, isQuiet: true)])
  }

  @Test("what cannot be undone is an error that says so, and writes nothing")
  func errors() throws {
    let store = try test.open()
    let papers = try store.library("papers")
    try papers.add("a")
    let other = ReplicaID(high: 1, low: 2)
    expectError(.notFound) { try store.undo(.events([event(store, 1), event(store, 2)])) }
    expectError(.notFound) { try store.undo(.events([event(store, 0)])) }
    expectError(.notFound) {
      try store.undo(.events([EventID(replica: other, sequence: SequenceNumber(rawValue: 1))]))
    }
    expectError(.notFound) { try store.undo(.since(.event(event(store, 2)))) }
    expectError(.notFound) { try store.undo(.since(.milliseconds(0), library: "cities")) }
    expectError(.notFound) { try store.undo(.since(.milliseconds(0), replica: other)) }
    expectError(.notFound) { try store.undo(.after(.event(event(store, 2)))) }
    expectError(.notFound) { try store.undo(.after(.milliseconds(0), library: "cities")) }
    expectError(.invalid) { try store.undo(.after(.milliseconds(0), library: "No Name")) }
    expectError(.invalid) { try store.undo(.lastCommits(0)) }
    expectError(.misuse) { _ = try store.write { try store.undo(.lastCommits(1)) } }
    expectError(.misuse) { _ = try store.dryRun { try store.undo(.after(.milliseconds(0))) } }
    #expect(store.read(\.eventCount) == 1 && papers.contains("a"))
    #expect(try store.undo(.since(.milliseconds(.min))).writes.count == 1)
  }

  @Test("an event whose content is withheld cannot be undone by itself, and is listed in a longer undo")
  func withheld() throws {
    let clock = ManualClock()
    let whole = try FavoritesStore.inMemory(clock: clock, seed: 1)
    let less = try FavoritesStore.inMemory(clock: clock, seed: 2)
    for number in 0..<5 { try whole.library("papers").add("\(number)") }
    let before = try #require(try whole.streamHeads().first)
    try whole.erase([event(whole, 3)])
    _ = try whole.makeCheckpoint()
    let head = try #require(try whole.streamHeads().first)
    let run = try #require(try whole.streamRun(of: head.replica, after: 0, upTo: before.commit))
    let erasing = try #require(
      try whole.streamRun(of: head.replica, after: before.commit.rawValue, upTo: head.commit))
    _ = try less.receive(run)
    // Nor while it is not known yet why the event is withheld.
    expectError(.notFound) { try less.undo(.events([event(whole, 3)])) }
    let early = try less.undo(.since(.event(event(whole, 2))), isDryRun: true)
    #expect(early.unreadable == [event(whole, 3)])
    _ = try less.receive(erasing)
    #expect(try less.take(try #require(head.checkpoint), at: 0) == .proven)
    try less.applyErasures()
    expectError(.notFound) { try less.undo(.events([event(whole, 2), event(whole, 3)])) }
    let plan = try less.undo(.since(.event(event(whole, 2))))
    // An erasure cannot be undone either.
    #expect(plan.writes.map(\.item) == ["1", "3", "4"])
    #expect(Set(plan.unreadable) == [event(whole, 3), event(whole, 6)])
    #expect(less.read { $0.favoriteIDs(in: "papers") } == ["0"])
  }

  @Test(
    "an event of a later version cannot be undone by itself; of one with a part of a later version, the rest can"
  )
  func laterVersions() throws {
    let replica = ReplicaID(high: 7, low: 7)
    let secret = SegmentSecret(
      firstCommit: CommitNumber(rawValue: 1), kind: .whole(Digest([UInt8](repeating: 7, count: 32))))
    var salts = Salts([secret])
    var hasher = SHA256Hasher()
    var tree = MerkleTree()
    var commits: [Commit] = []
    let extended = Event(
      library: "papers", item: "b", action: .added, unknownMembers: [UnknownMember(tag: 40, bytes: [1])])
    for (index, record) in [
      .event(Event(library: "papers", item: "a", action: .added)), .unknown(kind: 9, bytes: [1]),
      .event(extended),
    ].enumerated() as EnumeratedSequence<[EventRecord]> {
      let number = UInt64(index) + 1
      let commit = Commit(
        replica: replica, number: CommitNumber(rawValue: number),
        firstSequence: SequenceNumber(rawValue: number),
        stamp: HybridTimestamp(rawValue: 1_700_000_000_000 << 16 + number), wallTime: 1_700_000_000_000,
        records: [record])
      tree.append(leaf: try commit.leafHash(salts: &salts, hasher: &hasher), hasher: &hasher)
      commits.append(commit)
    }
    let body = try BlockEncoding.encode(
      Block(
        replica: replica, firstCommit: CommitNumber(rawValue: 1), headsAtStart: [], secrets: [secret],
        commits: commits))
    let store = try test.open()
    let received = try store.receive(
      StreamRun(
        replica: replica, name: "later", firstCommit: CommitNumber(rawValue: 1), commitCount: 3, body: body,
        root: tree.root))
    #expect(received == .appended(commits: 3, events: 3, changedItems: 2))
    let ids = (1...3).map { EventID(replica: replica, sequence: SequenceNumber(rawValue: $0)) }
    expectError(.newerFormat) { try store.undo(.events([ids[1]])) }
    expectError(.newerFormat) { try store.undo(.events([ids[2]])) }
    let plan = try store.undo(.after(.event(ids[0])))
    #expect(plan.writes.map(\.item) == ["b"] && plan.unreadable == [ids[1], ids[2]])
    #expect(try store.digest == store.state(at: .event(ids[0])).digest)
  }

  @Test(
    "an undo continues from a snapshot before it, reads sealed blocks, and drops a snapshot that is damaged")
  func snapshots() throws {
    var store = try test.open()
    var papers = try store.library("papers")
    for number in 0..<400 {
      test.clock.now += 1_000
      try papers.toggle("\(number % 60)")
      try papers.setNote("note \(number)", of: "\(number % 50)")
      if number == 200 { _ = try store.snapshot() }
    }
    try store.seal()
    let model = try UndoModel(store)
    let targets: [UndoScope] = [
      .lastCommits(3), .after(.event(event(store, 700))),
      .after(.event(event(store, 100))),
      .events([event(store, 30), event(store, 750)]),
    ]
    for damages in [false, true] {
      for target in targets {
        let undone = model.events(of: target, own: store.replica)
        let plan = try store.undo(target, isDryRun: true, progress: nil)
        #expect(plan.kept.count == model.kept(without: undone).count)
        let changes = model.visible(without: undone)
        for write in plan.writes {
          let value = changes[UndoModel.Register(write.library, write.item, write.register)]
          #expect(value ?? write.register.unwritten == write.value)
        }
      }
      guard !damages else { break }
      let folder = "\(TestStore.path)/snapshots"
      let name = try #require(try test.files.entries(of: folder).max())
      var bytes = try test.files.contents(of: "\(folder)/\(name)")
      bytes[bytes.count - 100] ^= 0x10
      try test.files.replaceContents(of: "\(folder)/\(name)", with: bytes)
      try store.close()
      store = try test.open()
      papers = try store.library("papers")
    }
  }

  @Test("a restore of more than a commit may hold is several commits, and their undo one undo")
  func large() throws {
    let store = try test.open()
    let papers = try store.library("papers")
    let text = String(repeating: "x", count: 1 << 20)
    try papers.add("wide")
    for number in 0..<10 { try papers.set([Field(name: "f\(number)", value: .string(text))], of: "wide") }
    let digest = store.digest
    for number in 0..<10 { try papers.set([Field(name: "f\(number)", value: .null)], of: "wide") }
    let plan = try store.undo(.after(.event(event(store, 11))))
    #expect(plan.writes.count == 10 && plan.events.count == 2)
    #expect(store.digest == digest)
    let again = try store.undo(.events(plan.events))
    #expect(again.writes.count == 10 && again.events.count == 1)
    #expect(papers.item("wide")?.fields.isEmpty == true && papers.contains("wide"))
  }

  // MARK: - Others that write at the same time

  /// Runs `body` once, while an undo reads the log: no lock is held then.
  private func undo(
    _ store: FavoritesStore, _ scope: UndoScope, isDryRun: Bool = false,
    meanwhile body: @escaping () throws -> Void
  ) throws -> UndoPlan {
    var isDone = false
    var failure: (any Error)?
    let plan = try store.undo(scope, isDryRun: isDryRun) { _, _ in
      guard !isDone else { return }
      isDone = true
      do { try body() } catch { failure = error }
    }
    if let failure { throw failure }
    #expect(isDone)
    return plan
  }

  /// Enough that reading it reports progress.
  private func fill(_ library: FavoritesLibrary) throws {
    try library.store.write {
      for number in 0..<2_000 {
        try library.set([Field(name: "n", value: .int64(Int64(number)))], of: "filler-\(number)")
      }
    }
  }

  @Test("what another process writes while the log is read is kept")
  func otherProcess() throws {
    let store = try test.open()
    let papers = try store.library("papers")
    try fill(papers)
    try papers.add("a")
    try papers.add("b")
    let other = try test.open()
    let plan = try undo(store, .lastCommits(2)) { try other.library("papers").setNote("mine", of: "a") }
    #expect(plan.writes.map(\.item) == ["a", "b"])
    #expect(papers.note(of: "a") == "mine" && !papers.contains("a"))

    try papers.add("a")
    let kept = try undo(store, .lastCommits(1)) { try other.library("papers").remove("a") }
    #expect(kept.writes.isEmpty && kept.kept.count == 1 && kept.events.isEmpty)
  }

  @Test("what another process receives while the log is read counts, although it is earlier in the order")
  func receivedMeanwhile() throws {
    let clock = ManualClock()
    clock.set(to: .init(timeIntervalSince1970: 1_000_000))
    let tablet = try FavoritesStore.inMemory(clock: clock, seed: 2)
    let store = try test.open()
    let other = try test.open()
    let papers = try store.library("papers")
    try fill(papers)
    try papers.setNote("wrong", of: "a")
    for isDryRun in [true, false] {
      try tablet.library("papers").setNote("dry run: \(isDryRun)", of: "a")
      let plan = try undo(store, .since(.event(event(store, 2_001))), isDryRun: isDryRun) {
        try MergeTests.ship(tablet, to: other)
      }
      #expect(plan.kept.isEmpty)
      #expect(plan.writes.map(\.value) == [.field(.string("dry run: \(isDryRun)"))])
    }
    #expect(papers.note(of: "a") == "dry run: false")
  }

  @Test("a commit that is queued before the undo is kept, although nobody can read it yet")
  func queued() async throws {
    let files = GatedFiles()
    let store = try FavoritesStore(at: TestStore.path, on: files, options: StoreOptions())
    let papers = try store.library("papers")
    try papers.add("a")
    files.shut()
    let later = Task { try await store.write { try papers.remove("a") } }
    while files.held == 0 { await Task.yield() }
    let plan = try store.undo(.events([event(store, 1)]))
    #expect(papers.contains("a"), "the removal is not published")
    #expect(plan.writes.isEmpty && plan.kept.map(\.later.event.sequence.rawValue) == [2])
    files.open()
    #expect(try await later.value)
  }

  @Test("an undo of several commits that ends at a full disk can be run again")
  func interrupted() throws {
    let store = try test.open()
    let papers = try store.library("papers")
    for number in 0..<12 { try papers.add("\(number)") }
    try papers.setNote("stays", of: "3")
    let target = UndoScope.events((1...12).map { event(store, $0) })
    var commits = 0
    expectError(.diskFull) {
      _ = try store.undo(target, isDryRun: false, progress: nil, eventsMax: 5) { _ in
        commits += 1
        guard commits == 2 else { return }
        test.files.failNext(.write, onPathSuffix: ".open", after: 0, code: 28, partialBytes: 30)
      }
    }
    #expect(commits == 2 && papers.favorites().count == 2)
    let rest = try store.undo(target, isDryRun: false, progress: nil, eventsMax: 5) { _ in }
    #expect(rest.writes.count == 2 && rest.kept.count == 10)
    #expect(papers.favorites().isEmpty && papers.note(of: "3") == "stays")
  }

  @Test("in a task, undo and restore are awaited")
  func awaited() async throws {
    let store = try test.open()
    let papers = try store.library("papers")
    try papers.add("a")
    test.clock.now += 1_000
    try papers.remove("a")
    #expect(try await store.run { try $0.undo(.lastCommits(1), isDryRun: true) }.writes.count == 1)
    #expect(try await store.run { try $0.undo(.lastCommits(1)) }.events.count == 1)
    #expect(papers.contains("a"))
    try await store.run { try $0.undo(.after(.milliseconds(0))) }
    #expect(!papers.contains("a"))
  }

  @Test("a plan can be made on a store that is open for reading only")
  func readOnly() throws {
    try test.open().library("papers").add("a")
    let store = try test.open { $0.access = .readOnly }
    #expect(try store.undo(.lastCommits(1), isDryRun: true).writes.count == 1)
    expectError(.readOnly) { try store.undo(.lastCommits(1)) }
  }
}
