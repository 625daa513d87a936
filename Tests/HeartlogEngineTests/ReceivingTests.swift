import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import Synchronization
import Testing

@testable import HeartlogEngine

@Suite("Commits of other replicas")
struct ReceivingTests {
  /// Two empty stores.
  private func pair(_ kind: FileSystemKind = .memory, segmentBytesMax: UInt64 = 1 << 20) throws -> (
    a: OpenStore, b: OpenStore, places: [TestPlace], stores: [TestStore]
  ) {
    let places = [try TestPlace(kind), try TestPlace(kind)]
    let stores = [try places[0].store(seed: 11), try places[1].store(seed: 12)]
    let open = try stores.enumerated().map { index, store in
      try store.open(TestStore.options(seed: UInt64(index + 20), segmentBytesMax: segmentBytesMax))
    }
    return (open[0], open[1], places, stores)
  }

  /// Ships all that `target` lacks.
  @discardableResult
  private func ship(_ source: OpenStore, to target: OpenStore, runs: Int = .max) throws -> [ReceivedRun] {
    let known = Dictionary(
      uniqueKeysWithValues: try target.log.streamHeads().map { ($0.replica, $0.commit.rawValue) })
    var received: [ReceivedRun] = []
    for head in try source.log.streamHeads() {
      var after = known[head.replica] ?? 0
      while received.count < runs,
        let run = try source.log.streamRun(of: head.replica, after: after, upTo: head.commit)
      {
        received.append(try target.log.receive(run))
        after = run.lastCommit.rawValue
      }
    }
    return received
  }

  @Test("what is known of the streams can be read while streams are received and ended")
  func readingBesideReceiving() throws {
    let (a, b, places, _) = try pair()
    defer { withExtendedLifetime(places) {} }
    let isOver = Atomic(false)
    let readers = (0..<2).map { _ in
      TestThread {
        while !isOver.load(ordering: .relaxed) {
          let streams = b.log.streams
          #expect(streams.map(\.replica) == streams.map(\.replica).sorted())
          #expect(b.log.findings.isEmpty)
          _ = b.log.lastWallTime(of: a.replica)
          #expect(b.log.ownIdentity.replica == b.replica)
        }
      }
    }
    defer {
      isOver.store(true, ordering: .relaxed)
      for reader in readers { reader.join() }
    }
    for index in 0..<100 {
      try a.write(index)
      try ship(a, to: b)
      try b.write(index)
    }
    let end = try #require(try b.log.endStream(a.replica, after: 50))
    #expect(b.log.streams.map(\.replica).contains(end))
  }

  @Test(
    "a store that receives a stream has its commits, its root, and heads that its own commits name",
    arguments: FileSystemKind.allCases)
  func receiving(_ kind: FileSystemKind) throws {
    let (a, b, places, stores) = try pair(kind)
    defer { withExtendedLifetime(places) {} }
    for index in 0..<20 { try a.write(index, events: index % 3 + 1) }
    #expect(try ship(a, to: b) == [.appended(commits: 20, events: 39, changedItems: 39)])
    #expect(b.projection.commits == a.projection.commits)
    #expect(try ship(a, to: b).isEmpty, "there is nothing left to ship")

    let own = try b.write(100)
    #expect(own.heads == [Head(replica: a.replica, commit: CommitNumber(rawValue: 20))])
    #expect(own.stamp > a.projection.commits[19].stamp)
    #expect(try ship(b, to: a) == [.appended(commits: 1, events: 1, changedItems: 1)])
    #expect(try a.log.streamHeads().map(\.root) == b.log.streamHeads().map(\.root))

    // What was received is there when the store is opened again, and verifies.
    for store in stores {
      let verified = try store.verify()
      #expect(verified.count == 2 && verified.allSatisfy { $0.finding == nil })
      #expect(try store.read().commits.count == 21)
    }
  }

  @Test("a block that is sealed is shipped as it is stored, and a part of one as a block of its own")
  func sealed() throws {
    let (a, b, _, stores) = try pair()
    let (c, _, _, _) = try pair()
    for index in 0..<12 { try a.write(index, events: 600) }
    func run(_ after: UInt64, _ last: UInt64) throws -> StreamRun {
      try #require(try a.log.streamRun(of: a.replica, after: after, upTo: CommitNumber(rawValue: last)))
    }
    _ = try a.log.seal()
    let whole = try run(0, 12)
    let name = try #require(try stores[0].names(of: a.replica).first { $0.hasSuffix(".sealed") })
    let file = try stores[0].files.open("\(stores[0].path)/replicas/\(a.replica)/\(name)", .read)
    let stored = try file.bytes(Int(file.size()), at: 0)
    #expect(stored.firstRange(of: whole.body) != nil)
    #expect(try c.log.receive(whole) == .appended(commits: 12, events: 7_200, changedItems: 7_200))
    #expect(try b.log.receive(run(0, 7)) == .appended(commits: 7, events: 4_200, changedItems: 4_200))
    #expect(try b.log.receive(run(7, 12)) == .appended(commits: 5, events: 3_000, changedItems: 3_000))
    #expect(b.projection.commits == a.projection.commits && c.projection.commits == a.projection.commits)
    #expect(try stores[1].verify().allSatisfy { $0.finding == nil })
    // Parts that are large enough for a run of their own, and what is left behind and before them.
    for middle in [1, 11] as [UInt64] {
      let (d, _, _, others) = try pair()
      let commits = Int(middle)
      #expect(
        try d.log.receive(run(0, middle))
          == .appended(commits: commits, events: 600 * commits, changedItems: 600 * commits))
      #expect(
        try d.log.receive(run(middle, 12))
          == .appended(
            commits: 12 - commits, events: 7_200 - 600 * commits, changedItems: 7_200 - 600 * commits))
      #expect(d.projection.commits == a.projection.commits)
      #expect(try others[0].verify().allSatisfy { $0.finding == nil })
    }
    // What comes behind a sealed block is shipped behind it.
    try a.write(12)
    #expect(try ship(a, to: c) == [.appended(commits: 1, events: 1, changedItems: 1)])
  }

  @Test(
    "a run that is here already changes nothing, one that overlaps is taken from where it is new, one after a gap is refused"
  )
  func again() throws {
    let (a, b, _, stores) = try pair()
    for index in 0..<10 { try a.write(index) }
    func run(_ after: UInt64, _ last: UInt64) throws -> StreamRun {
      try #require(try a.log.streamRun(of: a.replica, after: after, upTo: CommitNumber(rawValue: last)))
    }
    _ = try a.log.streamHeads()
    #expect(try b.log.receive(run(3, 6)) == .gap)
    #expect(try b.log.receive(run(0, 5)) == .appended(commits: 5, events: 5, changedItems: 5))
    #expect(try b.log.receive(run(0, 5)) == .known)
    #expect(try b.log.receive(run(2, 4)) == .known)
    #expect(try b.log.receive(run(6, 8)) == .gap)
    #expect(try b.log.receive(run(2, 9)) == .appended(commits: 4, events: 4, changedItems: 4))
    #expect(b.projection.commits == Array(a.projection.commits[..<9]))
    #expect(b.projection.now.applied.values.allSatisfy { $0 == 1 })
    #expect(try stores[1].verify().allSatisfy { $0.finding == nil })
  }

  @Test("a run of which anything was changed is refused, and nothing of it is written")
  func tampered() throws {
    let (a, _, _, _) = try pair()
    for index in 0..<6 { try a.write(index) }
    let run = try #require(try a.log.streamRun(of: a.replica, after: 0, upTo: CommitNumber(rawValue: 6)))
    var refused = 0
    for place in run.body.indices {
      var body = run.body
      body[place] ^= 0x10
      let changed = StreamRun(
        replica: run.replica, name: run.name, firstCommit: run.firstCommit, commitCount: run.commitCount,
        body: body, root: run.root)
      let (store, _) = try TestStore.inMemory()
      let b = try store.open()
      let outcome = try? b.log.receive(changed)
      if outcome == nil || outcome == .diverged {
        refused += 1
        #expect(try b.projection.commits.isEmpty && store.verify().isEmpty, "byte \(place)")
        #expect(try b.log.receive(run) == .appended(commits: 6, events: 6, changedItems: 6), "byte \(place)")
      }
      // A byte that means nothing, such as the bits that fill up a column, may be another one.
      #expect(b.projection.commits == a.projection.commits, "byte \(place)")
    }
    #expect(refused > run.body.count * 9 / 10)
  }

  @Test("a stream with another history is told, and stays as it is")
  func diverged() throws {
    let (a, b, _, _) = try pair()
    for index in 0..<6 { try a.write(index) }
    let place = try TestPlace(.memory)
    let other = try place.store(seed: 11).open(TestStore.options(seed: 20))
    #expect(other.replica == a.replica, "the same replica, for it was made from the same numbers")
    for index in [0, 1, 2, 50, 51, 52, 53] { try other.write(index) }
    try ship(a, to: b)
    let run = try #require(
      try other.log.streamRun(of: a.replica, after: 6, upTo: CommitNumber(rawValue: 7)))
    #expect(try b.log.receive(run) == .diverged)
    let past = try #require(
      try other.log.streamRun(of: a.replica, after: 2, upTo: CommitNumber(rawValue: 5)))
    #expect(try b.log.receive(past) == .diverged)
    #expect(b.projection.commits == a.projection.commits)
    #expect(
      try other.log.streamRoot(of: a.replica, at: CommitNumber(rawValue: 3))
        == b.log.streamRoot(of: a.replica, at: CommitNumber(rawValue: 3)))
  }

  @Test("received streams go through many segments, are sealed like the own, and are shipped on")
  func onward() throws {
    let (a, b, places, stores) = try pair(segmentBytesMax: 8 << 10)
    for round in 0..<30 {
      for index in 0..<10 { try a.write(round * 10 + index, bytes: 90) }
      try ship(a, to: b)
    }
    #expect(try stores[1].names(of: a.replica).count > 2)
    _ = try b.log.seal()
    #expect(try stores[1].names(of: a.replica) == ["0000000000000001.sealed"])
    #expect(try stores[1].verify().allSatisfy { $0.finding == nil && $0.commits == 300 })

    let store = TestStore(files: places[1].files, path: places[1].path("third"))
    try store.create(seed: 33)
    let c = try store.open(TestStore.options(seed: 34))
    try ship(b, to: c)
    try a.write(1_000)
    try ship(a, to: b)
    try ship(b, to: c)
    #expect(c.projection.commits == a.projection.commits)
    #expect(try c.log.streamHeads() == b.log.streamHeads())
    #expect(try a.log.streamHeads().map(\.root) == c.log.streamHeads().map(\.root))
  }

  @Test("whoever of a restored store writes first, no number is used that others have seen")
  func restoredAndOpenedTwice() throws {
    let (a, b, _, _) = try pair()
    for index in 0..<5 { try a.write(index) }
    try b.write(99)
    try ship(a, to: b)
    try b.write(100)
    func run(_ number: UInt64) throws -> StreamRun {
      try #require(
        try b.log.streamRun(of: b.replica, after: number - 1, upTo: CommitNumber(rawValue: number)))
    }
    // The second commit of `b` names commit 5 of `a`. The restored store has two commits of it, and is open twice.
    let place = try TestPlace(.memory)
    let store = try place.store(seed: 11)
    let one = try store.open(TestStore.options(seed: 20))
    let two = try store.open(TestStore.options(seed: 20))
    #expect(one.replica == a.replica)
    try one.write(0)
    #expect(try one.log.receive(run(1)).isAppended)
    try two.write(1)
    // No name of a file changes by this, only what is in it.
    #expect(try one.log.receive(run(2)).isAppended)
    let next = try two.write(2)
    #expect(next.replica != a.replica && next.number.rawValue == 1)
    let following = try one.write(3)
    #expect(following.replica == next.replica && following.number.rawValue == 2)
  }

  @Test("a restored store receives what it forgot of its own stream, and writes as another replica")
  func restored() throws {
    let (a, b, _, stores) = try pair()
    for index in 0..<4 { try a.write(index) }
    try ship(a, to: b)
    // The same replica, with two of its four commits.
    let place = try TestPlace(.memory)
    let restoredStore = try place.store(seed: 11)
    let restored = try restoredStore.open(TestStore.options(seed: 20))
    for index in 0..<2 { try restored.write(index) }
    let mine = try restored.log.streamHeads()
    let theirs = try b.log.streamRoot(of: a.replica, at: CommitNumber(rawValue: 2))
    #expect(mine.map(\.root) == [theirs], "the same commits with the same secret")
    try ship(b, to: restored)
    #expect(restored.replica != a.replica)
    let next = try restored.write(9)
    #expect(
      next.number.rawValue == 1 && next.heads == [Head(replica: a.replica, commit: CommitNumber(rawValue: 4))]
    )
    #expect(try restoredStore.verify().allSatisfy { $0.finding == nil })
    #expect(try stores[1].verify().allSatisfy { $0.finding == nil })
  }

  @Test("bytes of a run that was not finished are cut before the next one")
  func tornRun() throws {
    let (a, b, places, stores) = try pair()
    for index in 0..<5 { try a.write(index) }
    try ship(a, to: b)
    b.log.close()
    let path = "\(stores[1].path)/replicas/\(a.replica)/0000000000000001.open"
    let file = try places[1].files.open(path, .readWrite)
    let size = try file.size()
    try file.write([UInt8](repeating: 0x5A, count: 100), at: size)
    for index in 5..<8 { try a.write(index) }
    let again = try stores[1].open(TestStore.options(seed: 90))
    #expect(again.log.findings.map(\.verdict) == [.torn])
    try ship(a, to: again)
    #expect(again.projection.commits == a.projection.commits && again.log.findings.isEmpty)
    #expect(try stores[1].verify().allSatisfy { $0.finding == nil })
  }

  @Test(
    "two histories of one stream end at their last common commit, and go on under names that every store derives alike"
  )
  func forked() throws {
    let (a, b, places, stores) = try pair()
    for index in 0..<6 { try a.write(index, events: 2) }
    let place = try TestPlace(.memory)
    let otherStore = try place.store(seed: 11)
    let before = try otherStore.open(TestStore.options(seed: 20))
    for index in [0, 1, 2] { try before.write(index, events: 2) }
    for index in 50..<54 { try before.write(index) }
    before.log.close()
    let other = try otherStore.open(TestStore.options(seed: 21))
    try ship(a, to: b)

    // b holds the first history, `a` is who wrote it, `other` wrote the second.
    let first = try #require(try b.log.endStream(a.replica, after: 3))
    let origin = other.replica
    #expect(try a.log.endStream(origin, after: 3) == first, "every store names a branch alike")
    let second = try #require(try other.log.endStream(origin, after: 3))
    #expect(first != second && a.replica != origin && other.replica != origin && other.replica != a.replica)
    for (source, target) in [(other, b), (b, a), (a, other)] { try ship(source, to: target) }

    let heads = try b.log.streamHeads()
    #expect(heads.map(\.replica) == [origin, first, second].sorted())
    #expect(heads.first { $0.replica == origin }?.isEnded == true)
    #expect(heads.first { $0.replica == origin }?.commit.rawValue == 3)
    for open in [a, other] { #expect(try open.log.streamHeads().map(\.root) == heads.map(\.root)) }
    #expect(
      Set(b.projection.commits) == Set(a.projection.commits)
        && Set(b.projection.commits) == Set(other.projection.commits))
    #expect(b.projection.commits.flatMap(\.records).count == 6 + 6 + 4)
    let head = Head(replica: origin, commit: CommitNumber(rawValue: 3))
    #expect(b.projection.commits(of: second).first?.heads == [head])

    // All of it is so when it is read again, and goes on.
    let all = Set(b.projection.commits)
    for (store, open) in [(stores[0], a), (stores[1], b), (otherStore, other)] {
      #expect(try store.verify().allSatisfy { $0.finding == nil })
      let found = try store.read().commits
      #expect(Set(found) == all, "\(open.replica): \(found.map { "\($0.replica) \($0.number)" })")
      #expect(try open.write(200).number.rawValue == 1)
    }
    try ship(a, to: b)
    #expect(b.projection.commits(of: a.replica).count == 1)
    _ = try b.log.seal()
    #expect(try stores[1].verify().allSatisfy { $0.finding == nil })
    withExtendedLifetime(places) {}
  }

  @Test("another process that has the store open forgets a history that was set aside")
  func forkedMeanwhile() throws {
    let (a, b, _, stores) = try pair()
    for index in 0..<6 { try a.write(index) }
    try ship(a, to: b)
    let watching = try stores[1].open(TestStore.options(seed: 60))
    #expect(watching.projection.commits.count == 6)
    let branch = try #require(try b.log.endStream(a.replica, after: 2))
    try watching.log.refresh()
    #expect(watching.projection.commits == b.projection.commits)
    #expect(
      watching.projection.commits(of: branch).count == 4
        && watching.projection.commits(of: a.replica).count == 2)
  }
}
