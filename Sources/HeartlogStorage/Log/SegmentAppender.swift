import HeartlogEvents
import HeartlogFiles

/// The open segment of the own stream: what was written to it, and what of that is durable.
///
/// Guarded by the log's monitor; the busy thread may write to the segment, and change `writer`, outside of it.
final class SegmentAppender {
  /// A flush that runs beside writers.
  enum Flush {
    case none
    /// - Parameter isWantedAgain: another lease ended meanwhile.
    case running(isWantedAgain: Bool)
    /// It is over, and the busy thread has not taken note of it yet.
    case ended(segment: SegmentWriter, bytes: UInt64, error: FileError?, isWantedAgain: Bool)
  }

  private let directory: StoreDirectory
  private let lease: StoreLease

  @exclusivity(unchecked) var writer: SegmentWriter?
  /// The segment that is written to, and up to where its commits are acknowledged.
  @exclusivity(unchecked) private(set) var acknowledged: (segment: SegmentWriter, bytes: UInt64)?
  /// Until a flush is over, nobody else makes the segment durable: the system reports an error once, and whoever asked second would not
  /// hear of it.
  @exclusivity(unchecked) var flush = Flush.none
  /// What ended writing for good: nobody knows whether the last commits are on the disk.
  @exclusivity(unchecked) private(set) var failure: StorageError?

  init(_ directory: StoreDirectory, _ lease: StoreLease) {
    self.directory = directory
    self.lease = lease
  }

  var isFlushing: Bool {
    if case .none = flush { false } else { true }
  }

  /// Notes that everything written to a segment is acknowledged.
  func noteAcknowledged(_ segment: SegmentWriter) {
    if acknowledged?.segment === segment {
      acknowledged?.bytes = segment.offset
    } else {
      acknowledged = (segment, segment.offset)
    }
  }

  /// Nothing is to be flushed: all is durable, or its segment was given up, which is never tried again.
  func forgetUnsynced() {
    acknowledged = nil
    lease.unsyncedSince = nil
  }

  /// One fdatasync. After a failure nobody appends to the segment again.
  func synchronize(_ segment: SegmentWriter) throws(StorageError) {
    do { try segment.synchronize() } catch { throw suspend(segment, because: error.description) }
    lease.lock.raise(durableBytes: segment.durableOffset)
  }

  /// Has the running flush be followed by another one.
  func requestFlush() {
    switch flush {
    case .none: break
    case .running: flush = .running(isWantedAgain: true)
    case .ended(let segment, let bytes, let error, _):
      flush = .ended(segment: segment, bytes: bytes, error: error, isWantedAgain: true)
    }
  }

  /// The running flush is over.
  func endFlush(of segment: SegmentWriter, upTo bytes: UInt64, error: FileError?) {
    guard case .running(let isWantedAgain) = flush else { preconditionFailure("no flush was running") }
    flush = .ended(segment: segment, bytes: bytes, error: error, isWantedAgain: isWantedAgain)
  }

  /// Takes note of a flush that is over. No thread is busy.
  ///
  /// - Returns: whether another one is wanted.
  func takeFlushOutcome() -> Bool {
    guard case .ended(let segment, let bytes, let error, let isWantedAgain) = flush else { return false }
    flush = .none
    // Where a write could not be taken back meanwhile, the segment is given up already.
    guard writer === segment else { return isWantedAgain }
    if let error {
      fail(suspend(segment, because: error.description))
    } else {
      segment.didSynchronize(upTo: bytes)
      lease.lock.raise(durableBytes: segment.durableOffset)
    }
    return isWantedAgain
  }

  /// Notes that an fsync of the own stream failed: nothing is written any more.
  func fail(_ error: StorageError) {
    failure = error
    forgetUnsynced()
  }

  /// Throws if it is not known what became of commits that were written.
  func checkOutcome() throws(StorageError) { if let failure { throw failure } }

  /// Ends a segment whose fsync failed: its last batch may be on disk or not, and asking again would not tell.
  func suspend(_ segment: SegmentWriter, because reason: String) -> StorageError {
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
    lease.lock.update { $0.structure &+= 1 }
    return StorageError(.outcomeUnknown, reason, file: segment.path, offset: segment.durableOffset)
  }
}
