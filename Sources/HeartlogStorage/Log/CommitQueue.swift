import Dispatch
import HeartlogFormat
import HeartlogFiles

/// Group commit: the queued commits, those that are being written, and the threads that wait for either.
///
/// Guarded by the log's monitor, except that the writing thread reads `writing` outside of it.
final class CommitQueue {
  /// A longer batch is written in parts. Any single commit fits.
  private static let batchBytesMax = 64 << 20

  /// The tail of the own stream after the last commit in the queue. The next commit is drafted on top of it.
  @exclusivity(unchecked) var tail: StreamTail
  /// True if other streams may have grown since heads were last written.
  @exclusivity(unchecked) var looksForHeads = true
  @exclusivity(unchecked) var waiting = CommitBatch()
  /// The batch that is being written. Between batches, its memory is kept for the next one.
  @exclusivity(unchecked) var writing = CommitBatch()
  /// The number that the batch in `waiting` will have.
  @exclusivity(unchecked) private(set) var nextBatch = 0
  /// The number of commits in the last batch and queued behind it, which is about the number of concurrent writers.
  @exclusivity(unchecked) private var recentWriters = 0
  /// How long a durable batch takes: approximately the minimum of recent batches. One second before the first batch.
  @exclusivity(unchecked) private var batchNanoseconds: UInt64 = 1_000_000_000
  /// The event counts that writers of even-numbered and odd-numbered batches wait on.
  private let evenWriters = EventCount()
  private let oddWriters = EventCount()

  init(replica: ReplicaID) { tail = StreamTail(replica: replica) }

  /// The event count that the writers of a batch wait on.
  func eventCount(of batch: Int) -> EventCount { batch & 1 == 0 ? evenWriters : oddWriters }

  /// Queues a commit at the tail, and extends the tail by it.
  ///
  /// - Parameter recordsAreChecked: true if the records were validated when they were drafted.
  /// - Throws: if the commit breaks a rule. Nothing is changed in that case.
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

  /// Continues drafting from `tail`, which is what was written. Nothing is queued.
  func reset(to tail: StreamTail) {
    self.tail = tail
    looksForHeads = true
  }

  /// Moves the queued commits, or as many as fit into one write, to the batch to be written.
  ///
  /// - Returns: the number of the batch.
  func takeBatch() -> Int {
    swap(&waiting, &writing)
    nextBatch += 1
    let rest = writing.split(at: Self.batchBytesMax, batch: nextBatch)
    if !rest.isEmpty { waiting = rest }
    return nextBatch - 1
  }

  /// The commits that drafts build on.
  var queued: QueuedCommits {
    waiting.isEmpty && writing.isEmpty
      ? .none : QueuedCommits(writing: writing.commits, waiting: waiting.commits)
  }

  /// Ends the batch.
  ///
  /// - Parameter frames: the frames of the batch. Their memory is reused.
  func endBatch(_ frames: inout CommitFrames) {
    recentWriters = writing.count + waiting.count
    swap(&writing.frames, &frames)
    writing.removeAll()
  }

  /// The number of commits that make a batch worth writing. While a batch waits for the disk, the other writers draft the next one. A lone
  /// writer does not wait.
  ///
  /// If all writers finish drafting before the disk is done, a single batch of all commits is better. Measured with half batches on a disk
  /// that takes 0.15 ms: 64 writers commit 1.3 times as much, 4 writers three quarters.
  var sufficientCount: Int {
    if recentWriters == 1 { return 1 }
    // The time a writer needs, on one of two cores, to wake up, draft, and go back to sleep.
    let nanosecondsPerWriter: UInt64 = 10_000
    let isHalfEnough = recentWriters >= 8 && batchNanoseconds < UInt64(recentWriters) * nanosecondsPerWriter
    return isHalfEnough ? recentWriters / 2 : .max
  }

  /// Records how long a durable batch took. A batch that was delayed waiting for a core says nothing about the disk, so the minimum of
  /// recent batches is used.
  func noteBatch(nanoseconds: UInt64) {
    batchNanoseconds = min(nanoseconds, batchNanoseconds + batchNanoseconds / 16)
  }
}
