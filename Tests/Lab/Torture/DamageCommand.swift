import Foundation
import HeartlogSimulator

/// Changes every bit of a store, and cuts every file at every length, or goes on from one of these changes. Several processes share the work.
enum DamageCommand {
  static func run(_ arguments: inout Arguments) {
    let part = Int(arguments.take("part") ?? 0)
    let parts = Int(arguments.take("parts") ?? 1)
    let first = Int(arguments.take("first") ?? 0)
    arguments.requireNoMore()
    var counts = DamageEnumeration.Counts()
    let started = Date()
    guard parts > 0, part < parts else { fail("there is no part \(part) of \(parts)") }
    if let problem = DamageEnumeration.check(part: part, of: parts, from: first, &counts) { fail(problem) }
    print(
      String(
        format:
          "%d bytes in %d files, %d changes, %d of them named, %d harmless, %d misplaced frames, in %.0f s: no violation",
        counts.bytes, counts.files, counts.changes, counts.named, counts.harmless, counts.misplaced,
        Date().timeIntervalSince(started)))
  }

  private static func fail(_ problem: String) -> Never {
    print("damage: \(problem)")
    exit(1)
  }
}
