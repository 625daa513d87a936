import Dispatch
import Foundation
import Heartlog

/// heartlog-example [APP] [--store DIR]: five small apps over one store. Each line of the input is a command.
@main
struct Main {
  @MainActor static func main() async {
    do {
      let arguments = try Arguments(CommandLine.arguments.dropFirst())
      guard !arguments.wantsHelp else { return write(Arguments.usage + "\n") }
      let temporary = FileManager.default.temporaryDirectory
      let path =
        arguments.options["--store"]
        ?? temporary.appending(path: "heartlog-example-\(UUID().uuidString.prefix(8))").path
      let device = Device(path: path, now: arguments.now)
      let program = try Program(device, showing: arguments.app) { write($0 + "\n") }
      let prompt = isatty(STDIN_FILENO) == 1 ? "> " : ""
      write(prompt)
      for await line in lines() {
        await program.run(line)
        guard !program.isEnded else { break }
        write(prompt)
      }
      try program.close()
      if arguments.options["--store"] == nil { write("The store of all that: \(path)\n") }
    } catch {
      FileHandle.standardError.write(Data("heartlog-example: \(error)\n".utf8))
      exit(error is UsageError ? 64 : 1)
    }
  }

  /// Unlike `print`, not kept back where the output is a pipe.
  private static func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }

  /// The lines of the input. They are read on a thread of their own: the main actor reports what other programs write.
  private static func lines() -> AsyncStream<String> {
    AsyncStream { continuation in
      DispatchQueue(label: "input").async {
        while let line = readLine() { continuation.yield(line) }
        continuation.finish()
      }
    }
  }
}

/// The arguments of the command line.
struct Arguments {
  /// The app that is shown first.
  private(set) var app: String?
  /// The values of the options: `--store DIR`.
  private(set) var options: [String: String] = [:]
  private(set) var now: Date?
  private(set) var wantsHelp = false

  static let usage = """
    heartlog-example [APP] [--store DIR]

    Five small apps over one store: archives, papers, cities, breeds and books. Each line of the input is a command;
    "help" lists them.

    --store DIR   the store; without it, a new one in the temporary folder
    --now TIME    stops the clock, which each command then moves by a second, and makes all ids reproducible, for tests

    Run it in the folder of the package.
    """

  init(_ words: some Sequence<String>) throws(UsageError) {
    var words = words.makeIterator()
    while let word = words.next() {
      switch word {
      case "--help", "-h": wantsHelp = true
      case "--store", "--now":
        guard let value = words.next() else { throw UsageError("\(word) needs a value") }
        options[word] = value
      default:
        guard Program.apps.contains(word), app == nil else {
          throw UsageError("there is no app \"\(word)\"; there are \(Program.apps.joined(separator: ", "))")
        }
        app = word
      }
    }
    guard let text = options["--now"] else { return }
    guard let date = try? Date(text, strategy: .iso8601) else {
      throw UsageError("\"\(text)\" is no time as 2026-03-02T08:00:00Z")
    }
    now = date
  }
}

struct UsageError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
