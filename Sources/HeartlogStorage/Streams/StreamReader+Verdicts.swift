import HeartlogFormat
import HeartlogFiles

/// Decides what bad or missing bytes mean. Source: docs/format.md, "Recovery".
extension StreamReader {
  /// Classifies bad bytes. Returns nil if they are a valid frame when read again.
  func judge(_ reason: String, _ cursor: SegmentCursor, _ page: StoreLock.Page) throws -> End? {
    let offset = cursor.offset
    let laterSegment = try directory.segments(of: replica).first {
      $0.firstCommit > cursor.header.firstCommit
    }
    let aftermath = try cursor.aftermath(of: offset)
    // The writer may have completed this frame and acknowledged later ones during the search.
    guard case .bad = try cursor.look() else { return nil }
    let isTail = cursor.header.kind == .open && laterSegment == nil
    let recorded = page.replica == replica && page.segment == cursor.header.id ? page.durableBytes : 0
    if isTail, aftermath.namedDurable <= offset {
      if recorded <= offset {
        return .unfinished(finding(.torn, reason, cursor.path, offset, upTo: nil))
      }
      if aftermath.firstCommit == nil {
        return .unfinished(finding(.lost, Self.lostReason, cursor.path, offset, upTo: nil))
      }
    }
    let upTo = aftermath.firstCommit ?? cursor.header.lastCommit?.next ?? laterSegment?.firstCommit
    return stop(reason, cursor, upTo: upTo)
  }

  private static let lostReason = "acknowledged commits are missing from the tail"

  func stop(_ reason: String, _ cursor: SegmentCursor, upTo: CommitNumber? = nil) -> End {
    let found = finding(.corrupt, reason, cursor.path, cursor.offset, upTo: upTo)
    corruption = found
    return .corrupt(found)
  }

  /// Returns an end if the tail is shorter than the page records as durable.
  func lostTail(_ page: StoreLock.Page, _ cursor: SegmentCursor) -> End? {
    guard page.replica == replica, page.segment == cursor.header.id, page.durableBytes > cursor.offset else {
      return nil
    }
    return .unfinished(finding(.lost, Self.lostReason, cursor.path, cursor.offset, upTo: nil))
  }

  /// Returns an end if the page records durable commits in a segment that is missing: the open one or one
  /// before it.
  func lostSegment(_ page: StoreLock.Page) -> End? {
    guard page.replica == replica, page.firstCommit >= tail.next.rawValue, page.segment != cursor?.header.id
    else { return nil }
    let isOpenOneDurable = page.durableBytes > UInt64(SegmentHeader.byteCount)
    guard isOpenOneDurable || page.firstCommit > tail.next.rawValue else { return nil }
    let missing = SegmentFile(
      firstCommit: isOpenOneDurable ? CommitNumber(rawValue: page.firstCommit) : tail.next,
      state: isOpenOneDurable ? .open : .sealed)
    return .unfinished(
      finding(
        .lost, "acknowledged commits are missing with their segment",
        directory.path(of: missing, in: replica),
        0, upTo: isOpenOneDurable ? nil : CommitNumber(rawValue: page.firstCommit)))
  }

  func gap(before segment: SegmentFile) -> Finding {
    finding(
      .corrupt, "a segment is missing before this one", directory.path(of: segment, in: replica), 0,
      upTo: segment.firstCommit)
  }

  /// The finding for a segment that is not downloaded. It is gone as soon as the file is there.
  func finding(of evicted: SegmentFile) -> Finding {
    let first = min(tail.next, evicted.firstCommit)
    return Finding(
      verdict: .corrupt, replica: replica,
      error: StoreDirectory.notDownloaded(
        StoreDirectory.placeholder(for: directory.path(of: evicted, in: replica)),
        commits: first...max(first, evicted.firstCommit)))
  }

  func finding(of damage: Damage) -> Finding {
    let last = damage.lastCommit ?? tail.head ?? damage.firstCommit
    return Finding(
      verdict: .corrupt, replica: replica,
      error: HeartlogError(
        .corrupt, "one copy of the segment header is damaged", file: damage.path, offset: damage.offset,
        commits: damage.firstCommit...max(damage.firstCommit, last)))
  }

  func finding(
    _ verdict: Finding.Verdict, _ reason: String, _ path: String, _ offset: UInt64, upTo: CommitNumber?
  ) -> Finding {
    let last = upTo.map { CommitNumber(rawValue: max(tail.next.rawValue, $0.rawValue - 1)) } ?? tail.next
    return Finding(
      verdict: verdict, replica: replica,
      error: HeartlogError(.corrupt, reason, file: path, offset: offset, commits: tail.next...last))
  }
}
