import HeartlogEvents
import HeartlogFiles

/// A run of segments as one file of large blocks, before it has its name.
struct SealedFile {
  let bytes: [UInt8]

  /// Reads a run and builds the file that replaces it.
  ///
  /// - Returns: nil where another process has sealed some of it meanwhile.
  init?(
    of run: [SealableSegment], in directory: StoreDirectory, replicaName: String, options: StorageOptions
  ) throws {
    guard let first = run.first, let last = run.last else { preconditionFailure("a run has a segment") }
    var generator = options.generator
    let id = SegmentID.random(using: &generator)
    var builder = BlockBuilder(id: id)
    let passage = try StreamPassage(directory, replica: first.header.replica, to: first.file)
    let reader = passage.reader
    // The tree in front of the run goes into the header; the run's own leaves are for the next one.
    var tree = passage.tree
    var hasher = SHA256Hasher()
    var chain = reader.chain
    reading: while true {
      switch try reader.next() {
      case .end(let end):
        if case .corrupt(let finding) = end { throw finding.error }
        break reading
      case .frame(let frame, let cursor):
        if cursor.header.firstCommit > last.header.firstCommit { break reading }
        let isInRun = cursor.header.firstCommit >= first.header.firstCommit
        if isInRun, !run.contains(where: { $0.header.id == cursor.header.id }) { return nil }
        if case .record(let kind, let body) = frame, isInRun {
          try builder.add(kind: kind, body: body, next: chain.next)
        }
        if let (commits, secrets) = frame.commits {
          var salts = Salts(secrets)
          for commit in commits {
            if isInRun {
              try builder.add(commit, secrets: secrets, after: chain)
            } else {
              tree.append(leaf: try commit.leafHash(salts: &salts, hasher: &hasher), hasher: &hasher)
            }
            try chain.extend(by: commit)
          }
        }
      }
    }
    let header = SegmentHeader(
      kind: .sealed, id: id, replica: first.header.replica, replicaName: replicaName,
      firstCommit: first.header.firstCommit, firstSequence: first.header.firstSequence,
      secret: SegmentHeader.noSecret, treeSize: tree.size, frontier: tree.frontier)
    guard chain.nextSequence.rawValue == last.header.firstSequence.rawValue + last.events,
      tree.size == first.header.firstCommit.rawValue - 1
    else { return nil }
    bytes = try builder.finish(header)
  }
}
