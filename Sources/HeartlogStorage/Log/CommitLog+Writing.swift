import Dispatch
import HeartlogEvents
import HeartlogFiles

/// The line: staging commits, and writing them in batches.
extension CommitLog {
  /// A line longer than this is written in several batches. Any single commit fits.
  private static let batchBytesMax = 64 << 20

  /// Writes one commit: `stage`, and `finish`.
  ///
  /// - Returns: the commit, acknowledged as `durability` says; nil where nothing was to be written.
  package func write(_ durability: Durability, _ draft: () throws -> CommitDraft?) throws -> Commit? {
    try writeThrough(durability, draft)?.commit
  }

  /// As `write`.
  ///
  /// - Returns: the commit and its outcome.
  package func writeThrough(_ durability: Durability, _ draft: () throws -> CommitDraft?) throws
    -> PendingCommit?
  {
    monitor.enter()
    let pending: PendingCommit?
    do { pending = try stageInside(durability, draft) } catch {
      leaveNotingFiles()
      throw error
    }
    guard let pending else {
      leaveNotingFiles()
      return nil
    }
    try finishInside(pending)
    return pending
  }

  /// Puts a commit in line. One thread may put several there before it finishes the first: they are written together.
  ///
  /// - Parameter draft: says what to write, given everything committed or staged so far; nil writes nothing. It is
  ///   called with the store's lock held, once, and must not call the log.
  /// - Returns: what `finish` must be called with, soon: until then others may have to wait. Nil where nothing is to be written.
  package func stage(_ durability: Durability, _ draft: () throws -> CommitDraft?) throws -> PendingCommit? {
    monitor.enter()
    defer { leaveNotingFiles() }
    return try stageInside(durability, draft)
  }

  /// Waits until a commit in line is acknowledged; writes the line where nobody else does.
  package func finish(_ pending: PendingCommit) throws(StorageError) -> Commit {
    if !pending.isOver {
      monitor.enter()
      try finishInside(pending)
    }
    try pending.checkOutcome()
    return pending.commit
  }

  private func stageInside(_ durability: Durability, _ draft: () throws -> CommitDraft?) throws
    -> PendingCommit?
  {
    try takeLock()
    do {
      if var draft = try draft() { return try stage(&draft, durability) }
    } catch {
      releaseWhenIdle()
      throw error
    }
    releaseWhenIdle()
    return nil
  }

  /// Leaves the monitor. While another thread writes, it waits outside on the event count of its batch, and mostly need not come back.
  private func finishInside(_ pending: PendingCommit) throws(StorageError) {
    while !pending.isOver {
      if isBusy {
        let eventCount = eventCounts[pending.batch & 1]
        let count = eventCount.prepareToWait()
        monitor.leave()
        eventCount.wait(since: count)
        if pending.isOver { return try pending.checkOutcome() }
        monitor.enter()
      } else {
        flushLine()
      }
    }
    leaveNotingFiles()
    try pending.checkOutcome()
  }

  private func leaveNotingFiles() {
    let isOver = options.budget.note(self, files: openFiles)
    monitor.leave()
    if isOver { options.budget.makeRoom(besides: self) }
  }

  /// - Parameter draft: is left without what the commit takes of it: a copy is references to count.
  private func stage(_ draft: inout CommitDraft, _ durability: Durability) throws -> PendingCommit {
    guard staged.next.rawValue <= Limits.numberMax else {
      throw StorageError(.malformed, "this replica has written all the commits that it can")
    }
    guard draft.wallTime <= Limits.clockMillisecondsMax else {
      throw StorageError(.malformed, "a wall time past the year 2199")
    }
    // A commit that is refused must not move the clock.
    var advanced = clock
    guard let stamp = advanced.next(wallTime: draft.wallTime) else {
      throw StorageError(
        .malformed, "a stamp past the year 2999: no stamps are left that this store can write with")
    }
    let commit = Commit(
      replica: identity.replica, number: staged.next, firstSequence: staged.nextSequence, stamp: stamp,
      wallTime: draft.wallTime, origin: draft.origin.take(), heads: looksForHeads ? newHeads() : [],
      contents: draft.takeContents())
    let pending: PendingCommit
    do throws(MalformedError) {
      var extended = staged
      try extended.extend(by: commit)
      pending = PendingCommit(commit, durability, batch: nextBatch)
      try queue.append(pending, recordsAreChecked: draft.recordsAreChecked)
      staged = extended
    } catch {
      throw StorageError(error)
    }
    looksForHeads = false
    clock = advanced
    sink.stage(pending)
    return pending
  }

  /// The heads of other replicas that the own stream has not named yet.
  private func newHeads() -> [Head] {
    let heads = readers.values.compactMap { reader -> Head? in
      guard reader.replica != identity.replica, let head = reader.tail.head,
        head.rawValue > staged.seen[reader.replica]?.rawValue ?? 0
      else { return nil }
      return Head(replica: reader.replica, commit: head)
    }
    return heads.sorted { $0.replica < $1.replica }
  }

  /// What comes next is drafted upon what was written, and upon nothing that stood in line.
  func resetStaged() {
    staged = ownReader.tail
    looksForHeads = true
  }

  /// Writes what stands in line, or a first part of it; or waits a while, where it must be made durable and somebody else flushes: all who
  /// call this look again.
  func flushLine() {
    isAppending = queue.durableCount == 0 && writer.map { $0.offset < options.segmentBytesMax } ?? false
    if isFlushing, !isAppending { return monitor.wait() }
    isBusy = true
    if queue.durableCount > 0 { waitForTheLine() }
    takeBatch()
    let number = nextBatch - 1
    let isDurable = batch.durableCount > 0
    let segment = writer
    let result =
      if let failure {
        // A flush failed since the batch was drafted.
        Result<SegmentWriter, StorageError>.failure(failure)
      } else {
        monitor.outside {
          Result { () throws(StorageError) in
            let started = isDurable ? DispatchTime.now() : nil
            let target = try writeBatch(isDurable: isDurable)
            if let started { noteBatch(since: started) }
            return target
          }
        }
      }
    isBusy = false
    isAppending = false
    if writer !== segment { recountsFiles = true }
    var dropped = CommitQueue()
    switch result {
    case .success(let target):
      didWrite(to: target)
      batch.endAll()
      if isDurable {
        forgetLease()
      } else {
        startLease()
        noteAcknowledged(target)
      }
    case .failure(let error):
      // What stands behind the batch was drafted upon it.
      swap(&dropped, &queue)
      sink.discard()
      resetStaged()
      clock = HybridClock(last: readers.values.map(\.tail.lastStamp).max() ?? clock.last)
      if error.code == .outcomeUnknown {
        failure = error
        forgetLease()
      }
      looksAgain = true
      recountsFiles = true
      batch.endAll(error)
      dropped.endAll(error)
    }
    recentWriters = batch.count + queue.count
    batch.removeAll()
    takeFlushOutcome()
    // First: who comes back at once joins the line, and the lock stays where it is.
    ring(after: number, isLast: !dropped.isEmpty)
    releaseWhenIdle()
    didBecomeIdle()
  }

  /// Notes that all that was written is acknowledged.
  private func noteAcknowledged(_ target: SegmentWriter) {
    if acknowledged?.segment === target {
      acknowledged?.bytes = target.offset
    } else {
      acknowledged = (target, target.offset)
    }
    flushAhead(of: target)
  }

  /// Wakes those whose commits were in a batch.
  ///
  /// - Parameter isLast: what stood in line behind the batch is over as well.
  private func ring(after batch: Int, isLast: Bool) {
    let eventCount = eventCounts[batch & 1]
    let wakes = eventCount.advanceForAll()
    let next = eventCounts[(batch + 1) & 1]
    let wakesNext = isLast && next.advanceForAll()
    guard wakes || wakesNext else { return }
    monitor.outside {
      if wakes { eventCount.wakeAll() }
      if wakesNext { next.wakeAll() }
    }
  }

  /// Somebody must write what stands in line, and others wait for the log.
  func didBecomeIdle() {
    monitor.notifyAll()
    guard !isBusy, !queue.isEmpty else { return }
    let eventCount = eventCounts[nextBatch & 1]
    if eventCount.advance() { monitor.outside { eventCount.wakeOne() } }
  }

  /// Lets threads that are about to write join: until the line stops growing, or is long enough; not for a time.
  private func waitForTheLine() {
    let enough = isHalfEnough ? recentWriters / 2 : Int.max
    var count = 0
    while queue.count > count, queue.count < enough {
      count = queue.count
      monitor.yield()
    }
  }

  /// Whether half of the writers are enough for a batch: while it waits for the disk, the others draft the next one. Where they have all
  /// drafted before a disk is done, one batch of all is better. Measured: 64 writers commit 1.3 times as much in halves on a disk that
  /// takes 0.15 ms, 4 writers three quarters.
  private var isHalfEnough: Bool {
    // What it takes on one of two cores to be woken, to draft, and to fall asleep again.
    let nanosecondsPerWriter: UInt64 = 10_000
    return recentWriters >= 8 && batchNanoseconds < UInt64(recentWriters) * nanosecondsPerWriter
  }

  /// Notes how long a durable batch took. One that was kept waiting for a core says nothing of the disk: the least of late counts.
  private func noteBatch(since start: DispatchTime) {
    let nanoseconds = DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds
    batchNanoseconds = min(nanoseconds, batchNanoseconds + batchNanoseconds / 16)
  }

  private func takeBatch() {
    swap(&queue, &batch)
    nextBatch += 1
    let rest = batch.split(at: Self.batchBytesMax, batch: nextBatch)
    if !rest.isEmpty { queue = rest }
  }

  /// Runs outside the monitor, by the one thread that is busy.
  ///
  /// - Returns: the segment that it was written to.
  private func writeBatch(isDurable: Bool) throws(StorageError) -> SegmentWriter {
    // Should this process die in the middle, the next holder sees that it must look at the files.
    lock.touch()
    let target = try segmentForWriting()
    do { try batch.write(to: target) } catch {
      guard error.code == .outcomeUnknown else { throw error }
      throw suspend(target, because: error.reason)
    }
    lock.raise(writtenBytes: target.offset)
    if isDurable { try synchronize(target) }
    return target
  }

  /// The open segment, or a new one where it is full.
  private func segmentForWriting() throws(StorageError) -> SegmentWriter {
    if let writer {
      guard writer.offset >= options.segmentBytesMax else { return writer }
      if writer.durableOffset < writer.offset { try synchronize(writer) }
    }
    let isRotation = writer != nil
    let created = try createSegment(before: batch.commits[0].commit)
    writer = created
    if isRotation { didRotate() }
    return created
  }

  /// One fdatasync. After a failure nobody appends to the segment again.
  func synchronize(_ target: SegmentWriter) throws(StorageError) {
    do { try target.synchronize() } catch { throw suspend(target, because: error.description) }
    lock.raise(durableBytes: target.durableOffset)
  }

  /// Keeps the line from being written while `body` runs outside the monitor: so a test makes one batch.
  func withLineHeld<R>(_ body: () throws -> R) throws -> R {
    monitor.enter()
    defer { monitor.leave() }
    while isBusy { monitor.wait() }
    isBusy = true
    defer {
      isBusy = false
      takeFlushOutcome()
      didBecomeIdle()
    }
    return try monitor.outside { Result { try body() } }.get()
  }

  private func didWrite(to target: SegmentWriter) {
    let own = ownReader
    if queue.isEmpty {
      own.didAppend(upTo: staged)
    } else {
      for pending in batch.commits {
        // Each was checked when it was staged.
        do { try own.didAppend(pending.commit) } catch { preconditionFailure(error.reason) }
      }
    }
    if !own.didGrow(target.file, to: target.offset) {
      own.didWrite(to: target.file, path: target.path, header: target.header, offset: target.offset)
    }
    sink.publish(batch.count)
  }
}
