import Heartlog

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

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
      return report(error, UntoldWrites(), on: output, style: Style(isEnabled: false)).rawValue
    }
  }

  /// Runs one command line: `arguments` are the words after the program's name.
  ///
  /// - Returns: the exit code.
  public static func run(arguments: [String], environment: [String: String]) -> Int32 {
    run(
      arguments: arguments, environment: environment, output: .ofProcess(environment: environment),
      clock: .ofProcess())
  }

  static func run(
    arguments: [String], environment: [String: String], output: Output, clock: LocalClock
  ) -> Int32 {
    let style = Style(isEnabled: output.error.isTerminal && Style.isWanted(environment))
    let untold = UntoldWrites()
    func report(_ error: CommandError) -> ExitCode { Self.report(error, untold, on: output, style: style) }
    if let request = CandidatesRequest(arguments, environment: environment) {
      for line in request.lines(clock: clock) { _ = try? output.line(line) }
      _ = try? output.flush()
      return ExitCode.success.rawValue
    }
    var exitCode: ExitCode
    do {
      let parsed = try ArgumentParser(table: .heartlog, clock: clock).parse(arguments)
      let context = CommandContext(
        output: output, environment: environment, storeOption: parsed.store, isJSON: parsed.isJSON,
        clock: clock, untold: untold)
      exitCode = try run(parsed.request, context)
      try output.flush()
    } catch OutputError.closed {
      exitCode = .success
    } catch let OutputError.failed(number) {
      let reason = String(cString: strerror(number))
      exitCode = report(CommandError(.inputOutput, "cannot write standard output", at: reason))
    } catch let error as CommandError {
      exitCode = report(error)
    } catch let error as HeartlogError {
      exitCode = report(CommandError(error))
    } catch {
      exitCode = report(CommandError(.inputOutput, "\(error)"))
    }
    return exitCode.rawValue
  }

  private static func run(_ request: ArgumentParser.Request, _ context: CommandContext) throws -> ExitCode {
    switch request {
    case .version:
      try context.output.line("heartlog \(Version.text)")
      return .success
    case .help(let topic):
      try context.output.write(
        HelpPage(table: .heartlog, style: context.style, width: context.width).text(topic))
      return .success
    case .command(let arguments):
      guard let type = CommandTable.types.first(where: { $0.description.name == arguments.command.name })
      else { throw CommandError.usage("unknown command \(Quoted(arguments.command.name))") }
      defer {
        context.tellDroppedSnapshots()
        context.tellClosedStores()
      }
      return try type.init(arguments).run(context)
    }
  }

  /// Prints an error on standard error, with what was written but not reported yet. Flushes standard output first.
  private static func report(
    _ error: CommandError, _ untold: UntoldWrites, on output: Output, style: Style
  ) -> ExitCode {
    // A failure to flush is not reported: `error` is what ends the command.
    _ = try? output.flush()
    let sentences = [error.sentence, untold.sentence].compactMap { $0 }
    output.errorLine(
      "\(style(.failure, "heartlog:")) \(DisplayText.visible(sentences.joined(separator: " ")))")
    return error.exitCode
  }
}
