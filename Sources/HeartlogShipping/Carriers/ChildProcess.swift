import Heartlog
import HeartlogFiles

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A program that was started with its standard input and output in our hands; its standard error is ours.
final class ChildProcess: Sendable {
  #if canImport(Darwin)
    private typealias Actions = posix_spawn_file_actions_t?
    private typealias Attributes = posix_spawnattr_t?
  #else
    private typealias Actions = posix_spawn_file_actions_t
    private typealias Attributes = posix_spawnattr_t
  #endif

  let channel: DescriptorChannel
  private let process: pid_t
  private let hasGroup: Bool

  /// How long a program that was hung up on may take to end by itself, and after SIGTERM.
  private static let graceMilliseconds = 2_000

  /// Starts `words[0]`, looked for in PATH, with `words`.
  init(_ words: [String]) throws(HeartlogError) {
    let (near, far) = try DescriptorChannel.descriptorPair()
    defer { close(far) }
    // Where somebody sits at a terminal, the child stays in our group: it may ask for a password there.
    hasGroup = isatty(0) != 1
    var process: pid_t = 0
    let number = Self.spawn(words, far, hasGroup: hasGroup, &process)
    guard number == 0 else {
      close(near)
      throw HeartlogError(
        .inputOutput, FileError(operation: "start", path: words.first ?? "", code: number).description)
    }
    self.process = process
    channel = DescriptorChannel(input: near, output: near)
  }

  private static func spawn(
    _ words: [String], _ descriptor: Int32, hasGroup: Bool, _ process: inout pid_t
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
    posix_spawn_file_actions_adddup2(&actions, descriptor, 0)
    posix_spawn_file_actions_adddup2(&actions, descriptor, 1)
    // A command line ignores SIGPIPE and SIGXFSZ, which a child would go on with.
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
    return posix_spawnp(&process, program, &actions, &attributes, arguments, environ)
  }

  /// Hangs up, waits for the program to end, and ends it where it does not.
  ///
  /// - Parameter milliseconds: how long it may take to end by itself.
  /// - Returns: its exit code, 128 and the signal where one ended it, as shells count; nil where it did not end by itself.
  func finish(waiting milliseconds: Int = graceMilliseconds) -> Int32? {
    channel.close()
    if let code = wait(milliseconds: milliseconds) { return code }
    for signal in [SIGTERM, SIGKILL] {
      kill(hasGroup ? -process : process, signal)
      // Not even SIGKILL ends what hangs in the kernel.
      if wait(milliseconds: Self.graceMilliseconds) != nil { break }
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
      // Somebody else in this process reaped it.
      if found < 0, errno != EINTR { return 0 }
      guard MonotonicClock.nanoseconds() < end else { return nil }
      usleep(2_000)
    }
  }
}
