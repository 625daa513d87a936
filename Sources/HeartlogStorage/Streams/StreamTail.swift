import HeartlogEvents

/// The end of a stream as far as it was read, and the rules that the next commit must follow.
struct StreamTail: Hashable, Sendable {
  let replica: ReplicaID
  private(set) var next = CommitNumber(rawValue: 1)
  private(set) var nextSequence = SequenceNumber(rawValue: 1)
  private(set) var lastStamp = HybridTimestamp(rawValue: 0)
  /// Nil if the tail started before a sealed segment, so that the clocks of earlier commits are unknown: then commits must not be
  /// selected by time.
  private(set) var time: StreamTime? = StreamTime()
  /// The heads of other replicas that the stream's writer had seen, over all its commits.
  private(set) var seen: [ReplicaID: CommitNumber] = [:]

  init(replica: ReplicaID) { self.replica = replica }

  /// Creates the tail before a sealed segment, whose first block records the heads seen by then. Its time is unknown.
  init(before header: SegmentHeader, seen heads: [Head]) {
    replica = header.replica
    next = header.firstCommit
    nextSequence = header.firstSequence
    time = nil
    for head in heads { seen[head.replica] = head.commit }
  }

  /// Creates the tail after a commit.
  init(
    replica: ReplicaID, behind commit: CommitNumber, eventCount: UInt64, lastStamp: HybridTimestamp,
    time: StreamTime, seen heads: [Head]
  ) {
    self.replica = replica
    next = commit.next
    nextSequence = SequenceNumber(rawValue: eventCount + 1)
    self.lastStamp = lastStamp
    self.time = time
    for head in heads { seen[head.replica] = head.commit }
  }

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
    guard commit.replica == replica, commit.number == next else {
      throw MalformedError("commit \(commit.number) where \(next) should be")
    }
    try extend(
      stamp: commit.stamp, wallTime: commit.wallTime, firstSequence: commit.firstSequence,
      eventCount: commit.eventCount, heads: commit.heads)
  }

  /// Appends the next commit of the stream.
  ///
  /// - Throws: `MalformedError` if the commit does not continue the stream; then the tail is unchanged.
  mutating func extend(by row: CommitRow) throws(MalformedError) {
    guard row.replica == replica, row.number == next else {
      throw MalformedError("commit \(row.number) where \(next) should be")
    }
    try extend(
      stamp: row.stamp, wallTime: row.wallTime, firstSequence: row.firstSequence,
      eventCount: row.eventCount, heads: row.heads)
  }

  /// Appends the next commits of the stream.
  ///
  /// - Throws: `MalformedError` if one of them does not continue the stream; then the tail may have been changed in part.
  mutating func extend(by block: ColumnBlock) throws(MalformedError) {
    guard block.replica == replica, block.firstCommit == next else {
      throw MalformedError("commit \(block.firstCommit) where \(next) should be")
    }
    // Within the block, stamps and sequence numbers rise; that was checked when it was decoded.
    let commits = block.columns.commits
    guard block.firstSequence == nextSequence else {
      throw MalformedError("a commit that starts at event \(block.firstSequence) instead of \(nextSequence)")
    }
    guard commits.stamps[block.places.lowerBound] > lastStamp else {
      throw MalformedError("a commit whose stamp does not rise")
    }
    let heads = commits.heads
    for index in heads.firstPlace(
      from: block.places.lowerBound)..<heads.firstPlace(from: block.places.upperBound)
    {
      try see(heads.values[index])
    }
    next = block.lastCommit.next
    nextSequence = SequenceNumber(rawValue: nextSequence.rawValue &+ UInt64(block.eventCount))
    lastStamp = block.lastStamp
    time?.pass(block)
  }

  private mutating func extend(
    stamp: HybridTimestamp, wallTime: Milliseconds, firstSequence: SequenceNumber, eventCount: Int,
    heads: [Head]
  ) throws(MalformedError) {
    guard firstSequence == nextSequence else {
      throw MalformedError("a commit that starts at event \(firstSequence) instead of \(nextSequence)")
    }
    guard stamp > lastStamp else { throw MalformedError("a commit whose stamp does not rise") }
    if !heads.isEmpty { try see(heads) }
    next = next.next
    nextSequence = SequenceNumber(rawValue: firstSequence.rawValue &+ UInt64(eventCount))
    lastStamp = stamp
    time?.pass(wallTime)
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
