import Heartlog
import HeartlogLibraries

/// The kind of an argument or of an option's value: the parser checks it, and shells complete it.
enum ValueKind: Hashable, Sendable {
  case text
  case library
  case item
  /// The first digits of a device's id, or its name.
  case replica
  /// The name of a collection.
  case collection
  case field
  case json
  /// A whole number, 0 or more.
  case count
  /// A WHEN: a time, a date, an event, or a commit.
  case moment
  /// A time or a date.
  case date
  /// An event as `log` shows it.
  case event
  case file
  case directory
  /// A PEER: a directory, or an address.
  case peer
  /// The name of a command.
  case command
  case choice([String])

  /// The libraries with a descriptor.
  static let libraries = LibraryRegistry.standard.names

  static let shells = ["bash", "zsh", "fish"]

  /// Throws if `text` cannot be a value of this kind. `label` names the argument in the message.
  func check(_ text: String, label: String, clock: LocalClock) throws(CommandError) {
    switch self {
    case .text, .json, .field, .command, .replica, .collection: break
    case .library: try Self.checkLibrary(text)
    case .item: try Self.checkItem(text)
    case .count:
      guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), Int(text) != nil
      else { throw .usage("\(label) needs a whole number, not \(Quoted(text))") }
    case .moment: _ = try Moment(text, label: label, clock: clock)
    case .date:
      guard Moment.time(text, clock: clock) != nil else {
        let kind = Moment.event(text) != nil ? "the event " : Moment.commit(text) != nil ? "the commit " : ""
        throw .usage("\(label) needs a date or a time, not \(kind)\(Quoted(text))", hint: Moment.timeHint)
      }
    case .event:
      guard Moment.event(text) != nil else {
        throw .usage(
          "\(label) needs an event, not \(Quoted(text))",
          hint: "Write it as \"heartlog log\" and \"heartlog conflicts\" show it, like \(Moment.eventForm).")
      }
    case .file, .directory, .peer:
      guard !text.isEmpty else { throw .usage("\(label) is empty") }
    case .choice(let words):
      guard words.contains(text) else {
        let list = words.joined(separator: ", ")
        throw .usage(
          "\(label) must be one of \(list), not \(Quoted(text))",
          hint: NearestMatch.hint(for: text, among: words))
      }
    }
  }

  static func checkLibrary(_ text: String) throws(CommandError) {
    do { try NameRules.checkLibrary(text) } catch {
      throw .usage(
        "\(Quoted(text)) is not a valid library name",
        hint:
          "A library name has 1 to \(Limits.libraryBytesMax) characters of a-z, 0-9, -, _ and the full stop.")
    }
  }

  private static func checkItem(_ text: String) throws(CommandError) {
    do { try NameRules.checkItem(text) } catch {
      throw .usage(
        text.isEmpty ? "the ID is empty" : "\(Quoted(text)) is not a valid ID",
        hint: "An ID has 1 to \(Quantity.count(Limits.itemBytesMax)) bytes and no control characters.")
    }
  }
}

/// Finds the word that was probably meant.
enum NearestMatch {
  /// `Did you mean "list"?`, or nil if no word is near.
  static func hint(for word: String, among known: [String]) -> String? {
    nearest(to: word, among: known).map { "Did you mean \"\($0)\"?" }
  }

  /// The nearest of `known` by edit distance, the first if several are equally near; nil if more than a third of the letters
  /// differ. A prefix of two letters or more counts as near.
  static func nearest(to word: String, among known: [String]) -> String? {
    // The distance takes quadratic time, and no known word is that long.
    guard (1...64).contains(word.count) else { return nil }
    var best: (word: String, distance: Int)?
    for candidate in known {
      let distance = distance(Array(word), Array(candidate))
      let isBeginning = bare(word).count >= 2 && bare(candidate).hasPrefix(bare(word))
      let limit = isBeginning ? Int.max : max(1, max(word.count, candidate.count) / 3)
      if distance <= limit, distance < best?.distance ?? Int.max { best = (candidate, distance) }
    }
    return best?.word
  }

  private static func bare(_ word: String) -> Substring { word.drop { $0 == "-" } }

  /// Counts insertions, deletions, replacements and swaps of neighbors (optimal string alignment).
  static func distance(_ a: [Character], _ b: [Character]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...b.count)
    for i in a.indices {
      var row = [i + 1]
      for j in b.indices {
        var cost = min(last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { cost = min(cost, beforeLast[j - 1] + 1) }
        row.append(cost)
      }
      beforeLast = last
      last = row
    }
    return last[b.count]
  }
}
