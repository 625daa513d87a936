import HeartlogFormat

/// A position in a stream, after one of its commits: the rules for the next commit, the tree over all commits before it, and its
/// location on disk.
///
/// Code that stores a state derived from a log's commits stores the positions with it, and continues reading from there. A position
/// is accepted only for a log that still contains it: see `CommitLog.init`.
package struct StreamPosition: Hashable, Sendable {
  let tail: StreamTail
  /// The tree over the commits up to here.
  let tree: MerkleTree
  let location: Location

  /// The frame that contains the last commit before the position, and possibly commits after it.
  struct Location: Hashable, Sendable {
    var segment: SegmentID
    /// The first commit of that segment.
    var firstCommit: CommitNumber
    var frameOffset: UInt64
    /// The size of header, body and padding.
    var frameBytes: UInt64
    /// The checksum of the frame's body. Its seed depends on segment and offset, so that no other frame has the same one.
    var frameChecksum: UInt64
  }

  /// The stream's time at `commit`. Later commits are selected by it.
  let time: StreamTime

  /// Creates the position after the last commit of a tail.
  ///
  /// - Parameter time: The stream's time, if the tail does not know it.
  /// - Precondition: The tail has a commit, and the tree is over its commits.
  init(tail: StreamTail, at time: StreamTime, tree: MerkleTree, location: Location) {
    precondition(tail.head.map(\.rawValue) == tree.size && tree.size > 0, "a tree of other commits")
    var tail = tail
    self.time = tail.know(time)
    self.tail = tail
    self.tree = tree
    self.location = location
  }

  /// Whether it is the same position in the same stream, wherever that is on disk.
  package func isSame(as other: StreamPosition) -> Bool { tail == other.tail && tree == other.tree }

  /// The replica of the stream.
  package var replica: ReplicaID { tail.replica }
  /// The last commit before the position.
  package var commit: CommitNumber { CommitNumber(rawValue: tree.size) }
  /// The number of events in the stream up to here.
  package var eventCount: UInt64 { tail.nextSequence.rawValue - 1 }
  /// The stamp of `commit`, the highest of the stream so far.
  package var lastStamp: HybridTimestamp { tail.lastStamp }
  /// The latest wall time of the stream so far.
  package var latestWallTime: Milliseconds { time.latest }
  /// The root of the stream's tree over the commits up to here.
  package var root: Digest { tree.root }
}

extension StreamPosition.Location {
  /// Creates the location of a frame at an offset of a segment.
  init(_ frame: FrameHeader, at offset: UInt64, in segment: SegmentHeader) {
    self.init(
      segment: segment.id, firstCommit: segment.firstCommit, frameOffset: offset,
      frameBytes: frame.frameBytes, frameChecksum: frame.bodyChecksum)
  }
}
