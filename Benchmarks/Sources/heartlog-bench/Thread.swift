import Glibc

/// A thread of the system, which runs a closure.
struct Thread {
  private final class Job: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  private let thread: pthread_t

  init(_ body: @escaping @Sendable () -> Void) {
    var thread = pthread_t()
    let code = pthread_create(
      &thread, nil,
      { @Sendable argument in
        if let argument { Unmanaged<Job>.fromOpaque(argument).takeRetainedValue().body() }
        return nil
      }, Unmanaged.passRetained(Job(body)).toOpaque())
    precondition(code == 0, "the system gave no thread")
    self.thread = thread
  }

  /// Returns when the closure has.
  func join() { pthread_join(thread, nil) }
}
