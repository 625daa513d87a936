import HeartlogEvents
import HeartlogFiles

/// Finds commits by their numbers in the names of segments and the headers of frames, for readers that need only a few.
struct CommitSearch {
  let directory: StoreDirectory

  /// Returns the tree that has only these leaves of a stream's tree.
  ///
  /// - Throws: `corrupt` if the log does not have their commits.
  func tree(over leaves: Range<UInt64>, of replica: ReplicaID) throws -> MerkleTree {
    var tree = MerkleTree()
    let last = CommitNumber(rawValue: leaves.upperBound)
    // A name may vanish when another process seals: try again.
    for _ in 0..<16 {
      do {
        while leaves.lowerBound + tree.size < leaves.upperBound {
          let next = CommitNumber(rawValue: leaves.lowerBound + tree.size + 1)
          try readSegment(of: replica, from: next, upTo: last) { frame in
            try LeafHashing.append(frame, upTo: last, to: &tree)
          }
        }
        return tree
      } catch let error as FileError where error.isNotFound { continue }
    }
    throw StorageError(.inputOutput, "the segments keep changing", file: directory.streamPath(replica))
  }

  /// Reads the frames of commits from `next` up to `last`, as far as they are in the same segment. A block starts at `next`.
  ///
  /// - Throws: `corrupt` if the log does not have commit `next`.
  private func readSegment(
    of replica: ReplicaID, from next: CommitNumber, upTo last: CommitNumber,
    _ body: (StoredFrame) throws -> Void
  ) throws {
    // If the newest segment is a leftover of sealing, the commit may be only in one before it.
    for segment in try directory.segments(of: replica).reversed() where segment.firstCommit <= next {
      let path = directory.path(of: segment, in: replica)
      let file = try directory.fileSystem.open(path, .read)
      let cursor = SegmentCursor(
        file: file, path: path, header: try directory.header(of: file, path: path).header)
      var wanted = next
      while wanted <= last, let frame = try frame(at: cursor) {
        let after = CommitNumber(rawValue: frame.firstCommit.rawValue + UInt64(frame.commitCount))
        if frame.firstCommit <= wanted, wanted < after {
          // What was skipped over has not been checked; what is used is.
          guard case .frame = try cursor.look() else { break }
          let stored = try StoredFrame.decode(frame, at: cursor, headsBefore: nil)
          if case .block(let block) = stored {
            try body(.block(block.cut(to: wanted...last)))
          } else {
            try body(stored)
          }
          wanted = after
        }
        cursor.pass(frame)
      }
      if wanted > next { return }
    }
    throw StorageError.tooShort(replica, before: next.rawValue, in: directory)
  }

  /// Returns the header of the next frame; nil if there is none. The large frames of a sealed segment are not read.
  private func frame(at cursor: SegmentCursor) throws -> FrameHeader? {
    if cursor.header.kind == .sealed { return try cursor.header(at: cursor.offset) }
    guard case .frame(let frame) = try cursor.look() else { return nil }
    return frame
  }
}

extension StorageError {
  /// The error for a stream that does not have all commits up to `commit`.
  static func tooShort(
    _ replica: ReplicaID, before commit: UInt64, in directory: StoreDirectory
  ) -> StorageError {
    StorageError(
      .corrupt, "the stream ends before commit \(commit)", file: directory.streamPath(replica))
  }
}
