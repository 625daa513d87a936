import CPeers
import FoundationEssentials
import Heartlog

/// A store of a long life: what it takes on disk, and what its size does to an opening and to the log of one item.
struct Large {
  static func run(_ peer: String, _ arguments: Arguments) throws {
    let folder = try arguments.text("folder")
    // One paper among the first operations is enough to ask for.
    let trace = try Trace(try arguments.text("trace"), limit: 100)
    guard let paper = trace.steps.first(where: { $0.adds }) else {
      throw Failure("the trace begins without a paper")
    }
    func report(_ name: String, _ unit: String, _ value: Double) {
      Sample(measure: "large", peer: peer, name: name, unit: unit, value: value).report()
    }
    let started = bench_now()
    let store = try HeartlogPeer(folder, trace, .durable, snapshots: .manual)
    // Items that were removed and added again have no fields.
    guard store.page(Opening.pageLength) > 0 else { throw Failure("the store is empty") }
    report("opening", "ms", Double(bench_now() - started) / 1e6)

    let status = try store.store.status()
    let events = Double(status.events)
    // A position that is set to what it was is no event: a few of 5,000,000.
    let count = Double(try arguments.number("count"))
    guard events <= count, events > count * 0.9999 else { throw Failure("there are \(events) events") }
    let snapshots = Double(try Snapshots.bytes(in: folder))
    report("log", "MB", Double(status.bytes) / 1e6)
    report("snapshots", "MB", snapshots / 1e6)
    report("log, an event", "bytes", Double(status.bytes) / events)
    report("snapshots, an event", "bytes", snapshots / events)

    let log = [
      try arguments.text("command_line"), "--store", folder + "/favorites.heartlog", "log", "papers",
      paper.id,
    ]
    report("log of one item", "ms", try Program.median(of: log) / 1e6)
    bench_vanish()
  }
}
