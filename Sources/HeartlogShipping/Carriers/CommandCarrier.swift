import Heartlog

/// A carrier that runs a program which serves a store on its standard input and output. On iOS and visionOS the system lets an app start none.
@available(tvOS, unavailable)
@available(watchOS, unavailable)
public struct CommandCarrier: Carrier {
  public let description: String
  private let words: [String]

  private init(_ words: [String], description: String) {
    self.words = words
    self.description = description
  }

  /// Returns a carrier that runs `command` with `/bin/sh`.
  public static func shell(_ command: String) throws(HeartlogError) -> CommandCarrier {
    guard !command.isEmpty, !command.utf8.contains(0) else {
      throw HeartlogError(.invalid, "the command is empty or contains a zero byte")
    }
    return CommandCarrier(["/bin/sh", "-c", command], description: "exec:\(command)")
  }

  /// Returns a carrier that runs `heartlog serve --stdio` on another machine.
  ///
  /// - Parameters:
  ///   - address: the machine, and the store's folder on it.
  ///   - program: the program to run instead of `ssh`.
  public static func ssh(_ address: SSHAddress, program: String? = nil) -> CommandCarrier {
    CommandCarrier([program ?? "ssh"] + address.arguments, description: address.description)
  }

  public func sync(_ store: FavoritesStore, options: SyncOptions) throws(HeartlogError) -> SyncReport {
    try sync(streams: store, options: options)
  }

  func sync(streams store: any ShippedStreams, options: SyncOptions) throws(HeartlogError) -> SyncReport {
    try SyncAttempts.hold(options) { (attempts) throws(HeartlogError) in
      try hold(store, options: options, attempts: attempts)
    }
  }

  private func hold(
    _ store: any ShippedStreams, options: SyncOptions, attempts: SyncAttempts
  ) throws(HeartlogError) -> SyncReport {
    let child = try ChildProcess(words)
    let result = Result { () throws(HeartlogError) in
      try SyncSession(
        streams: store, over: child.channel, role: .calling, options: options, attempts: attempts
      ).run()
    }
    switch result {
    case .success(let report):
      // The other end may still have much to seal. Killing it because it takes too long loses nothing.
      let code = Self.finish(child, waiting: options.inactivityMillisecondsMax, options)
      // If a store is damaged, the report already says why the command failed.
      if let code, code != 0, report.isComplete {
        throw HeartlogError(.inputOutput, "the sync is done, but \(description) ended with exit code \(code)")
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
    // The exit codes of `heartlog serve`, which are those of sysexits.h.
    let kind: HeartlogError.Code =
      switch code {
      case 66: .notAStore
      case 75: .locked
      default: error.code
      }
    return HeartlogError(kind, "\(description) ended with exit code \(code): \(error.message)")
  }
}
