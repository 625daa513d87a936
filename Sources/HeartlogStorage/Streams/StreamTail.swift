import HeartlogFormat

/// The end of a stream as far as it was read, and the rules that the next commit must follow.
struct StreamTail: Hashable, Sendable {
  private var continuity: StreamContinuity
  /// Nil if the tail started before a sealed segment, so that the clocks of earlier commits are unknown: then commits must not be
  /// selected by time.
  private(set) var time: StreamTime? = StreamTime()
  /// The heads of other replicas that the stream's writer had seen, over all its commits.
  private(set) var seen: [ReplicaID: CommitNumber] = [:]

  init(replica: ReplicaID) { continuity = StreamContinuity(replica: replica) }

  /// Creates the tail before a sealed segment, whose first block records the heads seen by then. Its time is unknown.
  init(before header: SegmentHeader, seen heads: [Head]) {
    continuity = StreamContinuity(
      replica: header.replica, next: header.firstCommit, nextSequence: header.firstSequence)
    time = nil
    for head in heads { seen[head.replica] = head.commit }
  }

  /// Creates the tail after a commit.
  init(
    replica: ReplicaID, behind commit: CommitNumber, eventCount: UInt64, lastStamp: HybridTimestamp,
    time: StreamTime, seen heads: [Head]
  ) {
    continuity = StreamContinuity(
      replica: replica, next: commit.next, nextSequence: SequenceNumber(rawValue: eventCount + 1),
      lastStamp: lastStamp)
    self.time = time
    for head in heads { seen[head.replica] = head.commit }
  }

  var replica: ReplicaID { continuity.replica }
  var next: CommitNumber { continuity.next }
  var nextSequence: SequenceNumber { continuity.nextSequence }
  var lastStamp: HybridTimestamp { continuity.lastStamp }

  /// The number of the last commit; nil before the first.
  var head: CommitNumber? { next.rawValue > 1 ? CommitNumber(rawValue: next.rawValue - 1) : nil }

  /// `seen` as a vector, sorted by replica.
  var seenHeads: [Head] {
    seen.map { Head(replica: $0.key, commit: $0.value) }.sorted { $0.replica < $1.replica }
  }

  /// Sets the time if it is unknown, and returns the time that is known then.
  mutating func know(_ time: StreamTime) -> StreamTime {
    let known = self.time ?? time
    self.time = known
    return known
  }

  /// Appends the next commit of the stream.
  ///
  /// - Throws: `MalformedError` if the commit does not continue the stream; then the tail is unchanged.
  mutating func extend(by commit: Commit) throws(MalformedError) {
    try extend(by: commit.header, heads: commit.heads)
  }

  /// Appends the next commit of the stream.
  ///
  /// - Throws: `MalformedError` if the commit does not continue the stream; then the tail is unchanged.
  mutating func extend(by row: CommitRow) throws(MalformedError) {
    try extend(by: row.header, heads: row.heads)
  }

  /// Appends the next commits of the stream.
  ///
  /// - Throws: `MalformedError` if they do not continue the stream; then only `seen` may have changed.
  mutating func extend(by block: ColumnBlock) throws(MalformedError) {
    var extended = continuity
    try extended.extend(by: block)
    let heads = block.columns.commits.heads
    for index in heads.firstIndex(
      from: block.commitIndices.lowerBound)..<heads.firstIndex(from: block.commitIndices.upperBound)
    {
      try see(heads.values[index])
    }
    continuity = extended
    time?.pass(block)
  }

  private mutating func extend(by header: CommitHeader, heads: [Head]) throws(MalformedError) {
    var extended = continuity
    try extended.extend(by: header)
    if !heads.isEmpty { try see(heads) }
    continuity = extended
    time?.pass(header.wallTime)
  }

  private mutating func see(_ heads: [Head]) throws(MalformedError) {
    for head in heads {
      guard head.replica != replica, (seen[head.replica]?.rawValue ?? 0) < head.commit.rawValue else {
        throw MalformedError("a commit whose view of another replica does not rise")
      }
    }
    let count = seen.count + heads.count { seen[$0.replica] == nil }
    guard count <= Limits.headsMax else {
      throw MalformedError("a stream that has seen \(count) others, the most is \(Limits.headsMax)")
    }
    for head in heads { seen[head.replica] = head.commit }
  }
}
