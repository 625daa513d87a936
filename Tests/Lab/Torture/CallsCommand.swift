import Foundation
import HeartlogSimulator

/// Lets every file operation of all workloads fail. Several processes share the work; each says what it did in its last line.
enum CallsCommand {
  static func run(_ arguments: inout Arguments) {
    let part = Int(arguments.take("part") ?? 0)
    let parts = Int(arguments.take("parts") ?? 1)
    arguments.requireNoMore()
    guard parts > 0, part < parts else { fail("there is no part \(part) of \(parts)") }
    var counts = CallEnumeration.Counts()
    let started = Date()
    if let problem = CallEnumeration.check(part: (part, parts), &counts) { fail(problem) }
    print(
      String(
        format: "%d workloads of %d operations, %d runs with failures, in %.0f s: no violation",
        counts.workloads, counts.calls, counts.runs, Date().timeIntervalSince(started)))
  }

  private static func fail(_ problem: String) -> Never {
    print("calls: \(problem)")
    exit(1)
  }
}
