import HeartlogEvents

/// A place in a stream, behind one of its commits: what must hold of the next one, the tree of all before it, and where that is on disk.
///
/// Whoever keeps what a log's commits lead to keeps the positions with it, and reads on from there. A position is only believed of a log
/// in which it still stands: see `CommitLog.init`.
package struct StreamPosition: Hashable, Sendable {
  let tail: StreamTail
  /// Over the commits up to here.
  let tree: MerkleTree
  let place: Place

  /// The frame that holds the last commit before the position, and maybe others behind it.
  struct Place: Hashable, Sendable {
    var segment: SegmentID
    /// The first commit of that segment.
    var firstCommit: CommitNumber
    var frameOffset: UInt64
    /// Header, body and padding.
    var frameBytes: UInt64
    /// Of the frame's body; it is seeded with segment and offset, so that no other frame has it.
    var frameChecksum: UInt64
  }

  /// The stream's time at `commit`: who reads on selects by it.
  let time: StreamTime

  /// - Parameter time: the stream's, where the tail does not know it.
  /// - Precondition: the tail has a commit, and the tree is over its commits.
  init(tail: StreamTail, at time: StreamTime, tree: MerkleTree, place: Place) {
    precondition(tail.head.map(\.rawValue) == tree.size && tree.size > 0, "a tree of other commits")
    var tail = tail
    self.time = tail.know(time)
    self.tail = tail
    self.tree = tree
    self.place = place
  }

  /// Whether it is the same place in the same stream, wherever that is on disk.
  package func isSame(as other: StreamPosition) -> Bool { tail == other.tail && tree == other.tree }

  /// Whose stream it is.
  package var replica: ReplicaID { tail.replica }
  /// The last commit before the position.
  package var commit: CommitNumber { CommitNumber(rawValue: tree.size) }
  /// How many events the stream has up to here.
  package var eventCount: UInt64 { tail.nextSequence.rawValue - 1 }
  /// The stamp of `commit`, the highest of the stream so far.
  package var lastStamp: HybridTimestamp { tail.lastStamp }
  /// The latest wall time of the stream so far.
  package var latestWallTime: Milliseconds { time.latest }
  /// The root of the stream's tree over the commits up to here.
  package var root: Digest { tree.root }
}

extension StreamPosition.Place {
  /// A frame that stands at an offset of a segment.
  init(_ frame: FrameHeader, at offset: UInt64, in segment: SegmentHeader) {
    self.init(
      segment: segment.id, firstCommit: segment.firstCommit, frameOffset: offset,
      frameBytes: frame.frameBytes, frameChecksum: frame.bodyChecksum)
  }
}
