import Testing

@testable import HeartlogFormat

@Suite("Salts and withheld events")
struct WithholdingTests {
  private static let secret = SHA256Hasher.digest(of: Array("secret".utf8))

  private func block(_ count: UInt64) -> Block {
    let commits = Commit.taps(count)
    return Block(
      replica: commits[0].replica, firstCommit: commits[0].number,
      secrets: [SegmentSecret(firstCommit: commits[0].number, kind: .whole(Self.secret))], commits: commits)
  }

  private func root(_ block: Block) throws -> Digest {
    var salts = Salts(block.secrets)
    var hasher = SHA256Hasher()
    var tree = MerkleTree()
    for commit in block.commits {
      tree.append(leaf: try commit.leafHash(salts: &salts, hasher: &hasher), hasher: &hasher)
    }
    return tree.root
  }

  /// Names the one event of a commit of `block`.
  private func named(_ number: UInt64, in block: Block) throws -> ErasedEvent {
    var salts = Salts(block.secrets)
    var hasher = SHA256Hasher()
    let commit = block.commits[Int(number - block.firstCommit.rawValue)]
    return try #require(ErasedEvent(of: commit, at: 0, salts: &salts, hasher: &hasher))
  }

  /// The block without the content of the one event of a commit.
  private func withholding(_ number: UInt64, in block: Block) throws -> Block {
    try #require(WithheldEvents([try named(number, in: block)]).redacted(block))
  }

  /// The block without the content of the events that a condition names.
  private func withholding(_ isWithheld: (Event) -> Bool, in block: Block) -> Block? {
    var salts = Salts(block.secrets)
    var hasher = SHA256Hasher()
    let named = block.commits.flatMap { commit in
      commit.records.indices.compactMap { index -> ErasedEvent? in
        guard let event = commit.records[index].event, isWithheld(event) else { return nil }
        return ErasedEvent(of: commit, at: index, salts: &salts, hasher: &hasher)
      }
    }
    return WithheldEvents(named).redacted(block)
  }

  @Test("a withheld event keeps the leaf, and the others still verify", arguments: [1, 256, 257, 600])
  func withheld(number: Int) throws {
    let whole = block(600)
    let withheld = try withholding(UInt64(number), in: whole)
    #expect(withheld != whole)
    let bytes = try BlockEncoding.encode(withheld)
    let decoded = try Block.decoded(bytes, like: withheld)
    #expect(decoded == withheld)
    #expect(try root(decoded) == root(whole))
    // The salt of what was withheld is gone, its neighbours' are not.
    let salts = Salts(decoded.secrets)
    #expect(salts.salt(commit: CommitNumber(rawValue: UInt64(number)), event: 0) == nil)
    #expect(salts.salt(commit: CommitNumber(rawValue: UInt64(number)).next, event: 0) != nil || number == 600)
  }

  @Test("any part of a block in which events are withheld is a block")
  func part() throws {
    let whole = block(20)
    for taken in [["papers"], ["books"], []] as [Set<String>] {
      let withheld = withholding({ !taken.contains($0.library) }, in: whole) ?? whole
      for first in 0..<20 {
        let commits = Array(withheld.commits[first...])
        let range = commits[0].number...commits[commits.count - 1].number
        let part = Block(
          replica: whole.replica, firstCommit: commits[0].number,
          secrets: Salts(withheld.secrets).secrets(serving: range), commits: commits)
        #expect(try Block.decoded(BlockEncoding.encode(part), like: part) == part)
        #expect(
          try root(part)
            == root(
              Block(
                replica: whole.replica, firstCommit: commits[0].number, secrets: whole.secrets,
                commits: Array(whole.commits[first...]))))
      }
    }
  }

  @Test("no block becomes too large because content of it is withheld")
  func size() throws {
    let replica = ReplicaID(high: 1, low: 2)
    var commits: [Commit] = []
    var bytes = 0
    func add(_ event: Event) -> Bool {
      let number = UInt64(commits.count + 1)
      let commit = Commit(
        replica: replica, number: CommitNumber(rawValue: number),
        firstSequence: SequenceNumber(rawValue: number),
        stamp: HybridTimestamp(rawValue: (1_000_000 + number) << 16),
        wallTime: Milliseconds(1_000_000 + number),
        records: [.event(event)])
      bytes += RowEncoding.byteCount(of: commit)
      if bytes > Limits.blockRowBytesMax { return false }
      commits.append(commit)
      return true
    }
    let large = Field(name: "t", value: .string(String(repeating: "a", count: Limits.valueBytesMax - 8)))
    for number in 0..<15 {
      try #require(add(Event(library: "papers", item: "\(number)", action: .added, fields: [large])))
    }
    let half = Field(name: "t", value: .string(String(repeating: "a", count: Limits.valueBytesMax / 2)))
    try #require(add(Event(library: "papers", item: "half", action: .added, fields: [half])))
    while add(Event(library: "c", item: "i", action: .toggled(on: true))) {}
    let whole = Block(
      replica: replica, firstCommit: CommitNumber(rawValue: 1),
      secrets: [SegmentSecret(firstCommit: CommitNumber(rawValue: 1), kind: .whole(Self.secret))],
      commits: commits)
    let withheld = try #require(withholding({ $0.library != "papers" }, in: whole))
    #expect(withheld.commits.reduce(0) { $0 + WithheldEvents().unexplainedCount(in: $1) } > 10_000)
    #expect(withheld.commits.reduce(0) { $0 + RowEncoding.byteCount(of: $1) } > Limits.blockRowBytesMax)
    #expect(try Block.decoded(BlockEncoding.encode(withheld), like: withheld) == withheld)
  }

  @Test("what is withheld already, or from nobody, changes nothing")
  func unchanged() throws {
    let whole = block(600)
    let named = try named(300, in: whole)
    let withheld = try #require(WithheldEvents([named]).redacted(whole))
    #expect(WithheldEvents([named]).redacted(withheld) == nil)
    #expect(WithheldEvents().redacted(whole) == nil)
    let other = ErasedEvent(
      replica: named.replica, segment: named.segment.next, commit: named.commit,
      stamp: HybridTimestamp(rawValue: named.stamp.rawValue + 1),
      index: 0, hash: named.hash)
    #expect(WithheldEvents([other]).redacted(whole) == nil)
  }

  @Test("other blocks of the segment lose the secret that leads to the salt")
  func otherBlocks() throws {
    let whole = block(600)
    let named = try named(300, in: whole)
    let commits = Array(whole.commits[400...])
    let other = Block(
      replica: whole.replica, firstCommit: commits[0].number, secrets: whole.secrets, commits: commits)
    let withheld = try #require(WithheldEvents([named]).redacted(other))
    #expect(withheld.commits == commits)
    #expect(throws: Never.self) { try withheld.validate() }
    let salts = Salts(withheld.secrets)
    for commit in [named.commit, CommitNumber(rawValue: 1)] {
      #expect(salts.salt(commit: commit, event: 0) == nil)
    }
    for commit in commits {
      #expect(
        salts.salt(commit: commit.number, event: 0)
          == Salts(whole.secrets).salt(commit: commit.number, event: 0))
    }
  }

  @Test("a branch has the event in another place, under its stamp and hash")
  func branches() throws {
    let whole = block(20)
    let named = try named(7, in: whole)
    let elsewhere = ErasedEvent(
      replica: ReplicaID(high: 1, low: 2), segment: CommitNumber(rawValue: 1),
      commit: CommitNumber(rawValue: 3), stamp: named.stamp, index: 0, hash: named.hash)
    let withheld = try #require(WithheldEvents([elsewhere]).redacted(whole))
    #expect(withheld.commits[6].records == [.withheld(named.hash)])
    #expect(Salts(withheld.secrets).salt(commit: named.commit, event: 0) == nil)
    #expect(try root(withheld) == root(whole))
  }

  @Test("erasing events name what they erase, in order, and nothing else is read as one")
  func erasure() throws {
    let whole = block(600)
    let events = try [400, 7, 300, 7].map { try named($0, in: whole) }
    let erasures = Erasure.naming(events)
    #expect(erasures.map { $0.events.map(\.commit.rawValue) } == [[7, 300, 400]])
    guard case .unknown(Erasure.kind, let bytes) = erasures[0].record else {
      Issue.record("not an event of a later kind")
      return
    }
    #expect(try bytes.withUnsafeBytes { try Erasure($0) } == erasures[0])
    #expect(erasures[0].record.erasedEvents == erasures[0].events)
    #expect(EventRecord.unknown(kind: 9, bytes: bytes).erasedEvents == nil)
    for count in 0..<bytes.count {
      #expect(EventRecord.unknown(kind: 8, bytes: Array(bytes.prefix(count))).erasedEvents == nil)
    }
    #expect(EventRecord.unknown(kind: 8, bytes: bytes + [0]).erasedEvents == nil)
    // 59 bytes each; the same event twice is not in order.
    let twice = [2] + bytes[1..<60] + bytes[1..<60]
    #expect(EventRecord.unknown(kind: 8, bytes: Array(twice)).erasedEvents == nil)
    // Whatever is erased, the events that erase are not.
    let erasing = Commit(
      replica: whole.replica, number: CommitNumber(rawValue: 1), firstSequence: SequenceNumber(rawValue: 1),
      stamp: whole.commits[0].stamp, wallTime: 0, records: [erasures[0].record])
    let block = Block(
      replica: whole.replica, firstCommit: erasing.number, secrets: whole.secrets, commits: [erasing])
    #expect(WithheldEvents([try named(1, in: block)]).redacted(block)?.commits == [erasing])
  }

  @Test("secrets cut for blocks and joined again are the same")
  func cutAndJoined() throws {
    let secrets = try withholding(300, in: block(600)).secrets
    let numbers = (1...600).map { CommitNumber(rawValue: UInt64($0)) }
    let salts = Salts(secrets)
    let parts = [numbers[0]...numbers[199], numbers[200]...numbers[309], numbers[310]...numbers[599]]
      .flatMap { salts.secrets(serving: $0) }
    #expect(parts != secrets)
    #expect(Salts(parts).secrets == secrets)
    for range in [numbers[0]...numbers[199], numbers[200]...numbers[309]] {
      let commits = Array(
        block(600).commits[Int(range.lowerBound.rawValue) - 1..<Int(range.upperBound.rawValue)])
      let part = Block(
        replica: commits[0].replica, firstCommit: range.lowerBound,
        secrets: salts.secrets(serving: range), commits: commits)
      #expect(throws: Never.self) { try part.validate() }
    }
  }

  @Test("of several segments, the one that a commit was written to serves it")
  func several() throws {
    let first = SegmentSecret(firstCommit: CommitNumber(rawValue: 10), kind: .whole(Self.secret))
    let second = SegmentSecret(
      firstCommit: CommitNumber(rawValue: 20), kind: .whole(SHA256Hasher.digest(of: [2])))
    let both = Salts([second, first])
    let one = Salts([first])
    let other = Salts([second])
    #expect(both.salt(commit: CommitNumber(rawValue: 9), event: 0) == nil)
    for number in [10, 19, 20, 21, 10] as [UInt64] {
      let commit = CommitNumber(rawValue: number)
      for event in 0..<3 {
        let expected =
          number < 20 ? one.salt(commit: commit, event: event) : other.salt(commit: commit, event: event)
        #expect(both.salt(commit: commit, event: event) == expected)
      }
    }
    #expect(both.secrets(serving: CommitNumber(rawValue: 12)...CommitNumber(rawValue: 19)) == [first])
    #expect(
      both.secrets(serving: CommitNumber(rawValue: 19)...CommitNumber(rawValue: 20)) == [first, second])
    #expect(both.secrets(serving: CommitNumber(rawValue: 20)...CommitNumber(rawValue: 90)) == [second])
  }

  @Test("secrets that serve nothing, or out of order, are refused")
  func malformed() throws {
    let whole = block(10)
    func secret(_ number: UInt64, _ kind: SegmentSecret.Kind? = nil) -> SegmentSecret {
      SegmentSecret(firstCommit: CommitNumber(rawValue: number), kind: kind ?? .whole(Self.secret))
    }
    let salt = Salt(Array(repeating: 7, count: 16))
    func salts(_ places: [(UInt64, Int)]) -> SegmentSecret {
      secret(
        1,
        .runs([
          RunSecret(
            run: 0,
            kind: .salts(
              places.map { EventSalt(commit: CommitNumber(rawValue: $0.0), event: $0.1, salt: salt) }))
        ]))
    }
    let bad: [[SegmentSecret]] = [
      [], [secret(0)], [secret(2)], [secret(1), secret(1)], [secret(1), secret(11)],
      [secret(1), secret(5), secret(3)],
      [secret(1, .runs([RunSecret(run: 1, kind: .whole(Self.secret))]))],
      [salts([])], [salts([(11, 0)])], [salts([(1, 1)])], [salts([(2, 0), (1, 0)])], [salts([(1, -1)])],
    ]
    for secrets in bad {
      let block = Block(
        replica: whole.replica, firstCommit: whole.firstCommit, secrets: secrets, commits: whole.commits)
      #expect(throws: MalformedError.self, "\(secrets)") { try BlockEncoding.encode(block) }
    }
  }
}

extension Salt {
  init(_ bytes: [UInt8]) { self = bytes.withUnsafeBytes { Salt($0) } }
}

extension Salts {
  /// A single salt.
  func salt(commit: CommitNumber, event: Int) -> Salt? {
    var salts = self
    var hasher = SHA256Hasher()
    return salts.salt(commit: commit, event: event, hasher: &hasher)
  }
}
