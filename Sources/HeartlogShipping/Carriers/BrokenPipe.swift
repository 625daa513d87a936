#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Writes to a pipe with no reader, without the SIGPIPE that would end the process.
enum BrokenPipe {
  /// Runs `body`, a system call that returns its errno, and consumes the SIGPIPE it may have raised. The
  /// signal handling of the process is unchanged.
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
      // SIGPIPE is sent to the thread that wrote, so it is already pending here.
      if sigismember(&pending, SIGPIPE) == 1 { sigwait(&signals, &taken) }
    }
    pthread_sigmask(SIG_SETMASK, &before, nil)
    return result
  }
}
