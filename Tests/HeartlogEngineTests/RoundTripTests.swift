import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import HeartlogEngine
import Testing

@Suite("A log is written, reopened and followed")
struct RoundTripTests {
  @Test("what was written is there again, after any number of reopenings", arguments: FileSystemKind.allCases)
  func reopening(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    let store = try place.store()
    var written: [Commit] = []
    for round in 0..<4 {
      let open = try store.open()
      #expect(open.projection.commits == written)
      #expect(open.log.findings.isEmpty)
      for index in 0..<5 {
        let durability: Durability = index % 2 == 0 ? .durable : .buffered
        written.append(try open.write(round * 5 + index, durability, events: 1 + index))
      }
      #expect(open.projection.commits == written)
      if round % 2 == 0 { open.log.close() }
    }
    expectNoGap(written)
    #expect(try store.read().commits == written)
    let verified = try store.verify()
    #expect(verified.map(\.commits) == [20] && verified[0].finding == nil)
    #expect(verified[0].events == 60 && verified[0].isOwn && verified[0].name == "Test")
  }

  @Test("a small segment limit rotates, and nothing is lost between the files")
  func rotation() throws {
    let (store, _) = try TestStore.inMemory()
    var written: [Commit] = []
    for round in 0..<3 {
      let open = try store.open(TestStore.options(seed: UInt64(10 + round), segmentBytesMax: 5_000))
      for index in 0..<20 {
        written.append(try open.write(round * 20 + index, index % 4 == 0 ? .durable : .buffered, bytes: 300))
      }
      open.log.close()
      #expect(try store.read().commits == written)
    }
    expectNoGap(written)
    let open = try store.open()
    let names = try store.names(of: open.replica)
    #expect(names.count > 10)
    #expect(names.allSatisfy { $0.hasSuffix(".open") })
    #expect(try store.verify()[0].finding == nil)
  }

  @Test(
    "a tail of many windows is read as it was written, whatever lies in it",
    arguments: FileSystemKind.allCases)
  func longTail(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    let store = try place.store()
    let open = try store.open()
    let written = try (0..<1_500).map { index -> Commit in
      if index % 50 == 49 {
        // Compressed, as rows of this length are.
        let note = Field(name: "@note", value: .string(String(repeating: "so it is. ", count: 90)))
        let event = Event(library: "papers", item: "item-\(index)", action: .added, fields: [note])
        let draft = CommitDraft(wallTime: 1_772_000_000_000, origin: nil, records: [.event(event)])
        return try #require(try open.log.write(.buffered) { draft }?.commit)
      }
      // Some are larger than a window.
      return try open.write(index, .buffered, events: 1 + index % 3, bytes: index % 400 == 398 ? 100_000 : 12)
    }
    open.log.close()
    let found = try store.read()
    #expect(found.commits == written)
    #expect(found.findings.isEmpty)
    var replayed: [Commit] = []
    _ = try LogReplay(at: store.path, on: store.files).run { piece in
      if case .rows(let rows) = piece { replayed += rows.map { $0.commit() } }
    }
    #expect(replayed == written)
  }

  @Test("two open logs see each other's commits", arguments: FileSystemKind.allCases)
  func twoLogs(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    let store = try place.store()
    let options = TestStore.options(segmentBytesMax: 6_000)
    let a = try store.open(options)
    let b = try store.open(options)
    #expect(b.log.seen.isCurrent)
    try a.write(1)
    #expect(!b.log.seen.isCurrent && a.log.seen.isCurrent)
    #expect(b.projection.commits.isEmpty)
    try b.log.refresh()
    #expect(b.log.seen.isCurrent)
    #expect(b.projection.commits == a.projection.commits)
    for index in 2..<30 {
      try (index % 3 == 0 ? a : b).write(index, bytes: 200)
    }
    // A draft is given all that others wrote, without a refresh.
    var seen = 0
    _ = try a.log.write(.durable) {
      seen = a.projection.commits.count
      return .test(30)
    }
    #expect(seen == 29)
    try b.log.refresh()
    #expect(b.projection.commits == a.projection.commits)
    #expect(b.projection.commits.count == 30)
    expectNoGap(a.projection.commits)
    #expect(
      a.projection.now.applied.values.allSatisfy { $0 == 1 }
        && b.projection.now.applied.values.allSatisfy { $0 == 1 })
    #expect(try store.verify()[0].finding == nil)
  }

  @Test("a draft that says nothing writes nothing, and one that throws neither")
  func noDraft() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    try open.write(1)
    let before = files.trace.count { if case .write = $0 { true } else { false } }
    #expect(try open.log.write(.durable) { nil } === nil)
    struct Refusal: Error {}
    #expect(throws: Refusal.self) { try open.log.write(.durable) { throw Refusal() } }
    let malformed = storageFailure {
      _ = try open.log.write(.durable) {
        CommitDraft(
          wallTime: Limits.timeMillisecondsMax, origin: nil,
          records: [.event(Event(library: "No Such Name", item: "x", action: .added))])
      }
    }
    #expect(malformed?.code == .invalid)
    #expect(files.trace.count { if case .write = $0 { true } else { false } } == before)
    // The refused commit's time has not moved the clock.
    #expect(try open.write(2).stamp.milliseconds == CommitDraft.test(2).wallTime)
    #expect(try store.read().commits.count == 2)
  }

  @Test("the heads of other streams are recorded once, when they change")
  func heads() throws {
    let place = try TestPlace(.memory)
    let store = try place.store()
    let files = try #require(place.files as? MemoryFileSystem)
    let first = try store.open()
    for index in 0..<3 { try first.write(index) }
    first.log.close()
    files.machineID = Array("another".utf8)
    let second = try store.open()
    let renewed = try second.write(3)
    #expect(renewed.replica != first.replica && renewed.number.rawValue == 1)
    #expect(renewed.heads == [Head(replica: first.replica, commit: CommitNumber(rawValue: 3))])
    #expect(try second.write(4).heads.isEmpty)
    #expect(renewed.stamp > first.projection.commits[2].stamp)
    #expect(try store.read().commits.count == 5)
    #expect(try store.verify().map(\.commits).sorted() == [2, 3])
  }

  @Test("a reader that stands in the log follows it over rotation, and reads each commit once")
  func following() throws {
    let (store, _) = try TestStore.inMemory()
    let writer = try store.open(TestStore.options(segmentBytesMax: 5_000))
    let reader = try store.open(TestStore.options(access: .readOnly))
    for index in 0..<60 {
      try writer.write(index, bytes: 150)
      if index % 7 == 0 { try reader.log.refresh() }
      if index % 20 == 19 { _ = try writer.log.seal() }
    }
    try reader.log.refresh()
    #expect(reader.projection.commits == writer.projection.commits)
    #expect(reader.projection.now.applied.values.allSatisfy { $0 == 1 })
    #expect(reader.log.findings.isEmpty)
  }
}
