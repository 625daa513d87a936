import CPeers

/// From the log alone to a state that can be asked, on one core.
struct Replay {
  static func run(_ peer: String, _ arguments: Arguments) throws {
    let name = try arguments.text("name")
    bench_stay_on_one_core()
    let path = try arguments.text("trace")
    func report(_ what: String, _ nanoseconds: Double, _ events: Int) {
      Sample(
        measure: "replay", peer: what, name: name, unit: "ns/event", value: nanoseconds / Double(events)
      ).report()
    }
    if peer == "raw" {
      let trace = try Trace(path)
      report("lz4", bench_lz4_decoding(trace.text.baseAddress, trace.text.count), trace.count)
      report("memory", bench_memory_reading(trace.text.baseAddress, trace.text.count), trace.count)
      return
    }
    let folder = try arguments.text("folder")
    try Snapshots.remove(from: folder)
    // The first operation adds an item: one id is enough to ask for.
    let trace = try Trace(path, limit: 1)
    let started = bench_computed()
    let store = try HeartlogPeer(folder, trace, .durable)
    let isKnown = store.item(0) > 0
    let nanoseconds = bench_computed() - started
    let events = store.store.read { $0.eventCount }
    guard isKnown, events > 0 else { throw Failure("the replay forgot its first item") }
    report(peer, Double(nanoseconds), Int(events))
    bench_vanish()
  }
}
