import CPeers
import Traces

/// The calls that an app makes with its own item type, among 100,000 favorites.
struct Typed {
  private static let pageLength = 50
  private static let passes = 9
  private static let bufferedToggle = "buffered toggle"

  /// The papers of the trace, and what is asked of them.
  private struct Questions {
    let papers: [PaperOnTrace]
    /// Some of the papers, in random order.
    let picked: [PaperOnTrace]
    /// Of 4 ids, 3 are there.
    let asked: [String]
    let askedThere: Int
    /// The beginning of a title, which few others have, and two syllables, which many have; how many hold each.
    let few, many: (text: String, count: Int)

    init(_ arguments: Arguments) throws {
      let items = try arguments.number("items")
      let trace = try Trace(try arguments.text("trace"))
      papers = try trace.steps[..<items].map(PaperOnTrace.init)
      var random = SplitMix(state: 11)
      picked = Array(papers.shuffled(using: &random).prefix(20_000))
      let missing = trace.steps[items...]
      asked = picked.enumerated().map { index, paper in
        index % 4 == 3 ? (missing.randomElement(using: &random)?.id ?? "") : paper.paper.id
      }
      askedThere = asked.count - asked.count / 4
      func counted(_ text: String) -> (String, Int) {
        (text, trace.steps[..<items].count { $0.holds(text) })
      }
      few = counted(String((Catalog.metadata(3).last?.value ?? "").prefix(9)))
      many = counted("quaste")
      guard few.count > 0, many.count > few.count else { throw Failure("nothing holds \(few.text)") }
    }
  }

  private struct Call {
    let name: String
    let unit: String
    /// Nanoseconds of the unit.
    let scale: Double
    let operations: Int
    /// Whether it waits for the disk. All others are measured in processor time, which other programs do not lengthen.
    var waits = false
    let pass: (any PaperPeer) throws -> Void
  }

  /// Makes a store that holds the papers.
  static func prepare(_ peer: String, _ arguments: Arguments) throws {
    let papers = try Questions(arguments).papers
    let folder = try arguments.text("folder")
    let stores = try PaperStores(peer, in: folder, .buffered)
    for peer in stores.separate {
      for start in stride(from: 0, to: papers.count, by: 1_000) {
        try peer.add(papers[start..<min(papers.count, start + 1_000)])
      }
    }
    try stores.close()
    try PaperStores.compact(peer, in: folder)
  }

  /// Times all calls. The two ways over a store take turns, pass by pass.
  static func run(_ peer: String, _ arguments: Arguments) throws {
    let questions = try Questions(arguments)
    let folder = try arguments.text("folder")
    for waiting in [Waiting.buffered, .durable] {
      let stores = try PaperStores(peer, in: folder, waiting)
      for call in waiting == .durable ? [toggle(questions, waiting)] : calls(questions) {
        try time(call, stores)
      }
      try stores.close()
    }
    try PaperStores.compact(peer, in: folder)
  }

  /// Counts the instructions of one call under callgrind.
  static func count(_ peer: String, _ arguments: Arguments) throws {
    let questions = try Questions(arguments)
    let name = try arguments.text("call")
    let way = try arguments.text("way")
    let folder = try arguments.text("folder")
    let stores = try PaperStores(peer, in: folder, .buffered)
    guard let call = calls(questions).first(where: { $0.name == name }),
      let papers = stores.peers.first(where: { $0.name == way })?.peer
    else { throw Failure("there is no call \(name) of \(way)") }
    try call.pass(papers)
    bench_start_counting()
    try call.pass(papers)
    bench_stop_counting()
    Sample(measure: "typed", peer: way, name: "operations", unit: "", value: Double(call.operations)).report()
    // What was written must not lie in the way of what is counted next.
    try stores.close()
    if name == Self.bufferedToggle { try PaperStores.compact(peer, in: folder) }
  }

  private static func time(_ call: Call, _ stores: PaperStores) throws {
    let clock = call.waits ? bench_now : bench_computed
    var times = Array(repeating: [UInt64](), count: stores.peers.count)
    for pass in 0...passes {
      for (index, (_, peer)) in stores.peers.enumerated() {
        let started = clock()
        try call.pass(peer)
        // The first pass makes what it asks for warm.
        if pass > 0 { times[index].append(clock() - started) }
      }
    }
    for ((name, _), times) in zip(stores.peers, times) {
      Sample(
        measure: "typed", peer: name, name: call.name, unit: call.unit,
        value: Times(times).median / Double(call.operations) / call.scale
      ).report()
    }
  }

  private static func calls(_ questions: Questions) -> [Call] {
    func expect(_ count: Int, _ expected: Int) throws {
      guard count == expected else { throw Failure("there were \(count), and should be \(expected)") }
    }
    func search(_ name: String, _ wanted: (text: String, count: Int)) -> Call {
      Call(name: name, unit: "ms", scale: 1e6, operations: 1) { peer in
        try expect(peer.search(wanted.text), wanted.count)
      }
    }
    return [
      Call(name: "contains", unit: "µs", scale: 1e3, operations: questions.asked.count) { peer in
        try expect(questions.asked.count { try peer.contains($0) }, questions.askedThere)
      },
      Call(name: "item", unit: "µs", scale: 1e3, operations: questions.picked.count) { peer in
        try expect(questions.picked.count { try peer.item($0.paper.id) > 0 }, questions.picked.count)
      },
      Call(name: "list of 50", unit: "µs", scale: 1e3, operations: 100) { peer in
        for _ in 0..<100 { try expect(peer.list(limit: pageLength), pageLength) }
      },
      search("search for few", questions.few),
      search("search for many", questions.many),
      toggle(questions, .buffered),
    ]
  }

  /// Toggles papers that are favorites off, and on again.
  private static func toggle(_ questions: Questions, _ waiting: Waiting) -> Call {
    let papers = questions.picked.prefix(waiting == .durable ? 100 : 2_000)
    return Call(
      name: waiting == .durable ? "durable toggle" : bufferedToggle, unit: "µs", scale: 1e3,
      operations: 2 * papers.count, waits: waiting == .durable
    ) { peer in
      for isFavorite in [false, true] {
        for paper in papers {
          guard try peer.toggle(paper) == isFavorite else { throw Failure("a toggle went the other way") }
        }
      }
    }
  }
}
