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

  /// The most steps of a workload.
  package static let stepsMax = 4

  /// Sequences of four steps in which each one meets what the others left behind: there are too many for all.
  private static let longWorkloads: [[CrashStep]] = [
    // What is buffered, when it may no longer be.
    [.appendBuffered, .rotate, .appendBuffered, .flush],
    [.appendBuffered, .appendElsewhere, .appendBuffered, .append],
    [.rotate, .appendBuffered, .seal, .flush],
    [.appendBuffered, .receive, .appendBuffered, .snapshot],
    // Sealed files that are joined, over and beside open ones.
    [.rotate, .seal, .rotate, .seal],
    [.rotate, .rotate, .seal, .appendElsewhere],
    [.seal, .receive, .receive, .seal],
    [.rotate, .appendElsewhere, .seal, .repair],
    // Snapshots of what is then changed.
    [.snapshot, .append, .erase, .snapshot],
    [.rotate, .snapshot, .seal, .append],
    [.snapshot, .repair, .append, .snapshot],
    [.receive, .snapshot, .receive, .erase],
    // Erasures of what is sealed, received, buffered beside, or repaired.
    [.rotate, .seal, .erase, .erase],
    [.erase, .receive, .seal, .erase],
    [.appendBuffered, .erase, .appendBuffered, .repair],
    [.erase, .repair, .erase, .append],
    // Identities that change between writes.
    [.repair, .append, .repair, .appendElsewhere],
    [.repair, .rotate, .seal, .repair],
    [.receive, .repair, .receive, .append],
    [.appendElsewhere, .repair, .appendElsewhere, .seal],
  ]

  /// What a process meets that another one left behind when it was killed.
  private static let interruptedWorkloads: [[CrashStep]] = [
    [.sealHalfElsewhere, .append], [.sealHalfElsewhere, .seal],
    [.sealHalfOfReceivedElsewhere, .receive], [.sealHalfOfReceivedElsewhere, .seal],
  ]

  /// All sequences of `length` ordinary steps, and of two those that follow a process that was killed; of four, those that are most
  /// likely to show something.
  package static func workloads(ofLength length: Int) -> [[CrashStep]] {
    precondition((1...stepsMax).contains(length))
    if length == stepsMax { return longWorkloads }
    var found: [[CrashStep]] = [[]]
    for _ in 0..<length { found = found.flatMap { start in CrashStep.ordinary.map { start + [$0] } } }
    return length == 2 ? interruptedWorkloads + found : found
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
