/// Times what two ways take, turn by turn, so that a machine that is busy for a while is so for both.
struct Stopwatch {
  /// The two ways of one task; each returns something that both must agree on.
  struct Pair {
    let name: String
    /// What is made ready before each turn, and not timed.
    var prepare: () throws -> Void = {}
    let loop: () throws -> Int
    let library: () throws -> Int
  }

  struct Disagreement: Error, CustomStringConvertible {
    let description: String
  }

  let rounds: Int

  /// The medians of each pair in milliseconds.
  func measure(_ pairs: [Pair]) throws -> [(name: String, loop: Double, library: Double)] {
    var times = [(loop: [Double], library: [Double])](repeating: ([], []), count: pairs.count)
    // The first round warms up: it is thrown away.
    for round in 0...rounds {
      for (index, pair) in pairs.enumerated() {
        try pair.prepare()
        let (loop, loopResult): (Double, Int)
        let (library, libraryResult): (Double, Int)
        if round.isMultiple(of: 2) {
          (loop, loopResult) = try Self.time(pair.loop)
          (library, libraryResult) = try Self.time(pair.library)
        } else {
          (library, libraryResult) = try Self.time(pair.library)
          (loop, loopResult) = try Self.time(pair.loop)
        }
        guard loopResult == libraryResult else {
          throw Disagreement(
            description: "\(pair.name): the loop found \(loopResult), the library \(libraryResult)")
        }
        guard round > 0 else { continue }
        times[index].loop.append(loop)
        times[index].library.append(library)
      }
    }
    return zip(pairs, times).map { ($0.name, Self.median($1.loop), Self.median($1.library)) }
  }

  private static func time(_ body: () throws -> Int) rethrows -> (milliseconds: Double, result: Int) {
    var result = 0
    let duration = try ContinuousClock().measure { result = try body() }
    return (
      Double(duration.components.seconds) * 1e3 + Double(duration.components.attoseconds) / 1e15, result
    )
  }

  private static func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    let middle = sorted.count / 2
    return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
  }
}
