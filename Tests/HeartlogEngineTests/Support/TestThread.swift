#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif
import Synchronization

/// A thread of its own, which may block: tasks must not.
final class TestThread: Sendable {
  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  private let thread: Mutex<pthread_t?>

  init(_ run: @escaping @Sendable () -> Void) {
    let body = Unmanaged.passRetained(Body(run)).toOpaque()
    #if canImport(Darwin)
      var thread: pthread_t?
      pthread_create(
        &thread, nil,
        {
          Unmanaged<Body>.fromOpaque($0).takeRetainedValue().run(); return nil
        }, body)
      self.thread = Mutex(thread)
    #else
      var thread = pthread_t()
      let made = pthread_create(
        &thread, nil,
        { argument in
          guard let argument else { return nil }
          Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
          return nil
        }, body)
      precondition(made == 0)
      self.thread = Mutex(thread)
    #endif
  }

  func join() {
    let thread = thread.withLock { value in
      defer { value = nil }
      return value
    }
    if let thread { pthread_join(thread, nil) }
  }

  /// Runs `body` on `count` threads at once, and waits for all of them.
  static func run(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let threads = (0..<count).map { number in TestThread { body(number) } }
    for thread in threads { thread.join() }
  }
}
