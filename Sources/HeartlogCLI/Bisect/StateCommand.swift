import Heartlog
import HeartlogInterchange
import HeartlogShipping

/// A command of a person's choice that gets a state on its standard input and answers with its exit code.
struct StateCommand {
  /// A command line for `/bin/sh`.
  let line: String

  /// The exit code by which the command says that it has no answer, as for `git bisect run`.
  static let noAnswer: Int32 = 125
  /// The shell's exit code for a command that cannot be run. From here on, codes are not the command's own: 127 is for one that does not
  /// exist, and 128 and more for signals.
  private static let failureMin: Int32 = 126

  /// Runs the command with a state. Its standard output goes to this process's standard error.
  ///
  /// - Returns: the exit code.
  func run(with state: FavoritesState) throws -> Int32 {
    let input = try state.libraries.map { try state.exportFile(of: $0, format: JSONLinesFormat()) }
    let child = try ChildProcess(["/bin/sh", "-c", line], output: 2)
    feed(input, to: child)
    let code = child.finish(waiting: ChildProcess.foreverMilliseconds) ?? Self.failureMin
    guard code < Self.failureMin else {
      throw CommandError(
        .inputOutput,
        code > 127 ? "the command was ended by signal \(code - 128)" : "the command cannot be run",
        at: "exit code \(code) of \(Quoted(line))")
    }
    return code
  }

  /// Writes until the command has everything, or wants no more.
  private func feed(_ input: [[UInt8]], to child: ChildProcess) {
    for bytes in input {
      var rest = bytes[...]
      while !rest.isEmpty {
        // The only error to expect is that the command has closed its standard input.
        guard let count = try? child.channel.write(rest, milliseconds: ChildProcess.graceMilliseconds) else {
          return
        }
        rest = rest.dropFirst(count)
      }
    }
  }
}
