import CHeartlogPlatform
import Heartlog

/// The program `heartlog`, without its process.
public enum HeartlogCLI {
  /// Runs the program with this process's arguments and environment.
  ///
  /// - Returns: the exit code.
  public static func runProcess() -> Int32 {
    // Writing to a closed pipe then fails with EPIPE, which ends the command quietly.
    signal(SIGPIPE, SIG_IGN)
    // Writing beyond a file size limit then fails with EFBIG, which is reported like a full disk.
    signal(SIGXFSZ, SIG_IGN)
    Terminal.occupyStandardDescriptors()
    let environment = Environment.ofProcess()
    let output = Output.ofProcess(environment: environment)
    do throws(CommandError) {
      return run(
        arguments: try Environment.arguments(), environment: environment, output: output, clock: .ofProcess())
    } catch {
      output.errorLine("heartlog: \(error.sentence)")
      return error.exitCode.rawValue
    }
  }

  /// Runs one command line: `arguments` are the words after the program's name.
  ///
  /// - Returns: the exit code.
  static func run(
    arguments: [String], environment: [String: String], output: Output, clock: LocalClock,
    pastStates: PastStates? = nil
  ) -> Int32 {
    if let request = CandidatesRequest(arguments, environment: environment) {
      for line in request.lines(clock: clock) { _ = try? output.line(line) }
      _ = try? output.flush()
      return ExitCode.success.rawValue
    }
    var context = CommandContext(
      output: output, environment: environment, clock: clock, pastStates: pastStates)
    do { return try run(arguments, &context).rawValue } catch OutputError.closed {
      return ExitCode.success.rawValue
    } catch {
      let error = CommandError(describing: error)
      // A failure to flush is not reported: `error` is what ends the command.
      _ = try? output.flush()
      context.warn([error.sentence, context.unreported.sentence].compactMap(\.self).joined(separator: " "))
      return error.exitCode.rawValue
    }
  }

  private static func run(_ words: [String], _ context: inout CommandContext) throws -> ExitCode {
    let parsed = try ArgumentParser(clock: context.clock).parse(words)
    (context.storeOption, context.isJSON) = (parsed.store, parsed.isJSON)
    let exitCode: ExitCode
    switch parsed.request {
    case .version:
      try context.output.line("heartlog \(Version.text)")
      exitCode = .success
    case .help(let topic):
      try context.output.write(HelpPage(style: context.style, width: context.width).text(topic))
      exitCode = .success
    case .command(let arguments):
      guard let type = CommandTable.types.first(where: { $0.description.name == arguments.command.name })
      else { throw CommandError.usage("unknown command \(Quoted(arguments.command.name))") }
      defer { context.reportChanges(of: context.opened.take()) }
      exitCode = try type.run(arguments, context)
    }
    try context.output.flush()
    return exitCode
  }
}

/// The version of the `heartlog` command.
enum Version {
  static let text = "0.1.0"
}

/// The environment variables that this program reads.
enum Environment {
  static let names = [
    "HEARTLOG_STORE", "HOME", "XDG_DATA_HOME", "NO_COLOR", "TERM", "COLUMNS", "HEARTLOG_SSH",
    "HEARTLOG_HUB_INVITATION", "HEARTLOG_WEBDAV_USER", "HEARTLOG_WEBDAV_PASSWORD", "NETRC",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE",
  ]

  static func ofProcess() -> [String: String] {
    var values: [String: String] = [:]
    for name in names {
      if let value = getenv(name) { values[name] = String(cString: value) }
    }
    return values
  }

  /// The words after the program's name.
  ///
  /// Reads the raw bytes: `CommandLine.arguments` silently repairs invalid UTF-8, which would turn it into another id. On Linux it also
  /// looks for the words in /proc, and there are none if that cannot be read: then every command would print the help and succeed.
  static func arguments() throws(CommandError) -> [String] {
    var count: Int32 = 0
    var values = heartlog_arguments(&count)
    if values == nil { (values, count) = (CommandLine.unsafeArgv, CommandLine.argc) }
    guard let values, count > 0 else {
      throw CommandError(.inputOutput, "the words of the command line cannot be read")
    }
    var words: [String] = []
    for index in 1..<Int(count) {
      guard let bytes = values[index] else { break }
      guard let word = String(validatingCString: bytes) else {
        throw .usage("argument \(index) is not valid UTF-8", hint: "Names, ids and paths must be UTF-8.")
      }
      words.append(word)
    }
    return words
  }
}

/// The location of the store.
enum StoreLocation {
  static let folderName = "favorites.heartlog"

  /// `--store`, else `$HEARTLOG_STORE`, else a folder in the platform's data directory. An empty variable counts as unset.
  static func directory(
    option: String?, environment: [String: String]
  ) throws(CommandError) -> String {
    if let option { return option }
    if let named = environment["HEARTLOG_STORE"], !named.isEmpty { return named }
    #if canImport(Darwin)
      let parts = ("Library/Application Support", "Heartlog")
    #else
      let parts = (".local/share", "heartlog")
      // The XDG Base Directory Specification says to ignore a path that is not absolute.
      if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") {
        return join(data, parts.1, folderName)
      }
    #endif
    guard let home = environment["HOME"], !home.isEmpty else {
      throw .usage(
        "no store is named, and HOME is not set", hint: "Name the store with --store DIR.")
    }
    return join(home, parts.0, parts.1, folderName)
  }

  private static func join(_ base: String, _ parts: String...) -> String {
    var base = base[...]
    while base.utf8.count > 1, base.hasSuffix("/") { base.removeLast() }
    return parts.reduce(base == "/" ? "" : String(base)) { "\($0)/\($1)" }
  }
}
