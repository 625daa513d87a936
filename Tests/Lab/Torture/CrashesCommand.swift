import Foundation
import HeartlogSimulator

/// Enumerates the crashes of all workloads of a length. Several processes share the work; they say what they did in their last line.
enum CrashesCommand {
  static func run(_ arguments: inout Arguments) {
    let steps = Int(arguments.take("steps") ?? 2)
    let part = Int(arguments.take("part") ?? 0)
    let parts = Int(arguments.take("parts") ?? 1)
    arguments.requireNoMore()
    guard parts > 0, part < parts else { fail("there is no part \(part) of \(parts)") }
    var counts = CrashEnumeration.Counts()
    let started = Date()
    guard (1...CrashEnumeration.stepsMax).contains(steps) else {
      fail("a workload has 1 to \(CrashEnumeration.stepsMax) steps")
    }
    for length in 1...steps {
      // Workloads with the same first steps share states, so a part has neighbours.
      let all = CrashEnumeration.workloads(ofLength: length)
      let mine = all[all.count * part / parts..<all.count * (part + 1) / parts]
      if let problem = CrashEnumeration.check(mine, &counts) { fail(problem) }
    }
    print(
      String(
        format:
          "%d workloads of up to %d steps, %d crash points, %d states, %d of them different, in %.0f s: no violation",
        counts.workloads, steps, counts.points, counts.states, counts.checked,
        Date().timeIntervalSince(started)
      ))
  }

  private static func fail(_ problem: String) -> Never {
    print("crashes: \(problem)")
    exit(1)
  }
}
