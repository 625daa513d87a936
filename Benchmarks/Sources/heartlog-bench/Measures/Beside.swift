import CPeers
import Glibc
import Heartlog
import Synchronization

/// How long durable commits wait while a snapshot is written beside them.
struct Beside {
  static func run(_ peer: String, _ arguments: Arguments) throws {
    let count = try arguments.number("count")
    let trace = try Trace(try arguments.text("trace"))
    func report(_ name: String, _ unit: String, _ value: Double) {
      Sample(measure: "beside", peer: peer, name: name, unit: unit, value: value).report()
    }
    func reportUsual(_ usual: Times) {
      report("usual p99", "µs", usual.quantile(0.99) / 1_000)
      report("usual longest", "µs", usual.max / 1_000)
    }
    guard peer == "heartlog" else {
      // The disk alone: how long its longest wait is without anything beside it.
      let store = try open(peer, try arguments.text("folder"), trace, .durable)
      return reportUsual(
        Times(
          try (0..<count).map { place in
            let started = bench_now()
            try store.commit(place..<place + 1)
            return bench_now() - started
          }))
    }
    let folder = try arguments.text("folder")
    try Snapshots.remove(from: folder)
    let before = try HeartlogPeer(folder, trace, .durable, snapshots: .manual)
    let events = try before.store.status().events
    try before.close()
    // The next one is due, and made in the background, when so many are written that all are usual.
    let policy = SnapshotPolicy(eventsMin: events + UInt64(count), eventsMinAtClose: .max)
    let store = try HeartlogPeer(folder, trace, .durable, snapshots: policy)
    var place = 0
    func toggle() throws -> UInt64 {
      place += 7
      let started = bench_now()
      try store.papers.toggle(trace.steps[place % trace.count].id)
      return bench_now() - started
    }
    reportUsual(Times(try (0..<count).map { _ in try toggle() }))

    let started = bench_now()
    let outcome = Mutex<Result<UInt64, any Error>?>(nil)
    let isWriting = Atomic(true)
    let watcher = Thread {
      let result = Result {
        while try Snapshots.count(in: folder) == 0 { usleep(1_000) }
        return bench_now() - started
      }
      outcome.withLock { $0 = result }
      isWriting.store(false, ordering: .releasing)
    }
    var beside: [UInt64] = []
    while isWriting.load(ordering: .acquiring) { beside.append(try toggle()) }
    watcher.join()
    guard let snapshot = try outcome.withLock({ $0 })?.get() else { throw Failure("no snapshot was taken") }
    let waits = Times(beside)
    report("p99 beside", "µs", waits.quantile(0.99) / 1_000)
    report("longest", "µs", waits.max / 1_000)
    report("the snapshot", "ms", Double(snapshot) / 1e6)
    bench_vanish()
  }
}
