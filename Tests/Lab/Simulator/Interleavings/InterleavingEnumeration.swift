import Heartlog

/// Pairs of steps of two processes: the first is stopped in front of each of its file operations in turn, and the second is done meanwhile.
package enum InterleavingEnumeration {
  /// What was enumerated.
  package struct Counts: Sendable {
    /// Pairs of steps.
    package var pairs = 0
    /// The moments at which the first step was stopped.
    package var points = 0
    /// Those at which the second step had to wait for the first.
    package var waits = 0

    package init() {}
  }

  /// All pairs of steps.
  package static let pairs: [(first: InterleavedStep, second: InterleavedStep)] =
    InterleavedStep.allCases.flatMap { first in InterleavedStep.allCases.map { (first, $0) } }

  /// Stops the first step of each pair in front of every file operation.
  ///
  /// - Parameter part: Which part of these moments is tried, of how many: of every `count` in a row, the one at `index`.
  /// - Returns: what was found broken; nil if nothing was.
  package static func check(
    _ pairs: [(first: InterleavedStep, second: InterleavedStep)] = pairs,
    part: (index: Int, count: Int) = (0, 1), _ counts: inout Counts
  ) -> String? {
    do {
      let stage = try InterleavingStage()
      for pair in pairs {
        counts.pairs += 1
        let calls = try run(pair, on: stage, stoppingAt: nil).calls
        for call in 1...max(1, calls) where (counts.pairs + call) % part.count == part.index {
          counts.points += 1
          if try run(pair, on: stage, stoppingAt: call).hasWaited { counts.waits += 1 }
        }
      }
    } catch { return "\(error)" }
    return nil
  }

  private static func run(
    _ pair: (first: InterleavedStep, second: InterleavedStep), on stage: InterleavingStage,
    stoppingAt call: Int?
  ) throws -> (calls: Int, hasWaited: Bool) {
    do { return try InterleavedRun(pair.first, pair.second, on: stage).run(stoppingAt: call) } catch {
      let moment = call.map { "stopped in front of operation \($0)" } ?? "not stopped"
      throw Violation("\(pair.first.rawValue), \(moment), and \(pair.second.rawValue): \(error)")
    }
  }
}
