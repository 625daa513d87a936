#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A mutex, and threads that wait for what it guards to change.
///
/// Unchecked: both objects are meant for several threads.
package final class Condition: @unchecked Sendable {
  // Allocated so that their addresses stay the same.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  package init() {
    mutex.initialize(to: pthread_mutex_t())
    condition.initialize(to: pthread_cond_t())
    precondition(pthread_mutex_init(mutex, nil) == 0 && Self.initialize(condition), "out of memory")
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// Calls `body` with the mutex held. `body` must not call `withLock` again.
  package func withLock<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body()
  }

  /// Waits for `notify`, or for no reason. - Precondition: The mutex is held.
  package func wait() { pthread_cond_wait(condition, mutex) }

  /// Waits for `notify`, for at most some milliseconds. - Precondition: The mutex is held.
  package func wait(milliseconds: Int) {
    #if canImport(Darwin)
      var time = timespec(tv_sec: milliseconds / 1_000, tv_nsec: milliseconds % 1_000 * 1_000_000)
      pthread_cond_timedwait_relative_np(condition, mutex, &time)
    #else
      var time = timespec()
      clock_gettime(CLOCK_MONOTONIC, &time)
      let nanoseconds = time.tv_nsec + milliseconds % 1_000 * 1_000_000
      time.tv_sec += milliseconds / 1_000 + nanoseconds / 1_000_000_000
      time.tv_nsec = nanoseconds % 1_000_000_000
      pthread_cond_timedwait(condition, mutex, &time)
    #endif
  }

  /// A condition whose waits no change of the clock makes longer.
  private static func initialize(_ condition: UnsafeMutablePointer<pthread_cond_t>) -> Bool {
    #if canImport(Darwin)
      return pthread_cond_init(condition, nil) == 0
    #else
      var attributes = pthread_condattr_t()
      guard pthread_condattr_init(&attributes) == 0 else { return false }
      defer { pthread_condattr_destroy(&attributes) }
      return pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0
        && pthread_cond_init(condition, &attributes) == 0
    #endif
  }

  /// Wakes all threads that wait.
  package func notify() { pthread_cond_broadcast(condition) }
}
