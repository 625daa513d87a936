import Synchronization

/// A value guarded by a mutex, with a condition variable.
///
/// The standard library's `Mutex` does not support waiting for a condition. On Linux it makes its own system calls, which the thread sanitizer
/// does not track: it reports every access to a value guarded by such a mutex as a race. It understands a pthread mutex.
///
/// What one value cannot hold, because several objects share it or parts of the work are done outside, is guarded by a `Monitor<Void>`.
///
/// Inlinable: with calls across modules, a buffered commit takes 300 of 12,200 instructions more.
///
/// Unchecked: the value is accessed only with the mutex held.
@usableFromInline package final class Monitor<State>: @unchecked Sendable {
  // All must keep their address as long as a thread may use them.
  @usableFromInline let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  @usableFromInline let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  // Not a stored property: the mutex already excludes overlapping accesses, so the dynamic exclusivity check would be wasted.
  @usableFromInline let state = UnsafeMutablePointer<State>.allocate(capacity: 1)

  /// Creates a monitor that guards `state`.
  package init(_ state: sending State) {
    self.state.initialize(to: state)
    mutex.initializeMutex()
    condition.initialize(to: pthread_cond_t())
    precondition(condition.initializeCondition(), "out of memory")
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// Calls `body` inside the monitor, with its state. `body` must not call `withLock` again.
  @inlinable @inline(__always) package func withLock<R, E: Error>(
    _ body: (inout sending State) throws(E) -> sending R
  ) throws(E) -> sending R {
    lock()
    defer { unlock() }
    return try body(&state.pointee)
  }

  /// Leaves, waits until another thread notifies, or for at most some milliseconds, and enters again. May also return without a reason.
  ///
  /// - Parameter state: what `withLock` lent to this thread. Other threads change it meanwhile.
  package func wait(_ state: inout State, milliseconds: Int? = nil) {
    assert(
      withUnsafeMutablePointer(to: &state) { $0 == self.state },
      "a thread waits with the state that it was lent")
    if let milliseconds { wait(atMostMilliseconds: milliseconds) } else { waitForNotice() }
  }

  /// Wakes one thread that waits.
  @inlinable package func notifyOne() { pthread_cond_signal(condition) }
  /// Wakes all threads that wait.
  @inlinable package func notifyAll() { pthread_cond_broadcast(condition) }

  @inlinable @inline(__always) func lock() {
    pthread_mutex_lock(mutex)
    didEnter()
  }

  @inlinable @inline(__always) func unlock() {
    willLeave()
    pthread_mutex_unlock(mutex)
  }

  @inlinable @inline(__always) func waitForNotice() {
    willLeave()
    pthread_cond_wait(condition, mutex)
    didEnter()
  }

  private func wait(atMostMilliseconds milliseconds: Int) {
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
      assertInside()
      owner.store(0, ordering: .relaxed)
    }

    @usableFromInline func assertInside() {
      assert(owner.load(ordering: .relaxed) == Self.thisThread, "this must be called inside the monitor")
    }
  #else
    @inlinable @inline(__always) func didEnter() {}
    @inlinable @inline(__always) func willLeave() {}
    @inlinable @inline(__always) func assertInside() {}
  #endif
}

extension Monitor<Void> {
  package convenience init() { self.init(()) }

  /// Stops a debug build if the calling thread is not inside.
  @inlinable @inline(__always) package func assertHeld() { assertInside() }

  /// Enters if no thread is inside. Returns false otherwise.
  @inlinable package func tryEnter() -> Bool {
    guard pthread_mutex_trylock(mutex) == 0 else { return false }
    didEnter()
    return true
  }

  @inlinable package func enter() { lock() }
  @inlinable package func leave() { unlock() }

  /// Leaves, waits until another thread notifies, and enters again.
  @inlinable package func wait() { waitForNotice() }

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

extension UnsafeMutablePointer where Pointee == pthread_cond_t {
  /// Initializes a condition whose waits no change of the clock makes longer.
  fileprivate func initializeCondition() -> Bool {
    #if canImport(Darwin)
      return pthread_cond_init(self, nil) == 0
    #else
      var attributes = pthread_condattr_t()
      guard pthread_condattr_init(&attributes) == 0 else { return false }
      defer { pthread_condattr_destroy(&attributes) }
      return pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0
        && pthread_cond_init(self, &attributes) == 0
    #endif
  }
}
