/// A run of commits of one stream as it was read: in columns, checked, and put together as commits for those who ask.
package struct ColumnBlock: Sendable {
  /// Whose stream the commits are from.
  package let replica: ReplicaID
  /// The heads in force before the first commit that was read.
  package let headsAtStart: [Head]
  /// The secrets that serve the commits, by first commit.
  package let secrets: [SegmentSecret]
  package let columns: BlockColumns
  /// The commits of the columns that this stands for.
  package private(set) var places: Range<Int>
  private let firstRead: CommitNumber
  private let firstSequenceRead: SequenceNumber

  init(
    replica: ReplicaID, firstCommit: CommitNumber, firstSequence: SequenceNumber, headsAtStart: [Head],
    secrets: [SegmentSecret], columns: BlockColumns
  ) {
    self.replica = replica
    self.headsAtStart = headsAtStart
    self.secrets = secrets
    self.columns = columns
    places = 0..<columns.commits.count
    firstRead = firstCommit
    firstSequenceRead = firstSequence
  }

  /// The number of the first commit.
  package var firstCommit: CommitNumber { number(at: places.lowerBound) }

  /// The number of the last commit.
  package var lastCommit: CommitNumber { number(at: places.upperBound - 1) }

  /// How many commits there are.
  package var commitCount: Int { places.count }

  /// How many events the commits have.
  package var eventCount: Int { columns.commits.eventCount(in: places) }

  /// The sequence number of the first event.
  package var firstSequence: SequenceNumber { sequence(at: places.lowerBound) }

  /// The stamp of the last commit, which is the highest.
  package var lastStamp: HybridTimestamp { columns.commits.stamps[places.upperBound - 1] }

  /// The wall time of the last commit.
  package var lastWallTime: Milliseconds { columns.commits.wallTimes[places.upperBound - 1] }

  /// The latest wall time of all commits.
  ///
  /// - Complexity: O(commits).
  package var latestWallTime: Milliseconds {
    columns.commits.wallTimes[places].reduce(0) { max($0, $1) }
  }

  package func number(at place: Int) -> CommitNumber {
    CommitNumber(rawValue: firstRead.rawValue + UInt64(place))
  }

  /// The sequence number of the first event of the commit at a place.
  package func sequence(at place: Int) -> SequenceNumber {
    SequenceNumber(rawValue: firstSequenceRead.rawValue + UInt64(columns.commits.eventStarts[place]))
  }

  /// The commits of these numbers, and nothing else: at least one of them must be here.
  package func cut(to numbers: ClosedRange<CommitNumber>) -> ColumnBlock {
    precondition(numbers.overlaps(firstCommit...lastCommit), "commits that are not in the block")
    var block = self
    let first = max(numbers.lowerBound, firstCommit).rawValue - firstRead.rawValue
    let last = min(numbers.upperBound, lastCommit).rawValue - firstRead.rawValue
    block.places = Int(first)..<Int(last) + 1
    return block
  }

  /// In front of the first event.
  package var start: BlockColumns.Cursor {
    var cursor = columns.start
    columns.skip(columns.commits.eventCount(in: 0..<places.lowerBound), &cursor)
    return cursor
  }

  /// Puts the commits together.
  package func commits() -> [Commit] {
    let commits = columns.commits
    var assembly = CommitAssembly(columns, at: start)
    var result: [Commit] = []
    result.reserveCapacity(places.count)
    for place in places {
      let eventCount = commits.eventCount(at: place)
      var records: [EventRecord] = []
      records.reserveCapacity(eventCount)
      for _ in 0..<eventCount { records.append(assembly.nextRecord()) }
      result.append(
        Commit(
          replica: replica, number: number(at: place), firstSequence: sequence(at: place),
          stamp: commits.stamps[place], wallTime: commits.wallTimes[place], origin: commits.origin(at: place),
          heads: commits.heads[place] ?? [], unknownMembers: commits.members[place] ?? [], records: records))
    }
    return result
  }
}
