import Dispatch
import HeartlogFiles

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

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
  func runUnhurried(_ job: @escaping @Sendable () -> Void)

  /// Like `run`, later.
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
  package func runUnhurried(_ job: @escaping @Sendable () -> Void) {
    _ = WorkerPool.unhurried.runElsewhere(job)
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

  private typealias Waiting = (nanoseconds: UInt64, job: @Sendable () -> Void)

  /// Some 35 years, of which the nanoseconds still fit.
  private static let millisecondsMax: UInt64 = 1 << 40

  private let pool = WorkerPool(threadsMax: 1)
  /// In the order in which they are due.
  private let waiting = Locked<[Waiting]>([])
  private let isRunning = Locked(false)
  private let isChanged = DispatchSemaphore(value: 0)

  func run(afterMilliseconds delay: Int, _ job: @escaping @Sendable () -> Void) -> Bool {
    let isStarted = isRunning.withLock { isRunning in
      isRunning = isRunning || pool.runElsewhere(startJobs)
      return isRunning
    }
    guard isStarted else { return false }
    let due = MonotonicClock.nanoseconds() + min(UInt64(clamping: delay), Self.millisecondsMax) * 1_000_000
    let isFirst = waiting.withLock { waiting in
      let index = waiting.lastIndex { $0.nanoseconds <= due }.map { $0 + 1 } ?? 0
      waiting.insert((due, job), at: index)
      return index == 0
    }
    if isFirst { isChanged.signal() }
    return true
  }

  private func startJobs() {
    while true {
      let now = MonotonicClock.nanoseconds()
      let (jobs, next) = waiting.withLock { waiting in
        let due = waiting.prefix { $0.nanoseconds <= now }
        waiting.removeFirst(due.count)
        return (due.map(\.job), waiting.first?.nanoseconds)
      }
      for job in jobs { WorkerPool.shared.run(job) }
      guard jobs.isEmpty else { continue }
      let timeout = next.map { DispatchTime.now() + .nanoseconds(Int(clamping: $0 - now)) }
      _ = isChanged.wait(timeout: timeout ?? .distantFuture)
    }
  }
}
