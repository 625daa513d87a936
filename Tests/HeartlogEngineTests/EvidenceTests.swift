import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import Testing

@testable import HeartlogEngine

/// What a store knows of commits that are gone, and of commits that were changed with all checksums made right.
@Suite("What a store says of itself is held against what it has")
struct EvidenceTests {
  private func path(_ name: String, of replica: ReplicaID) -> String { "/store/replicas/\(replica)/\(name)" }

  /// A copy of a file, with every frame that `change` changes made anew, its checksums right.
  private func rewrite(
    _ path: String, in files: MemoryFileSystem, _ change: (Commit) -> Commit
  ) throws {
    let file = try files.open(path, .read)
    let header = try StoreDirectory(fileSystem: files, path: "/store").header(of: file, path: path).header
    let cursor = SegmentCursor(file: file, path: path, header: header)
    var bytes = try file.bytes(SegmentHeader.byteCount, at: 0)
    while case .frame(let frame) = try cursor.look() {
      let stored = try StoredFrame.decode(frame, at: cursor, headsBefore: nil)
      let commit = change(try #require(stored.commits?.commits.first))
      var row: [UInt8] = []
      try RowEncoding.append(commit, to: &row)
      Frame.append(
        kind: frame.kind, body: Frame.Body(stored: row),
        firstCommit: frame.firstCommit,
        commitCount: 1, durableOffset: frame.durableOffset, at: UInt64(bytes.count), of: header.id, to: &bytes
      )
      cursor.pass(frame)
    }
    try files.replaceContents(of: path, with: bytes)
  }

  private func forged(_ commit: Commit, library: String = "forged") -> Commit {
    guard case .event(let found)? = commit.records.first else { return commit }
    let event = Event(library: library, item: found.item, action: found.action, fields: found.fields)
    return Commit(
      replica: commit.replica, number: commit.number, firstSequence: commit.firstSequence,
      stamp: commit.stamp,
      wallTime: commit.wallTime, origin: commit.origin, heads: commit.heads,
      contents: .several([.event(event)]))
  }

  @Test(
    "a sealed log that is gone altogether is lost: the lock's page knows how long it was", arguments: [1, 3])
  func sealedLogIsGone(rounds: Int) throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    for round in 0..<rounds {
      for index in 0..<4 { try open.write(round * 4 + index) }
      _ = try open.log.seal(joining: false)
    }
    let replica = open.replica
    open.log.close()
    #expect(try store.verify()[0].finding == nil)
    for name in try store.names(of: replica).suffix(1) { try files.remove(path(name, of: replica)) }

    let finding = try #require(try store.verify().first?.finding)
    #expect(finding.verdict == .lost)
    let commits = CommitNumber(rawValue: UInt64(rounds * 4 - 3))...CommitNumber(rawValue: UInt64(rounds * 4))
    #expect(finding.error.commits == commits)
    #expect(try store.read().findings.map(\.verdict) == [.lost])
    let again = try store.open(TestStore.options(seed: 9))
    let commit = try again.write(100)
    #expect(commit.replica != replica && commit.number.rawValue == 1, "no number is given out twice")
    #expect(again.log.findings.map(\.verdict) == [.lost])
    again.log.close()
    #expect(try store.read().findings.isEmpty, "it is told once")
  }

  @Test("a received stream that is gone is missed by whoever had seen it")
  func receivedStreamIsGone() throws {
    let history = try History()
    try history.receive(5)
    try history.write(2)
    history.own.log.close()
    for name in try history.store.names(of: history.otherReplica) {
      try history.files.remove(history.path(name, of: history.otherReplica))
    }
    let found = try #require(try history.store.verify().first { $0.replica == history.otherReplica })
    #expect(found.finding?.verdict == .lost && found.commits == 0)
    #expect(found.finding?.error.commits == CommitNumber(rawValue: 1)...CommitNumber(rawValue: 5))
    // It can be received again.
    let open = try history.store.open(TestStore.options(seed: 60))
    try open.write(7)
  }

  @Test("commits of the own stream that others had seen are not written again")
  func othersKnowMore() throws {
    let history = try History()
    try history.write(3)
    let early = history.files.deepCopy()
    // Another device saw five commits.
    try history.write(2)
    let elsewhere = TestStore(files: MemoryFileSystem(recording: true), path: "/elsewhere")
    try elsewhere.create(seed: 70, name: "Elsewhere")
    let other = try elsewhere.open(TestStore.options(seed: 71))
    let head = try #require(try history.own.log.streamHeads().first)
    _ = try other.log.receive(
      try #require(try history.own.log.streamRun(of: history.replica, after: 0, upTo: head.commit)))
    try other.write(50)
    _ = try other.log.streamHeads()

    // The store is as it was two commits ago, and hears of the other device's commit alone.
    let store = TestStore(files: early, path: "/store")
    let open = try store.open(TestStore.options(seed: 72))
    let run = try #require(
      try other.log.streamRun(of: other.replica, after: 0, upTo: CommitNumber(rawValue: 1)))
    _ = try open.log.receive(run)
    #expect(try store.verify().first { $0.isOwn }?.finding?.verdict == .lost)
    let commit = try open.write(80)
    #expect(commit.replica != history.replica && commit.number.rawValue == 1)
  }

  @Test("a store whose own stream has ended writes as a new replica, and what it wrote is read")
  func ownStreamEnded() throws {
    let history = try History()
    try history.write(4)
    let identity = try history.files.contents(of: "/store/store")
    let replica = history.replica
    _ = try history.own.log.endStream(history.replica, after: 2)
    history.own.log.close()
    // An older file came back.
    try history.files.replaceContents(of: "/store/store", with: identity)
    let open = try history.store.open(TestStore.options(seed: 61))
    #expect(open.replica == replica)
    let commit = try open.write(9)
    #expect(commit.replica != replica)
    #expect(try history.store.read().commits.contains(commit))
    #expect(try history.store.verify().allSatisfy { $0.finding == nil })
  }

  @Test("a forked stream whose end was removed, or moved, or forged, is found by its branch")
  func endsAndBranches() throws {
    let history = try History()
    try history.write(1)
    try history.receive(6)
    _ = try history.own.log.endStream(history.otherReplica, after: 4)
    try history.write(1)
    history.own.log.close()
    #expect(try history.store.verify().allSatisfy { $0.finding == nil })
    let other = history.path(StreamEnd.name, of: history.otherReplica)
    for end in [5, 2] as [UInt64] {
      try history.files.replaceContents(of: other, with: StreamEnd(commit: end).encoded())
      let found = try #require(try history.store.verify().first { $0.replica == history.otherReplica })
      #expect(found.finding?.verdict == .corrupt, "ended after \(end)")
      #expect(found.finding?.error.isRepairable == false, "repair cannot tell")
    }
    let segment = try #require(
      try history.store.names(of: history.otherReplica).first { $0.hasSuffix(".open") })
    let bytes = try history.files.contents(of: history.path(segment, of: history.otherReplica))
    try history.files.replaceContents(of: other, with: StreamEnd(commit: 4).encoded())
    try history.files.remove(history.path(segment, of: history.otherReplica))
    #expect(
      try history.store.verify().first { $0.replica == history.otherReplica }?.finding?.verdict == .lost)
    try history.files.open(history.path(segment, of: history.otherReplica), .createNew).write(bytes, at: 0)
    try history.files.remove(other)
    #expect(
      try history.store.verify().first { $0.replica == history.otherReplica }?.finding?.verdict == .corrupt)

    // An end that no other history gave rise to.
    try history.files.open(other, .createNew).write(StreamEnd(commit: 4).encoded(), at: 0)
    #expect(try history.store.verify().allSatisfy { $0.finding == nil })
    try history.files.open(history.path(StreamEnd.name, of: history.replica), .createNew)
      .write(StreamEnd(commit: 1).encoded(), at: 0)
    #expect(try history.store.verify().first { $0.isOwn }?.finding?.verdict == .corrupt)
  }

  @Test("a store that was given a branch is told so")
  func ownBranch() throws {
    let history = try History()
    try history.write(1)
    try history.receive(6)
    let branch = try #require(try history.own.log.endStream(history.otherReplica, after: 4))
    _ = try history.own.log.seal()
    history.own.log.close()
    var identity = try StoreIdentity.read(StoreDirectory(fileSystem: history.files, path: "/store"))
    identity.replica = branch
    try history.files.replaceContents(of: "/store/store", with: identity.encoded())
    #expect(try history.store.verify().first { $0.isOwn }?.finding?.verdict == .corrupt)
  }

  @Test("a store that an older or foreign file `store` gives another's stream does not write to it")
  func othersStream() throws {
    let history = try History()
    try history.write(2)
    try history.receive(3)
    history.own.log.close()
    let directory = StoreDirectory(fileSystem: history.files, path: "/store")
    var identity = try StoreIdentity.read(directory)
    identity.replica = history.otherReplica
    try history.files.replaceContents(of: "/store/store", with: identity.encoded())
    #expect(try history.store.verify().first { $0.isOwn }?.finding?.verdict == .corrupt)
    let commit = try history.store.open(TestStore.options(seed: 62)).write(9)
    #expect(commit.replica != history.otherReplica && commit.replica != history.replica)
    #expect(try history.store.verify().allSatisfy { $0.finding == nil })
  }

  @Test("an edit with all checksums made right is not sealed where a later segment's frontier tells of it")
  func editedBeforeAFrontier() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    let replica = open.replica
    for index in 0..<4 { try open.write(index) }
    open.log.close()
    let segment = path("0000000000000001.open", of: replica)
    let original = try files.contents(of: segment)
    // A second segment that knows the tree of the first: as where the first one was sealed before, and unsealed again by somebody.
    let sealing = files.deepCopy()
    let other = try TestStore(files: sealing, path: "/store").open(TestStore.options(seed: 5))
    _ = try other.log.seal(joining: false)
    for index in 4..<6 { try other.write(index) }
    _ = try other.log.seal(joining: false)
    other.log.close()
    let second = path("0000000000000005.sealed", of: replica)
    try files.open(second, .createNew).write(try sealing.contents(of: second), at: 0)
    #expect(try store.verify()[0].finding == nil && store.verify()[0].commits == 6)

    try rewrite(segment, in: files) { $0.number.rawValue == 2 ? forged($0) : $0 }
    #expect(try files.contents(of: segment).prefix(4_096) == original.prefix(4_096))
    let finding = try #require(try store.verify()[0].finding)
    #expect(finding.verdict == .corrupt && finding.error.file == second)
    let again = try store.open(TestStore.options(seed: 6))
    let failure = storageFailure { _ = try again.log.seal() }
    #expect(failure?.code == .corrupt && failure?.file == second)
    again.log.close()
    #expect(try files.info(segment) != nil, "the evidence is there")
    #expect(try store.verify()[0].finding?.verdict == .corrupt)

    try files.replaceContents(of: segment, with: original)
    _ = try store.open(TestStore.options(seed: 7)).log.seal()
    #expect(try store.verify()[0].finding == nil)
  }
}
