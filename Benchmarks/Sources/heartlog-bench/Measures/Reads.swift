import CPeers
import Heartlog
import Traces

/// Reading as apps and people do: items of a type, a search, statistics, a page behind many writes.
struct Reads {
  static func run(_ peer: String, _ arguments: Arguments) throws {
    // The trace adds every item once: all of them are favorites.
    let trace = try Trace(try arguments.text("trace"), limit: try arguments.number("items"))
    let folder = try arguments.text("folder")
    // The beginning of a title, which few others have.
    let word = String((Catalog.metadata(3).last?.value ?? "").prefix(9))
    let expected = trace.steps.count { $0.holds(word) }
    guard expected > 0 else { throw Failure("nothing holds \(word)") }
    func check(_ found: Int) throws {
      guard found == expected else { throw Failure("\(found) of \(expected) were found") }
    }
    func report(_ name: String, _ unit: String, _ value: Double) {
      Sample(measure: "reads", peer: peer, name: name, unit: unit, value: value).report()
    }
    /// The median of some passes, in nanoseconds.
    func time(_ passes: Int = 9, _ pass: () throws -> Void) rethrows -> Double {
      try pass()
      let times = try (0..<passes).map { _ in
        let started = bench_now()
        try pass()
        return bench_now() - started
      }
      return Times(times).median
    }
    guard peer == "heartlog" else {
      let store = try CPeer(peer, folder, trace, .durable)
      report("search", "ms", try time { try check(store.search(word)) } / 1e6)
      report("page of 50", "µs", time(99) { _ = store.page(50) } / 1e3)
      bench_vanish()
    }
    let store = try HeartlogPeer(folder, trace, .durable, snapshots: .manual).store
    let papers = try store.favorites(of: Paper.self, in: "papers")
    let ids = papers.list(limit: 1_000).map(\.id)
    guard ids.count == 1_000 else { throw Failure("the papers cannot be read") }
    report("item", "µs", try time { for id in ids { _ = try papers.item(id) } } / 1e6)
    report("list of 50", "µs", time(99) { _ = papers.list(limit: 50) } / 1e3)
    report("list of all", "ms", time { _ = papers.list() } / 1e6)
    report("sorted by title", "ms", try time { _ = try papers.query.sorted(by: \.title).items() } / 1e6)
    report(
      "50 of a filter", "ms",
      try time { _ = try papers.query.filter { $0.id.hasSuffix("7") }.limit(50).items() } / 1e6)
    report("search", "ms", try time { try check(papers.library.search(word).count) } / 1e6)
    report("statistics", "ms", try time(3) { _ = try papers.library.statistics(by: .week) } / 1e6)
    bench_vanish()
  }

  /// A page of items as the state has them, with what was written since the snapshot among them.
  static func page(_ peer: String, _ arguments: Arguments) throws {
    let trace = try Trace(try arguments.text("trace"), limit: 1)
    let store = try HeartlogPeer(try arguments.text("folder"), trace, .durable, snapshots: .manual)
    let times = try (0..<99).map { _ in
      let started = bench_now()
      guard store.page(50) == 50 else { throw Failure("the page is not full") }
      return bench_now() - started
    }
    Sample(
      measure: "reads", peer: peer, name: try arguments.text("name"), unit: "µs",
      value: Times(times).median / 1e3
    ).report()
    bench_vanish()
  }
}
