import Testing

@testable import HeartlogEvents

@Suite("Salts and withheld events")
struct WithholdingTests {
  private static let secret = SHA256Hasher.digest(of: Array("secret".utf8))

  private func block(_ count: Int) -> Block {
    var trace = FavoritesTrace(events: 1_000)
    let commits = trace.commits(count)
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

  /// The block without the content of the one event of `number`; its secrets replaced by what is left.
  private func withholding(_ number: UInt64, in block: Block) throws -> Block {
    let salts = Salts(block.secrets)
    var hasher = SHA256Hasher()
    let withheld = (number - 1) / 256
    var runs: [RunSecret] = []
    for run in 0...UInt64(block.commits.count - 1) / 256 {
      var kind = RunSecret.Kind.whole(
        Salts.runSecret(UInt32(run), segmentSecret: Self.secret, hasher: &hasher))
      if run == withheld {
        var left: [EventSalt] = []
        for commit in block.commits where (commit.number.rawValue - 1) / 256 == run {
          guard commit.number.rawValue != number else { continue }
          let salt = try #require(salts.salt(commit: commit.number, event: 0))
          left.append(EventSalt(commit: commit.number, event: 0, salt: salt))
        }
        kind = .salts(left)
      }
      runs.append(RunSecret(run: UInt32(run), kind: kind))
    }
    let commits = try block.commits.map { commit in
      guard commit.number.rawValue == number else { return commit }
      let salt = try #require(salts.salt(commit: commit.number, event: 0))
      return Commit(
        replica: commit.replica, number: commit.number, firstSequence: commit.firstSequence,
        stamp: commit.stamp, wallTime: commit.wallTime, origin: commit.origin,
        records: [.withheld(commit.records[0].hash(salt: salt, hasher: &hasher))])
    }
    return Block(
      replica: block.replica, firstCommit: block.firstCommit,
      secrets: [SegmentSecret(firstCommit: block.firstCommit, kind: .runs(runs))], commits: commits)
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
