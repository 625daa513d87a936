import CHeartlogPlatform
import Heartlog
import HeartlogFiles

/// A carrier that runs a program which serves a store on its standard input and output. On iOS and visionOS the system lets an app start none.
@available(tvOS, unavailable)
@available(watchOS, unavailable)
package struct CommandCarrier: Carrier {
  package let description: String
  private enum Command: Hashable {
    case shell(String)
    case ssh(SSHAddress, program: String)
  }

  private let command: Command

  private init(_ command: Command, description: String) {
    self.command = command
    self.description = description
  }

  /// Returns a carrier that runs `command` with `/bin/sh`.
  package static func shell(_ command: String) throws(HeartlogError) -> CommandCarrier {
    guard !command.isEmpty, !command.utf8.contains(0) else {
      throw HeartlogError(.invalid, "the command is empty or contains a zero byte")
    }
    return CommandCarrier(.shell(command), description: "exec:\(command)")
  }

  /// Returns a carrier that runs `heartlog serve --stdio` on another machine.
  ///
  /// - Parameters:
  ///   - address: the machine, and the store's folder on it.
  ///   - program: the program to run instead of `ssh`.
  package static func ssh(_ address: SSHAddress, program: String? = nil) -> CommandCarrier {
    CommandCarrier(.ssh(address, program: program ?? "ssh"), description: address.description)
  }

  /// The program to start, and its arguments.
  ///
  /// - Parameter action: what `heartlog` does on another machine. A shell command says that itself.
  private func words(_ action: String) -> [String] {
    switch command {
    case .shell(let command): ["/bin/sh", "-c", command]
    case .ssh(let address, let program): [program] + address.arguments(running: action)
    }
  }

  package func sync(_ store: FavoritesStore, options: SyncOptions) throws(HeartlogError) -> SyncReport {
    // If a store is damaged, the report already says why the command failed.
    try hold("serve --stdio", options, isDone: { (report: SyncReport) in report.isComplete }) {
      (channel) throws(HeartlogError) in
      try SyncSession(store, over: channel, role: .calling, options: options).run()
    }
  }

  /// Starts the command, and holds a session with it.
  private func hold<Report>(
    _ action: String, _ options: SyncOptions, isDone: (Report) -> Bool,
    _ session: (any ByteChannel) throws(HeartlogError) -> Report
  ) throws(HeartlogError) -> Report {
    let child = try ChildProcess(words(action))
    let result = Result { () throws(HeartlogError) in try session(child.channel) }
    switch result {
    case .success(let report):
      // The other end may still have much to seal. Killing it because it takes too long loses nothing.
      let code = Self.finish(child, waiting: options.inactivityMillisecondsMax, options)
      if let code, code != 0, isDone(report) {
        throw HeartlogError(
          .inputOutput, "everything is done, but \(description) ended with exit code \(code)")
      }
      return report
    case .failure(let error):
      let code = Self.finish(child, waiting: ChildProcess.graceMilliseconds, options)
      throw Self.cause(error, of: code, description)
    }
  }

  /// How long a command may take to end by itself, and again after SIGTERM, when the sync is over.
  private static let lastMilliseconds = 100

  private static func finish(
    _ child: ChildProcess, waiting milliseconds: Int, _ options: SyncOptions
  ) -> Int32? {
    child.finish(
      waiting: max(lastMilliseconds, options.millisecondsLeft(atMost: milliseconds)),
      grace: max(lastMilliseconds, options.millisecondsLeft(atMost: ChildProcess.graceMilliseconds)))
  }

  /// Replaces an error that only says that the command hung up by its exit code, which says more.
  private static func cause(_ error: HeartlogError, of code: Int32?, _ description: String) -> HeartlogError {
    guard error.isEcho, let code, code != 0 else { return error }
    // The exit codes of `heartlog`, which are those of sysexits.h.
    let kind: HeartlogError.Code =
      switch code {
      case 66: .notAStore
      case 75: .locked
      default: error.code
      }
    let meaning = code == 64 ? ", a usage error, as of a Heartlog that is too old for this" : ""
    return HeartlogError(kind, "\(description) ended with exit code \(code)\(meaning): \(error.message)")
  }
}

@available(tvOS, unavailable)
@available(watchOS, unavailable)
extension CommandCarrier: PairingCarrier {
  package func pair(_ store: FavoritesStore, options: SyncOptions) throws(HeartlogError) -> PairingReport {
    try hold("keys pair --stdio", options, isDone: { (_: PairingReport) in true }) {
      (channel) throws(HeartlogError) in
      try PairingSession(store, over: channel, role: .calling, options: options).run()
    }
  }
}

/// The address of a store on another machine: `ssh://[user@]host[:port]/path`.
///
/// The path is absolute; `/~/…` starts in the user's home directory, as in git addresses. Nothing is
/// percent-decoded. The address contains no password: ssh asks for one, or uses a key.
package struct SSHAddress: Hashable, Sendable, CustomStringConvertible {
  package let description: String
  /// The host, with the user if the address names one.
  package let host: String
  /// The port; `nil` for the default of ssh.
  package let port: Int?
  /// The path of the store, as it is passed to the other machine.
  package let path: String

  static let scheme = "ssh://"

  /// Parses an address.
  ///
  /// - Throws: `invalid` if the text is no such address, if ssh would take the host or user for an option, or
  ///   if there is a password, which the error does not contain.
  package init(_ text: String) throws(HeartlogError) {
    guard text.hasPrefix(Self.scheme) else {
      throw HeartlogError(.invalid, "the address does not begin with \(Self.scheme)")
    }
    let rest = text.dropFirst(Self.scheme.count)
    guard Self.withoutPassword(text) == text else {
      throw HeartlogError(
        .invalid,
        "the address contains a password, which everyone who lists processes can see: leave it out; ssh asks for it or uses a key"
      )
    }
    guard let slash = rest.firstIndex(of: "/") else {
      throw HeartlogError(.invalid, "the address has no path of a store: \(text)")
    }
    var authority = rest[..<slash]
    var port: Int?
    // In an IPv6 address, only a colon after the bracket starts the port.
    if let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") {
      guard let number = Int(authority[authority.index(after: colon)...]), (1...65_535).contains(number)
      else {
        throw HeartlogError(.invalid, "the port is not a number from 1 to 65535: \(text)")
      }
      port = number
      authority = authority[..<colon]
    }
    let user = authority.lastIndex(of: "@").map { authority[..<$0] }
    var host = user.map { authority[$0.endIndex...].dropFirst() } ?? authority
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    guard Self.isSafe(host), user.map(Self.isSafe) ?? true else {
      throw HeartlogError(.invalid, "the host or the user is not valid: \(text)")
    }
    let path = rest[slash...]
    self.path = path.hasPrefix("/~/") ? String(path.dropFirst(3)) : String(path)
    guard !self.path.isEmpty, self.path != "/", !self.path.utf8.contains(0) else {
      throw HeartlogError(.invalid, "the address has no path of a store: \(text)")
    }
    self.host = (user.map { "\($0)@" } ?? "") + host
    self.port = port
    description = text
  }

  /// Returns the text with passwords in addresses replaced by `***`.
  package static func withoutPassword(_ text: String) -> String {
    guard let start = text.firstRange(of: scheme) else { return text }
    let (before, rest) = (text[..<start.upperBound], text[start.upperBound...])
    // A password may contain a slash, but no space.
    let address = rest.prefix { !$0.isWhitespace }
    let path = address.firstIndex(of: "/") ?? address.endIndex
    guard let colon = address.firstIndex(of: ":"), colon < path, let at = address.lastIndex(of: "@"),
      colon < at
    else { return before + withoutPassword(String(rest)) }
    return before + rest[...colon] + "***" + withoutPassword(String(rest[at...]))
  }

  /// The arguments for `ssh`, without the program name, to run a command of `heartlog` for the store.
  func arguments(running command: String) -> [String] {
    let port = port.map { ["-p", "\($0)"] } ?? []
    // The shell of the other machine parses this; no local shell does.
    return port + ["--", host, "heartlog --store \(Self.quoted(path)) \(command)"]
  }

  /// Whether a name contains only letters, digits and a few marks, and does not begin with a dash.
  private static func isSafe(_ name: Substring) -> Bool {
    guard !name.isEmpty, !name.hasPrefix("-") else { return false }
    return name.unicodeScalars.allSatisfy { character in
      !character.isASCII || character.properties.isAlphabetic || ("0"..."9").contains(character)
        || ".-_:%+".unicodeScalars.contains(character)
    }
  }

  /// Quotes a path as one word for a POSIX shell, which never begins with a dash.
  static func quoted(_ path: String) -> String {
    let safe = path.hasPrefix("-") ? "./\(path)" : path
    return "'" + safe.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
  }
}

/// A child process whose standard input and output are connected to a channel; it shares this process's
/// standard error.
@available(tvOS, unavailable)
@available(watchOS, unavailable)
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

  /// How long the child may take to end by itself after the channel is closed, and again after each signal.
  static let graceMilliseconds = 2_000

  /// Starts `words[0]`, searched for in PATH, with the arguments `words`.
  init(_ words: [String]) throws(HeartlogError) {
    let (near, far) = try DescriptorChannel.descriptorPair()
    defer { close(far) }
    // At a terminal the child stays in this process group: it may ask for a password there.
    hasGroup = isatty(0) != 1
    var process: pid_t = 0
    let number = Self.spawn(words, far, hasGroup: hasGroup, &process)
    guard number == 0 else {
      close(near)
      throw HeartlogError(
        .inputOutput, HeartlogError(operation: "start", path: words.first ?? "", code: number).description)
    }
    self.process = process
    channel = DescriptorChannel(input: near, output: near)
  }

  private static func spawn(
    _ words: [String], _ channel: Int32, hasGroup: Bool, _ process: inout pid_t
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
    posix_spawn_file_actions_adddup2(&actions, channel, 0)
    posix_spawn_file_actions_adddup2(&actions, channel, 1)
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
  func finish(waiting milliseconds: Int, grace: Int) -> Int32? {
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
