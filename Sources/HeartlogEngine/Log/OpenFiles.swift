import HeartlogFiles
import HeartlogFormat
import Synchronization

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
    return files.count + (lock.isOpen ? 1 : 0)
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
    monitor.assertHeld()
    assert(!isBusy && queue.isEmpty && lease.unsyncedSince == nil, "no commit needs the files")
    appender.writer = nil
    appender.forgetUnsynced()
    lock.rest()
    openFileCount.isStale = true
    for reader in streamSet.readers.values { reader.rest() }
    receiver.forgetTails()
    streamSet.merkleCaches.rest()
    // A file may have been replaced before it is opened again, so everything is checked then.
    lease.forgetReleased()
  }
}

/// Limits the number of files that unused logs keep open, regardless of the number of logs. The least recently used logs rest.
///
/// Files that a call needs while it runs are not included: the lock of a log at rest, a folder, and a segment or two.
final class OpenFileBudget: Sendable {
  /// A quarter of the process's limit, at least 16 and at most 1,024. The rest is left to the app.
  static let process = OpenFileBudget { min(max(16, POSIXFileSystem.openFilesMax / 4), 1_024) }

  /// The number of streams of one log that keep their files open between reads. The other streams open their files each time.
  static let streamsMax = 16

  private struct Use {
    weak var log: CommitLog?
    var files: Int
    /// The time of the last use, as a count of all uses.
    var lastUse: UInt64
  }

  private struct State {
    var uses: [ObjectIdentifier: Use] = [:]
    var files = 0
    var useCount: UInt64 = 0
    /// The last values noted. Noting them again changes nothing.
    var last: (log: ObjectIdentifier, files: Int)?
    /// True if there are still too many files, because the logs that should rest were in use.
    var isOver = false

    /// - Returns: whether there are more files than before.
    mutating func set(_ count: Int, for log: CommitLog) -> Bool {
      let key = ObjectIdentifier(log)
      let before = uses[key]?.files ?? 0
      files += count - before
      assert(files >= 0, "no more files are closed than were opened")
      uses[key] = count == 0 ? nil : Use(log: log, files: count, lastUse: useCount)
      last = (key, count)
      return count > before
    }
  }

  private let state = Monitor(State())
  /// The address of the log that was noted last. If the same log is used again, it need not take the lock.
  private let lastLog = Atomic<UInt>(0)
  /// Evaluated whenever files are added, because the limit of a process can be raised.
  private let filesMax: @Sendable () -> Int

  init(filesMax: @escaping @Sendable () -> Int) { self.filesMax = filesMax }

  /// The number of files that the logs keep open.
  var files: Int { state.withLock(\.files) }

  /// Whether `log` was noted last. If so and its count is unchanged, there is nothing to note.
  func wasLast(_ log: CommitLog) -> Bool { lastLog.load(ordering: .relaxed) == Self.address(of: log) }

  private static func address(of log: CommitLog) -> UInt { UInt(bitPattern: ObjectIdentifier(log)) }

  /// Notes that a log was used, and how many files it keeps open. Called in its monitor, so that the last value noted is correct.
  ///
  /// - Returns: whether there may now be too many files. If so, `makeRoom` must be called outside the monitor.
  func note(_ log: CommitLog, files: Int) -> Bool {
    log.monitor.assertHeld()
    return state.withLock { state in
      if let last = state.last, last.log == ObjectIdentifier(log), last.files == files { return false }
      state.useCount += 1
      lastLog.store(Self.address(of: log), ordering: .relaxed)
      return state.set(files, for: log) || state.isOver
    }
  }

  /// Makes other logs rest if there are too many open files in total. Logs in use are skipped, and call this when they are done.
  func makeRoom(besides log: CommitLog) {
    let filesMax = filesMax()
    // Closes a few more files than necessary, so that not every call has to search for other logs.
    let wanted = filesMax - filesMax / 4
    let isOver = state.withLock { state in
      // Set first, so that a thread that finishes with a log during the search makes room itself.
      state.isOver = state.files > filesMax
      return state.isOver
    }
    guard isOver else { return }
    for other in longestUnused(but: log) {
      if files <= wanted { break }
      other.rest()
    }
    state.withLock { $0.isOver = $0.files > filesMax }
  }

  /// Notes that a log rests. Called in its monitor, so that files it opens later are noted after this.
  func didRest(_ log: CommitLog) {
    log.monitor.assertHeld()
    state.withLock { _ = $0.set(0, for: log) }
  }

  /// Notes that a log is being deallocated and can no longer be referenced.
  func forget(_ log: CommitLog) {
    let key = ObjectIdentifier(log)
    state.withLock { state in
      if let use = state.uses.removeValue(forKey: key) { state.files -= use.files }
      // Another log may be allocated at the same address.
      if state.last?.log == key {
        state.last = nil
        lastLog.store(0, ordering: .relaxed)
      }
    }
  }

  private func longestUnused(but log: CommitLog) -> [CommitLog] {
    let key = ObjectIdentifier(log)
    // The last reference to a log must not be released in here, because the log calls `forget`.
    let uses = state.withLock { state in Array(state.uses) }
    return uses.filter { $0.key != key }.sorted { $0.value.lastUse < $1.value.lastUse }.compactMap(
      \.value.log)
  }
}
