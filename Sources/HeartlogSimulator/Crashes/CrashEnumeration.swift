import Heartlog

/// Short workloads, each cut off after every file operation, with every subset of what was not yet synced lost, kept or torn.
package enum CrashEnumeration {
  /// Above this number of subsets: none, all, each alone, all but each, and random ones.
  static let subsetsMax = 1 << 10

  /// What was enumerated.
  package struct Counts: Sendable {
    /// Workloads, moments at which one was cut off, and states of the disk at these.
    package var workloads = 0
    package var points = 0
    package var states = 0
    /// The states that differ from all before.
    package var checked = 0

    package init() {}
  }

  /// All sequences of `length` steps.
  package static func workloads(ofLength length: Int) -> [[CrashStep]] {
    var found: [[CrashStep]] = [[]]
    for _ in 0..<length { found = found.flatMap { start in CrashStep.allCases.map { start + [$0] } } }
    return found
  }

  /// Checks the crashes in the last step of each workload.
  ///
  /// - Returns: what was found broken; nil if nothing was.
  package static func check(_ workloads: some Sequence<[CrashStep]>, _ counts: inout Counts) -> String? {
    var seen: Set<Digest> = []
    for workload in workloads {
      do { try CrashWorkload(workload).check(&counts, &seen) } catch {
        return "\(workload.map(\.rawValue).joined(separator: ", ")): \(error)"
      }
    }
    return nil
  }
}
