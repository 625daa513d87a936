/// A run of commits of one stream as read: in columns, checked, and assembled into commits on request.
package struct ColumnBlock: Sendable {
  /// The replica that wrote the stream.
  package let replica: ReplicaID
  /// The heads in force before the first commit that was read.
  package let headsAtStart: [Head]
  /// The secrets that cover the commits, sorted by first commit.
  package let secrets: [SegmentSecret]
  package let columns: BlockColumns
  /// The commits of the columns that this value includes.
  package private(set) var commitIndices: Range<Int>
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
    commitIndices = 0..<columns.commits.count
    firstRead = firstCommit
    firstSequenceRead = firstSequence
  }

  /// The number of the first commit.
  package var firstCommit: CommitNumber { number(at: commitIndices.lowerBound) }

  /// The number of the last commit.
  package var lastCommit: CommitNumber { number(at: commitIndices.upperBound - 1) }

  /// Whether all commits that were read are included.
  package var isWhole: Bool { commitIndices.count == columns.commits.count }

  /// The number of commits.
  package var commitCount: Int { commitIndices.count }

  /// The number of events in the commits.
  package var eventCount: Int { columns.commits.eventCount(in: commitIndices) }

  /// The sequence number of the first event.
  package var firstSequence: SequenceNumber { sequence(at: commitIndices.lowerBound) }

  /// The stamp of the last commit, which is the highest.
  package var lastStamp: HybridTimestamp { columns.commits.stamps[commitIndices.upperBound - 1] }

  /// The wall time of the last commit.
  package var lastWallTime: Milliseconds { columns.commits.wallTimes[commitIndices.upperBound - 1] }

  /// The latest wall time of all commits.
  ///
  /// - Complexity: O(commits).
  package var latestWallTime: Milliseconds {
    columns.commits.wallTimes[commitIndices].reduce(0) { max($0, $1) }
  }

  package func number(at index: Int) -> CommitNumber {
    CommitNumber(rawValue: firstRead.rawValue + UInt64(index))
  }

  /// The fixed part of the commit at an index.
  package func header(at index: Int) -> CommitHeader {
    CommitHeader(
      replica: replica, number: number(at: index), firstSequence: sequence(at: index),
      eventCount: columns.commits.eventCount(at: index), stamp: columns.commits.stamps[index],
      wallTime: columns.commits.wallTimes[index])
  }

  /// The sequence number of the first event of the commit at an index.
  package func sequence(at index: Int) -> SequenceNumber {
    SequenceNumber(rawValue: firstSequenceRead.rawValue + UInt64(columns.commits.eventStarts[index]))
  }

  /// Only the commits with these numbers: at least one of them must be included.
  package func cut(to numbers: ClosedRange<CommitNumber>) -> ColumnBlock {
    precondition(numbers.overlaps(firstCommit...lastCommit), "commits that are not in the block")
    var block = self
    let first = max(numbers.lowerBound, firstCommit).rawValue - firstRead.rawValue
    let last = min(numbers.upperBound, lastCommit).rawValue - firstRead.rawValue
    block.commitIndices = Int(first)..<Int(last) + 1
    return block
  }

  /// A cursor before the first event.
  package var start: BlockColumns.Cursor {
    var cursor = columns.start
    columns.skip(columns.commits.eventCount(in: 0..<commitIndices.lowerBound), &cursor)
    return cursor
  }

  /// The position in the order of all commits of the commit at an index.
  package func position(at index: Int) -> CommitPosition {
    CommitPosition(stamp: columns.commits.stamps[index], replica: replica, number: number(at: index))
  }

  /// The indices of the commits that have an event of an item, rising; empty if the block does not name it.
  package func commitIndices(ofItem id: String, in library: String) -> [Int] {
    let named = id.withUTF8Bytes { id in
      columns.items.indices.filter { index in
        let item = columns.items[index]
        return columns.texts.bytes(item.id).hasSameBytes(as: id)
          && columns.libraries[Int(item.library)].hasSameBytes(as: library)
      }
    }
    guard !named.isEmpty else { return [] }
    var cursor = start
    var found: [Int] = []
    for index in commitIndices {
      var isNamed = false
      for event in Int(columns.commits.eventStarts[index])..<Int(columns.commits.eventStarts[index + 1])
      where columns.kinds[event].isEvent {
        if named.contains(Int(columns.itemIndices[cursor.item])) { isNamed = true }
        cursor.item += 1
      }
      if isNamed { found.append(index) }
    }
    return found
  }

  /// Assembles the commits.
  package func commits() -> [Commit] {
    var assembly = CommitAssembly(self)
    return commitIndices.map { assembly.commit(at: $0) }
  }
}
