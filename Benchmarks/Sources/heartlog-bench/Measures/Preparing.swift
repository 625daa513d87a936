import CPeers
import Heartlog

/// Makes what other measures open.
struct Preparing {
  /// Writes a whole trace into a store, makes it small, and closes it.
  static func prepare(_ peer: String, _ arguments: Arguments) throws {
    let trace = try Trace(try arguments.text("trace"), limit: try arguments.number("count"))
    let store = try open(peer, try arguments.text("folder"), trace, .buffered)
    if let heartlog = store as? HeartlogPeer {
      try heartlog.commitAtTheirTimes(0..<trace.count)
    } else {
      try store.commit(0..<trace.count, by: 1_000)
    }
    try store.check(trace.favoriteCount)
    try store.compact()
    if let heartlog = store as? HeartlogPeer { try Snapshots.take(of: heartlog.store) }
    try store.close()
  }

  /// Toggles favorites of a store whose snapshot is there already, and leaves it as a crash does: without a new one.
  static func tail(_ peer: String, _ arguments: Arguments) throws {
    let count = try arguments.number("count")
    let trace = try Trace(try arguments.text("trace"))
    let store = try HeartlogPeer(try arguments.text("folder"), trace, .buffered)
    // The first stays a favorite: the openings ask for it.
    for place in 1...count { try store.papers.toggle(trace.steps[place * 7 % trace.count].id) }
    try store.flush()
    bench_vanish()
  }
}
