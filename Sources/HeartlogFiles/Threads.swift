import CHeartlogPlatform

extension UnsafeMutablePointer where Pointee == pthread_mutex_t {
  /// Initializes a mutex that is held for a microsecond or two: on Linux, a thread spins before it sleeps.
  package func initializeMutex() {
    initialize(to: pthread_mutex_t())
    var attributes = pthread_mutexattr_t()
    pthread_mutexattr_init(&attributes)
    defer { pthread_mutexattr_destroy(&attributes) }
    #if canImport(Glibc)
      pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_ADAPTIVE_NP))
    #endif
    let isInitialized = pthread_mutex_init(self, &attributes) == 0
    precondition(isInitialized, "out of memory")
  }
}

/// An event count: threads of this process wait without a lock until a word in memory is advanced (a futex on Linux).
///
/// With a condition variable, all woken threads would have to pass through its mutex one after the other.
package final class EventCount: @unchecked Sendable {
  // Allocated so that its address stays the same while threads use it. Accessed only atomically.
  private let word = UnsafeMutablePointer<UInt32>.allocate(capacity: 1)
  /// An upper bound of the number of waiting threads. Guarded by the owner's monitor.
  private var waiting = 0

  package init() { word.initialize(to: 0) }

  deinit { word.deallocate() }

  /// Records that this thread is about to wait. Called inside the owner's monitor.
  ///
  /// - Returns: The count to pass to `wait`, which is called outside the monitor.
  package func prepareToWait() -> UInt32 {
    waiting += 1
    return heartlog_load_word(word)
  }

  /// Waits until the count is advanced after `prepareToWait`. May also return spuriously.
  package func wait(since count: UInt32) {
    if heartlog_load_word(word) == count { heartlog_wait_while(word, count) }
  }

  /// Advances the count, so that waiting threads check their condition again. Called inside the owner's monitor. After this
  /// call, no thread may begin to wait for what happened before it.
  ///
  /// - Returns: Whether `wakeOne` or `wakeAll` has to be called, outside the monitor.
  package func advance() -> Bool {
    guard waiting > 0 else { return false }
    heartlog_increment_word(word)
    return true
  }

  /// As `advance`, if all waiting threads will be woken: none of them is counted as waiting any more.
  package func advanceForAll() -> Bool {
    defer { waiting = 0 }
    return advance()
  }

  package func wakeOne() { heartlog_wake(word, 0) }
  package func wakeAll() { heartlog_wake(word, 1) }
}

/// The system's monotonic clock.
package enum MonotonicClock {
  /// Nanoseconds since some fixed point; never goes back.
  package static func nanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

/// The scheduling priority of a thread.
package enum ThreadPriority {
  /// Lowers the priority of the calling thread permanently: it gets about a third of the time on a core that another thread also
  /// wants, and all of it if none does.
  package static func lower() { heartlog_lower_priority() }

  /// Whether the priority of the calling thread was lowered.
  package static var isLow: Bool { heartlog_has_low_priority() != 0 }
}
