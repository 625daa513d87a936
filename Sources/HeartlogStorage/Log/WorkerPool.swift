import HeartlogFiles

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The threads of this process that wait for disks and locks in the place of others: sealing, leases that end, and whatever a task
/// awaits. A thread that tasks run on must never do that.
///
/// There are few of them, whatever the number of stores; they are made when there is work, and stay.
package final class WorkerPool: @unchecked Sendable {
  package static let shared = WorkerPool(threadsMax: 16)
  /// For long work that nobody waits for, as sealing and snapshots: where cores are wanted, it leaves most of them to others.
  package static let unhurried = WorkerPool(threadsMax: 4, isUnhurried: true)

  /// Those that help the calling thread with what it does; nil where it is itself to leave cores to others: then it works alone.
  static var helping: WorkerPool? { ThreadPriority.isLow ? nil : shared }

  // All below is touched in the monitor alone.
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

  /// Runs `job` on one of the threads; jobs begin in the order in which they came.
  package func run(_ job: @escaping @Sendable () -> Void) {
    let wantsThread = monitor.withLock {
      jobs.append(job)
      if jobs.count > idleThreads, threads < threadsMax {
        threads += 1
        return true
      }
      monitor.notifyOne()
      return false
    }
    guard wantsThread, !start() else { return }
    // The system has no thread left. The others do the work; where there are none, this one must.
    let isAlone = monitor.withLock {
      threads -= 1
      return threads == 0
    }
    if isAlone { while let job = monitor.withLock({ jobs.isEmpty ? nil : jobs.removeFirst() }) { job() } }
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
    // A third of the time on a core that a writer wants, not next to nothing: for moments the work has the log to itself.
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
