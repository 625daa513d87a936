import HeartlogFiles
import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A mutex with a condition variable. `Mutex` of the standard library does not support waiting for a condition.
final class Monitor: @unchecked Sendable {
  // Both must keep their address as long as a thread may use them.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  init() {
    mutex.initializeMutex()
    condition.initialize(to: pthread_cond_t())
    let isInitialized = pthread_cond_init(condition, nil) == 0
    precondition(isInitialized, "out of memory")
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// Enters if no thread is inside. Returns false otherwise.
  func tryEnter() -> Bool {
    guard pthread_mutex_trylock(mutex) == 0 else { return false }
    didEnter()
    return true
  }

  func enter() {
    pthread_mutex_lock(mutex)
    didEnter()
  }

  func leave() {
    willLeave()
    pthread_mutex_unlock(mutex)
  }

  /// Leaves, waits for `notifyAll`, and enters again.
  func wait() {
    willLeave()
    pthread_cond_wait(condition, mutex)
    didEnter()
  }

  #if DEBUG
    private let owner = Atomic<UInt>(0)
    private static var thisThread: UInt {
      #if canImport(Darwin)
        UInt(bitPattern: pthread_self())
      #else
        pthread_self()
      #endif
    }

    private func didEnter() { owner.store(Self.thisThread, ordering: .relaxed) }
    private func willLeave() {
      assertHeld()
      owner.store(0, ordering: .relaxed)
    }

    /// Stops a debug build if the calling thread is not inside.
    func assertHeld() {
      assert(owner.load(ordering: .relaxed) == Self.thisThread, "this must be called inside the monitor")
    }
  #else
    @inline(__always) private func didEnter() {}
    @inline(__always) private func willLeave() {}
    @inline(__always) func assertHeld() {}
  #endif
  func notifyOne() { pthread_cond_signal(condition) }
  func notifyAll() { pthread_cond_broadcast(condition) }

  func withLock<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    enter()
    defer { leave() }
    return try body()
  }

  /// Runs `body` outside the monitor, for work that other threads need not wait for.
  func outside<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    leave()
    defer { enter() }
    return try body()
  }

  /// Leaves the monitor for a moment to let other threads run.
  func yield() {
    outside { _ = sched_yield() }
  }
}
