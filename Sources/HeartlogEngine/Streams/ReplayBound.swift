import HeartlogFiles
import HeartlogFormat

/// The end of a replay: a last commit for each stream.
package struct ReplayBound: Hashable, Sendable {
  private enum Kind: Hashable {
    /// Every commit up to a time.
    case time(Milliseconds)
    /// The commits up to and including this one in the total order.
    case commit(CommitPosition)
  }

  private let kind: Kind

  /// All commits up to and including this millisecond; nil if the time is before 1970.
  init?(upTo milliseconds: Milliseconds) {
    guard milliseconds >= 0 else { return nil }
    kind = .time(milliseconds)
  }

  /// This commit and all commits before it.
  init(upTo commit: CommitPosition) { kind = .commit(commit) }

  /// The commit that the log must contain for the moment to belong to it; nil for a time.
  var commit: CommitPosition? {
    if case .commit(let position) = kind { position } else { nil }
  }

  /// Returns the bound of one replica's stream.
  func bound(of replica: ReplicaID) -> StreamBound {
    switch kind {
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

/// Finds a commit of a stream by the numbers in segment headers and frames.
struct MomentSearch {
  /// What identifies the commit in its stream.
  enum Target {
    case event(SequenceNumber)
    case commit(CommitNumber)

    /// Whether the target is not before a segment that begins with these numbers.
    fileprivate func isAtOrAfter(_ commit: CommitNumber, _ sequence: SequenceNumber) -> Bool {
      switch self {
      case .event(let target): sequence <= target
      case .commit(let target): commit <= target
      }
    }

    /// Whether the target is before the end of a commit that is not after it.
    fileprivate func isBefore(endOf commit: CommitNumber, nextSequence: SequenceNumber) -> Bool {
      switch self {
      case .event(let target): target < nextSequence
      case .commit(let target): target <= commit
      }
    }
  }

  let directory: StoreDirectory
  let replica: ReplicaID
  let target: Target

  /// Returns the position of the commit in the total order; nil if the log does not have it. Does not check whether the log can be read
  /// up to there.
  func position() throws(HeartlogError) -> CommitPosition? {
    // A name may vanish when another process seals: try again.
    for _ in 0..<16 {
      do { return try search() } catch { guard error.isNotFound else { throw error } }
    }
    throw HeartlogError(.inputOutput, "the segments keep changing", file: directory.streamPath(replica))
  }

  private func search() throws(HeartlogError) -> CommitPosition? {
    for segment in try directory.servingSegments(of: replica).serving.reversed() {
      let path = directory.path(of: segment, in: replica)
      let file = try directory.fileSystem.open(path, .read)
      // A segment with a damaged header ends the stream before it, which the replay reports.
      guard let header = try? directory.header(of: file, path: path).header,
        target.isAtOrAfter(header.firstCommit, header.firstSequence)
      else { continue }
      return try search(SegmentCursor(file: file, path: path, header: header))
    }
    return nil
  }

  private func search(_ cursor: SegmentCursor) throws(HeartlogError) -> CommitPosition? {
    while case .frame(let frame) = try cursor.look() {
      let decoded: StoredFrame
      do { decoded = try StoredFrame.decode(frame, at: cursor, headsBefore: nil) } catch { return nil }
      switch decoded {
      case .row(let commit, _):
        if target.isBefore(endOf: commit.number, nextSequence: commit.nextSequence) { return commit.position }
      case .block(let block):
        if let position = search(block) { return position }
      case .rows, .record: break
      }
      cursor.pass(frame)
    }
    return nil
  }

  private func search(_ block: ColumnBlock) -> CommitPosition? {
    var sequence = block.firstSequence.rawValue
    for index in block.commitIndices {
      sequence += UInt64(block.columns.commits.eventCount(at: index))
      let next = SequenceNumber(rawValue: sequence)
      if target.isBefore(endOf: block.number(at: index), nextSequence: next) {
        return block.position(at: index)
      }
    }
    return nil
  }
}

extension StoreDirectory {
  /// Returns the position of the commit that a moment names; nil if the log does not have it, or if the moment is a time.
  func position(of moment: LogMoment) throws(HeartlogError) -> CommitPosition? {
    switch moment {
    case .milliseconds: nil
    case .event(let id):
      try MomentSearch(directory: self, replica: id.replica, target: .event(id.sequence)).position()
    case .commit(let replica, let number):
      try MomentSearch(directory: self, replica: replica, target: .commit(number)).position()
    }
  }
}
