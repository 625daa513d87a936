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

  /// Whether none of the commits that were read was cut off.
  package var isWhole: Bool { places.count == columns.commits.count }

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

  /// The fixed part of the commit at a place.
  package func header(at place: Int) -> CommitHeader {
    CommitHeader(
      replica: replica, number: number(at: place), firstSequence: sequence(at: place),
      eventCount: columns.commits.eventCount(at: place), stamp: columns.commits.stamps[place],
      wallTime: columns.commits.wallTimes[place])
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

  /// Where in the order of all commits the one at a place stands.
  package func position(at place: Int) -> CommitPosition {
    CommitPosition(stamp: columns.commits.stamps[place], replica: replica, number: number(at: place))
  }

  /// The places of the commits that have an event of an item, rising; none where the block does not name it.
  package func places(ofItem id: String, in library: String) -> [Int] {
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
    for place in places {
      var isNamed = false
      for event in Int(columns.commits.eventStarts[place])..<Int(columns.commits.eventStarts[place + 1])
      where columns.kinds[event].isEvent {
        if named.contains(Int(columns.itemPlaces[cursor.item])) { isNamed = true }
        cursor.item += 1
      }
      if isNamed { found.append(place) }
    }
    return found
  }

  /// Puts the commits together.
  package func commits() -> [Commit] {
    var assembly = CommitAssembly(self)
    return places.map { assembly.commit(at: $0) }
  }
}
