import HeartlogFormat
import HeartlogFiles

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
  func position() throws -> CommitPosition? {
    // A name may vanish when another process seals: try again.
    for _ in 0..<16 {
      do { return try search() } catch let error as FileError where error.isNotFound { continue }
    }
    throw HeartlogError(.inputOutput, "the segments keep changing", file: directory.streamPath(replica))
  }

  private func search() throws -> CommitPosition? {
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

  private func search(_ cursor: SegmentCursor) throws -> CommitPosition? {
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
  func position(of moment: LogMoment) throws -> CommitPosition? {
    switch moment {
    case .milliseconds: nil
    case .event(let id):
      try MomentSearch(directory: self, replica: id.replica, target: .event(id.sequence)).position()
    case .commit(let replica, let number):
      try MomentSearch(directory: self, replica: replica, target: .commit(number)).position()
    }
  }
}
