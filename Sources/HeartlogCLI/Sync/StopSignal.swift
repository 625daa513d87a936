import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Turns SIGINT and SIGTERM into a request to stop, for commands that run until interrupted.
enum StopSignal {
  private static let wish = Atomic<Bool>(false)

  /// From now on the two signals no longer end the process but set `isRaised`.
  static func listen() {
    // Initializes the static property before the handler can use it.
    wish.store(false, ordering: .sequentiallyConsistent)
    for number in [SIGINT, SIGTERM] {
      signal(number) { @Sendable _ in StopSignal.wish.store(true, ordering: .sequentiallyConsistent) }
    }
  }

  static var isRaised: Bool { wish.load(ordering: .sequentiallyConsistent) }
}
