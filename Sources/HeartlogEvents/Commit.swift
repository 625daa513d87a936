/// A replica and the last of its commits that has been seen.
public struct Head: Hashable, Sendable {
  /// The replica that wrote the commit.
  public let replica: ReplicaID
  /// The number of the commit.
  public let commit: CommitNumber

  /// The head of a replica at a commit.
  public init(replica: ReplicaID, commit: CommitNumber) {
    self.replica = replica
    self.commit = commit
  }
}

/// The atomic unit of the log: one call, one stamp, one wall time, one or more events.
public struct Commit: Hashable, Sendable {
  /// The replica that wrote it.
  public let replica: ReplicaID
  /// Its number in the replica's stream.
  public let number: CommitNumber
  /// The sequence number of the first event; the others follow without a gap.
  public let firstSequence: SequenceNumber
  /// Its stamp, which rises strictly along a stream.
  public let stamp: HybridTimestamp
  /// The device's time when it was written: milliseconds since 1970, never negative.
  public let wallTime: Milliseconds
  /// The writer: "cli", "import:bibtex", an app's name. 1 to `Limits.originBytesMax` bytes without control
  /// characters.
  public let origin: String?
  /// The heads of other replicas that changed since this replica's last commit, sorted by replica.
  public let heads: [Head]
  /// Sorted by tag, without duplicates.
  public let unknownMembers: [UnknownMember]
  /// The storage of `records`.
  package let contents: EventRecords

  /// 1 to `Limits.commitEventsMax` records.
  public var records: [EventRecord] { contents.array }

  /// The number of events.
  public var eventCount: Int { contents.count }

  /// Creates a commit from its parts without checking them; see `validate`.
  public init(
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
  public var nextSequence: SequenceNumber { header.nextSequence }

  /// The identity of the event at `index` in `records`.
  public func eventID(at index: Int) -> EventID {
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

  /// The position with this stamp, replica and number.
  package init(stamp: HybridTimestamp, replica: ReplicaID, number: CommitNumber) {
    self.stamp = stamp
    self.replica = replica
    self.number = number
  }

  package static func < (a: CommitPosition, b: CommitPosition) -> Bool {
    MergeOrder.isLater(
      stamps: (b.stamp.rawValue, than: a.stamp.rawValue),
      numbers: (b.number.rawValue, than: a.number.rawValue), isSameReplica: a.replica == b.replica
    ) { (b.replica, than: a.replica) }
  }
}
