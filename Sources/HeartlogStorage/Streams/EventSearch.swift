import HeartlogEvents
import HeartlogFiles

/// Finds the commit of an event by the sequence numbers in segment headers and frames.
struct EventSearch {
  let directory: StoreDirectory

  /// Returns the bound up to and including the commit of an event; nil if the log does not have it. Does not check whether the log
  /// can be read up to there.
  func bound(of id: EventID) throws -> ReplayBound? {
    // A name may vanish when another process seals: try again.
    for _ in 0..<16 {
      do { return try search(id) } catch let error as FileError where error.isNotFound { continue }
    }
    throw StorageError(.inputOutput, "the segments keep changing", file: directory.streamPath(id.replica))
  }

  private func search(_ id: EventID) throws -> ReplayBound? {
    for segment in try directory.servingSegments(of: id.replica).serving.reversed() {
      let path = directory.path(of: segment, in: id.replica)
      let file = try directory.fileSystem.open(path, .read)
      // A segment with a damaged header ends the stream before it, which the replay reports.
      guard let header = try? directory.header(of: file, path: path).header,
        header.firstSequence <= id.sequence
      else { continue }
      return try search(id, SegmentCursor(file: file, path: path, header: header))
    }
    return nil
  }

  private func search(_ id: EventID, _ cursor: SegmentCursor) throws -> ReplayBound? {
    while case .frame(let frame) = try cursor.look() {
      let decoded: StoredFrame
      do { decoded = try StoredFrame.decode(frame, at: cursor, headsBefore: nil) } catch { return nil }
      switch decoded {
      case .row(let commit, _):
        if id.sequence < commit.nextSequence {
          return ReplayBound(upTo: commit.number, of: id.replica, at: commit.stamp)
        }
      case .block(let block):
        if let bound = search(id, block) { return bound }
      case .rows, .record: break
      }
      cursor.pass(frame)
    }
    return nil
  }

  private func search(_ id: EventID, _ block: ColumnBlock) -> ReplayBound? {
    var sequence = block.firstSequence.rawValue
    for index in block.commitIndices {
      sequence += UInt64(block.columns.commits.eventCount(at: index))
      if id.sequence.rawValue < sequence {
        return ReplayBound(
          upTo: block.number(at: index), of: id.replica, at: block.columns.commits.stamps[index])
      }
    }
    return nil
  }
}
