import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// SIGINT and SIGTERM as a wish to stop, for commands that go on until then.
enum StopSignal {
  private static let wish = Atomic<Bool>(false)

  /// From now on the two signals do not end the process, but are seen by `isRaised`.
  static func listen() {
    // The handler must find it made.
    wish.store(false, ordering: .sequentiallyConsistent)
    for number in [SIGINT, SIGTERM] {
      signal(number) { @Sendable _ in StopSignal.wish.store(true, ordering: .sequentiallyConsistent) }
    }
  }

  static var isRaised: Bool { wish.load(ordering: .sequentiallyConsistent) }
}
