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
    assert(header.kind == .sealed, "only a sealed segment says what was seen before it")
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
    assert(commit.rawValue >= 1, "a stream begins with commit 1")
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
    assert(next == block.lastCommit.next && lastStamp == block.lastStamp, "the tail ends with the block")
  }

  private mutating func extend(by header: CommitHeader, heads: [Head]) throws(MalformedError) {
    var extended = continuity
    try extended.extend(by: header)
    if !heads.isEmpty { try see(heads) }
    continuity = extended
    time?.pass(header.wallTime)
    assert(next == header.number.next && lastStamp == header.stamp, "the tail ends with the commit")
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
    assert(seen.count == count, "no replica is among the heads twice")
  }
}

/// The time of a stream by which moments are selected: its writer's clock, made monotonic.
///
/// The time of a commit is the latest wall time of its stream up to that commit. Stamps are not used, because they may be inherited
/// from a wrong clock. Source: docs/merge.md, "Clocks".
struct StreamTime: Hashable, Sendable {
  /// The wall time of the last commit; 0 before the first.
  private(set) var last: Milliseconds = 0
  /// The latest wall time so far, which is the time of the last commit.
  private(set) var latest: Milliseconds = 0

  /// Creates the time before the first commit.
  init() {}

  /// Creates the time after a commit with wall time `last`; `latest` may come from an earlier commit.
  init(last: Milliseconds, latest: Milliseconds) {
    precondition(last <= latest, "a latest wall time that is not the latest")
    self.last = last
    self.latest = latest
  }

  /// Advances past a commit with this wall time.
  @inline(__always)
  mutating func pass(_ wallTime: Milliseconds) {
    last = wallTime
    latest = max(latest, wallTime)
    assert(last <= latest, "no wall time is later than the latest")
  }

  /// Advances past all commits of a block.
  mutating func pass(_ block: ColumnBlock) {
    last = block.lastWallTime
    latest = max(latest, block.latestWallTime)
    assert(last <= latest, "no wall time is later than the latest")
  }
}
