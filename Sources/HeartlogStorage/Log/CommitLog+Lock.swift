import Dispatch
import HeartlogEvents
import HeartlogFiles

/// When this process holds the store's lock, and when it lets go of it.
extension CommitLog {
  /// After this time at most, buffered commits are flushed and others get the lock.
  private static let leaseMillisecondsMax = 100
  /// Others may have the lock earlier, but not before some work was done under it.
  private static let leaseMillisecondsMin: UInt64 = 25
  /// Less than this is made durable in a moment when the segment is full.
  private static let flushedAheadBytesMin: UInt64 = 256 << 10

  /// Takes the store's lock for this process, and everything that others wrote.
  func takeLock(quietly: Bool = false) throws(StorageError) {
    while true {
      try checkWritable()
      if isAcquiring {
        let awaited = acquisitions
        monitor.wait()
        if let failedAcquisition, failedAcquisition.number == awaited { throw failedAcquisition.error }
      } else if isGivingWay || (quietRequests > 0 && !quietly) {
        // What this thread has put in line may be what everybody waits for.
        if isBusy || queue.isEmpty { monitor.wait() } else { flushLine() }
      } else {
        break
      }
    }
    guard !holdsLock else { return }
    try acquire()
    do {
      // The store may have been closed meanwhile.
      try checkWritable()
      try catchUp()
    } catch {
      if error.code == .outcomeUnknown { failure = error }
      looksAgain = true
      release()
      throw error
    }
  }

  private func acquire() throws(StorageError) {
    isAcquiring = true
    acquisitions += 1
    let result = monitor.outside {
      Result { () throws(StorageError) in try lock.acquire(waitingAtMost: options.lockMillisecondsMax) }
    }
    isAcquiring = false
    failedAcquisition = if case .failure(let error) = result { (acquisitions, error) } else { nil }
    monitor.notifyAll()
    recountsFiles = true
    try result.get()
    holdsLock = true
  }

  private func catchUp() throws(StorageError) {
    if releasedGeneration == nil || lock.page().generation != releasedGeneration { try catchUp(nil) }
    try recoverTail()
    resetStaged()
  }

  /// Lets go of the lock where nobody in this process needs it.
  func releaseWhenIdle() {
    guard holdsLock, !isBusy, !isFlushing else { return }
    // Whoever stands in line has his turn; nobody else joins.
    if lock.isWanted { isGivingWay = true }
    guard queue.isEmpty else { return }
    if let unsyncedSince {
      guard isGivingWay else { return monitor.notifyAll() }
      let heldNanoseconds = DispatchTime.now().uptimeNanoseconds - unsyncedSince.uptimeNanoseconds
      guard heldNanoseconds > Self.leaseMillisecondsMin * 1_000_000 else {
        isGivingWay = false
        monitor.notifyAll()
        return
      }
      // Ends by calling this function again, with nothing unsynced.
      return synchronizeLease()
    }
    release()
    if isGivingWay {
      monitor.outside { lock.yield() }
      isGivingWay = false
    }
    monitor.notifyAll()
  }

  private func release() {
    noteSeen()
    holdsLock = false
    lock.release()
  }

  // MARK: - The lease

  /// Makes every acknowledged commit durable, and lets others write.
  package func flush() throws(StorageError) {
    defer { noteFiles() }
    try monitor.withLock { () throws(StorageError) in
      try checkUsable()
      while isBusy || isFlushing { monitor.wait() }
      if unsyncedSince != nil { synchronizeLease() }
      if let failure { throw failure }
    }
  }

  /// A lock and unlock cost as much as a buffered write: the lock is kept until the next flush.
  func startLease() {
    guard unsyncedSince == nil else { return }
    unsyncedSince = .now()
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Self.leaseMillisecondsMax)) {
      [weak self] in
      if let self { WorkerPool.shared.run { self.endLease() } }
    }
  }

  /// Begins to make a segment durable that is about to be full, so that little is left to do when the next one is made.
  func flushAhead(of segment: SegmentWriter) {
    guard !segment.isFlushedAhead, segment.offset - segment.durableOffset >= Self.flushedAheadBytesMin,
      segment.offset >= options.segmentBytesMax / 4 * 3
    else { return }
    segment.isFlushedAhead = true
    runLeaseEnd()
  }

  private func runLeaseEnd() { WorkerPool.shared.run { [weak self] in self?.endLease() } }

  private func endLease() {
    monitor.withLock {
      while isBusy, !isAppending, !isFlushing { monitor.wait() }
      // Whoever waited here would be woken by every commit.
      if isFlushing { return flushesAgain = true }
      if let acknowledged, unsyncedSince != nil { flush(acknowledged.segment, upTo: acknowledged.bytes) }
    }
    noteFiles()
  }

  /// Makes durable what is acknowledged, while writers go on: what they write meanwhile begins a lease of its own. The lock stays until
  /// it is done.
  private func flush(_ segment: SegmentWriter, upTo bytes: UInt64) {
    isFlushing = true
    forgetLease()
    let result = monitor.outside {
      Result { () throws(FileError) in try segment.file.synchronizeData() }
    }
    flushOutcome = FlushOutcome(segment: segment, bytes: bytes, result: result)
    if !isBusy {
      takeFlushOutcome()
      releaseWhenIdle()
    }
    didBecomeIdle()
  }

  /// Notes what a flush beside writers came to. What is known of the segment is the busy thread's: there is none now.
  func takeFlushOutcome() {
    guard let outcome = flushOutcome else { return }
    flushOutcome = nil
    isFlushing = false
    if flushesAgain {
      flushesAgain = false
      runLeaseEnd()
    }
    // Where a write could not be taken back meanwhile, the segment is given up already.
    guard writer === outcome.segment else { return }
    switch outcome.result {
    case .success:
      outcome.segment.didSynchronize(upTo: outcome.bytes)
      lock.raise(durableBytes: outcome.segment.durableOffset)
    case .failure(let error):
      failure = suspend(outcome.segment, because: error.description)
      forgetLease()
    }
  }

  /// Nothing is to be flushed: it is durable, or its segment was given up, which is never tried again.
  func forgetLease() {
    acknowledged = nil
    unsyncedSince = nil
  }

  func synchronizeLease() {
    isBusy = true
    let result = monitor.outside {
      Result { () throws(StorageError) in if let writer { try synchronize(writer) } }
    }
    isBusy = false
    forgetLease()
    if case .failure(let error) = result { failure = error }
    releaseWhenIdle()
    didBecomeIdle()
  }

  // MARK: - The log for one alone

  /// Runs `body` outside the monitor with the store's lock held, everything taken in, and nothing in line or
  /// unsynced.
  ///
  /// - Parameter isFlushed: false where `body` does not care for what is acknowledged and not durable yet.
  func withQuietLog<R>(isFlushed: Bool = true, _ body: () throws -> R) throws -> R {
    monitor.enter()
    defer { monitor.leave() }
    quietRequests += 1
    defer {
      quietRequests -= 1
      recountsFiles = true
      monitor.notifyAll()
    }
    while true {
      try takeLock(quietly: true)
      if isBusy || (isFlushed && isFlushing) {
        monitor.wait()
      } else if !queue.isEmpty {
        flushLine()
      } else if isFlushed, unsyncedSince != nil {
        synchronizeLease()
      } else {
        break
      }
    }
    isBusy = true
    let result = monitor.outside { Result { try body() } }
    isBusy = false
    takeFlushOutcome()
    if case .failure = result { looksAgain = true }
    releaseWhenIdle()
    didBecomeIdle()
    return try result.get()
  }
}

/// What became of making a segment durable beside its writers.
struct FlushOutcome {
  let segment: SegmentWriter
  /// Up to where it was acknowledged when the flush began.
  let bytes: UInt64
  let result: Result<Void, FileError>
}
