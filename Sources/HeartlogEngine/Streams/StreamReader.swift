import HeartlogFiles
import HeartlogFormat

/// Reads the stream of one replica commit by commit, without a lock. A later call continues where the last one stopped.
final class StreamReader {
  let directory: StoreDirectory
  let replica: ReplicaID
  // One thread at a time uses a reader. The dynamic exclusivity check would cost time at every commit of this replica.
  @exclusivity(unchecked) private(set) var tail: StreamTail
  /// The segment being read.
  private(set) var cursor: SegmentCursor?
  private(set) var segment: SegmentFile?
  /// The store's structure number when the reader's segment was last found to be a serving one: see `TailRecovery.resolve`.
  var resolvedStructure: UInt64?
  /// The corruption at which the reader stopped for good.
  var corruption: Finding?
  /// A segment header with one damaged copy. The other copy is used, and reading continues.
  private var damage: Damage?

  /// The segment with the next commits, or later ones, if it is not downloaded.
  private var evicted: SegmentFile?

  struct Damage {
    let path: String
    let offset: UInt64
    let firstCommit: CommitNumber
    /// Nil if the segment is the tail.
    let lastCommit: CommitNumber?
  }

  /// Whether single commits are returned without copying, as `StoredFrame.rows`.
  private var borrowsRows = false

  /// The end of a stream that was ended because two histories of it were found. Read once.
  private var end: StreamEnd?
  private var knowsEnd = false

  /// Creates a reader that starts at `tail`.
  ///
  /// - Parameter tail: The position to start at; nil for the start of the stream.
  init(_ directory: StoreDirectory, replica: ReplicaID, from tail: StreamTail? = nil) {
    self.directory = directory
    self.replica = replica
    self.tail = tail ?? StreamTail(replica: replica)
  }

  /// The stream's folder as it was when the reader was created in the middle of the stream; nil after the first end. Saves listing
  /// the folder again.
  private var listing: StoreDirectory.StreamListing?

  /// Creates a reader after `tail`, before a frame of `cursor`. If `location` is nil, the reader looks for the segment of the next
  /// commit.
  ///
  /// - Parameters:
  ///   - listing: The stream's folder as it was before the segment was opened.
  ///   - end: The position at which the stream was ended.
  init(
    _ directory: StoreDirectory, behind tail: StreamTail,
    at location: (cursor: SegmentCursor, segment: SegmentFile)?,
    listing: StoreDirectory.StreamListing, end: StreamEnd?
  ) {
    self.directory = directory
    assert(location.map { $0.cursor.header.replica == tail.replica } ?? true, "the cursor reads the stream")
    replica = tail.replica
    self.tail = tail
    cursor = location?.cursor
    segment = location?.segment
    self.listing = location == nil ? nil : listing
    self.end = end
    knowsEnd = true
  }

  /// The result of reading the next frame.
  enum Next {
    /// A frame and the segment that contains it.
    case frame(StoredFrame, SegmentCursor)
    /// The end of what can be read. Nil if every byte present belongs to a complete frame. A finding that is not `corrupt` is about bad bytes
    /// at the tail, which only the holder of the lock may judge.
    case end(Finding?)
  }

  /// Reads the next frame. After an end, it continues if more was written since.
  ///
  /// - Parameter page: The lock page as read before this call: it may record more than is found in the stream.
  func next(page: StoreLock.Page = StoreLock.Page()) throws -> Next {
    evicted = nil
    let found = try step(page)
    if case .end = found { listing = nil }
    if case .end = found, corruption == nil, let damage { return .end(finding(of: damage)) }
    if case .end = found, corruption == nil, let evicted { return .end(finding(of: evicted)) }
    return found
  }

  /// Reads all frames that follow.
  ///
  /// - Returns: What `next` found at the end.
  @discardableResult
  func forEachFrame(
    page: StoreLock.Page = StoreLock.Page(), _ body: (StoredFrame, SegmentCursor) throws -> Void = { _, _ in }
  ) throws -> Finding? {
    while true {
      switch try next(page: page) {
      case .frame(let frame, let cursor): try body(frame, cursor)
      case .end(let finding): return finding
      }
    }
  }

  /// Reads all commits that follow, without copying those that are rows.
  ///
  /// - Parameter visit: Receives them in order. The piece is valid until it returns; false ends the reading.
  /// - Returns: What `next` found at the end; nil if `visit` ended the reading.
  func forEachPiece(
    page: StoreLock.Page, _ meter: inout ProgressMeter, _ visit: (LogReplay.Piece) throws -> Bool
  ) throws -> Finding? {
    borrowsRows = true
    defer { borrowsRows = false }
    while true {
      switch try next(page: page) {
      case .end(let finding): return finding
      case .frame(let frame, let cursor):
        meter.advance(cursor)
        switch frame {
        case .row: preconditionFailure("a reader that borrows rows")
        case .rows(let rows, _): guard try visit(.rows(rows)) else { return nil }
        case .block(let block): guard try visit(.block(block)) else { return nil }
        case .record: break
        }
      }
    }
  }

  /// Whether the stream was ended. It is not read beyond its end.
  var isEnded: Bool { end != nil }

  /// The last commit of an ended stream; nil if the stream continues.
  var endCommit: UInt64? { end?.commit }

  /// Whether the stream was ended since the reader first checked, or the file that records its end has changed.
  func wasEndedMeanwhile() throws(HeartlogError) -> Bool {
    guard knowsEnd else { return false }
    let couldTell = corruption.map { !isOfEnd($0.error) } ?? true
    do {
      guard let now = try StreamEnd.read(of: replica, in: directory) else { return !couldTell }
      return now != end || !couldTell
    } catch {
      guard isOfEnd(error) else { throw error }
      return couldTell
    }
  }

  /// Whether the damaged file is the one that records the end of the stream.
  private func isOfEnd(_ error: HeartlogError) -> Bool {
    error.code == .corrupt && error.file == StreamEnd.path(of: replica, in: directory)
  }

  private func step(_ page: StoreLock.Page) throws -> Next {
    if !knowsEnd {
      do { end = try StreamEnd.read(of: replica, in: directory) } catch {
        guard isOfEnd(error) else { throw error }
        // Nothing of the stream is returned: the commits after its end are now a stream of their own and would appear twice.
        corruption = Finding(verdict: .corrupt, replica: replica, error: error)
      }
      knowsEnd = true
    }
    while true {
      if let corruption { return .end(corruption) }
      if let end, tail.next.rawValue > end.commit { return .end(nil) }
      guard let cursor else {
        if try enterNextSegment() || corruption != nil { continue }
        return .end(lostSegment(page))
      }
      guard try cursor.wake(in: directory) else {
        leaveSegment()
        continue
      }
      switch try readFrame(cursor) {
      case .frame(let frame): return .frame(frame, cursor)
      case .known: continue
      case .end:
        if let problem = checkTotals(cursor) { return .end(stop(problem, cursor)) }
        if try goOn(from: cursor) { continue }
        if let lost = lostTail(page, cursor) {
          // The window may be older than the page: commits recorded in the page count as lost only if the file itself lacks them.
          guard case .end = try cursor.look() else { continue }
          cursor.forget()
          return .end(lost)
        }
        return .end(lostSegment(page))
      case .malformed(let reason): return .end(stop(reason, cursor))
      case .bad(let reason):
        if let finding = try judge(reason, cursor, page) { return .end(finding) }
      }
    }
  }

  /// Whether there is more to read after the end of a segment.
  private func goOn(from cursor: SegmentCursor) throws -> Bool {
    // Listed before the check: segments that were joined before the listing are missing in it, and this one is then replaced.
    let hasLater = try hasLaterSegment()
    // A segment that was opened after the folder was listed is current, unless it is sealed: then its successors may have been joined to it.
    if segment?.state == .sealed || listing == nil, try isReplaced() {
      leaveSegment()
      return true
    }
    guard hasLater else { return false }
    listing = nil
    // The writer may have appended here before it created the next segment.
    guard case .end = try cursor.look() else { return true }
    cursor.forget()
    return try enterNextSegment() || corruption != nil
  }

  /// Records that the stream's writer, which owns this reader, appended `commit`.
  func didAppend(_ commit: Commit) throws(MalformedError) { try tail.extend(by: commit) }

  /// Records that the writer appended all commits before `tail`.
  func didAppend(upTo tail: StreamTail) {
    assert(tail.replica == replica && tail.next >= self.tail.next, "a stream grows")
    self.tail = tail
  }

  /// Records that the stream's writer is at `offset` of a segment that it may just have created.
  func didWrite(to file: any OpenFile, path: String, header: SegmentHeader, offset: UInt64) {
    assert(
      header.replica == replica && header.firstCommit <= tail.next,
      "the segment has the last commits of the stream")
    segment = SegmentFile(firstCommit: header.firstCommit, state: .open)
    listing = nil
    if let cursor, cursor.file === file {
      cursor.move(to: offset)
      cursor.forget()
    } else {
      cursor = SegmentCursor(file: file, path: path, header: header, offset: offset)
    }
  }

  /// Records the same for the segment that the reader is already in.
  ///
  /// - Returns: false if the reader is in another segment.
  func didGrow(_ file: any OpenFile, to offset: UInt64) -> Bool {
    guard let cursor, cursor.file === file, segment?.state == .open else { return false }
    assert(offset >= cursor.offset, "a segment grows")
    cursor.move(to: offset)
    cursor.forget()
    return true
  }

  /// Makes the next read open the segment again from the start, because the writer has changed it.
  func leaveSegment() {
    cursor = nil
    segment = nil
    listing = nil
  }

  /// Closes the file until the next read.
  func rest() {
    cursor?.rest()
    listing = nil
  }

  // MARK: - One frame

  private enum Outcome {
    case frame(StoredFrame)
    /// A frame whose commits were already read from another file.
    case known
    case end
    /// Bytes that are not a valid frame. A write in progress may complete them.
    case bad(String)
    /// A complete frame that breaks a rule of the format.
    case malformed(String)
  }

  private func readFrame(_ cursor: SegmentCursor) throws -> Outcome {
    switch try cursor.look() {
    case .end:
      // The writer continues here: the next read must come from the file, not from the window.
      cursor.forget()
      return .end
    case .bad(let reason): return .bad(reason)
    case .frame(let frame):
      do {
        if frame.commitCount > 0,
          frame.firstCommit.rawValue + UInt64(frame.commitCount) <= tail.next.rawValue
        {
          cursor.pass(frame)
          return .known
        }
        guard frame.firstCommit <= tail.next else {
          throw MalformedError("commit \(frame.firstCommit) where \(tail.next) should be")
        }
        let isWhole = frame.firstCommit == tail.next
        if borrowsRows, isWhole, let row = try cursor.commitRow(of: frame) {
          try tail.extend(by: row)
          cursor.pass(frame)
          let rows =
            frame.isCompressed
            ? [row] : cursor.passRows(behind: row, extending: &tail, upTo: end?.commit ?? .max)
          return .frame(.rows(rows, from: cursor))
        }
        let decoded = try StoredFrame.decode(frame, at: cursor, headsBefore: isWhole ? tail.seenHeads : nil)
        let stored = skipKnown(decoded)
        var advanced = tail
        switch stored {
        case .row(let commit, _): try advanced.extend(by: commit)
        case .block(let block): try advanced.extend(by: block)
        case .rows, .record: break
        }
        tail = advanced
        cursor.pass(frame)
        return .frame(stored)
      } catch let error as MalformedError {
        return .malformed(error.reason)
      }
    }
  }

  private func skipKnown(_ frame: StoredFrame) -> StoredFrame {
    guard case .block(let block) = frame else { return frame }
    let end = CommitNumber(rawValue: end?.commit ?? .max)
    guard block.firstCommit < tail.next || block.lastCommit > end else { return frame }
    return .block(block.cut(to: tail.next...end))
  }

  // MARK: - Segments

  /// Whether the name of the file being read now belongs to another file, which contains the same commits, and maybe more.
  private func isReplaced() throws -> Bool {
    guard let cursor, let file = cursor.file else { return false }
    let inode = try file.inode()
    let named = try directory.fileSystem.info(cursor.path)
    return named?.inode != inode
  }

  private func hasLaterSegment() throws -> Bool {
    guard let segment else { return false }
    let listing = try listing ?? directory.listing(of: replica)
    evicted = try directory.evictedSegment(at: tail.next, of: replica, in: listing)
    return listing.segments.contains { $0.firstCommit > segment.firstCommit }
  }

  /// Returns the segment that contains, or will contain, the next commit; nil at the end of the stream. Sets `corruption` at a gap.
  private func segmentOfNextCommit() throws -> SegmentFile? {
    var before: [SegmentFile]?
    // A listing made while another process seals may miss both old and new names, so a gap must be seen twice.
    while true {
      let listing = try directory.listing(of: replica)
      let segments = listing.segments
      evicted = try directory.evictedSegment(at: tail.next, of: replica, in: listing)
      // If this one is a leftover of sealing, its commits are the same. The segment that was just read to its end has no commit.
      if let exact = segments.first(where: { $0.firstCommit == tail.next }), cursor == nil || exact != segment
      {
        return exact
      }
      // Of the same listing: another one may contain a segment before which this one lacks.
      let serving = try directory.servingSegments(in: segments, of: replica).serving
      if let found = serving.last(where: { $0.firstCommit < tail.next }) {
        if found.state == .sealed, let last = try directory.lastCommit(of: found, in: replica) {
          if last >= tail.next { return found }
        } else if found != segment {
          // A tail, or a sealed segment with an unreadable header, which is reported when the segment is opened.
          return found
        }
      }
      guard let later = serving.first(where: { $0.firstCommit > tail.next }) else {
        if let overlap = try overlappingSegment() {
          let path = directory.path(of: overlap, in: replica)
          corruption = finding(.corrupt, "a segment that overlaps the one before it", path, 0, upTo: nil)
        }
        return nil
      }
      if evicted != nil { return nil }
      if segments == before {
        corruption = gap(before: later)
        return nil
      }
      before = segments
    }
  }

  /// Returns a segment that looks like a leftover of sealing but contains commits that no other segment has. No writer creates one,
  /// but a folder combined from two copies may contain one.
  private func overlappingSegment() throws -> SegmentFile? {
    try directory.servingSegments(of: replica).leftovers.first { leftover in
      // One that vanishes was really a leftover. One with a damaged header gives no evidence.
      guard let cursor = try? directory.cursor(of: leftover, in: replica) else { return false }
      while case .frame(let frame) = try cursor.look() {
        if frame.firstCommit.rawValue + UInt64(frame.commitCount) > tail.next.rawValue { return true }
        cursor.pass(frame)
      }
      return false
    }
  }

  /// Opens the segment of the next commit.
  ///
  /// - Returns: false if there is none, or if it cannot be read as a segment; then `corruption` says why.
  private func enterNextSegment() throws -> Bool {
    // A name may vanish between listing and opening when another process seals: try again.
    for _ in 0..<16 {
      guard let next = try segmentOfNextCommit() else { return false }
      let path = directory.path(of: next, in: replica)
      let file: any OpenFile
      do { file = try directory.fileSystem.open(path, .read) } catch {
        if error.isNotFound { continue }
        guard error.isNotAFile else { throw error }
        corruption = finding(.corrupt, error.description, path, 0, upTo: nil)
        return false
      }
      do {
        let found = try directory.header(of: file, path: path)
        try check(found, of: next, path: path)
        assert(found.header.firstCommit <= tail.next, "the segment has the next commit, or will have it")
        cursor = SegmentCursor(file: file, path: path, header: found.header)
        segment = next
        return true
      } catch {
        guard error.code == .corrupt else { throw error }
        let later = try directory.segments(of: replica).first { $0.firstCommit > next.firstCommit }
        corruption = finding(.corrupt, error.message, path, error.offset ?? 0, upTo: later?.firstCommit)
        return false
      }
    }
    throw HeartlogError(.inputOutput, "the segments keep changing", file: directory.streamPath(replica))
  }

  private func check(_ found: SegmentHeader.Found, of segment: SegmentFile, path: String)
    throws(HeartlogError)
  {
    let header = found.header
    let isKind = (segment.state == .sealed) == (header.kind == .sealed)
    guard header.replica == replica, header.firstCommit == segment.firstCommit, isKind else {
      throw HeartlogError(.corrupt, "a segment header that belongs to another file", file: path, offset: 0)
    }
    if header.firstCommit == tail.next, header.firstSequence != tail.nextSequence {
      throw HeartlogError(
        .corrupt, "a segment that starts at event \(header.firstSequence) instead of \(tail.nextSequence)",
        file: path, offset: 0)
    }
    if let offset = found.damagedCopy, damage == nil {
      let later = try directory.segments(of: replica).first { $0.firstCommit > segment.firstCommit }
      damage = Damage(
        path: path, offset: offset, firstCommit: segment.firstCommit,
        lastCommit: header.lastCommit ?? later.map { CommitNumber(rawValue: $0.firstCommit.rawValue - 1) })
    }
  }

  /// Checks that a sealed file contains exactly what its header says.
  private func checkTotals(_ cursor: SegmentCursor) -> String? {
    guard let last = cursor.header.lastCommit else { return nil }
    let events = cursor.header.firstSequence.rawValue + cursor.header.totals.events
    return tail.next == last.next && tail.nextSequence.rawValue == events
      ? nil : "a sealed segment that does not hold the commits that its header names"
  }
}

/// Decides what bad or missing bytes mean. Source: docs/format.md, "Recovery".
extension StreamReader {
  /// Classifies bad bytes. Returns nil if they are a valid frame when read again.
  func judge(_ reason: String, _ cursor: SegmentCursor, _ page: StoreLock.Page) throws -> Finding? {
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
        return finding(.torn, reason, cursor.path, offset, upTo: nil)
      }
      if aftermath.firstCommit == nil {
        return finding(.lost, Self.lostReason, cursor.path, offset, upTo: nil)
      }
    }
    let upTo = aftermath.firstCommit ?? cursor.header.lastCommit?.next ?? laterSegment?.firstCommit
    return stop(reason, cursor, upTo: upTo)
  }

  private static let lostReason = "acknowledged commits are missing from the tail"

  func stop(_ reason: String, _ cursor: SegmentCursor, upTo: CommitNumber? = nil) -> Finding {
    let found = finding(.corrupt, reason, cursor.path, cursor.offset, upTo: upTo)
    corruption = found
    return found
  }

  /// Returns an end if the tail is shorter than the page records as durable.
  func lostTail(_ page: StoreLock.Page, _ cursor: SegmentCursor) -> Finding? {
    guard page.replica == replica, page.segment == cursor.header.id, page.durableBytes > cursor.offset else {
      return nil
    }
    return finding(.lost, Self.lostReason, cursor.path, cursor.offset, upTo: nil)
  }

  /// Returns an end if the page records durable commits in a segment that is missing: the open one or one
  /// before it.
  func lostSegment(_ page: StoreLock.Page) -> Finding? {
    guard page.replica == replica, page.firstCommit >= tail.next.rawValue, page.segment != cursor?.header.id
    else { return nil }
    let isOpenOneDurable = page.durableBytes > UInt64(SegmentHeader.byteCount)
    guard isOpenOneDurable || page.firstCommit > tail.next.rawValue else { return nil }
    let missing = SegmentFile(
      firstCommit: isOpenOneDurable ? CommitNumber(rawValue: page.firstCommit) : tail.next,
      state: isOpenOneDurable ? .open : .sealed)
    return finding(
      .lost, "acknowledged commits are missing with their segment", directory.path(of: missing, in: replica),
      0, upTo: isOpenOneDurable ? nil : CommitNumber(rawValue: page.firstCommit))
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
