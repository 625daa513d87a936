import TestSupport
import Testing

@testable import HeartlogFormat

@Suite("A block in columns says what its commits say")
struct ColumnBlockTests {
  private func columns(_ block: Block) throws -> ColumnBlock {
    let bytes = try BlockEncoding.encode(block)
    return try bytes.withUnsafeBytes {
      try BlockEncoding.decodeColumns(
        $0, replica: block.replica, firstCommit: block.firstCommit, commitCount: block.commits.count)
    }
  }

  /// The tree over what precedes a block, which no test looks into.
  private func tree(before first: CommitNumber) throws -> MerkleTree {
    let size = first.rawValue - 1
    let root = SHA256Hasher.digest(of: [7])
    return try MerkleTree(size: size, frontier: Array(repeating: root, count: size.nonzeroBitCount))
  }

  private func expectSameTree(_ block: ColumnBlock, _ commits: [Commit], _ context: String) throws {
    var salts = Salts(block.secrets)
    var hasher = SHA256Hasher()
    var expected = try tree(before: block.firstCommit)
    var found = expected
    for commit in commits {
      expected.append(leaf: try commit.leafHash(salts: &salts, hasher: &hasher), hasher: &hasher)
    }
    let parts = BlockLeafHasher(block)
    for part in 0..<parts.count { found.append(try parts.hashes(of: part), hasher: &hasher) }
    #expect(found == expected, "\(context)")
  }

  @Test(
    "commits, sizes, hashes and cuts of generated blocks agree", arguments: 1...60 as ClosedRange<UInt64>)
  func generated(seed: UInt64) throws {
    print("column block: seed \(seed)")
    var generator = CommitGenerator(seed: seed)
    var random = SeededGenerator(seed: ~seed)
    let block = generator.block(Int.random(in: 1...40, using: &random))
    let read = try columns(block)
    #expect(read.commits() == block.commits)
    #expect(read.eventCount == block.eventCount)
    #expect(read.lastCommit == block.lastCommit)
    #expect(read.lastStamp == block.commits.last?.stamp)
    let size = block.commits.reduce(0) { $0 + RowEncoding.byteCount(of: $1) }
    #expect(read.rowByteCount == size)
    #expect(read.columns.rowByteCountBound >= size)
    try expectSameTree(read, block.commits, "seed \(seed)")

    for _ in 0..<4 {
      let first = block.commits.indices.randomElement(using: &random) ?? 0
      let last = Int.random(in: first..<block.commits.count, using: &random)
      let cut = read.cut(to: block.commits[first].number...block.commits[last].number)
      let commits = Array(block.commits[first...last])
      #expect(cut.commits() == commits)
      #expect(cut.firstSequence == commits[0].firstSequence)
      #expect(cut.eventCount == commits.reduce(0) { $0 + $1.records.count })
      try expectSameTree(cut, commits, "seed \(seed), \(first)...\(last)")

      let heads = first == 0 ? read.headsAtStart : []
      let encoded = try BlockEncoding.encode(cut, after: heads)
      let part = Block(
        replica: block.replica, firstCommit: cut.firstCommit, headsAtStart: heads,
        secrets: Salts(block.secrets).secrets(serving: cut.firstCommit...cut.lastCommit), commits: commits)
      #expect(try encoded == BlockEncoding.encode(part))
    }
  }

  @Test("the tree is the same where parts of a block are whole subtrees")
  func subtrees() throws {
    let commits = Commit.taps(5_000)
    let secret = SegmentSecret(
      firstCommit: CommitNumber(rawValue: 1), kind: .whole(SHA256Hasher.digest(of: [3])))
    for first in [0, 1, 900, 1_024, 2_047] {
      let block = Block(
        replica: CommitGenerator.replica, firstCommit: commits[first].number, secrets: [secret],
        commits: Array(commits[first...]))
      try expectSameTree(try columns(block), block.commits, "from \(first)")
    }
  }

  @Test("a header and its action make the same membership")
  func memberships() {
    let all = (0...255).compactMap { try? EventHeader(checking: UInt8($0)) }
    for kind in all { #expect(kind.membership == kind.action?.isFavorite) }
  }

  @Test("what some commits have is found at their indices alone")
  func partsOfSome() {
    let parts = SparseColumn(commitIndices: [2, 3, 7], values: ["a", "b", "c"])
    #expect((0..<9).map { parts[$0] } == [nil, nil, "a", "b", nil, nil, nil, "c", nil])
    #expect((0..<9).map { parts.firstIndex(from: $0) } == [0, 0, 0, 1, 2, 2, 2, 2, 3])
    #expect((0..<4).map { parts.commitIndex(at: $0) } == [2, 3, 7, -1])
    #expect(SparseColumn<String>(commitIndices: [], values: [])[0] == nil)
  }

  @Test("the texts of a block outlive the bytes that it was read from")
  func ownTexts() throws {
    var generator = CommitGenerator(seed: 77)
    let block = generator.block(30)
    var bytes = try BlockEncoding.encode(block, compressed: false)
    let read = try bytes.withUnsafeBytes {
      try BlockEncoding.decodeColumns(
        $0, replica: block.replica, firstCommit: block.firstCommit, commitCount: block.commits.count)
    }
    for place in bytes.indices { bytes[place] = 0xAA }
    #expect(read.commits() == block.commits)
  }

  @Test("an event without a salt is refused")
  func noSalt() throws {
    let commits = Commit.taps(20)
    let block = Block(
      replica: CommitGenerator.replica, firstCommit: commits[0].number,
      secrets: [SegmentSecret(firstCommit: CommitNumber(rawValue: 1), kind: .runs([]))], commits: commits)
    let parts = BlockLeafHasher(try columns(block))
    #expect(throws: MalformedError.self) { try parts.hashes(of: 0) }
  }
}
