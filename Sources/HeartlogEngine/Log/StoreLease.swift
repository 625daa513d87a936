import HeartlogFiles
import HeartlogFormat

/// The store's lock as this process holds it, and what this process knows of the log since it last held the lock.
///
/// Guarded by the log's monitor.
final class StoreLease {
  let lock: StoreLock
  private let monitor: Monitor<Void>

  @exclusivity(unchecked) private(set) var isHeld = false
  private var isAcquiring = false
  private var acquisitions = 0
  /// The last failed acquisition. A thread that waited for it need not wait that long again.
  private var failedAcquisition: (number: Int, error: HeartlogError)?
  /// True if other processes want the lock. No commit is queued until they have had it.
  @exclusivity(unchecked) var isYielding = false
  /// The number of threads that want exclusive access to the log. No commit is queued until they have had it.
  @exclusivity(unchecked) var quietRequests = 0
  /// The monotonic time since which there are acknowledged commits that are not durable, or nil if all are durable. The lock is kept until
  /// they are.
  @exclusivity(unchecked) var unsyncedSince: UInt64?
  /// False if no timer ends the lease, because the system could not create a thread. It then ends with the batch.
  @exclusivity(unchecked) var isTimed = true
  /// True if the lock is kept although everything is durable, because another commit is expected soon.
  @exclusivity(unchecked) private(set) var isKept = false
  /// True if a timer that ends `isKept` is running.
  @exclusivity(unchecked) var isExpiring = false
  /// When the last durable batch ended, or nil if another process has written or requested the lock since.
  @exclusivity(unchecked) private var lastBatchEnd: UInt64?

  /// The page as it was before the log was last read.
  private(set) var seenPage: StoreLock.Page?
  /// The generation and the structure at which this process released the lock, with everything read. If they are unchanged, no other
  /// process has written. A page that was read without the lock says less, because its writer may continue without raising it again.
  @exclusivity(unchecked) private var released: (generation: UInt64, structure: UInt64)?
  /// True if the own tail was recovered and only commits were appended since. If nothing else changes, the next commit can be appended.
  @exclusivity(unchecked) var isTailReady = false
  /// True if an operation failed before it was complete. All files are checked before the next write.
  @exclusivity(unchecked) var looksAgain = false

  init(_ lock: StoreLock, monitor: Monitor<Void>) {
    self.lock = lock
    self.monitor = monitor
  }

  /// Whether another thread is waiting for the lock.
  var isBeingAcquired: Bool { isAcquiring }

  /// Waits until another thread has acquired the lock or failed to.
  func waitForAcquisition() throws(HeartlogError) {
    monitor.assertHeld()
    let awaited = acquisitions
    monitor.wait()
    if let failedAcquisition, failedAcquisition.number == awaited { throw failedAcquisition.error }
  }

  /// Acquires the lock. Leaves the monitor while it waits.
  func acquire(waitingAtMost milliseconds: Int) throws(HeartlogError) {
    monitor.assertHeld()
    assert(!isHeld && !isAcquiring, "one thread acquires a lock that is not held")
    isAcquiring = true
    acquisitions += 1
    defer { monitor.notifyAll() }
    do throws(HeartlogError) {
      try monitor.outside { () throws(HeartlogError) in try lock.acquire(waitingAtMost: milliseconds) }
    } catch {
      isAcquiring = false
      failedAcquisition = (acquisitions, error)
      throw error
    }
    isAcquiring = false
    failedAcquisition = nil
    isHeld = true
  }

  /// Whether no other process has written since this process released the lock.
  var isGenerationUnchanged: Bool { released.map { $0.generation == lock.generation } ?? false }

  /// Whether, in addition, the names of the store's files are unchanged.
  var isUnchanged: Bool {
    isGenerationUnchanged && released?.structure == lock.structure
  }

  /// A writer that commits again within this time is writing a series.
  private static let seriesNanosecondsMax: UInt64 = 1_000_000

  /// Records a durable batch. The lock is kept after the second batch of a series, because locking and unlocking cost three system calls
  /// and an eighth of a commit's instructions.
  func noteBatch(from start: UInt64, to end: UInt64) {
    assert(start <= end, "the clock never goes back")
    if let lastBatchEnd, start < lastBatchEnd &+ Self.seriesNanosecondsMax { isKept = true }
    lastBatchEnd = end
  }

  /// Whether a series is in progress.
  func isInSeries(at uptime: UInt64) -> Bool {
    lastBatchEnd.map { uptime < $0 &+ Self.seriesNanosecondsMax } ?? false
  }

  /// Ends the series, because another process wrote or wants to. The next durable commit begins a new series.
  func endSeries() {
    isKept = false
    lastBatchEnd = nil
  }

  /// Releases the lock.
  func release() {
    monitor.assertHeld()
    assert(isHeld && !isAcquiring, "a lock that is held is released")
    assert(unsyncedSince == nil, "every acknowledged commit is durable before another process writes")
    isHeld = false
    isKept = false
    lock.release()
  }

  /// Records, before the lock is released, that no changes from other processes have been missed.
  func noteSeen() {
    assert(isHeld, "without the lock, a writer may go on without raising the generation")
    if looksAgain {
      forget()
    } else {
      let page = lock.page()
      noteSeen(page)
      released = (page.generation, page.structure)
    }
    looksAgain = false
  }

  /// Records the page as it was before the log was read.
  func noteSeen(_ page: StoreLock.Page) {
    seenPage = page
    lock.seen.note(page.generation)
  }

  /// Requires all files to be checked before the next write.
  func forget() {
    seenPage = nil
    released = nil
    isTailReady = false
  }

  /// A file may have been replaced before it is opened again.
  func forgetReleased() { released = nil }
}
