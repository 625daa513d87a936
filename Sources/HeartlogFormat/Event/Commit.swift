/// A replica and the last of its commits that has been seen.
package struct Head: Hashable, Sendable {
  /// The replica that wrote the commit.
  package let replica: ReplicaID
  /// The number of the commit.
  package let commit: CommitNumber

  /// The head of a replica at a commit.
  package init(replica: ReplicaID, commit: CommitNumber) {
    self.replica = replica
    self.commit = commit
  }
}

/// The atomic unit of the log: one call, one stamp, one wall time, one or more events.
package struct Commit: Hashable, Sendable {
  /// The replica that wrote it.
  package let replica: ReplicaID
  /// Its number in the replica's stream.
  package let number: CommitNumber
  /// The sequence number of the first event; the others follow without a gap.
  package let firstSequence: SequenceNumber
  /// Its stamp, which rises strictly along a stream.
  package let stamp: HybridTimestamp
  /// The device's time when it was written: milliseconds since 1970, never negative.
  package let wallTime: Milliseconds
  /// The writer: "cli", "import:bibtex", an app's name. 1 to `Limits.originBytesMax` bytes without control
  /// characters.
  package let origin: String?
  /// The heads of other replicas that changed since this replica's last commit, sorted by replica.
  package let heads: [Head]
  /// Sorted by tag, without duplicates.
  package let unknownMembers: [UnknownMember]
  /// The storage of `records`.
  package let contents: EventRecords

  /// 1 to `Limits.commitEventsMax` records.
  package var records: [EventRecord] { contents.array }

  /// The number of events.
  package var eventCount: Int { contents.count }

  /// Creates a commit from its parts without checking them; see `validate`.
  package init(
    replica: ReplicaID, number: CommitNumber, firstSequence: SequenceNumber, stamp: HybridTimestamp,
    wallTime: Milliseconds, origin: String? = nil, heads: [Head] = [],
    unknownMembers: [UnknownMember] = [], records: [EventRecord]
  ) {
    self.init(
      replica: replica, number: number, firstSequence: firstSequence, stamp: stamp, wallTime: wallTime,
      origin: origin, heads: heads, unknownMembers: unknownMembers, contents: EventRecords(records))
  }

  /// Creates a commit from its parts without checking them; see `validate`.
  package init(
    replica: ReplicaID, number: CommitNumber, firstSequence: SequenceNumber, stamp: HybridTimestamp,
    wallTime: Milliseconds, origin: String? = nil, heads: [Head] = [],
    unknownMembers: [UnknownMember] = [], contents: EventRecords
  ) {
    self.replica = replica
    self.number = number
    self.firstSequence = firstSequence
    self.stamp = stamp
    self.wallTime = wallTime
    self.origin = origin
    self.heads = heads
    self.unknownMembers = unknownMembers
    self.contents = contents
  }

  /// The sequence number of the commit after this one.
  package var nextSequence: SequenceNumber { header.nextSequence }

  /// The identity of the event at `index` in `records`.
  package func eventID(at index: Int) -> EventID {
    EventID(
      replica: replica, sequence: SequenceNumber(rawValue: firstSequence.rawValue &+ UInt64(index)))
  }

  /// Its fixed part.
  package var header: CommitHeader {
    CommitHeader(
      replica: replica, number: number, firstSequence: firstSequence, eventCount: eventCount, stamp: stamp,
      wallTime: wallTime)
  }

  /// The position of this commit in the total order of all commits of all replicas.
  package var position: CommitPosition {
    CommitPosition(stamp: stamp, replica: replica, number: number)
  }
}

/// The fixed part of a commit, common to a commit value, a row and a block.
package struct CommitHeader: Hashable, Sendable {
  /// The replica that wrote it.
  package let replica: ReplicaID
  /// Its number in the replica's stream.
  package let number: CommitNumber
  /// The sequence number of its first event.
  package let firstSequence: SequenceNumber
  /// At least 1.
  package let eventCount: Int
  /// Its stamp, which rises strictly along a stream.
  package let stamp: HybridTimestamp
  /// The wall time of the replica when it wrote, in milliseconds since 1970.
  package let wallTime: Milliseconds

  /// The sequence number of the first event of the next commit.
  package var nextSequence: SequenceNumber {
    SequenceNumber(rawValue: firstSequence.rawValue &+ UInt64(eventCount))
  }

  /// Checks numbers, counts and times.
  func validate() throws(MalformedError) {
    guard (1...Limits.numberMax).contains(number.rawValue) else {
      throw MalformedError("commit number \(number)")
    }
    guard eventCount > 0, eventCount <= Limits.commitEventsMax else {
      throw MalformedError("a commit of \(eventCount) events, the most is \(Limits.commitEventsMax)")
    }
    guard firstSequence.rawValue >= 1,
      firstSequence.rawValue <= Limits.numberMax - UInt64(eventCount - 1)
    else { throw MalformedError("sequence number \(firstSequence) for \(eventCount) events") }
    guard stamp <= .last else { throw MalformedError("a stamp after the year 2999") }
    guard wallTime >= 0 else { throw MalformedError("a wall time before 1970") }
    guard wallTime <= Limits.timeMillisecondsMax else {
      throw MalformedError("a wall time after the year 2999")
    }
  }
}

/// The position of a commit in the `MergeOrder`.
package struct CommitPosition: Hashable, Sendable, Comparable {
  /// Compared first.
  package let stamp: HybridTimestamp
  /// Compared if stamps are equal.
  package let replica: ReplicaID
  /// Compared if stamps of one replica are equal, which does not occur in a valid stream.
  package let number: CommitNumber

  package static func < (a: CommitPosition, b: CommitPosition) -> Bool {
    MergeOrder.isLater(
      stamps: (b.stamp.rawValue, than: a.stamp.rawValue),
      numbers: (b.number.rawValue, than: a.number.rawValue), isSameReplica: a.replica == b.replica
    ) { (b.replica, than: a.replica) }
  }
}

extension Commit {
  /// Checks every rule that the format states for one commit: names, values, order, numbers, times, size.
  ///
  /// Decoded commits have already been checked; this is for commits created in other ways.
  package func validate() throws(MalformedError) {
    try validateParts()
    try Self.checkByteCount(RowEncoding.limitedByteCount(of: self))
  }

  /// Checks every rule except the size, which is known once the commit is encoded.
  ///
  /// - Parameter recordsAreChecked: each record has already been checked, with the commit's wall time.
  package func validateParts(recordsAreChecked: Bool = false) throws(MalformedError) {
    try header.validate()
    if let origin { try NameRules.checkOrigin(origin) }
    try Head.validate(heads, of: replica)
    try UnknownMember.validate(unknownMembers)
    guard !recordsAreChecked else { return }
    try contents.forEach { (record) throws(MalformedError) in try record.validate(wallTime: wallTime) }
  }

  /// - Parameter count: the size of a row in bytes.
  package static func checkByteCount(_ count: Int) throws(MalformedError) {
    guard count <= Limits.commitBytesMax else {
      throw MalformedError("a commit of \(count) bytes, the most is \(Limits.commitBytesMax)")
    }
  }
}

extension Head {
  /// Checks a vector of heads in the stream of `own`: sorted by replica, without duplicates, and not including `own`.
  static func validate(_ heads: [Head], of own: ReplicaID) throws(MalformedError) {
    guard heads.count <= Limits.headsMax else {
      throw MalformedError("\(heads.count) heads, the most is \(Limits.headsMax)")
    }
    for (index, head) in heads.enumerated() {
      guard index == 0 || heads[index - 1].replica < head.replica else {
        throw MalformedError("heads that are not sorted by replica")
      }
      guard head.replica != own else { throw MalformedError("a head of the stream's own replica") }
      guard (1...Limits.numberMax).contains(head.commit.rawValue) else {
        throw MalformedError("a head at commit number \(head.commit)")
      }
    }
  }
}

extension UnknownMember {
  static func validate(_ members: [UnknownMember]) throws(MalformedError) {
    guard members.count > 1 else { return }
    for index in 1..<members.count where members[index - 1].tag >= members[index].tag {
      throw MalformedError("members that are not sorted by tag")
    }
  }
}

extension EventRecord {
  /// - Parameter wallTime: the commit's wall time; a favorited date equal to it is omitted.
  func validate(wallTime: Milliseconds) throws(MalformedError) {
    switch self {
    case .withheld: return
    case .unknown(let kind, _):
      guard kind >= 8 else { throw MalformedError("an event of a later version with kind \(kind)") }
    case .event(let event):
      try event.validate(wallTime: wallTime)
    }
  }
}

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
    assert(next.rawValue >= 1 && nextSequence.rawValue >= 1, "commits and events are counted from 1")
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
    let first = block.header(at: block.commitIndices.lowerBound)
    try check(first)
    pass(block.header(at: block.commitIndices.upperBound - 1))
    assert(
      next.rawValue == first.number.rawValue + UInt64(block.commitCount),
      "the numbers of commits are contiguous")
    assert(
      nextSequence.rawValue == first.firstSequence.rawValue + UInt64(block.eventCount)
        && lastStamp >= first.stamp,
      "events are counted without a gap, and stamps rise")
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
