import HeartlogFiles
import HeartlogFormat
import Synchronization

/// Group commit: the queued commits, those that are being written, and the threads that wait for either.
///
/// Guarded by the log's monitor, except that the writing thread reads `writing` outside of it.
final class CommitQueue {
  /// Nothing is queued behind a longer batch.
  @exclusivity(unchecked) var batchBytesMax = 64 << 20

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
    assert(
      pending.commit.number == tail.next && pending.commit.stamp > tail.lastStamp,
      "a commit is drafted on top of the queue")
    try waiting.append(pending, batch: nextBatch, recordsAreChecked: recordsAreChecked)
    do throws(MalformedError) { try tail.extend(by: pending.commit) } catch {
      waiting.removeLast()
      throw error
    }
    looksForHeads = false
  }

  /// Continues drafting from `tail`, which is what was written. Nothing is queued.
  func reset(to tail: StreamTail) {
    assert(waiting.isEmpty, "commits that build on others are dropped with them")
    self.tail = tail
    looksForHeads = true
  }

  /// Whether what is queued has to be written before more is queued.
  var isFull: Bool { waiting.frames.byteCount >= batchBytesMax }

  /// Moves the queued commits to the batch to be written.
  ///
  /// - Returns: the number of the batch.
  func takeBatch() -> Int {
    assert(writing.isEmpty, "one batch is written at a time")
    swap(&waiting, &writing)
    nextBatch += 1
    return nextBatch - 1
  }

  /// Whether no commit is queued or being written.
  var isEmpty: Bool { waiting.isEmpty && writing.isEmpty }

  /// The commits that drafts build on; nil if there are none.
  var queued: QueuedCommits? {
    isEmpty ? nil : QueuedCommits(writing: writing.commits, waiting: waiting.commits)
  }

  /// Ends the batch.
  ///
  /// - Parameter frames: the frames of the batch. Their memory is reused.
  func endBatch(_ frames: inout CommitFrames) {
    assert(
      frames.byteCount == writing.commits.reduce(0) { $0 + $1.frameBytes },
      "a batch has a frame for each commit")
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

/// Commits that are written together, and their frames.
struct CommitBatch {
  private(set) var commits: [CommitLog.PendingCommit] = []
  var frames = CommitFrames()
  private(set) var durableCount = 0

  var isEmpty: Bool { commits.isEmpty }
  var count: Int { commits.count }

  /// Appends a commit.
  ///
  /// - Parameter recordsAreChecked: true if the records were validated when they were drafted.
  mutating func append(
    _ pending: CommitLog.PendingCommit, batch: Int, recordsAreChecked: Bool
  ) throws(MalformedError) {
    assert(
      commits.last.map { $0.commit.number.next == pending.commit.number } ?? true,
      "the numbers of commits are contiguous")
    assert(!pending.isOver, "a commit is queued once")
    pending.frameBytes = try frames.append(pending.commit, recordsAreChecked: recordsAreChecked)
    pending.batch = batch
    commits.append(pending)
    if pending.durability == .durable { durableCount += 1 }
  }

  /// Removes the commit that was appended last.
  mutating func removeLast() {
    let pending = commits.removeLast()
    assert(durableCount <= commits.count + 1, "durable commits are some of the commits")
    if pending.durability == .durable { durableCount -= 1 }
    frames.removeLast(pending.frameBytes)
  }

  /// Passes the outcome to each writer. Mutating only to avoid a copy of the array for the call.
  mutating func endAll(_ failure: HeartlogError? = nil) {
    for index in commits.indices { commits[index].end(failure) }
  }

  /// Removes all commits and keeps the capacity.
  mutating func removeAll() {
    // The batch of a lone writer has one commit. `removeLast` is cheaper.
    if commits.count == 1 { commits.removeLast() } else { commits.removeAll(keepingCapacity: true) }
    frames.removeAll()
    durableCount = 0
  }
}

extension CommitLog {
  /// A commit between drafting and acknowledgement. A class, because a copy of a commit counts many references.
  package final class PendingCommit: Sendable {
    package let commit: Commit
    let durability: Durability
    /// The size of its frame in bytes, set when it is queued. Guarded by `monitor`.
    fileprivate(set) nonisolated(unsafe) var frameBytes = 0
    /// The number of its batch, which determines the event count to wait on. Guarded by `monitor`.
    fileprivate(set) nonisolated(unsafe) var batch = 0
    // Written before `isOver` is set, and read after it.
    private nonisolated(unsafe) var failure: HeartlogError?
    private let over = Atomic(false)

    init(_ commit: Commit, _ durability: Durability) {
      self.commit = commit
      self.durability = durability
    }

    /// Whether it was written or has failed.
    var isOver: Bool { over.load(ordering: .acquiring) }

    func end(_ failure: HeartlogError? = nil) {
      assert(!isOver, "a commit is over once")
      if let failure { self.failure = failure }
      over.store(true, ordering: .releasing)
    }

    /// Throws the error that prevented it from being written, if any.
    func checkOutcome() throws(HeartlogError) {
      assert(isOver, "the outcome of a commit is known once it is over")
      if let failure { throw failure }
    }
  }
}

/// The commits that are drafted and not yet published, in order. The next draft builds on them.
package struct QueuedCommits {
  private let writing: [CommitLog.PendingCommit]
  private let waiting: [CommitLog.PendingCommit]

  /// - Parameters:
  ///   - writing: the commits that are being written.
  ///   - waiting: those behind them. Not both are empty.
  package init(writing: [CommitLog.PendingCommit], waiting: [CommitLog.PendingCommit]) {
    assert(!writing.isEmpty || !waiting.isEmpty, "nil stands for no commits")
    assert(
      writing.isEmpty || waiting.isEmpty || writing.last?.commit.number.next == waiting.first?.commit.number,
      "the commits are queued in order")
    self.writing = writing
    self.waiting = waiting
  }

  package var count: Int { writing.count + waiting.count }

  package subscript(index: Int) -> CommitLog.PendingCommit {
    index < writing.count ? writing[index] : waiting[index - writing.count]
  }
}

/// A commit before its number and stamp are assigned.
package struct CommitDraft: Sendable {
  package let wallTime: Milliseconds
  package let origin: String?
  let contents: EventRecords
  /// True if each record was already validated with this wall time. Records are not validated again.
  let recordsAreChecked: Bool

  init(wallTime: Milliseconds, origin: String?, checked record: SingleRecord) {
    self.wallTime = wallTime
    self.origin = origin
    contents = .one(record)
    recordsAreChecked = true
  }

  package init(
    wallTime: Milliseconds, origin: String?, records: [EventRecord], recordsAreChecked: Bool = false
  ) {
    self.wallTime = wallTime
    self.origin = origin
    contents = EventRecords(records)
    self.recordsAreChecked = recordsAreChecked
  }
}
