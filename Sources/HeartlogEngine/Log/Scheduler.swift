import HeartlogFiles

/// The clock that a log measures waiting with, and the threads that work for it. The system's, unless a test decides when time passes
/// and what runs next.
package protocol Scheduler: Sendable {
  /// Nanoseconds since some fixed point; never goes back.
  func uptimeNanoseconds() -> UInt64

  /// Suspends the calling thread.
  func sleep(microseconds: UInt32)

  /// Runs `job` on a thread that may wait for disks and locks: the calling one if the system cannot create another.
  func run(_ job: @escaping @Sendable () -> Void)

  /// Like `run`, for long work that nothing waits for. It is dropped if the system cannot create a thread.
  func runAtLowPriority(_ job: @escaping @Sendable () -> Void)

  /// Like `run`, later, for jobs that never wait for the lock of a store: leases end in time even if many other jobs wait for locks.
  ///
  /// - Returns: false if the system cannot create a thread. The job is then dropped.
  func run(afterMilliseconds delay: Int, _ job: @escaping @Sendable () -> Void) -> Bool
}

/// The clock and the threads of the operating system.
package struct SystemScheduler: Scheduler {
  package init() {}

  package func uptimeNanoseconds() -> UInt64 { MonotonicClock.nanoseconds() }
  package func sleep(microseconds: UInt32) { usleep(microseconds) }
  package func run(_ job: @escaping @Sendable () -> Void) { WorkerPool.shared.run(job) }
  package func runAtLowPriority(_ job: @escaping @Sendable () -> Void) {
    _ = WorkerPool.lowPriority.runElsewhere(job)
  }

  package func run(afterMilliseconds delay: Int, _ job: @escaping @Sendable () -> Void) -> Bool {
    JobTimer.shared.run(afterMilliseconds: delay, job)
  }
}

/// Starts jobs later. Its thread is created with the first one.
///
/// A timer of Dispatch would wait without end for the system to create a thread.
private final class JobTimer: Sendable {
  static let shared = JobTimer()

  private struct State {
    /// In the order in which they are due.
    var waiting: [(nanoseconds: UInt64, job: @Sendable () -> Void)] = []
    var isRunning = false
  }

  /// Some 35 years, of which the nanoseconds still fit.
  private static let millisecondsMax: UInt64 = 1 << 40

  /// Not the shared one: all of its threads may wait for locks of stores.
  private let started = WorkerPool(threadsMax: 4)
  private let monitor = Monitor(State())

  func run(afterMilliseconds delay: Int, _ job: @escaping @Sendable () -> Void) -> Bool {
    monitor.withLock { state in
      if !state.isRunning {
        guard let thread = try? WorkerThread({ [self] in startJobs() }) else { return false }
        thread.leave()
        state.isRunning = true
      }
      let due = MonotonicClock.nanoseconds() + min(UInt64(clamping: delay), Self.millisecondsMax) * 1_000_000
      let index = state.waiting.lastIndex { $0.nanoseconds <= due }.map { $0 + 1 } ?? 0
      state.waiting.insert((due, job), at: index)
      assert(
        zip(state.waiting, state.waiting.dropFirst()).allSatisfy { $0.nanoseconds <= $1.nanoseconds },
        "the jobs are in the order in which they are due")
      if index == 0 { monitor.notifyOne() }
      return true
    }
  }

  private func startJobs() -> Never {
    while true { for job in nextJobs() { started.run(job) } }
  }

  /// Waits until jobs are due, and returns them.
  private func nextJobs() -> [@Sendable () -> Void] {
    monitor.withLock { state in
      while true {
        let now = MonotonicClock.nanoseconds()
        let due = state.waiting.prefix { $0.nanoseconds <= now }.map(\.job)
        state.waiting.removeFirst(due.count)
        if !due.isEmpty { return due }
        // Rounded up: no job starts early.
        let milliseconds = state.waiting.first.map { Int(($0.nanoseconds - now + 999_999) / 1_000_000) }
        monitor.wait(&state, milliseconds: milliseconds)
      }
    }
  }
}

/// The threads of this process that wait for disks and locks on behalf of other threads: for sealing, and for anything that a task
/// awaits. A thread that tasks run on must never block on these.
///
/// The number of threads is small, regardless of the number of stores. Threads are created when there is work, and are kept.
package final class WorkerPool: Sendable {
  package static let shared = WorkerPool(threadsMax: 16)
  /// For long work that nothing waits for, such as sealing and snapshots. If other threads need the cores, it leaves most of them to those.
  package static let lowPriority = WorkerPool(threadsMax: 4, isLowPriority: true)

  /// The pool that helps the calling thread with its work, or nil if the calling thread has low priority. It then works alone.
  static var helping: WorkerPool? { ThreadPriority.isLow ? nil : shared }

  private struct State {
    var jobs: [@Sendable () -> Void] = []
    var threads = 0
    var idleThreads = 0
  }

  private let monitor = Monitor(State())
  private let threadsMax: Int
  private let isLowPriority: Bool

  init(threadsMax: Int, isLowPriority: Bool = false) {
    self.threadsMax = threadsMax
    self.isLowPriority = isLowPriority
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
    monitor.withLock { state in
      if state.jobs.count >= state.idleThreads, state.threads < threadsMax, start() { state.threads += 1 }
      guard state.threads > 0 else { return false }
      assert(
        state.idleThreads <= state.threads && state.threads <= threadsMax,
        "there are no more threads than allowed")
      state.jobs.append(job)
      monitor.notifyOne()
      return true
    }
  }

  private func start() -> Bool {
    guard let thread = try? WorkerThread({ [self] in work() }) else { return false }
    thread.leave()
    return true
  }

  private func work() -> Never {
    // Lowered to a third of the time on a core that a writer also wants, and not to almost nothing, because the work sometimes has
    // exclusive access to the log.
    if isLowPriority { ThreadPriority.lower() }
    while true { next()() }
  }

  private func next() -> @Sendable () -> Void {
    monitor.withLock { state in
      state.idleThreads += 1
      while state.jobs.isEmpty { monitor.wait(&state) }
      state.idleThreads -= 1
      assert(state.idleThreads >= 0, "a thread that works is not idle")
      return state.jobs.removeFirst()
    }
  }
}
