import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A mutex with a condition variable. `Mutex` of the standard library does not support waiting for a condition.
///
/// Inlinable, for the same reason as `Locked`.
@usableFromInline package final class Monitor: @unchecked Sendable {
  // Both must keep their address as long as a thread may use them.
  @usableFromInline let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  @usableFromInline let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  package init() {
    mutex.initializeMutex()
    condition.initialize(to: pthread_cond_t())
    precondition(Self.initialize(condition), "out of memory")
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// Initializes a condition whose waits no change of the clock makes longer.
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

  /// Enters if no thread is inside. Returns false otherwise.
  @inlinable package func tryEnter() -> Bool {
    guard pthread_mutex_trylock(mutex) == 0 else { return false }
    didEnter()
    return true
  }

  @inlinable package func enter() {
    pthread_mutex_lock(mutex)
    didEnter()
  }

  @inlinable package func leave() {
    willLeave()
    pthread_mutex_unlock(mutex)
  }

  /// Leaves, waits for `notifyAll`, and enters again.
  @inlinable package func wait() {
    willLeave()
    pthread_cond_wait(condition, mutex)
    didEnter()
  }

  /// Does the same, but waits for at most some milliseconds.
  package func wait(milliseconds: Int) {
    willLeave()
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

    @usableFromInline func didEnter() { owner.store(Self.thisThread, ordering: .relaxed) }
    @usableFromInline func willLeave() {
      assertHeld()
      owner.store(0, ordering: .relaxed)
    }

    /// Stops a debug build if the calling thread is not inside.
    package func assertHeld() {
      assert(owner.load(ordering: .relaxed) == Self.thisThread, "this must be called inside the monitor")
    }
  #else
    @inlinable @inline(__always) func didEnter() {}
    @inlinable @inline(__always) func willLeave() {}
    @inlinable @inline(__always) package func assertHeld() {}
  #endif
  @inlinable package func notifyOne() { pthread_cond_signal(condition) }
  @inlinable package func notifyAll() { pthread_cond_broadcast(condition) }

  /// Calls `body` inside the monitor. `body` must not call `withLock` again.
  @inlinable @inline(__always) package func withLock<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    enter()
    defer { leave() }
    return try body()
  }

  /// Runs `body` outside the monitor, for work that other threads need not wait for.
  @inlinable @inline(__always) package func outside<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    leave()
    defer { enter() }
    return try body()
  }

  /// Leaves the monitor for a moment to let other threads run.
  package func yield() {
    outside { _ = sched_yield() }
  }
}
