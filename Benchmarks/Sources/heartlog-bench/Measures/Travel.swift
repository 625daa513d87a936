import CPeers
import Heartlog

/// The state at half of all events.
struct Travel {
  static func run(_ peer: String, _ arguments: Arguments) throws {
    let trace = try Trace(try arguments.text("trace"))
    let half = trace.count / 2
    let expected = try Trace(try arguments.text("trace"), limit: half).favoriteCount
    let store = try HeartlogPeer(try arguments.text("folder"), trace, .durable)
    let times = try (0..<5).map { _ in
      let started = bench_now()
      let state = try store.store.state(at: .milliseconds(trace.steps[half - 1].time))
      let count = state.counts(of: "papers").favorites
      let nanoseconds = bench_now() - started
      guard count == expected else { throw Failure("there were \(expected) favorites, not \(count)") }
      return nanoseconds
    }
    Sample(measure: "travel", peer: peer, name: "half", unit: "ms", value: Times(times).median / 1e6)
      .report()
    bench_vanish()
  }
}
