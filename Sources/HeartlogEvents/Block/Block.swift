/// A run of commits of one stream, in the form in which it is sealed and shipped.
package struct Block: Hashable, Sendable {
  /// The replica that wrote the stream.
  package let replica: ReplicaID
  /// The number of the first commit; the others follow without a gap.
  package let firstCommit: CommitNumber
  /// The heads in force before the first commit, sorted by replica: the combined heads of the stream before it.
  package let headsAtStart: [Head]
  /// The secrets that cover these commits, sorted by first commit.
  package let secrets: [SegmentSecret]
  /// At least one; numbers, sequences and stamps rise as in the stream.
  package let commits: [Commit]

  /// Creates a block from its parts. `BlockEncoding` checks them when it writes the block.
  package init(
    replica: ReplicaID, firstCommit: CommitNumber, headsAtStart: [Head] = [], secrets: [SegmentSecret],
    commits: [Commit]
  ) {
    self.replica = replica
    self.firstCommit = firstCommit
    self.headsAtStart = headsAtStart
    self.secrets = secrets
    self.commits = commits
  }

  /// Assembles the commits of a block in columns.
  package init(_ block: ColumnBlock) {
    self.init(
      replica: block.replica, firstCommit: block.firstCommit, headsAtStart: block.headsAtStart,
      secrets: block.secrets, commits: block.commits())
  }

  /// The number of the last commit.
  package var lastCommit: CommitNumber {
    CommitNumber(rawValue: firstCommit.rawValue + UInt64(max(1, commits.count)) - 1)
  }

  /// The number of events in the commits. O(commits).
  package var eventCount: Int { commits.reduce(0) { $0 + $1.eventCount } }
}
