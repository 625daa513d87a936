import HeartlogFormat

/// A thread that runs one function, and that another one joins or leaves alone.
///
/// Unchecked: `thread` is written before the object is passed on.
package final class WorkerThread: @unchecked Sendable {
  private final class Work {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  private var thread: pthread_t

  /// Starts a thread.
  ///
  /// - Throws: an error if the system cannot start one.
  package init(_ body: @escaping @Sendable () -> Void) throws(HeartlogError) {
    let work = Unmanaged.passRetained(Work(body))
    #if canImport(Darwin)
      var thread: pthread_t?
      let code = pthread_create(&thread, nil, { WorkerThread.run($0) }, work.toOpaque())
      guard code == 0, let thread else {
        work.release()
        throw Self.refusal(code)
      }
      self.thread = thread
    #else
      thread = pthread_t()
      let code = pthread_create(&thread, nil, { $0.flatMap { WorkerThread.run($0) } }, work.toOpaque())
      if code != 0 {
        work.release()
        throw Self.refusal(code)
      }
    #endif
  }

  private static func refusal(_ code: Int32) -> HeartlogError {
    HeartlogError(operation: "start", path: "another thread", code: code)
  }

  private static func run(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body()
    return nil
  }

  /// Waits for the end of the function. - Precondition: Nobody joined or left the thread before.
  package func join() { pthread_join(thread, nil) }

  /// Leaves the thread alone: nobody waits for its end. - Precondition: Nobody joined or left it before.
  package func leave() { pthread_detach(thread) }
}
