import CHeartlogPlatform
import Heartlog
import HeartlogFiles

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A child process whose standard input and output are connected to a channel; it shares this process's
/// standard error.
@available(tvOS, unavailable)
@available(watchOS, unavailable)
package final class ChildProcess: Sendable {
  #if canImport(Darwin)
    private typealias Actions = posix_spawn_file_actions_t?
    private typealias Attributes = posix_spawnattr_t?
  #else
    private typealias Actions = posix_spawn_file_actions_t
    private typealias Attributes = posix_spawnattr_t
  #endif

  package let channel: DescriptorChannel
  private let process: pid_t
  private let hasGroup: Bool

  /// How long the child may take to end by itself after the channel is closed, and again after each signal.
  package static let graceMilliseconds = 2_000
  /// Longer than any process runs.
  package static let foreverMilliseconds = 1 << 40

  /// Starts `words[0]`, searched for in PATH, with the arguments `words`.
  ///
  /// - Parameter output: the descriptor of this process that becomes the child's standard output; `nil` for the
  ///   channel.
  package init(_ words: [String], output: Int32? = nil) throws(HeartlogError) {
    let (near, far) = try DescriptorChannel.descriptorPair()
    defer { close(far) }
    // At a terminal the child stays in this process group: it may ask for a password there.
    hasGroup = isatty(0) != 1
    var process: pid_t = 0
    let number = Self.spawn(words, input: far, output: output ?? far, hasGroup: hasGroup, &process)
    guard number == 0 else {
      close(near)
      throw HeartlogError(
        .inputOutput, FileError(operation: "start", path: words.first ?? "", code: number).description)
    }
    self.process = process
    channel = DescriptorChannel(input: near, output: near)
  }

  private static func spawn(
    _ words: [String], input: Int32, output: Int32, hasGroup: Bool, _ process: inout pid_t
  ) -> Int32 {
    #if canImport(Darwin)
      var actions: Actions = nil
      var attributes: Attributes = nil
    #else
      var actions = Actions()
      var attributes = Attributes()
    #endif
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    posix_spawn_file_actions_adddup2(&actions, input, 0)
    posix_spawn_file_actions_adddup2(&actions, output, 1)
    // The command line ignores SIGPIPE and SIGXFSZ; a child would inherit that.
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigaddset(&signals, SIGPIPE)
    sigaddset(&signals, SIGXFSZ)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    var flags = Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF)
    if hasGroup { flags |= Int32(POSIX_SPAWN_SETPGROUP) }
    posix_spawnattr_setflags(&attributes, Int16(flags))
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
    arguments.append(nil)
    defer { for argument in arguments { free(argument) } }
    guard let program = arguments[0] else { return ENOMEM }
    return posix_spawnp(&process, program, &actions, &attributes, arguments, heartlog_environment())
  }

  /// Closes the channel, waits for the child to end, and kills it if it does not.
  ///
  /// - Parameters:
  ///   - milliseconds: how long the child may take to end by itself.
  ///   - grace: how long it may take after SIGTERM, in milliseconds.
  /// - Returns: The exit code, or 128 plus the signal number if a signal ended it, as in shells; `nil` if it
  ///   did not end by itself.
  package func finish(
    waiting milliseconds: Int = graceMilliseconds, grace: Int = graceMilliseconds
  ) -> Int32? {
    channel.close()
    if let code = wait(milliseconds: milliseconds) { return code }
    // SIGKILL ends a process at once, unless it hangs in the kernel.
    for (signal, milliseconds) in [(SIGTERM, grace), (SIGKILL, Self.graceMilliseconds)] {
      kill(hasGroup ? -process : process, signal)
      if wait(milliseconds: milliseconds) != nil { break }
    }
    return nil
  }

  private func wait(milliseconds: Int) -> Int32? {
    let end = MonotonicClock.nanoseconds() + UInt64(milliseconds) * 1_000_000
    while true {
      var status: Int32 = 0
      let found = waitpid(process, &status, WNOHANG)
      if found == process {
        let signal = status & 0x7F
        return signal == 0 ? status >> 8 & 0xFF : 128 + signal
      }
      // Another part of this process has reaped it.
      if found < 0, errno != EINTR { return 0 }
      guard MonotonicClock.nanoseconds() < end else { return nil }
      usleep(2_000)
    }
  }
}
