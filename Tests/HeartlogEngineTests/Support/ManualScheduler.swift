import HeartlogFiles

@testable import HeartlogEngine

/// A clock that stands still, and jobs that run when a test says so.
final class ManualScheduler: Scheduler {
  private struct State {
    var microseconds: UInt64 = 0
    var jobs: [@Sendable () -> Void] = []
    var beforeSleep: @Sendable () -> Void = {}
  }

  private let state = Monitor(State())
  private let createsThreads: Bool

  /// - Parameter createsThreads: false as in a system that creates no more of them.
  init(createsThreads: Bool = true) { self.createsThreads = createsThreads }

  func advance(milliseconds: UInt64) { state.withLock { $0.microseconds += 1_000 * milliseconds } }

  /// Called by threads that are about to sleep.
  func beforeSleep(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.beforeSleep = body } }

  /// Runs the jobs that are waiting, and not those that they add.
  func runJobs() {
    let jobs = state.withLock { state in
      defer { state.jobs = [] }
      return state.jobs
    }
    for job in jobs { job() }
  }

  func uptimeNanoseconds() -> UInt64 { state.withLock { $0.microseconds * 1_000 } }
  func sleep(microseconds: UInt32) {
    state.withLock(\.beforeSleep)()
    state.withLock { $0.microseconds += UInt64(microseconds) }
  }
  func run(_ job: @escaping @Sendable () -> Void) { state.withLock { $0.jobs.append(job) } }
  func runAtLowPriority(_ job: @escaping @Sendable () -> Void) { if createsThreads { run(job) } }
  func run(afterMilliseconds delay: Int, _ job: @escaping @Sendable () -> Void) -> Bool {
    runAtLowPriority(job)
    return createsThreads
  }
}
