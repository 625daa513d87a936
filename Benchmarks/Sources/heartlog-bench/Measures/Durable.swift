import CPeers

/// One writer, one event a commit, each waited for.
struct Durable {
  static func run(_ peer: String, _ arguments: Arguments) throws {
    let before = try arguments.number("before")
    let count = try arguments.number("count")
    let trace = try Trace(try arguments.text("trace"), limit: before + count)
    let store = try open(peer, try arguments.text("folder"), trace, .durable)
    try store.commit(0..<before, by: 1_000)
    var times: [UInt64] = []
    times.reserveCapacity(count)
    for place in before..<before + count {
      let started = bench_now()
      try store.commit(place..<place + 1)
      times.append(bench_now() - started)
    }
    try store.check(trace.favoriteCount)
    let sorted = Times(times)
    Sample(measure: "durable", peer: peer, name: "p50", unit: "µs", value: sorted.median / 1_000).report()
    Sample(measure: "durable", peer: peer, name: "p99", unit: "µs", value: sorted.quantile(0.99) / 1_000)
      .report()
  }
}
