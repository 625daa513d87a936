import HeartlogFormat
import HeartlogFiles

/// The number of files that a log keeps open between calls.
struct OpenFileCount {
  var count = 0
  /// True if files may have been opened or closed since they were counted.
  var isStale = true
}

/// The files that a log keeps open between calls, and how it closes them.
extension CommitLog {
  /// Reports how many files are open, and makes other logs rest if there are too many. Called outside the monitor.
  func noteFiles() {
    let isOver = monitor.withLock {
      openFileCount.isStale = true
      return options.budget.note(self, files: openFiles)
    }
    if isOver { options.budget.makeRoom(besides: self) }
  }

  /// The number of files that are open between calls. While a thread is using the files, the number that were in use before.
  var openFiles: Int {
    if openFileCount.isStale, !isBusy, let count = countFiles() {
      openFileCount = OpenFileCount(count: count, isStale: false)
    }
    return openFileCount.count
  }

  /// Returns nil while a thread uses a Merkle cache.
  private func countFiles() -> Int? {
    guard var files = streamSet.merkleCaches.openFiles else { return nil }
    // Readers, writers and caches of a stream often share a file.
    for reader in streamSet.readers.values {
      if let file = reader.cursor?.file { files.insert(ObjectIdentifier(file)) }
    }
    if let file = appender.writer?.file { files.insert(ObjectIdentifier(file)) }
    return files.count + (lease.lock.isOpen ? 1 : 0)
  }

  /// Closes the files if no thread is using the log. The next call that needs them opens them again.
  ///
  /// Never waits for the log, because the caller may be inside a call on another log. Acknowledged commits that are not flushed yet are
  /// flushed first.
  func rest() {
    guard monitor.tryEnter() else { return }
    defer { monitor.leave() }
    // After a fork, the lock belongs to the other process.
    guard access.isOfThisProcess else { return }
    lease.endSeries()
    if isIdle, lease.unsyncedSince != nil { synchronizeLease() } else { releaseWhenIdle() }
    guard isIdle, !lease.isHeld else { return }
    closeFiles()
    options.budget.didRest(self)
  }

  /// Releases everything that must not be held while the process is suspended: makes acknowledged commits durable, releases the lock and
  /// closes the files. The next call opens them again, and readers are told to look for what came since.
  ///
  /// Waits for writes in progress. Sealing in the background ends, and goes on when the next segment is full.
  package func restNow() throws(HeartlogError) {
    rests.add(1, ordering: .relaxed)
    try monitor.withLock { () throws(HeartlogError) in
      try checkUsable()
      while true {
        finishWork()
        if lease.isBeingAcquired || lease.quietRequests > 0 {
          monitor.wait()
        } else if lease.isHeld {
          lease.endSeries()
          releaseWhenIdle()
        } else {
          break
        }
      }
      closeFiles()
      seen.forget()
      options.budget.didRest(self)
      try appender.checkOutcome()
    }
  }

  private var isIdle: Bool {
    !isBusy && !appender.isFlushing && !lease.isBeingAcquired && !sealing.isRunning
      && lease.quietRequests == 0 && queue.waiting.isEmpty
  }

  /// Closes the files. Called in the monitor, when no thread is using the log.
  func closeFiles() {
    appender.writer = nil
    appender.forgetUnsynced()
    lease.lock.rest()
    openFileCount.isStale = true
    for reader in streamSet.readers.values { reader.rest() }
    receiver.forgetTails()
    streamSet.merkleCaches.rest()
    // A file may have been replaced before it is opened again, so everything is checked then.
    lease.forgetReleased()
  }
}
