import HeartlogFormat
import HeartlogState

extension FuzzTarget {
  private static let firstCommit = CommitNumber(rawValue: 1)

  /// A block of commits, and what is computed of its columns and of its commits alike.
  static let block = FuzzTarget(
    "block",
    seeds: { _ in
      let commits = try SeedCommits.stream(of: replica)
      var seeds = [Seed("all", try encoded(commits, secrets: [SeedCommits.secret]))]
      for (index, commit) in commits.enumerated() {
        seeds.append(Seed("commit-\(index + 1)", try encoded([commit], secrets: [SeedCommits.secret])))
      }
      seeds.append(Seed("many", try encoded(SeedCommits.many(of: replica), secrets: [SeedCommits.secret])))
      seeds.append(
        Seed(
          "compressed",
          try BlockEncoding.encode(
            Block(
              replica: replica, firstCommit: firstCommit, secrets: [SeedCommits.secret],
              commits: SeedCommits.many(of: replica)))))
      return seeds
    }
  ) { bytes in
    var reader = ByteReader(bytes)
    // Its number stands in the frame, too.
    guard (try? reader.u8()) != nil, let count = try? reader.varint(), count <= Limits.blockEventsMax,
      let columns = try? BlockEncoding.decodeColumns(
        bytes, replica: replica, firstCommit: firstCommit, commitCount: Int(count))
    else { return }
    // A few bytes may be 50,000 events; all paths are taken by few.
    guard columns.eventCount <= 400 else { return }
    let block = Block(columns)
    try block.validate()
    let plain = try BlockEncoding.encode(block, compressed: false)
    try state(try decoded(plain, Int(count)) == block, "a block is another one when it is read again")
    let compressed = try BlockEncoding.encode(block)
    try state(try decoded(compressed, Int(count)) == block, "a block is another one when it is compressed")
    try checkHashes(columns, block)
    try checkState(columns, block)
    try checkParts(columns, block)
  }

  private static func encoded(_ commits: [Commit], secrets: [SegmentSecret]) throws -> [UInt8] {
    // Numbers count from the first commit, and heads are those before it.
    let block = Block(
      replica: replica, firstCommit: firstCommit, secrets: secrets,
      commits: commits.enumerated().map { $1.numbered(UInt64($0 + 1)) })
    return try BlockEncoding.encode(block, compressed: false)
  }

  private static func decoded(_ bytes: [UInt8], _ count: Int) throws -> Block {
    try bytes.withUnsafeBytes {
      try BlockEncoding.decode($0, replica: replica, firstCommit: firstCommit, commitCount: count)
    }
  }

  private static func leaves(_ block: Block) throws -> [Digest] {
    var salts = Salts(block.secrets)
    var hasher = SHA256Hasher()
    return try block.commits.map { try $0.leafHash(salts: &salts, hasher: &hasher) }
  }

  private static func checkHashes(_ columns: ColumnBlock, _ block: Block) throws {
    let hasher = BlockLeafHasher(columns)
    var found: [Digest] = []
    do {
      for part in 0..<hasher.count {
        // Fewer commits than a full part has.
        let hashes = try hasher.hashes(of: part)
        if hashes.height == 0 { found += hashes.roots }
      }
    } catch {
      try state((try? leaves(block)) == nil, "a block has hashes, and its columns have none")
      return
    }
    let leaves = try leaves(block)
    try state(found == leaves, "the hashes of a block and of its columns differ")
    // Without content, all hashes stay.
    for libraries in [["papers"], []] as [Set<String>] {
      var salts = Salts(block.secrets)
      var sha = SHA256Hasher()
      let named = block.commits.flatMap { commit in
        commit.records.indices.compactMap { index -> ErasedEvent? in
          guard let event = commit.records[index].event, !libraries.contains(event.library) else {
            return nil
          }
          return ErasedEvent(of: commit, at: index, salts: &salts, hasher: &sha)
        }
      }
      guard let redacted = WithheldEvents(named).redacted(columns) else { continue }
      try state(try Self.leaves(redacted) == leaves, "a block has other hashes without its content")
      let read = try decoded(try BlockEncoding.encode(redacted), block.commits.count)
      try state(read == redacted, "a block without content is another one when it is read again")
    }
  }

  private static func checkState(_ columns: ColumnBlock, _ block: Block) throws {
    var one = FavoritesState()
    one.apply(columns)
    var other = FavoritesState()
    for commit in block.commits { other.apply(commit) }
    try state(
      one.digest == other.digest && one.conflicts == other.conflicts && one.eventCount == other.eventCount,
      "a block has another state than its commits")
    one.apply(columns)
    try state(one.digest == other.digest, "a block that is applied twice changes the state")
  }

  private static func checkParts(_ columns: ColumnBlock, _ block: Block) throws {
    let middle = CommitNumber(rawValue: UInt64(block.commits.count / 2 + 1))
    let cut = columns.cut(to: middle...columns.lastCommit)
    try state(
      cut.commits() == Array(block.commits[(block.commits.count / 2)...]),
      "a part of a block has other commits")
    for commit in block.commits.prefix(3) {
      for case .event(let event) in commit.records.prefix(3) {
        let found = columns.commitIndices(ofItem: event.item, in: event.library)
        try state(found.contains(Int(commit.number.rawValue) - 1), "a block does not find its item")
      }
    }
  }
}
