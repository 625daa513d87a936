import HeartlogFiles

/// How many files a log holds open between two calls.
struct OpenFileCount {
  var count = 0
  /// Files may have been opened or closed since they were counted.
  var isStale = true
}

/// Which files a log holds open between two calls, and how it gives them back.
extension CommitLog {
  /// Says how many files are open now, and makes other logs rest where that is too many. Called outside of the monitor.
  func noteFiles() {
    let isOver = monitor.withLock {
      openFileCount.isStale = true
      return options.budget.note(self, files: openFiles)
    }
    if isOver { options.budget.makeRoom(besides: self) }
  }

  /// How many files are open between two calls. While a thread is busy with them, as many as it had in use before.
  var openFiles: Int {
    if openFileCount.isStale, !isBusy { openFileCount = OpenFileCount(count: countFiles(), isStale: false) }
    return openFileCount.count
  }

  private func countFiles() -> Int {
    var count = streamSet.readers.values.count { $0.cursor?.file != nil } + (lease.lock.isOpen ? 1 : 0)
    if let writer = appender.writer,
      streamSet.readers[streamSet.identity.replica]?.cursor?.file !== writer.file
    {
      count += 1
    }
    return count
  }

  /// Gives back the files, where nobody uses the log at this moment; the next call that needs them opens them again.
  ///
  /// Never waits for the log: whoever asks may be in the middle of a call on another one. What is acknowledged and not flushed is
  /// flushed first.
  func rest() {
    guard monitor.tryEnter() else { return }
    defer { monitor.leave() }
    // After a fork the lock is the other process's.
    guard access.isOfThisProcess else { return }
    lease.endSeries()
    if isIdle, lease.unsyncedSince != nil { synchronizeLease() } else { releaseWhenIdle() }
    guard isIdle, !lease.isHeld else { return }
    closeFiles()
    options.budget.didRest(self)
  }

  private var isIdle: Bool {
    !isBusy && !appender.isFlushing && !lease.isBeingAcquired && !sealing.isRunning
      && lease.quietRequests == 0 && queue.waiting.isEmpty
  }

  /// Nobody uses the log; in the monitor.
  func closeFiles() {
    appender.writer = nil
    appender.forgetUnsynced()
    lease.lock.rest()
    openFileCount.isStale = true
    for reader in streamSet.readers.values { reader.rest() }
    // What was open may be another file when it is opened again: all is looked at then.
    lease.forgetReleased()
  }
}
