import HeartlogLibraries

/// The name of an author, split as in bibliographies. Joined again, the parts are the display name.
struct PersonName: Hashable, Sendable {
  /// The given name; empty for a name that is not split: of a group, or of one word.
  var given = ""
  /// The family name with its lower-case particles, "van Beethoven"; the whole of a name that is not split.
  var family: String
  var suffix = ""
  /// Whether the name must not be split, whatever commas and words it contains.
  var isLiteral = false

  /// The display form: given name, family name and suffix, separated by spaces.
  var display: String { [given, family, suffix].filter { !$0.isEmpty }.joined(separator: " ") }

  /// Splits a display name. The family name is the last word, with the lower-case words in front of it.
  init(display: String) {
    let words = display.split(separator: " ", omittingEmptySubsequences: false)
    let isOdd = words.contains { word in
      word.isEmpty || word.lowercased() == "and" || word.contains { $0 == "," || ($0.isWhitespace) }
    }
    guard !isOdd, words.count > 1, let last = words.last else {
      self.init(literal: display)
      isLiteral = isOdd || display.lowercased() == "others"
      return
    }
    guard !Self.groups.contains(last.lowercased()), words[0].lowercased() != "the" else {
      self.init(literal: display)
      return
    }
    let hasSuffix = words.count > 2 && Self.suffixes.contains(String(last))
    let nameEnd = words.count - (hasSuffix ? 1 : 0)
    var familyStart = nameEnd - 1
    while familyStart > 1, words[familyStart - 1].first?.isLowercase == true { familyStart -= 1 }
    self.init(
      given: words[..<familyStart].joined(separator: " "),
      family: words[familyStart..<nameEnd].joined(separator: " "), suffix: hasSuffix ? String(last) : "")
  }

  init(given: String, family: String, suffix: String) {
    self.given = given
    self.family = family
    self.suffix = suffix
  }

  init(literal: String) {
    family = literal
    isLiteral = true
  }

  /// Joins the parts of "Family, Given", "Family, Suffix, Given" or "Given Family".
  ///
  /// - Parameter suffixLast: whether three parts are "Family, Given, Suffix", as in RIS.
  init(parts: [String], suffixLast: Bool = false) {
    let parts = parts.map { $0.withoutOuterWhiteSpace }
    family = parts[0]
    switch parts.count {
    case 1: break
    case 2: given = parts[1]
    default:
      let rest = parts[2...].joined(separator: ", ")
      (given, suffix) = suffixLast ? (parts[1], rest) : (rest, parts[1])
    }
  }

  /// Joins given name, particles and family name. A particle may be a part of the word after it: "al-", "d'".
  static func joined(_ parts: [String]) -> String {
    parts.reduce(into: "") { name, part in
      if let last = name.last, !"-'’".contains(last) { name += " " }
      name += part
    }
  }

  /// Last words in the names of groups, which have no family name.
  private static let groups: Set<String> = [
    "collaboration", "collaborations", "consortium", "group", "team", "project", "community", "institute",
  ]
  private static let suffixes: Set<String> = ["Jr", "Jr.", "Sr", "Sr.", "II", "III", "IV"]
}
