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
