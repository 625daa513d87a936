import HeartlogFiles
import HeartlogFormat

/// The end of a replay: a last commit for each stream.
package enum ReplayBound: Hashable, Sendable {
  /// All commits up to and including this millisecond.
  case time(Milliseconds)
  /// This commit and all commits before it in the total order.
  case commit(CommitPosition)

  /// The commit that the log must contain for the moment to belong to it; nil for a time.
  var lastCommit: CommitPosition? {
    if case .commit(let position) = self { position } else { nil }
  }

  /// Returns the bound of one replica's stream.
  func bound(of replica: ReplicaID) -> StreamBound {
    switch self {
    case .time(let milliseconds): return .time(milliseconds)
    case .commit(let last):
      let isIn = !MergeOrder.isLater(replica, than: last.replica) || last.stamp.rawValue == 0
      return .stamp(isIn ? last.stamp : HybridTimestamp(rawValue: last.stamp.rawValue - 1))
    }
  }

  /// Whether all commits before a position are within the bound.
  package func contains(_ position: StreamPosition) -> Bool {
    bound(of: position.replica).contains(stamp: position.lastStamp, time: position.time)
  }
}

/// The bound of one stream. Stamps and time both rise along a stream, so the commits within the bound are a prefix of
/// it.
enum StreamBound {
  /// The highest stamp that a commit may have.
  case stamp(HybridTimestamp)
  /// The latest time that a commit may have.
  case time(Milliseconds)

  /// Whether a commit is within the bound.
  ///
  /// - Parameter time: The stream's time at that commit.
  @inline(__always)
  func contains(stamp: HybridTimestamp, time: StreamTime) -> Bool {
    switch self {
    case .stamp(let last): stamp <= last
    case .time(let last): time.latest <= last
    }
  }
}

extension StoreDirectory {
  /// Returns the position of the commit that a moment names; nil if the log does not have it, or if the moment is a time. Does not check
  /// whether the log can be read up to there.
  func position(of moment: LogMoment) throws(HeartlogError) -> CommitPosition? {
    switch moment {
    case .milliseconds: nil
    case .event(let id):
      try position(in: id.replica) {
        $0.firstSequence <= id.sequence
      } where: {
        id.sequence < $0.nextSequence
      }
    case .commit(let replica, let number):
      try position(in: replica) {
        $0.firstCommit <= number
      } where: {
        number <= $0.number
      }
    }
  }

  /// Finds a commit of a stream by the numbers in segment headers and frames.
  ///
  /// - Parameters:
  ///   - isStarted: Whether the commit is not before a segment.
  ///   - isReached: Whether the commit is not after another one.
  private func position(
    in replica: ReplicaID, _ isStarted: (SegmentHeader) -> Bool, where isReached: (CommitHeader) -> Bool
  ) throws(HeartlogError) -> CommitPosition? {
    try heartlogErrors {
      try opening(replica) {
        for segment in try servingSegments(of: replica).serving.reversed() {
          let path = path(of: segment, in: replica)
          let file = try fileSystem.open(path, .read)
          // A segment with a damaged header ends the stream before it, which the replay reports.
          guard let header = try? header(of: file, path: path).header, isStarted(header) else { continue }
          let cursor = SegmentCursor(file: file, path: path, header: header)
          while case .frame(let frame) = try cursor.look() {
            switch try? StoredFrame.decode(frame, at: cursor, headsBefore: nil) {
            case .row(let commit, _)?: if isReached(commit.header) { return commit.position }
            case .block(let block)?:
              let index = block.commitIndices.first { isReached(block.header(at: $0)) }
              if let index { return block.position(at: index) }
            case .rows?, .record?: break
            case nil: return nil
            }
            cursor.pass(frame)
          }
          return nil
        }
        return nil
      }
    }
  }
}
