import CPeers

/// A whole trace, as fast as it goes: in durable commits of many events, or in buffered ones of one.
struct Appends {
  /// Durable commits of 1,000 events.
  static func batches(_ peer: String, _ arguments: Arguments) throws {
    try run("batches", peer, arguments, .durable, by: 1_000)
  }

  /// Buffered commits of one event.
  static func buffered(_ peer: String, _ arguments: Arguments) throws {
    try run("buffered", peer, arguments, .buffered, by: 1)
  }

  private static func run(
    _ measure: String, _ peer: String, _ arguments: Arguments, _ waiting: Waiting, by count: Int
  ) throws {
    let trace = try Trace(try arguments.text("trace"), limit: try arguments.number("count"))
    let store = try open(peer, try arguments.text("folder"), trace, waiting)
    let started = bench_now()
    try store.commit(0..<trace.count, by: count)
    try store.flush()
    let seconds = Double(bench_now() - started) / 1e9
    try store.check(trace.favoriteCount)
    Sample(
      measure: measure, peer: peer, name: "rate", unit: "events/s", value: Double(trace.count) / seconds
    ).report()
  }
}
