import Heartlog

/// A carrier that runs a program which serves a store on its standard input and output. On iOS and visionOS the system lets an app start none.
@available(tvOS, unavailable)
@available(watchOS, unavailable)
public struct CommandCarrier: Carrier {
  public let description: String
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
  public static func shell(_ command: String) throws(HeartlogError) -> CommandCarrier {
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
  public static func ssh(_ address: SSHAddress, program: String? = nil) -> CommandCarrier {
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

  public func sync(_ store: FavoritesStore, options: SyncOptions) throws(HeartlogError) -> SyncReport {
    try sync(streams: store, options: options)
  }

  func sync(streams store: any ShippedStreams, options: SyncOptions) throws(HeartlogError) -> SyncReport {
    try SyncAttempts.hold(options) { (attempts) throws(HeartlogError) in
      // If a store is damaged, the report already says why the command failed.
      try hold("serve --stdio", options, isDone: { (report: SyncReport) in report.isComplete }) {
        (channel) throws(HeartlogError) in
        try SyncSession(
          streams: store, over: channel, role: .calling, options: options, attempts: attempts
        ).run()
      }
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
