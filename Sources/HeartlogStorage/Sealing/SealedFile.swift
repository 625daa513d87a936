import HeartlogFormat
import HeartlogFiles

/// The contents of the sealed file that replaces a run of segments, in large blocks.
struct SealedFile {
  let bytes: [UInt8]

  /// Reads a run and builds the file that replaces it.
  ///
  /// Segments that have been replaced can no longer be compared with other files, so they are compared here.
  ///
  /// - Parameters:
  ///   - end: The last commit that is kept; nil for all.
  ///   - withheld: The events whose content is left out.
  ///   - snapshots: What snapshots claim about the log. The claims of segments about each other are read from their headers.
  ///   - isStopped: Whether the file is no longer wanted.
  /// - Returns: nil if another process has sealed part of the run since, or if the file is no longer wanted.
  /// - Throws: `corrupt` if the run contradicts what another file claims about it.
  init?(
    of run: [SealableSegment], in directory: StoreDirectory, replicaName: String, options: StorageOptions,
    upTo end: CommitNumber? = nil, without withheld: WithheldEvents,
    snapshots: [SnapshotClaim], isStopped: () -> Bool = { false }
  ) throws {
    guard let first = run.first, let last = run.last else { preconditionFailure("a run has a segment") }
    var generator = options.generator
    let id = SegmentID.random(using: &generator)
    var builder = BlockBuilder(id: id, without: withheld)
    let verifiedReader = try VerifiedReader(directory, replica: first.header.replica, to: first.file)
    let reader = verifiedReader.reader
    let next = try directory.segments(of: first.header.replica).first {
      $0.firstCommit > last.header.firstCommit
    }
    let claims = try TreeClaims(
      of: first.header.replica, in: directory, snapshots: snapshots,
      upTo: next.map { $0.firstCommit.rawValue - 1 } ?? .max)
    // The tree before the run goes into the header. The leaves of the run itself are appended only to check claims.
    var tree = verifiedReader.tree
    var headerTree: MerkleTree?
    var hasher = SHA256Hasher()
    var tail = reader.tail
    reading: while true {
      if isStopped() { return nil }
      switch try reader.next() {
      case .end(let end):
        if case .corrupt(let finding) = end { throw finding.error }
        break reading
      case .frame(let frame, let cursor):
        if cursor.header.firstCommit > last.header.firstCommit { break reading }
        let isInRun = cursor.header.firstCommit >= first.header.firstCommit
        if isInRun, !run.contains(where: { $0.header.id == cursor.header.id }) { return nil }
        if case .record(let kind, let body) = frame, isInRun {
          try builder.add(kind: kind, body: body, next: tail.next)
        }
        if isInRun, headerTree == nil { headerTree = tree }
        if let (commits, secrets) = frame.commits {
          var salts = Salts(secrets)
          for commit in commits {
            if let end, commit.number > end { break reading }
            if isInRun { try builder.add(commit, secrets: secrets, after: tail) }
            if !isInRun || tree.size < claims.lastCommit {
              tree.append(leaf: try commit.leafHash(salts: &salts, hasher: &hasher), hasher: &hasher)
              if let claim = claims.contradicted(by: tree) {
                throw HeartlogError(
                  .corrupt, "nothing was sealed: \(claim.contradiction)", file: claim.file, offset: 0,
                  commits: CommitNumber(rawValue: 1)...commit.number)
              }
            }
            try tail.extend(by: commit)
          }
        }
      }
    }
    guard let headerTree, headerTree.size == first.header.firstCommit.rawValue - 1,
      end.map({ tail.next > $0 })
        ?? (tail.nextSequence.rawValue == last.header.firstSequence.rawValue + last.events)
    else { return nil }
    let header = SegmentHeader(
      kind: .sealed, id: id, replica: first.header.replica, replicaName: replicaName,
      firstCommit: first.header.firstCommit, firstSequence: first.header.firstSequence,
      secret: SegmentHeader.noSecret, treeSize: headerTree.size, frontier: headerTree.frontier)
    bytes = try builder.finish(header)
  }
}
