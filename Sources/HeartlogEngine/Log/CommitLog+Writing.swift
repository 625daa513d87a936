import HeartlogFiles
import HeartlogFormat
import HeartlogState

/// Group commit: queueing commits, and writing them in batches.
extension CommitLog {
  /// Decides what an operation writes, on top of everything that any process has written or queued, and writes it as a commit of its own.
  ///
  /// - Parameters:
  ///   - operation: what is done to the item.
  ///   - id: the item.
  ///   - library: the library of the item.
  ///   - durability: when the commit is acknowledged.
  ///   - origin: who writes.
  ///   - wallTime: the time of the commit; called once, with the store's lock held.
  /// - Throws: `invalid` if the operation breaks a rule, and the errors of every write. Nothing is written then.
  package func write(
    _ operation: Operation, on id: String, in library: LibraryKey, durability: Durability, origin: String?,
    at wallTime: () throws(HeartlogError) -> Milliseconds
  ) throws(HeartlogError) -> WriteResult {
    monitor.enter()
    let staged: (pending: PendingCommit?, result: WriteResult)
    do {
      staged = try stageInside(durability) {
        let wallTime = try wallTime()
        let plan = try projection.plan(
          operation, on: id, in: library, over: queue.queued, WriteOverlay(), wallTime: wallTime)
        return (
          plan.record.map { CommitDraft(wallTime: wallTime, origin: origin, checked: $0) }, plan.result
        )
      }
    } catch {
      leaveNotingFiles()
      throw HeartlogError(wrapping: error)
    }
    if let pending = staged.pending { try finishInside(pending) } else { leaveNotingFiles() }
    return staged.result
  }

  /// Queues a commit. A thread may queue several commits before it finishes the first one. They are written together.
  ///
  /// - Parameter draft: returns what to write, based on everything that is published or in `queuedCommits`; nil writes nothing. It is called
  ///   once, with the store's lock held, and must not call the log otherwise.
  /// - Returns: the value to pass to `finish`, which must be called soon because other threads and processes may have to wait until then;
  ///   nil if there is nothing to write. Beside it, the second value that `draft` returned.
  package func stage<R>(
    _ durability: Durability, _ draft: () throws -> (CommitDraft?, R)
  ) throws -> (pending: PendingCommit?, result: R) {
    monitor.enter()
    defer { leaveNotingFiles() }
    return try stageInside(durability, draft)
  }

  /// The queued commits that a draft builds on, in addition to the published ones; nil if there are none. Only drafts may read this.
  package var queuedCommits: QueuedCommits? {
    monitor.assertHeld()
    return queue.queued
  }

  /// Waits until a queued commit is acknowledged. Writes the queue if no other thread does.
  package func finish(_ pending: PendingCommit) throws(HeartlogError) -> Commit {
    if !pending.isOver {
      monitor.enter()
      try finishInside(pending)
    }
    try pending.checkOutcome()
    return pending.commit
  }

  private func stageInside<R>(
    _ durability: Durability, _ draft: () throws -> (CommitDraft?, R)
  ) throws -> (pending: PendingCommit?, result: R) {
    try takeLock()
    do {
      let (draft, result) = try draft()
      if let draft { return (try append(draft, durability), result) }
      releaseWhenIdle()
      return (nil, result)
    } catch {
      releaseWhenIdle()
      throw error
    }
  }

  /// Leaves the monitor. While another thread writes, this thread waits outside on the event count of its batch. It usually does not need
  /// to enter the monitor again.
  private func finishInside(_ pending: PendingCommit) throws(HeartlogError) {
    try options.trace.span(.commit) { () throws(HeartlogError) in
      monitor.assertHeld()
      while !pending.isOver {
        if isBusy {
          let eventCount = queue.eventCount(of: pending.batch)
          let count = eventCount.prepareToWait()
          monitor.leave()
          eventCount.wait(since: count)
          if pending.isOver { return try pending.checkOutcome() }
          monitor.enter()
        } else {
          writeBatch()
        }
      }
      leaveNotingFiles()
      try pending.checkOutcome()
    }
  }

  /// Leaves the monitor, and reports how many files are open.
  func leaveNotingFiles() {
    if !openFileCount.isStale, options.budget.wasLast(self) { return monitor.leave() }
    let isOver = options.budget.note(self, files: openFiles)
    monitor.leave()
    if isOver { options.budget.makeRoom(besides: self) }
  }

  /// Queues a commit at the tail.
  private func append(_ draft: CommitDraft, _ durability: Durability) throws(HeartlogError) -> PendingCommit {
    monitor.assertHeld()
    assert(lease.isHeld, "a draft builds on everything that any process has written")
    guard queue.tail.next.rawValue <= Limits.numberMax else {
      throw HeartlogError(.invalid, "this replica has written all the commits that it can")
    }
    guard draft.wallTime <= Limits.clockMillisecondsMax else {
      throw HeartlogError(.invalid, "a wall time past the year 2199")
    }
    // A rejected commit must not advance the clock.
    var advanced = streamSet.clock
    guard let stamp = advanced.next(wallTime: draft.wallTime) else {
      throw HeartlogError(
        .invalid, "a stamp past the year 2999: no stamps are left that this store can write with")
    }
    assert(stamp > queue.tail.lastStamp, "stamps rise along a stream")
    // The commit is constructed inside its object, because a copy of a commit counts four references.
    let pending = PendingCommit(
      Commit(
        replica: streamSet.identity.replica, number: queue.tail.next, firstSequence: queue.tail.nextSequence,
        stamp: stamp, wallTime: draft.wallTime, origin: draft.origin,
        heads: queue.looksForHeads ? streamSet.newHeads(after: queue.tail) : [],
        contents: draft.contents), durability)
    do throws(MalformedError) {
      try queue.append(pending, recordsAreChecked: draft.recordsAreChecked)
    } catch {
      throw error.heartlogError
    }
    streamSet.clock = advanced
    return pending
  }

  /// Writes the queue. If the batch must be made durable and another thread is flushing, it only waits for a while. Every caller
  /// therefore checks its condition again.
  func writeBatch() {
    assert(
      lease.isHeld && !isBusy && !queue.waiting.isEmpty,
      "one thread writes what was queued with the lock held")
    monitor.assertHeld()
    let segment = appender.writer
    let isAppending =
      queue.waiting.durableCount == 0 && segment.map { $0.offset < options.segmentBytesMax } ?? false
    if appender.isFlushing, !isAppending { return monitor.wait() }
    phase = isAppending ? .appending : .busy
    if queue.waiting.durableCount > 0 { letWritersJoin() }
    let number = queue.takeBatch()
    var frames = CommitFrames()
    swap(&frames, &queue.writing.frames)
    let isDurable = queue.writing.durableCount > 0
    var dropped = CommitBatch()
    do throws(HeartlogError) {
      // A flush may have failed after the batch was drafted.
      try appender.checkOutcome()
      let start = isDurable ? options.scheduler.uptimeNanoseconds() : 0
      let target = try monitor.outside { () throws(HeartlogError) in
        let target = try appendBatch(&frames, isDurable: isDurable)
        // Only one thread is busy at a time, so commits are published in order. The next batch is drafted concurrently.
        projection.publish(queue.writing.commits)
        return target
      }
      phase = .idle
      if isDurable {
        let end = options.scheduler.uptimeNanoseconds()
        queue.noteBatch(nanoseconds: end - start)
        if options.keepsLockInSeries { lease.noteBatch(from: start, to: end) }
      }
      didWrite(to: target)
      lock.announce()
      if options.trace.isOn { reportBatch(bytes: frames.byteCount) }
      queue.writing.endAll()
      if isDurable {
        appender.forgetUnsynced()
        keepLease()
      } else {
        startLease()
        appender.noteAcknowledged(target)
        flushAhead(of: target)
      }
    } catch {
      phase = .idle
      // Commits queued behind the batch were drafted on top of it.
      swap(&dropped, &queue.waiting)
      queue.reset(to: streamSet.own.tail)
      streamSet.resetClock()
      if error.code == .outcomeUnknown { appender.fail(error) }
      lease.looksAgain = true
      lease.endSeries()
      openFileCount.isStale = true
      queue.writing.endAll(error)
      dropped.endAll(error)
    }
    if appender.writer !== segment { openFileCount.isStale = true }
    queue.endBatch(&frames)
    takeFlushOutcome()
    // Wake the writers first: a writer that returns immediately joins the queue, and the lock is not released.
    wakeWriters(of: number, isLast: !dropped.isEmpty)
    releaseWhenIdle()
    didBecomeIdle()
  }

  private func reportBatch(bytes: Int) {
    options.trace.count(.commits, by: UInt64(queue.writing.count))
    options.trace.count(.events, by: queue.writing.commits.reduce(0) { $0 + UInt64($1.commit.eventCount) })
    options.trace.count(.writtenBytes, by: UInt64(bytes))
  }

  /// Wakes the writers whose commits were in a batch.
  ///
  /// - Parameter isLast: true if the commits queued behind the batch are over as well.
  private func wakeWriters(of batch: Int, isLast: Bool) {
    let eventCount = queue.eventCount(of: batch)
    let wakes = eventCount.advanceForAll()
    let next = isLast ? queue.eventCount(of: batch + 1) : nil
    let wakesNext = next?.advanceForAll() ?? false
    guard wakes || wakesNext else { return }
    monitor.outside {
      if wakes { eventCount.wakeAll() }
      if wakesNext { next?.wakeAll() }
    }
  }

  /// Wakes a thread to write the queue, and the threads that wait for the log.
  func didBecomeIdle() {
    monitor.assertHeld()
    monitor.notifyAll()
    guard !isBusy, !queue.waiting.isEmpty else { return }
    let eventCount = queue.eventCount(of: queue.nextBatch)
    if eventCount.advance() { monitor.outside { eventCount.wakeOne() } }
  }

  /// Lets threads that are about to write join the batch, until the queue stops growing or is long enough. There is no time limit.
  private func letWritersJoin() {
    assert(isBusy, "writers join while a batch is about to be written")
    let enough = queue.sufficientCount
    var count = 0
    while queue.waiting.count > count, queue.waiting.count < enough {
      count = queue.waiting.count
      monitor.yield()
    }
  }

  /// Runs outside the monitor, on the one thread that is busy.
  ///
  /// - Returns: the segment that the batch was written to.
  private func appendBatch(
    _ frames: inout CommitFrames, isDurable: Bool
  ) throws(HeartlogError) -> SegmentWriter {
    // If this process dies before the write completes, the next lock holder sees that it must check the files.
    lock.touch()
    let target: SegmentWriter
    do throws(HeartlogError) { target = try segmentForWriting() } catch {
      throw addingFreeSpace(error, SegmentHeader.byteCount + frames.byteCount)
    }
    do { try target.append(&frames) } catch {
      guard error.code == .outcomeUnknown else { throw addingFreeSpace(error, frames.byteCount) }
      throw appender.suspend(target, because: error.message)
    }
    lock.raise(writtenBytes: target.offset)
    if isDurable { try appender.synchronize(target) }
    assert(
      !isDurable || target.durableOffset == target.offset, "a durable batch is acknowledged after its flush")
    return target
  }

  /// Adds to the error of a full disk how much room the commits need behind the last one, and how much there is.
  private func addingFreeSpace(_ error: HeartlogError, _ neededBytes: Int) -> HeartlogError {
    guard error.code == .diskFull else { return error }
    var reason = "\(error.message); the commits need \(neededBytes) bytes"
    // More can be free where the user has a quota.
    if let free = directory.fileSystem.freeBytes(at: directory.path), free < max(neededBytes, 1 << 16) {
      reason += ", and \(free) are free"
    }
    return HeartlogError(.diskFull, reason, file: error.file)
  }

  /// Returns the open segment, or a new one if it is full.
  private func segmentForWriting() throws(HeartlogError) -> SegmentWriter {
    assert(!queue.writing.isEmpty, "a segment is made for a commit")
    let full = appender.writer
    if let full {
      guard full.offset >= options.segmentBytesMax else { return full }
      if full.durableOffset < full.offset { try appender.synchronize(full) }
    }
    let created = try appender.createSegment(
      before: queue.writing.commits[0].commit, by: streamSet.identity, options)
    appender.writer = created
    assert(created.durableOffset == created.offset, "a segment is durable before a commit is written to it")
    if full != nil { didRotate() }
    return created
  }

  private func didWrite(to target: SegmentWriter) {
    monitor.assertHeld()
    let own = streamSet.own
    if queue.waiting.isEmpty {
      own.didAppend(upTo: queue.tail)
    } else {
      for pending in queue.writing.commits {
        // Each commit was validated when it was staged.
        do { try own.didAppend(pending.commit) } catch { preconditionFailure(error.reason) }
      }
    }
    assert(own.tail.head == queue.writing.commits.last?.commit.number, "the own stream ends with the batch")
    if !own.didGrow(target.file, to: target.offset) {
      own.didWrite(to: target.file, path: target.path, header: target.header, offset: target.offset)
    }
  }
}
