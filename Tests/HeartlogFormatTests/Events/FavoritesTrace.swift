import TestSupport

@testable import HeartlogFormat

/// Makes the stream of somebody who collects papers and listens to books: about 14 % adds, the first of each
/// item with 130 bytes of metadata, 70 % toggles, 6 % removals and 10 % positions in a book. Items are drawn
/// by Zipf's law from a tenth as many as there are events; one commit an event, minutes apart.
struct FavoritesTrace {
  private var random: SeededGenerator
  private let papers: Zipf
  private let books: Zipf
  private var states: [Int: State] = [:]
  private var seen: Set<Int> = []
  private var clock = HybridClock()
  private var wallTime: Milliseconds = 1_700_000_000_000
  private var number: UInt64 = 1

  private enum State { case on, off }

  init(events: Int, seed: UInt64 = 7) {
    random = SeededGenerator(seed: seed)
    papers = Zipf(count: max(10, events / 10), using: &random)
    books = Zipf(count: max(10, events / 200), using: &random)
  }

  mutating func commits(_ count: Int) -> [Commit] { (0..<count).map { _ in commit() } }

  private mutating func commit() -> Commit {
    // Minutes between taps: an exponential distribution around 4 of them.
    let unit = Double(random.next() >> 11) / 9_007_199_254_740_992
    wallTime += 1 + Int64(-240_000 * logarithm(1 - unit))
    let event = event()
    defer { number += 1 }
    return Commit(
      replica: CommitGenerator.replica, number: CommitNumber(rawValue: number),
      firstSequence: SequenceNumber(rawValue: number), stamp: clock.next(wallTime: wallTime)!,
      wallTime: wallTime, origin: "app", records: [.event(event)])
  }

  private mutating func event() -> Event {
    if random.chance(10) {
      let book = books.next(using: &random)
      let position = Double(random.next() % 1_000_000) / 1_000_000
      return Event(
        library: "books", item: bookID(book), action: .changed,
        fields: [
          Field(name: "currentPosition", value: .number(position) ?? .null, isQuiet: true)
        ])
    }
    let paper = papers.next(using: &random)
    guard let state = states[paper] else {
      states[paper] = .on
      return Event(
        library: "papers", item: paperID(paper), action: .added,
        fields: seen.insert(paper).inserted ? metadata(paper) : [])
    }
    if random.chance(8) {
      states[paper] = nil
      return Event(library: "papers", item: paperID(paper), action: .removed)
    }
    states[paper] = state == .on ? .off : .on
    return Event(library: "papers", item: paperID(paper), action: .toggled(on: state == .off))
  }

  // Ids and metadata depend on the item alone.

  private func paperID(_ paper: Int) -> String {
    var random = SeededGenerator(seed: UInt64(31 * paper + 5))
    let year = 15 + random.next() % 10
    let month = 1 + random.next() % 12
    return "\(year)\(padded(month, 2)).\(padded(UInt64(paper % 100_000), 5))v\(1 + random.next() % 4)"
  }

  private func bookID(_ book: Int) -> String {
    var random = SeededGenerator(seed: UInt64(77 * book + 3))
    let id = ReplicaID.random(using: &random)
    return id.bytes.withUnsafeBytes { UUIDText.text($0, isUpper: true) }
  }

  private func metadata(_ paper: Int) -> [Field] {
    var random = SeededGenerator(seed: UInt64(1_000_003 * paper + 17))
    var title = Words.word(skewed: 3_000, using: &random).capitalizedFirst
    while title.utf8.count < 56 { title += " " + Words.word(skewed: 3_000, using: &random) }
    var authors = ""
    while authors.utf8.count < 72 {
      if !authors.isEmpty { authors += ", " }
      authors += Words.word(skewed: 400, using: &random).capitalizedFirst
      authors += " " + Words.word(skewed: 3_000, using: &random).capitalizedFirst
    }
    let categories = [
      "cs.LG", "cs.DC", "cs.DB", "cs.CL", "cs.CV", "stat.ML", "math.OC", "quant-ph", "hep-th",
    ]
    let chosen = (0..<[1, 1, 2, 3].randomElement(using: &random)!).map { _ in
      categories.randomElement(using: &random)!
    }
    let day = 1_420_070_400_000 + Int64(random.next() % 315_000_000) * 1_000
    return [
      Field(name: "authors", value: .string(authors)),
      Field(name: "categories", value: .string(chosen.joined(separator: " "))),
      Field(name: "published", value: .string(RFC3339.text(milliseconds: day, withFraction: false)!)),
      Field(name: "title", value: .string(title)),
    ]
  }

  private func padded(_ number: UInt64, _ digits: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, digits - text.count)) + text
  }

  /// The natural logarithm of a number in 0 < x ≤ 1, by halving and a series: no C library needed.
  private func logarithm(_ value: Double) -> Double {
    var value = value
    var result = 0.0
    while value < 0.5 {
      value *= 2
      result -= 0.693_147_180_559_945_3
    }
    let ratio = (value - 1) / (value + 1)
    var power = ratio
    for term in stride(from: 1.0, to: 31, by: 2) {
      result += 2 * power / term
      power *= ratio * ratio
    }
    return result
  }
}

/// Draws places by Zipf's law with exponent 1, in shuffled order.
private struct Zipf {
  private var cumulated: [Double] = []
  private let order: [Int]

  init(count: Int, using random: inout SeededGenerator) {
    var sum = 0.0
    for place in 0..<count {
      sum += 1 / Double(place + 1)
      cumulated.append(sum)
    }
    order = Array(0..<count).shuffled(using: &random)
  }

  func next(using random: inout SeededGenerator) -> Int {
    let drawn = Double(random.next() >> 11) / 9_007_199_254_740_992 * cumulated[cumulated.count - 1]
    return order[min(cumulated.partitionPoint { $0 >= drawn }, order.count - 1)]
  }
}

/// Invented words, made of syllables.
private enum Words {
  private static let syllables: [String] = {
    var syllables: [String] = []
    for first in [
      "b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr", "pl", "qu",
    ] {
      for vowel in ["a", "e", "i", "o", "u", "io", "ea"] {
        for last in ["", "n", "r", "l", "ti"] { syllables.append(first + vowel + last) }
      }
    }
    return syllables
  }()

  /// One of `count` words, the first ones more often.
  static func word(skewed count: Int, using random: inout SeededGenerator) -> String {
    let unit = Double(random.next() >> 11) / 9_007_199_254_740_992
    var word = SeededGenerator(seed: UInt64(Double(count) * unit * unit) + UInt64(count))
    return (0..<[1, 2, 2, 3].randomElement(using: &word)!)
      .map { _ in syllables.randomElement(using: &word)! }.joined()
  }
}

extension String {
  fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
