import CPeers
import Heartlog
import Synchronization

/// How long durable commits wait while a snapshot is written beside them.
struct Beside {
  static func run(_ peer: String, _ arguments: Arguments) throws {
    let count = try arguments.number("count")
    let trace = try Trace(try arguments.text("trace"))
    let store = try HeartlogPeer(try arguments.text("folder"), trace, .durable)
    var place = 0
    func toggle() throws -> UInt64 {
      place += 7
      let started = bench_now()
      try store.papers.toggle(trace.steps[place % trace.count].id)
      return bench_now() - started
    }
    let usual = Times(try (0..<count).map { _ in try toggle() })

    let outcome = Mutex<Result<UInt64, any Error>?>(nil)
    let isWriting = Atomic(true)
    var beside: [UInt64] = []
    var failure: (any Error)?
    let snapshotting = store.store
    let writer = Thread {
      let started = bench_now()
      let result = Result {
        try Snapshots.take(of: snapshotting)
        return bench_now() - started
      }
      outcome.withLock { $0 = result }
      isWriting.store(false, ordering: .releasing)
    }
    do {
      while isWriting.load(ordering: .acquiring) || beside.count < count { beside.append(try toggle()) }
    } catch {
      failure = error
    }
    writer.join()
    if let failure { throw failure }
    guard let snapshot = try outcome.withLock({ $0 })?.get() else { throw Failure("no snapshot was taken") }
    func report(_ name: String, _ unit: String, _ value: Double) {
      Sample(measure: "beside", peer: peer, name: name, unit: unit, value: value).report()
    }
    report("usual p99", "µs", usual.quantile(0.99) / 1_000)
    report("longest", "µs", Times(beside).max / 1_000)
    report("the snapshot", "ms", Double(snapshot) / 1e6)
    bench_vanish()
  }
}
