import Dispatch
import HeartlogEvents
import HeartlogFiles

/// Group commit: the commits that wait to be written, those that are being written, and the threads that wait for either.
///
/// Guarded by the log's monitor, but the thread that writes reads `writing` outside of it.
final class CommitQueue {
  /// A longer batch is written in parts. Any single commit fits.
  private static let batchBytesMax = 64 << 20

  /// The own stream behind the last commit in the queue: the next one is drafted upon it.
  @exclusivity(unchecked) var tail: StreamTail
  /// Other streams may have grown since heads were last written.
  @exclusivity(unchecked) var looksForHeads = true
  @exclusivity(unchecked) var waiting = CommitBatch()
  /// The batch that is being written, or memory for the next one.
  @exclusivity(unchecked) var writing = CommitBatch()
  /// The number of the batch that `waiting` will be.
  @exclusivity(unchecked) private(set) var nextBatch = 0
  /// The commits of the last batch and those that waited behind it: about as many threads write at once.
  @exclusivity(unchecked) private var recentWriters = 0
  /// How long a durable batch takes: about the least of late. A second before the first.
  @exclusivity(unchecked) private var batchNanoseconds: UInt64 = 1_000_000_000
  /// Writers of batches with even and with odd numbers wait on these.
  private let evenWriters = EventCount()
  private let oddWriters = EventCount()

  init(replica: ReplicaID) { tail = StreamTail(replica: replica) }

  /// The event count on which the writers of a batch wait.
  func eventCount(of batch: Int) -> EventCount { batch & 1 == 0 ? evenWriters : oddWriters }

  /// Queues a commit behind the tail, which it extends.
  ///
  /// - Parameter recordsAreChecked: whoever drafted them has held them against the rules.
  /// - Throws: where it breaks a rule; nothing is changed then.
  func append(
    _ pending: CommitLog.PendingCommit, recordsAreChecked: Bool
  ) throws(MalformedError) {
    try waiting.append(pending, batch: nextBatch, recordsAreChecked: recordsAreChecked)
    do throws(MalformedError) { try tail.extend(by: pending.commit) } catch {
      waiting.removeLast()
      throw error
    }
    looksForHeads = false
  }

  /// Drafts go on from what was written: nothing waits.
  func reset(to tail: StreamTail) {
    self.tail = tail
    looksForHeads = true
  }

  /// Makes what waits, or as much of it as one write takes, the batch to be written.
  ///
  /// - Returns: its number.
  func takeBatch() -> Int {
    swap(&waiting, &writing)
    nextBatch += 1
    let rest = writing.split(at: Self.batchBytesMax, batch: nextBatch)
    if !rest.isEmpty { waiting = rest }
    return nextBatch - 1
  }

  /// What drafts build on.
  var queued: QueuedCommits {
    waiting.isEmpty && writing.isEmpty
      ? .none : QueuedCommits(writing: writing.commits, waiting: waiting.commits)
  }

  /// Ends the batch.
  ///
  /// - Parameter frames: those of the batch. Their memory is used again.
  func endBatch(_ frames: inout CommitFrames) {
    recentWriters = writing.count + waiting.count
    swap(&writing.frames, &frames)
    writing.removeAll()
  }

  /// As many commits make a batch worth writing: while it waits for the disk, the other writers draft the next one. A lone writer waits for
  /// nobody.
  ///
  /// Where all have drafted before the disk is done, one batch of all is better. Measured: 64 writers commit 1.3 times as much in halves on
  /// a disk that takes 0.15 ms, 4 writers three quarters.
  var sufficientCount: Int {
    if recentWriters == 1 { return 1 }
    // What it takes on one of two cores to be woken, to draft, and to fall asleep again.
    let nanosecondsPerWriter: UInt64 = 10_000
    let isHalfEnough = recentWriters >= 8 && batchNanoseconds < UInt64(recentWriters) * nanosecondsPerWriter
    return isHalfEnough ? recentWriters / 2 : .max
  }

  /// Notes how long a durable batch took. One that was kept waiting for a core says nothing of the disk: the least of late counts.
  func noteBatch(nanoseconds: UInt64) {
    batchNanoseconds = min(nanoseconds, batchNanoseconds + batchNanoseconds / 16)
  }
}
