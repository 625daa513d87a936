import Traces

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The trace as lines of text, which all peers read: what was done, when in milliseconds since 1970, to which item, with tabs between.
///
///     A  time  id  authors  categories  date  title    a new item is added
///     A  time  id                                      one that had been removed is added again
///     T  time  id  1 or 0                              toggled, and what it switched to
///     R  time  id                                      removed
///     P  time  id  value                               a position in a book
struct TraceFile {
  private let file: UnsafeMutablePointer<FILE>

  /// Writes a trace of favorites; where there are no more events than items, every event adds a new one.
  static func write(events: Int, items: Int, to path: String) throws {
    guard let file = fopen(path, "w") else { throw Failure("cannot write \(path)") }
    let lines = TraceFile(file: file)
    if events <= items {
      lines.writeAdds(events)
    } else {
      var trace = FavoritesTrace(items: items)
      for _ in 0..<events { lines.write(trace.next()) }
    }
    guard fclose(file) == 0 else { throw Failure("cannot write \(path)") }
  }

  private func writeAdds(_ count: Int) {
    var random = SplitMix(state: 7)
    var time: Int64 = 1_600_000_000_000
    for item in Array(0..<count).shuffled(using: &random) {
      time += 1 + Int64.random(in: 0..<480_000, using: &random)
      write(FavoritesTrace.Step(deed: .addNew, item: item, time: time))
    }
  }

  private func write(_ step: FavoritesTrace.Step) {
    let columns: [String] =
      switch step.deed {
      case .addNew:
        ["A", "\(step.time)", Catalog.paper(step.item)] + Catalog.metadata(step.item).map(\.value)
      case .addAgain: ["A", "\(step.time)", Catalog.paper(step.item)]
      case .toggle(let on): ["T", "\(step.time)", Catalog.paper(step.item), on ? "1" : "0"]
      case .remove: ["R", "\(step.time)", Catalog.paper(step.item)]
      case .position(let value): ["P", "\(step.time)", Catalog.book(step.item), "\(value)"]
      }
    fputs(columns.joined(separator: "\t") + "\n", file)
  }
}
