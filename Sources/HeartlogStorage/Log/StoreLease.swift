import HeartlogFiles

/// The store's lock as this process holds it, and what it knows of the log since it last did.
///
/// Guarded by the log's monitor.
final class StoreLease {
  let lock: StoreLock
  private let monitor: Monitor

  @exclusivity(unchecked) private(set) var isHeld = false
  private var isAcquiring = false
  private var acquisitions = 0
  /// The last acquisition that failed: whoever waited for it need not wait as long again.
  private var failedAcquisition: (number: Int, error: StorageError)?
  /// Other processes want the lock: no commit joins the queue until they had it.
  @exclusivity(unchecked) var isYielding = false
  /// Threads that want the log to themselves: no commit joins the queue until they had it.
  @exclusivity(unchecked) var quietRequests = 0
  /// Since when acknowledged commits are not durable, by the monotonic clock; nil if all are. The lock is kept until they are.
  @exclusivity(unchecked) var unsyncedSince: UInt64?
  /// The lock is kept although everything is durable: another commit is expected soon.
  @exclusivity(unchecked) private(set) var isKept = false
  /// A timer that ends `isKept` is running.
  @exclusivity(unchecked) var isExpiring = false
  /// When the last durable batch ended; nil if another process has written since, or wanted to.
  @exclusivity(unchecked) private var lastBatchEnd: UInt64?

  /// The page as it was before the log was last read.
  private(set) var seenPage: StoreLock.Page?
  /// The generation and the structure at which this process released the lock, with everything read. While they stand, nobody has written.
  /// A page that was seen without the lock says less: its writer may go on without raising it again.
  @exclusivity(unchecked) private var released: (generation: UInt64, structure: UInt64)?
  /// The own tail was recovered, and only commits were appended since: while nothing else changes, the next one may follow.
  @exclusivity(unchecked) var isTailReady = false
  /// Something failed half-way: all files are looked at before the next write.
  @exclusivity(unchecked) var looksAgain = false

  init(_ lock: StoreLock, monitor: Monitor) {
    self.lock = lock
    self.monitor = monitor
  }

  /// Whether another thread is waiting for the lock.
  var isBeingAcquired: Bool { isAcquiring }

  /// Waits until another thread has the lock, or has failed to get it.
  func waitForAcquisition() throws(StorageError) {
    monitor.assertHeld()
    let awaited = acquisitions
    monitor.wait()
    if let failedAcquisition, failedAcquisition.number == awaited { throw failedAcquisition.error }
  }

  /// Takes the lock. Leaves the monitor meanwhile.
  func acquire(waitingAtMost milliseconds: Int) throws(StorageError) {
    monitor.assertHeld()
    isAcquiring = true
    acquisitions += 1
    defer { monitor.notifyAll() }
    do throws(StorageError) {
      try monitor.outside { () throws(StorageError) in try lock.acquire(waitingAtMost: milliseconds) }
    } catch {
      isAcquiring = false
      failedAcquisition = (acquisitions, error)
      throw error
    }
    isAcquiring = false
    failedAcquisition = nil
    isHeld = true
  }

  /// Whether nobody has written since this process released the lock.
  var isGenerationUnchanged: Bool { released.map { $0.generation == lock.generation } ?? false }

  /// Whether also the names of the store's files are what they were.
  var isUnchanged: Bool {
    isGenerationUnchanged && released?.structure == lock.structure
  }

  /// A writer that commits again within this time is one that writes a series.
  private static let seriesNanosecondsMax: UInt64 = 1_000_000

  /// Notes a durable batch. The lock is kept after the second batch of a series: a lock and an unlock cost three system calls and an
  /// eighth of a commit's instructions.
  func noteBatch(from start: UInt64, to end: UInt64) {
    if let lastBatchEnd, start < lastBatchEnd &+ Self.seriesNanosecondsMax { isKept = true }
    lastBatchEnd = end
  }

  /// Whether a series goes on.
  func isInSeries(at uptime: UInt64) -> Bool {
    lastBatchEnd.map { uptime < $0 &+ Self.seriesNanosecondsMax } ?? false
  }

  /// Another process wrote, or wants to: the next durable commit begins a new series.
  func endSeries() {
    isKept = false
    lastBatchEnd = nil
  }

  /// Releases the lock.
  func release() {
    monitor.assertHeld()
    isHeld = false
    isKept = false
    lock.release()
  }

  /// Notes, before the lock is released, that nothing of others has been missed.
  func noteSeen() {
    if looksAgain {
      forget()
    } else {
      let page = lock.page()
      seenPage = page
      released = (page.generation, page.structure)
    }
    looksAgain = false
  }

  /// Notes the page as it was before the log was read.
  func noteSeen(_ page: StoreLock.Page) { seenPage = page }

  /// All files are looked at before the next write.
  func forget() {
    seenPage = nil
    released = nil
    isTailReady = false
  }

  /// What was open may be another file when it is opened again.
  func forgetReleased() { released = nil }
}
