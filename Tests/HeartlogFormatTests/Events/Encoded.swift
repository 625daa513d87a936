import HeartlogFormat

// Encoding and decoding as tests use them.

extension Commit {
  func row() throws -> [UInt8] {
    var bytes: [UInt8] = []
    try RowEncoding.append(self, to: &bytes)
    return bytes
  }

  static func decoded(
    row: [UInt8], replica: ReplicaID = CommitGenerator.replica, number: CommitNumber
  ) throws -> Commit {
    try row.withUnsafeBytes { try RowEncoding.decode($0, replica: replica, number: number) }
  }
}

extension Block {
  static func decoded(_ bytes: [UInt8], like block: Block) throws -> Block {
    try bytes.withUnsafeBytes {
      try BlockEncoding.decode(
        $0, replica: block.replica, firstCommit: block.firstCommit, commitCount: block.commits.count)
    }
  }
}
