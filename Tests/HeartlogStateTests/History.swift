import HeartlogFormat
import TestSupport

/// Commits of several replicas with skewed clocks that hear of each other now and then.
struct History {
  let commits: [Commit]

  static let libraries = ["papers", "books", "x.custom"]
  /// Two of them differ only in their normal form, one is longer than any inline string.
  static let items =
    ["caf\u{e9}", "cafe\u{301}", "a", "b", "quant-ph/0201082v1", String(repeating: "long/", count: 30)]
    + (0..<6).map { "item-\($0)" }
  static let fieldNames = [
    "title", "caf\u{e9}", "cafe\u{301}", "@note", "position", "a-rather-long-field-name",
  ]

  init(seed: UInt64, commitCount: Int) {
    var generator = SeededGenerator(seed: seed)
    var writers = (0..<UInt64(Int.random(in: 2...5, using: &generator))).map { _ in
      StreamWriter(generator.next())
    }
    let clocks = writers.map { _ in WallClock.random(&generator) }
    var commits: [Commit] = []
    for step in 0..<commitCount {
      let index = writers.indices.randomElement(using: &generator) ?? 0
      if generator.isTrue(oneIn: 6), let heard = commits.randomElement(using: &generator) {
        writers[index].hear(heard)
      }
      // Two steps share a millisecond, so that replicas' stamps tie.
      let wallTime = clocks[index].time(1_700_000_000_000 + Milliseconds(step / 2), &generator)
      let records = (0..<Int.random(in: 1...5, using: &generator)).map { _ in Self.record(&generator) }
      commits.append(writers[index].commit(at: wallTime, records))
    }
    self.commits = commits
  }

  /// How the clock of a device goes.
  private enum WallClock {
    case skewed(Milliseconds)
    case stuck(Milliseconds)
    /// By hours, there and back.
    case jumping

    static func random(_ generator: inout SeededGenerator) -> WallClock {
      switch Int.random(in: 0..<5, using: &generator) {
      case 0: .stuck(1_700_000_000_000 + .random(in: -20...20, using: &generator))
      case 1: .jumping
      default: .skewed(.random(in: -4...4, using: &generator))
      }
    }

    func time(_ now: Milliseconds, _ generator: inout SeededGenerator) -> Milliseconds {
      switch self {
      case .skewed(let skew): now + skew
      case .stuck(let time): time
      case .jumping:
        generator.isTrue(oneIn: 4) ? now + .random(in: -3...3, using: &generator) * 3_600_000 : now
      }
    }
  }

  private static func record(_ generator: inout SeededGenerator) -> EventRecord {
    if generator.isTrue(oneIn: 12) { return .withheld(SHA256Hasher.digest(of: [1])) }
    if generator.isTrue(oneIn: 12) { return .unknown(kind: 9, bytes: [1, 2]) }
    let action: Action =
      [.added, .removed, .toggled(on: true), .toggled(on: false), .changed]
      .randomElement(using: &generator) ?? .changed
    let date: Milliseconds? =
      action.isFavorite == true && generator.isTrue(oneIn: 3)
      ? .random(in: -5...5, using: &generator) * 1000 : nil
    let names = fieldNames.filter { _ in generator.isTrue(oneIn: 4) }
      .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    return .event(
      Event(
        library: libraries.randomElement(using: &generator) ?? "papers",
        item: items.randomElement(using: &generator) ?? "a", action: action, favoritedDate: date,
        fields: names.map {
          Field(name: $0, value: value(&generator), isQuiet: generator.isTrue(oneIn: 2))
        }))
  }

  private static func value(_ generator: inout SeededGenerator) -> FieldValue {
    switch Int.random(in: 0..<8, using: &generator) {
    case 0, 1, 2: .null
    case 3: .bool(generator.isTrue(oneIn: 2))
    case 4: .int64(Int64.random(in: -3...3, using: &generator))
    case 5: .double(Double(Int.random(in: 0...3, using: &generator)) + 0.5)
    case 6:
      .string(
        ["", "caf\u{e9}", "cafe\u{301}", "a longer text than fits inline"].randomElement(using: &generator)
          ?? "")
    default: .unknown(tag: 7, bytes: [UInt8.random(in: 0...3, using: &generator)])
    }
  }
}
