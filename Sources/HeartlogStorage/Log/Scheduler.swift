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

  /// Runs `job` on a thread that may wait for disks and locks.
  func run(_ job: @escaping @Sendable () -> Void)

  /// Like `run`, for long work that nothing waits for.
  func runUnhurried(_ job: @escaping @Sendable () -> Void)

  /// Like `run`, later.
  func run(afterMilliseconds delay: Int, _ job: @escaping @Sendable () -> Void)
}

/// The clock and the threads of the operating system.
package struct SystemScheduler: Scheduler {
  package init() {}

  package func uptimeNanoseconds() -> UInt64 { MonotonicClock.nanoseconds() }
  package func sleep(microseconds: UInt32) { usleep(microseconds) }
  package func run(_ job: @escaping @Sendable () -> Void) { WorkerPool.shared.run(job) }
  package func runUnhurried(_ job: @escaping @Sendable () -> Void) { WorkerPool.unhurried.run(job) }

  package func run(afterMilliseconds delay: Int, _ job: @escaping @Sendable () -> Void) {
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(delay)) { run(job) }
  }
}
