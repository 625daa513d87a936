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
    assert(
      location.firstCommit.rawValue <= tree.size && location.isSound,
      "the last commit lies in a frame of its segment")
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

// The encoding is defined in docs/format.md, "Snapshots".
extension StreamPosition {
  private static let byteCountMin = 16 + 11 * 8 + 1

  /// Encodes positions. Equal positions have the same bytes.
  ///
  /// - Parameter positions: At most one per stream, in any order.
  package static func encode(_ positions: [StreamPosition]) -> [UInt8] {
    assert(Set(positions.map(\.replica)).count == positions.count, "a stream has one position")
    var writer = ByteWriter()
    writer.varint(positions.count)
    for position in positions.sorted(by: { $0.replica < $1.replica }) { position.write(to: &writer) }
    return writer.bytes
  }

  private func write(to writer: inout ByteWriter) {
    writer.replica(replica)
    writer.u64(commit.rawValue)
    writer.u64(eventCount)
    writer.u64(lastStamp.rawValue)
    writer.u64(UInt64(time.last))
    writer.u64(UInt64(time.latest))
    writer.u64(location.segment.words.0)
    writer.u64(location.segment.words.1)
    writer.u64(location.firstCommit.rawValue)
    writer.u64(location.frameOffset)
    writer.u64(location.frameBytes)
    writer.u64(location.frameChecksum)
    for root in tree.frontier { writer.raw(root) }
    let heads = tail.seenHeads
    writer.varint(heads.count)
    for head in heads {
      writer.replica(head.replica)
      writer.varint(head.commit.rawValue)
    }
  }

  /// Decodes what `encode` wrote; anything else is rejected.
  package static func decode(_ bytes: UnsafeRawBufferPointer) throws(MalformedError) -> [StreamPosition] {
    var reader = ByteReader(bytes)
    let count = try reader.count(atMost: reader.remaining / byteCountMin, "positions")
    var positions: [StreamPosition] = []
    positions.reserveCapacity(count)
    for _ in 0..<count {
      let position = try read(from: &reader)
      if let last = positions.last, last.replica >= position.replica {
        throw MalformedError("positions that are not in the order of their replicas")
      }
      positions.append(position)
    }
    try reader.end()
    return positions
  }

  private static func read(from reader: inout ByteReader) throws(MalformedError) -> StreamPosition {
    let replica = try reader.replica()
    let commit = try reader.u64()
    let eventCount = try reader.u64()
    let stamp = HybridTimestamp(rawValue: try reader.u64())
    let lastWallTime = try reader.u64()
    let latestWallTime = try reader.u64()
    let location = Location(
      segment: SegmentID(words: (try reader.u64(), try reader.u64())),
      firstCommit: CommitNumber(rawValue: try reader.u64()), frameOffset: try reader.u64(),
      frameBytes: try reader.u64(), frameChecksum: try reader.u64())
    guard (1...Limits.numberMax).contains(commit), eventCount <= Limits.numberMax, stamp <= .last,
      lastWallTime <= latestWallTime, latestWallTime <= UInt64(Limits.timeMillisecondsMax),
      (1...commit).contains(location.firstCommit.rawValue), location.isSound
    else { throw MalformedError("a position with numbers out of range") }
    var frontier: [Digest] = []
    for _ in 0..<commit.nonzeroBitCount { frontier.append(try reader.digest()) }
    let tree = try MerkleTree(size: commit, frontier: frontier)
    // A head has at least 17 bytes.
    let headCount = try reader.count(atMost: min(Limits.headsMax, reader.remaining / 17), "heads")
    var heads: [Head] = []
    heads.reserveCapacity(headCount)
    for _ in 0..<headCount {
      let head = Head(
        replica: try reader.replica(), commit: CommitNumber(rawValue: try reader.varint()))
      guard head.replica != replica, heads.last.map({ $0.replica < head.replica }) ?? true,
        (1...Limits.numberMax).contains(head.commit.rawValue)
      else { throw MalformedError("a position with a malformed head") }
      heads.append(head)
    }
    let time = StreamTime(last: Milliseconds(lastWallTime), latest: Milliseconds(latestWallTime))
    return StreamPosition(
      tail: StreamTail(
        replica: replica, behind: CommitNumber(rawValue: commit), eventCount: eventCount, lastStamp: stamp,
        time: time, seen: heads),
      at: time, tree: tree, location: location)
  }
}

extension StreamPosition.Location {
  /// Whether a frame can be at this location.
  fileprivate var isSound: Bool {
    let alignment = UInt64(FrameHeader.alignment)
    return frameOffset >= UInt64(SegmentHeader.byteCount) && frameOffset <= UInt64(Int64.max) / 2
      && frameOffset % alignment == 0 && frameBytes >= UInt64(FrameHeader.byteCount)
      && frameBytes <= UInt64(FrameHeader.frameBytes(body: Int(FrameHeader.bodyBytesMax)))
      && frameBytes % alignment == 0
  }
}
