import HeartlogFiles
import HeartlogFormat

/// The open segment of the own stream: what was written to it, and how much of it is durable.
///
/// Guarded by the log's monitor, except that the busy thread may write to the segment, and change `writer`, outside of it.
final class SegmentAppender {
  /// A flush that runs concurrently with writers.
  enum Flush {
    case none
    /// - Parameter isWantedAgain: true if another lease ended during the flush.
    case running(isWantedAgain: Bool)
    /// The flush is over, and the busy thread has not handled its outcome yet.
    case ended(segment: SegmentWriter, bytes: UInt64, error: HeartlogError?, isWantedAgain: Bool)
  }

  private let directory: StoreDirectory
  private let lease: StoreLease
  /// The lease's, for the same reason as in `CommitLog`.
  private let lock: StoreLock
  private let trace: StoreTrace

  @exclusivity(unchecked) var writer: SegmentWriter?
  /// The segment that is being written, and the offset up to which its commits are acknowledged.
  @exclusivity(unchecked) private(set) var acknowledged: (segment: SegmentWriter, bytes: UInt64)?
  /// Until a flush is over, no other thread makes the segment durable. The system reports an error only once, so a second caller would not
  /// receive it.
  @exclusivity(unchecked) var flush = Flush.none
  /// The error that ended writing permanently, because it is unknown whether the last commits are on disk.
  @exclusivity(unchecked) private(set) var failure: HeartlogError?

  init(_ directory: StoreDirectory, _ lease: StoreLease, _ trace: StoreTrace = StoreTrace()) {
    self.directory = directory
    self.lease = lease
    lock = lease.lock
    self.trace = trace
  }

  /// Creates an open segment that starts with `commit`.
  func createSegment(
    before commit: Commit, by writer: StoreIdentity, _ options: StorageOptions
  ) throws(HeartlogError) -> SegmentWriter {
    if commit.number.rawValue == 1 { try directory.makeStreamFolder(of: writer.replica) }
    let tree = try directory.newestFrontier(of: writer.replica)
    assert(tree.size < commit.number.rawValue, "the frontier in a header is over earlier commits")
    func create(aheadBytes: UInt64) throws(HeartlogError) -> SegmentWriter {
      try SegmentWriter.create(
        in: directory, of: writer.replica, named: writer.name, firstCommit: commit.number,
        firstSequence: commit.firstSequence, behind: tree, options, aheadBytes: aheadBytes)
    }
    let created: SegmentWriter
    do throws(HeartlogError) { created = try create(aheadBytes: SegmentWriter.aheadBytes) } catch {
      guard error.code == .diskFull else { throw error }
      // A disk without room for the zeros may have room for the header and the commits.
      created = try create(aheadBytes: 0)
    }
    announce(created, isStructural: true)
    return created
  }

  /// Publishes the position of the tail to other processes.
  func announce(_ writer: SegmentWriter, isStructural: Bool) {
    assert(writer.durableOffset <= writer.offset, "no more is durable than is written")
    lock.update { page in
      page.replica = writer.header.replica
      page.segment = writer.header.id
      page.firstCommit = writer.header.firstCommit.rawValue
      page.writtenBytes = writer.offset
      page.durableBytes = writer.durableOffset
      if isStructural { page.structure &+= 1 }
    }
  }

  var isFlushing: Bool {
    if case .none = flush { false } else { true }
  }

  /// Notes that everything written to a segment is acknowledged.
  func noteAcknowledged(_ segment: SegmentWriter) {
    assert(
      segment === writer && failure == nil, "the segment being written is acknowledged, after no failure")
    assert(
      acknowledged.map { $0.segment !== segment || $0.bytes <= segment.offset } ?? true,
      "what is acknowledged stays so")
    if acknowledged?.segment === segment {
      acknowledged?.bytes = segment.offset
    } else {
      acknowledged = (segment, segment.offset)
    }
  }

  /// Records that there is nothing to flush: either everything is durable, or its segment was abandoned and is never tried again.
  func forgetUnsynced() {
    acknowledged = nil
    lease.unsyncedSince = nil
  }

  /// Performs one fdatasync. After a failure, nothing is appended to the segment again.
  func synchronize(_ segment: SegmentWriter) throws(HeartlogError) {
    do {
      try trace.span(.synchronize) { () throws(HeartlogError) in try segment.synchronize() }
    } catch { throw suspend(segment, because: error.description) }
    lock.raise(durableBytes: segment.durableOffset)
    assert(
      segment.durableOffset == segment.offset, "no other thread appends during a flush that is waited for")
  }

  /// Requests another flush after the running one.
  func requestFlush() {
    switch flush {
    case .none: break
    case .running: flush = .running(isWantedAgain: true)
    case .ended(let segment, let bytes, let error, _):
      flush = .ended(segment: segment, bytes: bytes, error: error, isWantedAgain: true)
    }
  }

  /// Records that the running flush is over.
  func endFlush(of segment: SegmentWriter, upTo bytes: UInt64, error: HeartlogError?) {
    guard case .running(let isWantedAgain) = flush else { preconditionFailure("no flush was running") }
    assert(bytes >= UInt64(SegmentHeader.byteCount) && bytes % 8 == 0, "whole frames are flushed")
    flush = .ended(segment: segment, bytes: bytes, error: error, isWantedAgain: isWantedAgain)
  }

  /// Handles the outcome of a flush that is over. No thread is busy.
  ///
  /// - Returns: whether another flush is wanted.
  func takeFlushOutcome() -> Bool {
    guard case .ended(let segment, let bytes, let error, let isWantedAgain) = flush else { return false }
    flush = .none
    // If a write could not be undone in the meantime, the segment is already abandoned.
    guard writer === segment else { return isWantedAgain }
    if let error {
      fail(suspend(segment, because: error.description))
    } else {
      segment.didSynchronize(upTo: bytes)
      assert(segment.durableOffset >= bytes, "what was flushed counts as durable")
      lock.raise(durableBytes: segment.durableOffset)
    }
    return isWantedAgain
  }

  /// Records that an fsync of the own stream failed. Nothing is written after that.
  func fail(_ error: HeartlogError) {
    failure = error
    trace.record(.writingFailed, error.description)
    forgetUnsynced()
  }

  /// Throws if the outcome of written commits is unknown.
  func checkOutcome() throws(HeartlogError) { if let failure { throw failure } }

  /// Ends a segment whose fsync failed. Its last batch may or may not be on disk, and retrying would not tell.
  func suspend(_ segment: SegmentWriter, because reason: String) -> HeartlogError {
    writer = nil
    var reason = "\(reason); whether the last commits are there shows when the store is opened again"
    let folder = directory.streamPath(segment.header.replica)
    let suspect = SegmentFile(firstCommit: segment.header.firstCommit, state: .suspect)
    do {
      try directory.fileSystem.rename(segment.path, to: "\(folder)/\(suspect.name)")
      try directory.fileSystem.synchronizeDirectory(folder)
    } catch {
      reason += "; the segment could not be set aside either: \(error)"
    }
    lock.update { $0.structure &+= 1 }
    return HeartlogError(.outcomeUnknown, reason, file: segment.path, offset: segment.durableOffset)
  }
}
