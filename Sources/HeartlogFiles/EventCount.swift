import CHeartlogPlatform

/// An event count: threads of this process wait on a word of memory, without a lock, until it is advanced (a futex on Linux).
///
/// Waking by a condition would send all who wait through its mutex, one after the other.
package final class EventCount: @unchecked Sendable {
  // It stays where it is for as long as a thread may use it, and is only touched atomically.
  private let word = UnsafeMutablePointer<UInt32>.allocate(capacity: 1)
  /// How many wait, or more. Touched in the monitor of the owner alone.
  private var waiting = 0

  package init() { word.initialize(to: 0) }

  deinit { word.deallocate() }

  /// Notes in the owner's monitor that this thread is about to wait.
  ///
  /// - Returns: what `wait` must be called with, outside.
  package func prepareToWait() -> UInt32 {
    waiting += 1
    return heartlog_load_word(word)
  }

  /// Waits until the count was advanced since `prepareToWait`, or for no reason.
  package func wait(since count: UInt32) {
    if heartlog_load_word(word) == count { heartlog_wait_while(word, count) }
  }

  /// Notes in the owner's monitor that whoever waits must look; nobody may begin to wait after this for what happened before.
  ///
  /// - Returns: whether `wake` has to be called, outside.
  package func advance() -> Bool {
    guard waiting > 0 else { return false }
    heartlog_increment_word(word)
    return true
  }

  /// As `advance`, where all who wait will look: none of them is counted any more.
  package func advanceForAll() -> Bool {
    defer { waiting = 0 }
    return advance()
  }

  package func wakeOne() { heartlog_wake(word, 0) }
  package func wakeAll() { heartlog_wake(word, 1) }
}
