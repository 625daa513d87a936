import HeartlogFiles
import HeartlogFormat

/// Reads a few leaves of a stream's tree. Finds their commits by the names of segments and the headers of frames.
struct LeafReader {
  let directory: StoreDirectory

  /// Commits as leaves of their stream's tree.
  struct Leaves {
    var hashes: [Digest] = []
    /// The commit that was asked for, with the secrets for its salts.
    var commit: (commit: Commit, secrets: [SegmentSecret])?
  }

  /// Returns consecutive leaves of a stream's tree.
  ///
  /// - Parameter commit: A commit that is returned too, if it is among them.
  /// - Throws: `corrupt` if the log does not have their commits.
  func leaves(
    _ leaves: Range<UInt64>, of replica: ReplicaID, with commit: CommitNumber? = nil
  ) throws -> Leaves {
    var found = Leaves()
    var hasher = SHA256Hasher()
    let last = CommitNumber(rawValue: leaves.upperBound)
    try directory.opening(replica) {
      while found.hashes.count < leaves.count {
        let next = CommitNumber(rawValue: leaves.lowerBound + UInt64(found.hashes.count) + 1)
        try readSegment(of: replica, from: next, upTo: last) { commits, secrets in
          var salts = Salts(secrets)
          for read in commits {
            found.hashes.append(try read.leafHash(salts: &salts, hasher: &hasher))
            if read.number == commit { found.commit = (read, secrets) }
          }
        }
      }
    }
    assert(found.hashes.count == leaves.count, "each leaf is the hash of one commit")
    return found
  }

  /// Reads the commits from `next` up to `last`, as far as they are in the same segment, and the secrets for their salts.
  ///
  /// - Throws: `corrupt` if the log does not have commit `next`.
  private func readSegment(
    of replica: ReplicaID, from next: CommitNumber, upTo last: CommitNumber,
    _ body: ([Commit], [SegmentSecret]) throws -> Void
  ) throws {
    assert(next <= last, "there is a commit to read")
    // If the newest segment is a leftover of sealing, the commit may be only in one before it.
    for segment in try directory.segments(of: replica).reversed() where segment.firstCommit <= next {
      let cursor = try directory.cursor(of: segment, in: replica)
      var wanted = next
      while wanted <= last, let frame = try frame(at: cursor) {
        let after = CommitNumber(rawValue: frame.firstCommit.rawValue + UInt64(frame.commitCount))
        if frame.firstCommit <= wanted, wanted < after {
          // What was skipped over has not been checked; what is used is.
          guard case .frame = try cursor.look() else { break }
          var stored = try StoredFrame.decode(frame, at: cursor, headsBefore: nil)
          if case .block(let block) = stored { stored = .block(block.cut(to: wanted...last)) }
          if let (commits, secrets) = stored.commits { try body(commits, secrets) }
          wanted = after
        }
        cursor.pass(frame)
      }
      if wanted > next { return }
    }
    throw HeartlogError.tooShort(replica, before: next.rawValue, in: directory)
  }

  /// Returns the header of the next frame; nil if there is none. The large frames of a sealed segment are not read.
  private func frame(at cursor: SegmentCursor) throws -> FrameHeader? {
    if cursor.header.kind == .sealed { return try cursor.header(at: cursor.offset) }
    guard case .frame(let frame) = try cursor.look() else { return nil }
    return frame
  }
}

extension HeartlogError {
  /// The error for a stream that does not have all commits up to `commit`.
  static func tooShort(
    _ replica: ReplicaID, before commit: UInt64, in directory: StoreDirectory
  ) -> HeartlogError {
    HeartlogError(
      .corrupt, "the stream ends before commit \(commit)", file: directory.streamPath(replica))
  }
}
