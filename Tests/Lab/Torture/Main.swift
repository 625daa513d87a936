import Foundation
import HeartlogSimulator

/// HeartlogTorture: looks for promises that the store does not keep.
@main
struct Main {
  static func main() {
    var arguments = Arguments(Array(CommandLine.arguments.dropFirst()))
    switch arguments.verb {
    case "simulate": SimulateCommand.run(&arguments)
    case "crashes": CrashesCommand.run(&arguments)
    case "damage": DamageCommand.run(&arguments)
    case "calls": CallsCommand.run(&arguments)
    case "interleavings": InterleavingsCommand.run(&arguments)
    case "neighbour": NeighbourCommand.run(&arguments)
    case "seal", "snapshot": CompactionCommand.run(arguments.verb)
    default:
      print(
        """
        usage: HeartlogTorture simulate [--runs N] [--steps N] [--seed S] [--jobs N]
               HeartlogTorture crashes [--steps N] [--part N --parts N]
               HeartlogTorture damage [--part N --parts N]
               HeartlogTorture calls [--part N --parts N]
               HeartlogTorture interleavings [--part N --parts N]
               HEARTLOG_STORE=STORE HeartlogTorture neighbour [--extension 1] [--number N] [--seed S]
               HEARTLOG_STORE=STORE HeartlogTorture seal|snapshot
        """)
      exit(64)
    }
  }
}
