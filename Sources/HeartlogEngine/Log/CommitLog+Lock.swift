import HeartlogFiles
import HeartlogFormat

/// Acquiring and releasing the store's lock in this process.
extension CommitLog {
  /// The maximum time until buffered commits are flushed and other processes can get the lock.
  private static let leaseMillisecondsMax = 100
  /// The minimum time before other processes can get the lock, so that some work is done under it.
  private static let leaseMillisecondsMin: UInt64 = 25
  /// How often a series of durable commits is checked. When the series is over, the lock is released.
  private static let keptMilliseconds = 50
  /// A smaller amount is made durable quickly when the segment is full.
  private static let flushedAheadBytesMin: UInt64 = 256 << 10

  /// Acquires the store's lock for this process, and reads everything that other processes wrote.
  func takeLock(quietly: Bool = false) throws(HeartlogError) {
    monitor.assertHeld()
    while true {
      try checkWritable()
      if lease.isBeingAcquired {
        try lease.waitForAcquisition()
      } else if lease.isYielding || (lease.quietRequests > 0 && !quietly) || queue.isFull {
        // All other threads may be waiting for commits that this thread has queued.
        if isBusy || queue.waiting.isEmpty { monitor.wait() } else { writeBatch() }
      } else {
        break
      }
    }
    assert(lease.isHeld || queue.isEmpty, "nothing is queued without the lock")
    guard !lease.isHeld else { return }
    let wasOpen = lock.isOpen
    defer { if !wasOpen { openFileCount.isStale = true } }
    try lease.acquire(waitingAtMost: options.lockMillisecondsMax)
    do throws(HeartlogError) {
      // The store may have been closed while this thread waited.
      try checkWritable()
      try prepareTail()
    } catch {
      if error.code == .outcomeUnknown { appender.fail(error) }
      lease.looksAgain = true
      release()
      throw error
    }
  }

  /// Reads what other processes wrote, and prepares the own tail for writing. If no other process wrote since this process last did, the
  /// tail is already prepared.
  private func prepareTail() throws(HeartlogError) {
    assert(
      lease.isHeld && queue.isEmpty,
      "the tail is prepared with the lock held, before commits build on it")
    if lease.isTailReady, lease.isUnchanged { return }
    lease.endSeries()
    if !lease.isGenerationUnchanged { try catchUp(nil) }
    try recovery.recover()
    queue.reset(to: streamSet.own.tail)
    openFileCount.isStale = true
    lease.isTailReady = true
  }

  /// Releases the lock if nothing in this process needs it.
  func releaseWhenIdle() {
    monitor.assertHeld()
    guard lease.isHeld else { return }
    // Queued commits are still written, but no new ones are accepted. This is checked even while another batch is being written. Otherwise
    // many writers could keep the lock forever.
    if lock.isWanted {
      lease.isYielding = true
      lease.endSeries()
    }
    guard !isBusy, !appender.isFlushing else { return }
    guard queue.waiting.isEmpty else { return }
    if let unsyncedSince = lease.unsyncedSince {
      guard lease.isYielding || !lease.isTimed else { return monitor.notifyAll() }
      let heldNanoseconds = options.scheduler.uptimeNanoseconds() - unsyncedSince
      guard !lease.isTimed || heldNanoseconds > Self.leaseMillisecondsMin * 1_000_000 else {
        lease.isYielding = false
        monitor.notifyAll()
        return
      }
      // This calls the current function again when it ends, with nothing unsynced.
      return synchronizeLease()
    }
    guard !lease.isKept else { return monitor.notifyAll() }
    release()
    if lease.isYielding {
      monitor.outside { lock.yield() }
      lease.isYielding = false
    }
    monitor.notifyAll()
  }

  private func release() {
    assert(queue.waiting.isEmpty && !isBusy, "the lock is held while commits are queued")
    if lease.looksAgain { for reader in streamSet.readers.values { reader.resolvedStructure = nil } }
    lease.noteSeen()
    lease.release()
  }

  // MARK: - The lease

  /// Makes every acknowledged commit durable, and lets other processes write.
  package func flush() throws(HeartlogError) {
    defer { noteFiles() }
    try monitor.withLock { () throws(HeartlogError) in
      try checkUsable()
      while isBusy || appender.isFlushing { monitor.wait() }
      if lease.unsyncedSince != nil { synchronizeLease() }
      try appender.checkOutcome()
    }
  }

  /// Keeps the lock until the next flush, because locking and unlocking cost as much as a buffered write.
  func startLease() {
    monitor.assertHeld()
    assert(lease.isHeld, "a lease keeps the lock that is held")
    guard lease.unsyncedSince == nil else { return }
    lease.unsyncedSince = options.scheduler.uptimeNanoseconds()
    lease.isTimed = options.scheduler.run(afterMilliseconds: Self.leaseMillisecondsMax) { [weak self] in
      self?.endLease()
    }
  }

  /// Keeps the lock after a durable commit as long as more durable commits follow.
  func keepLease() {
    monitor.assertHeld()
    guard lease.isKept, !lease.isExpiring else { return }
    lease.isExpiring = options.scheduler.run(afterMilliseconds: Self.keptMilliseconds) { [weak self] in
      self?.expireLease()
    }
    if !lease.isExpiring { lease.endSeries() }
  }

  private func expireLease() {
    monitor.withLock {
      lease.isExpiring = false
      if lease.isKept, !lock.isWanted,
        isBusy || lease.isInSeries(at: options.scheduler.uptimeNanoseconds())
      {
        return keepLease()
      }
      lease.endSeries()
      releaseWhenIdle()
    }
  }

  /// Starts to make a nearly full segment durable, so that little work remains when the next segment is created.
  func flushAhead(of segment: SegmentWriter) {
    guard !segment.isFlushedAhead, segment.offset - segment.durableOffset >= Self.flushedAheadBytesMin,
      segment.offset >= options.segmentBytesMax / 4 * 3
    else { return }
    segment.isFlushedAhead = true
    runLeaseEnd()
  }

  private func runLeaseEnd() {
    // Without another thread, the end of the batch makes it durable. The calling thread is inside the monitor.
    _ = options.scheduler.run(afterMilliseconds: 0) { [weak self] in self?.endLease() }
  }

  private func endLease() {
    monitor.withLock {
      while isBusy, phase != .appending, !appender.isFlushing { monitor.wait() }
      // A thread that waited here would be woken by every commit.
      guard !appender.isFlushing else { return appender.requestFlush() }
      if let acknowledged = appender.acknowledged, lease.unsyncedSince != nil {
        flush(acknowledged.segment, upTo: acknowledged.bytes)
      }
    }
    noteFiles()
  }

  /// Makes acknowledged commits durable while writers continue. Commits written during the flush start a new lease. The lock is held until
  /// the flush is done.
  private func flush(_ segment: SegmentWriter, upTo bytes: UInt64) {
    monitor.assertHeld()
    assert(!appender.isFlushing, "one thread flushes at a time")
    appender.flush = .running(isWantedAgain: false)
    appender.forgetUnsynced()
    var failure: HeartlogError?
    do throws(HeartlogError) {
      try monitor.outside { () throws(HeartlogError) in
        try options.trace.span(.synchronize) { () throws(HeartlogError) in try segment.file.synchronizeData()
        }
      }
    } catch {
      failure = error
    }
    appender.endFlush(of: segment, upTo: bytes, error: failure)
    if !isBusy {
      takeFlushOutcome()
      releaseWhenIdle()
    }
    didBecomeIdle()
  }

  /// Handles the outcome of a flush that ran concurrently with writers. No thread is busy.
  func takeFlushOutcome() {
    monitor.assertHeld()
    assert(!isBusy, "a segment that failed is not taken from the thread that writes it")
    if appender.takeFlushOutcome() { runLeaseEnd() }
  }

  /// Makes every acknowledged commit durable.
  func synchronizeLease() {
    monitor.assertHeld()
    assert(lease.isHeld && !isBusy && !appender.isFlushing, "one thread makes the segment durable")
    do throws(HeartlogError) {
      try whileBusy { () throws(HeartlogError) in
        if let writer = appender.writer { try appender.synchronize(writer) }
      }
    } catch {
      appender.fail(error)
    }
    appender.forgetUnsynced()
    releaseWhenIdle()
    didBecomeIdle()
  }

  /// Runs `body` outside the monitor, as the one thread that changes the log's files.
  func whileBusy<R, E: Error>(as busy: Phase = .busy, _ body: () throws(E) -> R) throws(E) -> R {
    assert(phase == .idle, "one thread at a time changes the log's files")
    phase = busy
    defer { phase = .idle }
    return try monitor.outside(body)
  }

  // MARK: - Exclusive access

  /// Runs `body` outside the monitor, with exclusive access to the log.
  ///
  /// - Parameter isFlushed: false if `body` does not depend on commits that are acknowledged but not yet durable.
  /// - Throws: what `body` throws, as a `HeartlogError`.
  func exclusively<R>(
    isFlushed: Bool = true, _ body: (borrowing ExclusiveLog) throws -> R
  ) throws(HeartlogError) -> R {
    monitor.enter()
    defer { monitor.leave() }
    lease.quietRequests += 1
    defer {
      lease.quietRequests -= 1
      openFileCount.isStale = true
      monitor.notifyAll()
    }
    while true {
      try takeLock(quietly: true)
      if isBusy || (isFlushed && appender.isFlushing) {
        monitor.wait()
      } else if !queue.waiting.isEmpty {
        writeBatch()
      } else if isFlushed, lease.unsyncedSince != nil {
        synchronizeLease()
      } else {
        break
      }
    }
    defer {
      // `body` may have changed the own stream.
      lease.isTailReady = false
      lease.endSeries()
      takeFlushOutcome()
      releaseWhenIdle()
      didBecomeIdle()
    }
    do { return try whileBusy(as: .changingStreams) { try lend(body) } } catch {
      lease.looksAgain = true
      throw HeartlogError(wrapping: error)
    }
  }

  /// A function of its own, because the optimizer of Swift 6.3.1 crashes on the value in a closure that it specializes.
  @inline(never)
  private func lend<R>(_ body: (borrowing ExclusiveLog) throws -> R) throws -> R {
    let log = ExclusiveLog(self)
    return try body(log)
  }
}

/// Exclusive access to a log: the store's lock is held, every stream is read, nothing is queued or unsynced, and no other thread changes
/// the log's files. What needs that is a method of this type. It cannot be kept: only `CommitLog.exclusively` lends it.
struct ExclusiveLog: ~Copyable {
  let log: CommitLog

  fileprivate init(_ log: CommitLog) {
    assert(
      log.phase == .changingStreams && log.lease.isHeld,
      "exclusive access is lent to one thread, with the lock held")
    assert(log.queue.isEmpty, "no commit waits for exclusive access to end")
    self.log = log
  }

  var directory: StoreDirectory { log.directory }
  var options: StorageOptions { log.options }
  var lease: StoreLease { log.lease }
  var lock: StoreLock { log.lock }
  var queue: CommitQueue { log.queue }
  var appender: SegmentAppender { log.appender }
  var streamSet: StreamSet { log.streamSet }
  var recovery: TailRecovery { log.recovery }
  var receiver: RunReceiver { log.receiver }
}
