import HeartlogFiles
import HeartlogEngine

/// One process of a device: what runs in it, when it is interrupted, and when it dies.
///
/// Unchecked: only one strand runs at a time.
final class SimulatedProcess: @unchecked Sendable {
  let id: Int32
  private(set) lazy var strand = Strand()
  private(set) var isDead = false
  /// Whether the process is stopped where it is, until somebody continues it.
  var isFrozen = false
  /// Whether the calls are those of the checks, which nothing interrupts.
  var isChecking = false
  /// The number of calls so far.
  private(set) var callCount = 0
  /// The number of calls until the process is killed, or until another gets its turn; nil if that is not planned.
  var callsUntilKill: Int?
  var callsUntilPause: Int?
  /// Whether the process is killed behind a rename that gave a file this path.
  var diesBehindRename: ((String) -> Bool)?
  /// Jobs for later, with the time at which each is due.
  private(set) var jobs: [(dueNanoseconds: UInt64, job: @Sendable () -> Void)] = []
  private var openLocks: [Weak] = []
  let clock: SimulatedUptime

  private struct Weak { weak var lock: ProcessLockFile? }

  init(id: Int32, clock: SimulatedUptime) {
    self.id = id
    self.clock = clock
  }

  /// Ends the process at once. What it does afterwards has no effect; its locks are free.
  func die() {
    isDead = true
    jobs = []
    for weak in openLocks { weak.lock?.vanish() }
    openLocks = []
  }

  /// Lets a dead process's strand run to its end.
  func unwind() {
    precondition(isDead, "only a dead process is unwound")
    while strand.isBusy { strand.resume() }
  }

  func note(_ lock: ProcessLockFile) { openLocks.append(Weak(lock: lock)) }

  /// Whether the process holds the lock of a store.
  var holdsLock: Bool { openLocks.contains { $0.lock?.isHeld == true } }

  func add(_ job: @escaping @Sendable () -> Void, afterNanoseconds delay: UInt64) {
    if !isDead { jobs.append((clock.nanoseconds + delay, job)) }
  }

  /// Removes and returns the first job that is due.
  func takeDueJob() -> (@Sendable () -> Void)? {
    guard let index = jobs.firstIndex(where: { $0.dueNanoseconds <= clock.nanoseconds }) else { return nil }
    return jobs.remove(at: index).job
  }

  /// Called before every file operation.
  ///
  /// - Returns: Whether the process was killed by it.
  func reachesCall() -> Bool {
    if isDead { return true }
    if isChecking { return false }
    callCount += 1
    if let left = callsUntilKill {
      callsUntilKill = left - 1
      if left <= 1 {
        callsUntilKill = nil
        die()
        return true
      }
    }
    if let left = callsUntilPause {
      callsUntilPause = left - 1
      if left <= 1 {
        callsUntilPause = nil
        if strand.isBusy { strand.pause() }
      }
    }
    return isDead
  }

  /// Lets the others run for as long as the process would sleep.
  func sleep(nanoseconds: UInt64) {
    clock.nanoseconds += nanoseconds
    if !isDead, !isChecking, strand.isBusy { strand.pause() }
  }
}

/// The uptime that all processes of a simulation share.
final class SimulatedUptime: @unchecked Sendable {
  var nanoseconds: UInt64 = 1
}

extension SimulatedProcess: Scheduler {
  /// A sleep takes so much longer than it was asked for that a wait for a lock is over after few turns.
  private static let sleepStretch: UInt64 = 50

  func uptimeNanoseconds() -> UInt64 { clock.nanoseconds }
  func sleep(microseconds: UInt32) {
    sleep(nanoseconds: UInt64(microseconds) * 1_000 * Self.sleepStretch)
  }
  func run(_ job: @escaping @Sendable () -> Void) { add(job, afterNanoseconds: 0) }
  func runAtLowPriority(_ job: @escaping @Sendable () -> Void) { add(job, afterNanoseconds: 0) }
  func run(afterMilliseconds delay: Int, _ job: @escaping @Sendable () -> Void) -> Bool {
    add(job, afterNanoseconds: UInt64(delay) * 1_000_000)
    return true
  }
}
