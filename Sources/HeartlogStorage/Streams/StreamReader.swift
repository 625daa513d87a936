import HeartlogEvents
import HeartlogFiles

/// Reads one replica's stream, commit by commit, without a lock, and goes on where it stopped.
final class StreamReader {
  let directory: StoreDirectory
  let replica: ReplicaID
  // One thread at a time uses a reader; whether two accesses meet is not looked up at each own commit.
  @exclusivity(unchecked) private(set) var tail: StreamTail
  /// The segment that the reader stands in.
  private(set) var cursor: SegmentCursor?
  private(set) var segment: SegmentFile?
  /// The store's structure when the reader's segment was last found to be one that is read: see `CommitLog.resolve`.
  var resolvedStructure: UInt64?
  /// What is bad at the place where the reader stopped for good.
  var corruption: Finding?
  /// A header of which one copy is bad: the other serves, and what follows is read.
  private var damage: Damage?

  struct Damage {
    let path: String
    let offset: UInt64
    let firstCommit: CommitNumber
    /// Nil in the tail.
    let lastCommit: CommitNumber?
  }

  /// Whether single commits are given where they lie, as `StoredFrame.rows`.
  var borrowsRows = false

  /// Where the stream was ended because two histories of it were found; looked up once.
  private var end: StreamEnd?
  private var knowsEnd = false

  /// - Parameter tail: where to start; at the stream's start where nil.
  init(_ directory: StoreDirectory, replica: ReplicaID, from tail: StreamTail? = nil) {
    self.directory = directory
    self.replica = replica
    self.tail = tail ?? StreamTail(replica: replica)
  }

  /// The stream's folder as it was when the reader was put in the middle of the stream, until the first end: so that it is listed once.
  private var listing: StoreDirectory.StreamListing?

  /// Stands behind `tail`, in front of a frame of `cursor`, or wherever the next commit is where that is nil.
  ///
  /// - Parameters:
  ///   - listing: the stream's folder as it was before the segment was opened.
  ///   - end: where the stream was ended.
  init(
    _ directory: StoreDirectory, behind tail: StreamTail,
    at place: (cursor: SegmentCursor, segment: SegmentFile)?,
    listing: StoreDirectory.StreamListing, end: StreamEnd?
  ) {
    self.directory = directory
    replica = tail.replica
    self.tail = tail
    cursor = place?.cursor
    segment = place?.segment
    self.listing = place == nil ? nil : listing
    self.end = end
    knowsEnd = true
  }

  /// How a reading ended.
  enum End {
    /// Every byte that is there belongs to a whole frame.
    case whole
    /// Bad bytes at the tail, which only the holder of the lock may judge.
    case unfinished(Finding)
    /// The stream is corrupt from here on.
    case corrupt(Finding)
  }

  /// What the next look at the stream finds.
  enum Next {
    /// A frame, and the segment that it stands in.
    case frame(StoredFrame, SegmentCursor)
    case end(End)
  }

  /// Reads the next frame; goes on behind an end when more has come since.
  ///
  /// - Parameter page: the lock's page as it was before this call: it may know of more than is found.
  func next(page: StoreLock.Page = StoreLock.Page()) throws -> Next {
    let found = try step(page)
    if case .end = found { listing = nil }
    if case .end = found, corruption == nil, let damage { return .end(.corrupt(finding(of: damage))) }
    return found
  }

  /// Whether the stream was ended, and is read no further than that.
  var isEnded: Bool { end != nil }

  /// The last commit of a stream that is ended; nil for one that goes on.
  var endCommit: UInt64? { end?.commit }

  /// Whether it was ended in front of where the reader stands, after it had looked.
  func wasEndedMeanwhile() throws(StorageError) -> Bool {
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

  /// Whether what is damaged is the file that says where the stream ends.
  private func isOfEnd(_ error: StorageError) -> Bool {
    error.code == .corrupt && error.file == StreamEnd.path(of: replica, in: directory)
  }

  private func step(_ page: StoreLock.Page) throws -> Next {
    if !knowsEnd {
      do { end = try StreamEnd.read(of: replica, in: directory) } catch {
        guard isOfEnd(error) else { throw error }
        // Nothing of it is shown: what lies behind its end is a stream of its own by now, and would be there twice.
        corruption = Finding(verdict: .corrupt, replica: replica, error: error)
      }
      knowsEnd = true
    }
    while true {
      if let corruption { return .end(.corrupt(corruption)) }
      if let end, tail.next.rawValue > end.commit { return .end(.whole) }
      guard let cursor else {
        if try enterNextSegment() || corruption != nil { continue }
        return .end(lostSegment(page) ?? .whole)
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
          // The window may be older than the page: what the page knows of must be missing from the file itself.
          guard case .end = try cursor.look() else { continue }
          cursor.forget()
          return .end(lost)
        }
        return .end(lostSegment(page) ?? .whole)
      case .malformed(let reason): return .end(stop(reason, cursor))
      case .bad(let reason):
        if let end = try judge(reason, cursor, page) { return .end(end) }
      }
    }
  }

  /// Whether there is more to look at behind the end of a segment.
  private func goOn(from cursor: SegmentCursor) throws -> Bool {
    // A segment that was opened after its folder was listed is the one that was meant.
    if try listing == nil && isReplaced() {
      leaveSegment()
      return true
    }
    guard try hasLaterSegment() else { return false }
    listing = nil
    // The writer may have gone on here before it made the next one.
    guard case .end = try cursor.look() else { return true }
    cursor.forget()
    return try enterNextSegment() || corruption != nil
  }

  /// Notes that the stream's writer, which is this reader's owner, appended `commit`.
  func didAppend(_ commit: Commit) throws(MalformedError) { try tail.extend(by: commit) }

  /// Notes the same of all commits up to where `tail` stands.
  func didAppend(upTo tail: StreamTail) { self.tail = tail }

  /// Notes that the stream's writer stands at `offset` of a segment that it may just have made.
  func didWrite(to file: any OpenFile, path: String, header: SegmentHeader, offset: UInt64) {
    segment = SegmentFile(firstCommit: header.firstCommit, state: .open)
    listing = nil
    if let cursor, cursor.file === file {
      cursor.move(to: offset)
      cursor.forget()
    } else {
      cursor = SegmentCursor(file: file, path: path, header: header, offset: offset)
    }
  }

  /// Notes the same of the segment that the reader stands in already.
  ///
  /// - Returns: false where it stands elsewhere.
  func didGrow(_ file: any OpenFile, to offset: UInt64) -> Bool {
    guard let cursor, cursor.file === file, segment?.state == .open else { return false }
    cursor.move(to: offset)
    cursor.forget()
    return true
  }

  /// Looks at the segment anew at the next reading, from its start: the writer has changed it.
  func leaveSegment() {
    cursor = nil
    segment = nil
    listing = nil
  }

  /// Gives the open file back until the next reading.
  func rest() {
    cursor?.rest()
    listing = nil
  }

  // MARK: - One frame

  private enum Outcome {
    case frame(StoredFrame)
    /// A frame whose commits were read from another file before.
    case known
    case end
    /// Bytes that are no frame; they may be one in a moment.
    case bad(String)
    /// A whole frame that breaks a rule.
    case malformed(String)
  }

  private func readFrame(_ cursor: SegmentCursor) throws -> Outcome {
    switch try cursor.look() {
    case .end:
      // The writer goes on here: what comes must be read from the file, not from the window.
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
        if borrowsRows, isWhole, let row = cursor.commitRow(of: frame) {
          try tail.extend(by: row)
          cursor.pass(frame)
          let rows =
            frame.isCompressed
            ? CommitRows(rows: [row], memory: nil, isFollowed: true)
            : cursor.passRows(behind: row, extending: &tail, upTo: end?.commit ?? .max)
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

  /// Whether the name of the file that the reader stands in belongs to another file now, which goes on.
  private func isReplaced() throws -> Bool {
    // A sealed file never changes; one that replaces it holds the same commits.
    guard let cursor, let file = cursor.file, let segment, segment.state != .sealed else { return false }
    let inode = try onFiles { () throws(FileError) in try file.inode() }
    let named = try onFiles { () throws(FileError) in try directory.fileSystem.info(cursor.path) }
    return named?.inode != inode
  }

  private func hasLaterSegment() throws -> Bool {
    guard let segment else { return false }
    let segments = try listing?.segments ?? directory.segments(of: replica)
    return segments.contains { $0.firstCommit > segment.firstCommit }
  }

  /// The segment that holds the next commit, or will; nil at the stream's end. Sets `corruption` at a gap.
  private func segmentOfNextCommit() throws -> SegmentFile? {
    var before: [SegmentFile] = []
    // A listing made while another process seals may miss old and new names: a gap must be seen twice.
    while true {
      let segments = try directory.segments(of: replica)
      // Should this one be a leftover of sealing, its commits are the same.
      if let exact = segments.first(where: { $0.firstCommit == tail.next }) { return exact }
      let serving = try directory.servingSegments(of: replica).serving
      if let found = serving.last(where: { $0.firstCommit < tail.next }) {
        if found.state == .sealed, let last = try directory.lastCommit(of: found, in: replica) {
          if last >= tail.next { return found }
        } else if found != segment {
          // A tail; or a sealed one whose header cannot be read, which entering it will tell.
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
      if segments == before {
        corruption = gap(before: later)
        return nil
      }
      before = segments
    }
  }

  /// A segment that is passed over as a leftover of sealing and yet holds commits that are nowhere else: no writer makes one, but a folder
  /// put together from two copies may have it.
  private func overlappingSegment() throws -> SegmentFile? {
    try directory.servingSegments(of: replica).leftovers.first { leftover in
      let path = directory.path(of: leftover, in: replica)
      // One that vanishes was a leftover indeed; one whose header is damaged tells nothing.
      guard let file = try? directory.fileSystem.open(path, .read),
        let found = try? directory.header(of: file, path: path)
      else { return false }
      let cursor = SegmentCursor(file: file, path: path, header: found.header)
      while case .frame(let frame) = try cursor.look() {
        if frame.firstCommit.rawValue + UInt64(frame.commitCount) > tail.next.rawValue { return true }
        cursor.pass(frame)
      }
      return false
    }
  }

  /// Opens the segment of the next commit.
  ///
  /// - Returns: false where there is none, or where it cannot be read as one; then `corruption` says why.
  private func enterNextSegment() throws -> Bool {
    // A name may vanish between the listing and the opening, when another process seals: look again.
    for _ in 0..<16 {
      guard let next = try segmentOfNextCommit() else { return false }
      let path = directory.path(of: next, in: replica)
      let file: any OpenFile
      do { file = try directory.fileSystem.open(path, .read) } catch {
        if error.isNotFound { continue }
        guard error.isNotAFile else { throw StorageError(error) }
        corruption = finding(.corrupt, error.description, path, 0, upTo: nil)
        return false
      }
      do {
        let found = try directory.header(of: file, path: path)
        try check(found, of: next, path: path)
        cursor = SegmentCursor(file: file, path: path, header: found.header)
        segment = next
        return true
      } catch {
        guard error.code == .corrupt else { throw error }
        let later = try directory.segments(of: replica).first { $0.firstCommit > next.firstCommit }
        corruption = finding(.corrupt, error.reason, path, error.offset ?? 0, upTo: later?.firstCommit)
        return false
      }
    }
    throw StorageError(.inputOutput, "the segments keep changing", file: directory.streamPath(replica))
  }

  private func check(_ found: SegmentHeader.Found, of segment: SegmentFile, path: String) throws(StorageError)
  {
    let header = found.header
    let isKind = (segment.state == .sealed) == (header.kind == .sealed)
    guard header.replica == replica, header.firstCommit == segment.firstCommit, isKind else {
      throw StorageError(.corrupt, "a segment header that belongs to another file", file: path, offset: 0)
    }
    if header.firstCommit == tail.next, header.firstSequence != tail.nextSequence {
      throw StorageError(
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

  /// A sealed file holds exactly what its header says.
  private func checkTotals(_ cursor: SegmentCursor) -> String? {
    guard let last = cursor.header.lastCommit else { return nil }
    let events = cursor.header.firstSequence.rawValue + cursor.header.totals.events
    return tail.next == last.next && tail.nextSequence.rawValue == events
      ? nil : "a sealed segment that does not hold the commits that its header names"
  }
}
