import Glibc

/// One measure of one peer, in a process of its own: `Scripts/bench` runs these turn by turn, and knows what they need.
@main
struct Main {
  static func main() {
    do {
      try run(try Arguments(CommandLine.arguments.dropFirst()))
    } catch {
      let line = "heartlog-bench: \(error)\n"
      _ = line.withCString { write(STDERR_FILENO, $0, strlen($0)) }
      exit(70)
    }
  }

  private static func run(_ arguments: Arguments) throws {
    if arguments.command == "trace" {
      return try TraceFile.write(
        events: try arguments.number("events"), items: try arguments.number("items"),
        to: try arguments.text("to"))
    }
    let peer = try arguments.text("peer")
    switch arguments.command {
    case "prepare": try Preparing.prepare(peer, arguments)
    case "prepare-tail": try Preparing.tail(peer, arguments)
    case "durable": try Durable.run(peer, arguments)
    case "writers": try Writers.run(peer, arguments)
    case "batches": try Appends.batches(peer, arguments)
    case "buffered": try Appends.buffered(peer, arguments)
    case "size": try Size.run(peer, arguments)
    case "replay": try Replay.run(peer, arguments)
    case "open", "tail": try Opening.run(peer, arguments)
    case "lookup": try Lookup.run(peer, arguments)
    case "travel": try Travel.run(peer, arguments)
    case "list": try Program.run(peer, arguments)
    case "large": try Large.run(peer, arguments)
    case "beside": try Beside.run(peer, arguments)
    case "prepare-typed": try Typed.prepare(peer, arguments)
    case "typed": try Typed.run(peer, arguments)
    case "typed-count": try Typed.count(peer, arguments)
    case "counts": try Counts.run(peer, arguments)
    default: throw Failure("there is no measure \"\(arguments.command)\"")
    }
  }
}
