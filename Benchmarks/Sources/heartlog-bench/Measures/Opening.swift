import CPeers

/// Opening a store of favorites in a process that has opened another one, looking one up, and reading the first page.
struct Opening {
  static let pageLength = 50

  static func run(_ peer: String, _ arguments: Arguments) throws {
    let measure = arguments.command
    let folder = try arguments.text("folder")
    let name = try arguments.text("name")
    let trace = try Trace(try arguments.text("trace"), limit: 1)
    func report(_ what: String, _ unit: String, _ value: Double) {
      Sample(measure: measure, peer: peer, name: name + what, unit: unit, value: value).report()
    }
    // The code of the peer is loaded by then, as in an app that has opened any store before; the store's bytes are not.
    if let other = arguments.textIfGiven("after") {
      let store = try open(peer, other, trace).store
      if measure == "open" { try store.close() }
    }
    let residentBefore = bench_resident_bytes()
    let (store, milliseconds) = try open(peer, folder, trace)
    report("", "ms", milliseconds)
    withExtendedLifetime(store) {
      let resident = Double(bench_resident_bytes()) - Double(residentBefore)
      if arguments.textIfGiven("after") != nil || measure != "open" {
        report(", memory", "MB", resident / 1e6)
      }
      // Closing a store with a tail may write a snapshot: nothing would be left to measure.
      bench_vanish()
    }
  }

  private static func open(
    _ peer: String, _ folder: String, _ trace: Trace
  ) throws -> (store: any Peer, milliseconds: Double) {
    let started = bench_now()
    let store = try heartlog_bench.open(peer, folder, trace, .durable)
    let isFavorite = store.isFavorite(0)
    let count = store.page(pageLength)
    let nanoseconds = bench_now() - started
    guard isFavorite, count == pageLength else { throw Failure("the page has \(count) favorites") }
    return (store, Double(nanoseconds) / 1e6)
  }
}
