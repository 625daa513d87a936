import CPeers
import Traces

/// Asking a warm store: is it a favorite, and what is known of it.
struct Lookup {
  /// Of 4 that are asked for, 3 are there.
  static func run(_ peer: String, _ arguments: Arguments) throws {
    let count = try arguments.number("count")
    let items = try arguments.number("items")
    let whole = try Trace(try arguments.text("trace"))
    var random = SplitMix(state: 11)
    // What is asked for lies in a row: finding the question in memory is not measured.
    let trace = whole.picking(
      (0..<count).map { number in
        number % 4 == 3
          ? Int.random(in: items..<whole.count, using: &random) : Int.random(in: 0..<items, using: &random)
      })
    let store = try open(peer, try arguments.text("folder"), trace, .durable)
    try store.check(items)
    let places = 0..<count
    var found = 0
    var sum = 0
    func time(_ name: String, _ pass: () -> Void) {
      // Warm: all that is asked for was looked at before, in the file and in memory.
      for _ in 0..<2 { pass() }
      let started = bench_now()
      pass()
      let nanoseconds = Double(bench_now() - started) / Double(count)
      Sample(measure: "lookup", peer: peer, name: name, unit: "ns", value: nanoseconds).report()
    }
    time("contains") { found = places.count { store.isFavorite($0) } }
    guard found == count - count / 4 else {
      throw Failure("\(found) of \(count) were found")
    }
    time("item") { for place in places { sum &+= store.item(place) } }
    guard sum > 0 else { throw Failure("the items are empty") }
    bench_vanish()
  }
}
