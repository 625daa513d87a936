/// The rules from commit to commit along a stream: numbers and sequence numbers follow without a gap, and stamps rise.
package struct StreamContinuity: Hashable, Sendable {
  /// The replica that writes the stream.
  package let replica: ReplicaID
  /// The number of the next commit.
  package private(set) var next: CommitNumber
  /// The sequence number of the next event.
  package private(set) var nextSequence: SequenceNumber
  /// The stamp of the last commit; 0 if it is not known.
  package private(set) var lastStamp: HybridTimestamp

  /// The state before a commit.
  package init(
    replica: ReplicaID, next: CommitNumber = CommitNumber(rawValue: 1),
    nextSequence: SequenceNumber = SequenceNumber(rawValue: 1),
    lastStamp: HybridTimestamp = HybridTimestamp(rawValue: 0)
  ) {
    self.replica = replica
    self.next = next
    self.nextSequence = nextSequence
    self.lastStamp = lastStamp
  }

  /// The state after a commit.
  package init(behind commit: CommitHeader) {
    self.init(
      replica: commit.replica, next: commit.number.next, nextSequence: commit.nextSequence,
      lastStamp: commit.stamp)
  }

  /// Advances past the next commit. Throws if it does not continue the stream, and is then unchanged.
  package mutating func extend(by commit: CommitHeader) throws(MalformedError) {
    try check(commit)
    pass(commit)
  }

  /// Advances past the commits of a block, whose continuity is checked when the block is read.
  package mutating func extend(by block: ColumnBlock) throws(MalformedError) {
    try check(block.header(at: block.commitIndices.lowerBound))
    pass(block.header(at: block.commitIndices.upperBound - 1))
  }

  private func check(_ commit: CommitHeader) throws(MalformedError) {
    guard commit.replica == replica, commit.number == next else {
      throw MalformedError("commit \(commit.number) where \(next) should be")
    }
    guard commit.firstSequence == nextSequence else {
      throw MalformedError("a commit that starts at event \(commit.firstSequence) instead of \(nextSequence)")
    }
    guard commit.stamp > lastStamp else { throw MalformedError("a commit whose stamp does not rise") }
  }

  private mutating func pass(_ commit: CommitHeader) {
    next = commit.number.next
    nextSequence = commit.nextSequence
    lastStamp = commit.stamp
  }
}
