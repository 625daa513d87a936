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
    // All threads are counted: a snapshot in the background would be too.
    let store = try HeartlogPeer(
      folder, trace, operation == "buffered" ? .buffered : .durable, snapshots: .manual)
    var random = SplitMix(state: 11)
    let ids = (0..<count + 100).map { _ in trace.steps[Int.random(in: 0..<trace.count, using: &random)].id }
    // The first makes the segment, takes the lock and whatever else is done once.
    for id in ids[count...] { try store.papers.toggle(id) }
    if operation.hasPrefix("typed") { return try typed(operation, store, Array(ids[..<count])) }
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

  /// The same through `Favorites<Paper>`, as an app has it: it holds the items that it toggles.
  private static func typed(_ operation: String, _ store: HeartlogPeer, _ ids: [String]) throws {
    let papers = try store.store.favorites(of: Paper.self, in: "papers")
    // Some ids are of books, which are no papers.
    let known = ids.compactMap { try? papers.item($0) }
    guard let first = known.first else { throw Failure("the papers cannot be read") }
    let items = ids.indices.map { known[$0 % known.count] }
    // The first of a type learns its fields.
    try papers.toggle(first)
    try report(operation) {
      for item in items {
        if operation == "typed toggle" {
          try papers.toggle(item)
        } else {
          guard try papers.item(item.id) != nil else { throw Failure("an item is gone") }
        }
      }
      return items.count
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
