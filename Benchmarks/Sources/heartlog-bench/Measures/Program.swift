import CPeers
import Glibc

/// A program from its start to its end.
struct Program {
  static func run(_ peer: String, _ arguments: Arguments) throws {
    let program = try arguments.text("command_line")
    let words =
      peer == "heartlog"
      ? [
        program, "--store", try arguments.text("folder") + "/favorites.heartlog", "list", "papers", "--limit",
        "50",
      ] : [program]
    Sample(measure: "list", peer: peer, name: "whole", unit: "ms", value: try median(of: words) / 1e6)
      .report()
  }

  /// The nanoseconds that a program takes: the median of 20 runs, or of those that end within two seconds.
  static func median(of words: [String]) throws -> Double {
    let texts = words.map { $0.withCString { strdup($0) } }
    defer { for text in texts { free(text) } }
    let pointers = texts.map { UnsafePointer($0) } + [nil]
    var times: [UInt64] = []
    let deadline = bench_now() + 2_000_000_000
    // The first run reads the program from disk.
    _ = bench_run_program(pointers)
    while times.count < 20, times.isEmpty || bench_now() < deadline {
      times.append(bench_run_program(pointers))
    }
    return Times(times).median
  }
}
