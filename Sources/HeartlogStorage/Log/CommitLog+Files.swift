import HeartlogFiles

/// Which files a log holds open between two calls, and how it gives them back.
extension CommitLog {
  /// Says how many files are open now, and makes other logs rest where that is too many. Called outside of the monitor.
  func noteFiles() {
    let isOver = monitor.withLock {
      recountsFiles = true
      return options.budget.note(self, files: openFiles)
    }
    if isOver { options.budget.makeRoom(besides: self) }
  }

  /// How many files are open between two calls. In the monitor.
  ///
  /// While a thread is busy with them, as many as there were before: it counts when it is done.
  var openFiles: Int {
    if recountsFiles, !isBusy {
      countedFiles = countFiles()
      recountsFiles = false
    }
    return countedFiles
  }

  private func countFiles() -> Int {
    var count = readers.values.count { $0.cursor?.file != nil } + (lock.isOpen ? 1 : 0)
    if let writer, readers[identity.replica]?.cursor?.file !== writer.file { count += 1 }
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
    guard directory.fileSystem.processID == processID else { return }
    if isIdle, unsyncedSince != nil { synchronizeLease() }
    guard isIdle, !holdsLock else { return }
    closeFiles()
    options.budget.didRest(self)
  }

  private var isIdle: Bool {
    !isBusy && !isFlushing && !isAcquiring && !isSealing && quietRequests == 0 && queue.isEmpty
  }

  /// Nobody uses the log; in the monitor.
  func closeFiles() {
    writer = nil
    acknowledged = nil
    lock.rest()
    recountsFiles = true
    for reader in readers.values { reader.rest() }
    // What was open may be another file when it is opened again: all is looked at then.
    releasedGeneration = nil
  }
}
