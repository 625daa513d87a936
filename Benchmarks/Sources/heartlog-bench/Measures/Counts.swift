import CPeers
import Glibc
import Heartlog
import Traces

/// What does not wander: under callgrind, strace and a counter of allocations, each in a run of its own, the script takes the counts of a
/// process; here are the operations.
struct Counts {
  static func run(_ peer: String, _ arguments: Arguments) throws {
    let operation = try arguments.text("operation")
    let count = try arguments.number("count")
    let folder = try arguments.text("folder")
    if operation == "replay" {
      try Snapshots.remove(from: folder)
      let trace = try Trace(try arguments.text("trace"), limit: 1)
      return try report(operation) {
        let store = try HeartlogPeer(folder, trace, .durable)
        return Int(store.store.read { $0.eventCount })
      }
    }
    let trace = try Trace(try arguments.text("trace"))
    let store = try HeartlogPeer(folder, trace, operation == "buffered" ? .buffered : .durable)
    var random = SplitMix(state: 11)
    let ids = (0..<count + 100).map { _ in trace.steps[Int.random(in: 0..<trace.count, using: &random)].id }
    // The first makes the segment, takes the lock and whatever else is done once.
    for id in ids[count...] { try store.papers.toggle(id) }
    try report(operation) {
      if operation == "lookup" {
        var found = 0
        for id in ids[..<count] where store.papers.contains(id) { found += 1 }
        guard found > 0 else { throw Failure("nothing was found") }
      } else if operation == "item" {
        var found = 0
        for id in ids[..<count] where store.papers.item(id)?.fields.isEmpty == false { found += 1 }
        guard found > 0 else { throw Failure("nothing was found") }
      } else {
        for id in ids[..<count] { try store.papers.toggle(id) }
      }
      return count
    }
  }

  /// Counts what `body` does, which says how many operations that were.
  private static func report(_ operation: String, _ body: () throws -> Int) throws {
    let before = bench_allocations()
    bench_start_counting()
    let operations = try body()
    bench_stop_counting()
    let allocations = bench_allocations() - before
    func sample(_ name: String, _ unit: String, _ value: Double) -> Sample {
      Sample(measure: "counts", peer: operation, name: name, unit: unit, value: value)
    }
    sample("operations", "", Double(operations)).report()
    sample("allocations", "", Double(allocations)).report()
    bench_vanish()
  }
}
