import Dispatch
import Foundation
import HeartlogFiles

/// A thread that runs only while its owner waits for it: a coroutine. Whatever runs on strands therefore runs in the same order every
/// time.
///
/// Unchecked: the two sides alternate, and the semaphores order their accesses.
final class Strand: @unchecked Sendable {
  private let turn = DispatchSemaphore(value: 0)
  private let back = DispatchSemaphore(value: 0)
  private var job: (() -> Void)?
  private var isEnded = false
  private static let stackBytes = 4 << 20

  init() {
    let thread = Thread { [self] in work() }
    thread.stackSize = Self.stackBytes
    thread.start()
  }

  /// Whether a job was begun and has not ended.
  var isBusy: Bool { job != nil }

  /// Begins a job, and returns when it pauses or ends.
  func begin(_ job: @escaping () -> Void) {
    precondition(self.job == nil, "a strand has one job at a time")
    self.job = job
    resume()
  }

  /// Continues the job, and returns when it pauses again or ends.
  func resume() {
    precondition(job != nil, "only a job that was begun can continue")
    turn.signal()
    back.wait()
  }

  /// Called by the job: returns when the owner calls `resume`.
  func pause() {
    back.signal()
    turn.wait()
  }

  /// Ends the thread. No job may be under way.
  func end() {
    precondition(job == nil, "a job must end before its thread")
    isEnded = true
    turn.signal()
  }

  private func work() {
    // A thread of low priority reads and hashes alone. Helpers would finish in another order each time.
    ThreadPriority.lower()
    while true {
      turn.wait()
      guard !isEnded, let job else { return }
      autoreleasepool { job() }
      self.job = nil
      back.signal()
    }
  }

  #if !canImport(Darwin)
    private func autoreleasepool(_ body: () -> Void) { body() }
  #endif
}
