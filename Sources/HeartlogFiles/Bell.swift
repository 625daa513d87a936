import CHeartlogPlatform

/// What threads of this process wait for without holding anything: a word of memory, which the system looks at before it lets one sleep.
///
/// Waking by a condition would send all who wait through its mutex, one after the other.
package final class Bell: @unchecked Sendable {
  // It stays where it is for as long as a thread may use it, and is only touched atomically.
  private let word = UnsafeMutablePointer<UInt32>.allocate(capacity: 1)
  /// How many wait, or more. Touched in the monitor of the owner alone.
  private var waiting = 0

  package init() { word.initialize(to: 0) }

  deinit { word.deallocate() }

  /// Notes in the owner's monitor that this thread is about to wait.
  ///
  /// - Returns: what `wait` must be called with, outside.
  package func expect() -> UInt32 {
    waiting += 1
    return heartlog_load_word(word)
  }

  /// Waits until the bell was rung since `expect`, or for no reason.
  package func wait(since rung: UInt32) {
    if heartlog_load_word(word) == rung { heartlog_wait_while(word, rung) }
  }

  /// Notes in the owner's monitor that whoever waits must look; nobody may begin to wait after this for what happened before.
  ///
  /// - Returns: whether `wake` has to be called, outside.
  package func ring() -> Bool {
    guard waiting > 0 else { return false }
    heartlog_increment_word(word)
    return true
  }

  /// As `ring`, where all who wait will look: none of them is counted any more.
  package func ringForAll() -> Bool {
    defer { waiting = 0 }
    return ring()
  }

  package func wakeOne() { heartlog_wake(word, 0) }
  package func wakeAll() { heartlog_wake(word, 1) }
}
