import Foundation
import HeartlogSimulator

/// Stops steps of one process at every file operation, and lets another process do a step meanwhile. Several processes share the work; each
/// says what it did in its last line.
enum InterleavingsCommand {
  static func run(_ arguments: inout Arguments) {
    let part = Int(arguments.take("part") ?? 0)
    let parts = Int(arguments.take("parts") ?? 1)
    arguments.requireNoMore()
    guard parts > 0, part < parts else { fail("there is no part \(part) of \(parts)") }
    var counts = InterleavingEnumeration.Counts()
    let started = Date()
    if let problem = InterleavingEnumeration.check(part: (part, parts), &counts) { fail(problem) }
    print(
      String(
        format: "%d pairs of steps, stopped at %d operations, %d of them waited for, in %.0f s: no violation",
        counts.pairs, counts.points, counts.waits, Date().timeIntervalSince(started)))
  }

  private static func fail(_ problem: String) -> Never {
    print("interleavings: \(problem)")
    exit(1)
  }
}
