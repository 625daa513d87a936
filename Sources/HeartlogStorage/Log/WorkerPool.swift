import HeartlogFiles

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The threads of this process that wait for disks and locks on behalf of other threads: for sealing, for leases that end, and for anything
/// that a task awaits. A thread that tasks run on must never block on these.
///
/// The number of threads is small, regardless of the number of stores. Threads are created when there is work, and are kept.
package final class WorkerPool: @unchecked Sendable {
  package static let shared = WorkerPool(threadsMax: 16)
  /// For long work that nothing waits for, such as sealing and snapshots. If other threads need the cores, it leaves most of them to those.
  package static let unhurried = WorkerPool(threadsMax: 4, isUnhurried: true)

  /// The pool that helps the calling thread with its work, or nil if the calling thread has low priority. It then works alone.
  static var helping: WorkerPool? { ThreadPriority.isLow ? nil : shared }

  // Everything below is accessed only in the monitor.
  private let monitor = Monitor()
  private let threadsMax: Int
  private let isUnhurried: Bool
  private var jobs: [@Sendable () -> Void] = []
  private var threads = 0
  private var idleThreads = 0

  init(threadsMax: Int, isUnhurried: Bool = false) {
    self.threadsMax = threadsMax
    self.isUnhurried = isUnhurried
  }

  /// Runs `job` on one of the threads, or on the calling thread if the system cannot create any. Jobs start in the order in which they
  /// were added.
  package func run(_ job: @escaping @Sendable () -> Void) {
    if !runElsewhere(job) { job() }
  }

  /// Runs `job` on one of the threads.
  ///
  /// - Returns: false if there are none and the system cannot create any. The job is then dropped.
  func runElsewhere(_ job: @escaping @Sendable () -> Void) -> Bool {
    monitor.withLock {
      if jobs.count >= idleThreads, threads < threadsMax, start() { threads += 1 }
      guard threads > 0 else { return false }
      jobs.append(job)
      monitor.notifyOne()
      return true
    }
  }

  private func start() -> Bool {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    let pool = Unmanaged.passRetained(self)
    #if canImport(Darwin)
      var thread: pthread_t?
      let code = pthread_create(&thread, &attributes, { WorkerPool.work($0) }, pool.toOpaque())
    #else
      var thread = pthread_t()
      let code = pthread_create(
        &thread, &attributes, { argument in argument.flatMap { WorkerPool.work($0) } }, pool.toOpaque())
    #endif
    if code != 0 { pool.release() }
    return code == 0
  }

  private static func work(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    let pool = Unmanaged<WorkerPool>.fromOpaque(argument).takeRetainedValue()
    // Lowered to a third of the time on a core that a writer also wants, and not to almost nothing, because the work sometimes has
    // exclusive access to the log.
    if pool.isUnhurried { ThreadPriority.lower() }
    while true { pool.next()() }
  }

  private func next() -> @Sendable () -> Void {
    monitor.withLock {
      idleThreads += 1
      while jobs.isEmpty { monitor.wait() }
      idleThreads -= 1
      return jobs.removeFirst()
    }
  }
}
