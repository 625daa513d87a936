import HeartlogFormat

extension FuzzTarget {
  /// The commits that rows and blocks are of.
  static let replica = ReplicaID(high: 0x0011_2233_4455_6677, low: 0x8899_AABB_CCDD_EEFF)

  /// One commit in row encoding. A commit has exactly one.
  static let row = FuzzTarget(
    "row",
    seeds: { _ in
      try SeedCommits.stream(of: replica).enumerated().map { index, commit in
        var bytes: [UInt8] = []
        try RowEncoding.append(commit, to: &bytes)
        return Seed("commit-\(index + 1)", bytes)
      }
    }
  ) { bytes in
    let number = CommitNumber(rawValue: 7)
    guard let row = try? CommitRow(bytes, replica: replica, number: number) else { return }
    let commit = row.commit()
    try commit.validate()
    try state(row.heads == commit.heads, "the heads of a row differ from its commit's")
    var encoded: [UInt8] = []
    try RowEncoding.append(commit, to: &encoded)
    try state(encoded.elementsEqual(bytes), "a commit has two row encodings")
    let again = try encoded.withUnsafeBytes { try RowEncoding.decode($0, replica: replica, number: number) }
    try state(again == commit, "a commit is another one when it is read again")
  }
}
