#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Writing to a pipe that nobody reads any more, without the signal that would end the process.
enum BrokenPipe {
  /// Runs `body`, a system call with its errno, and takes away the SIGPIPE that it may have caused. What the process does
  /// about signals elsewhere stays as it is.
  static func withoutSignal(_ body: () -> (count: Int, errno: Int32)) -> (count: Int, errno: Int32) {
    var signals = sigset_t()
    var before = sigset_t()
    var pending = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    sigpending(&pending)
    let wasPending = sigismember(&pending, SIGPIPE) == 1
    pthread_sigmask(SIG_BLOCK, &signals, &before)
    let result = body()
    if result.count < 0, result.errno == EPIPE, !wasPending {
      sigpending(&pending)
      var taken: Int32 = 0
      // The signal is this thread's own: it waits already.
      if sigismember(&pending, SIGPIPE) == 1 { sigwait(&signals, &taken) }
    }
    pthread_sigmask(SIG_SETMASK, &before, nil)
    return result
  }
}
