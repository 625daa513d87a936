/// Finds the math of a text: `$…$` and `$$…$$`, with braces in pairs.
///
/// All of the math of a text is found in linear time: where one search came to the end in vain, no later one begins.
struct LaTeXMath {
  private let scalars: [Unicode.Scalar]
  private var hasNoMoreSingle = false
  private var hasNoMoreDouble = false

  init(_ scalars: [Unicode.Scalar]) { self.scalars = scalars }

  /// Where the math ends whose first dollar sign is at `start`, behind its last; nil where that sign opens none.
  mutating func end(from start: Int) -> Int? {
    let isDouble = start + 1 < scalars.count && scalars[start + 1] == "$"
    if isDouble ? hasNoMoreDouble : hasNoMoreSingle { return nil }
    let width = isDouble ? 2 : 1
    var place = start + width
    var depth = 0
    var isBalanced = true
    while place < scalars.count {
      switch scalars[place] {
      case "\\":
        // BibTeX counts a brace behind a backslash too.
        place += 1
        if place < scalars.count { count(scalars[place], &depth, &isBalanced) }
      case "$" where !isDouble || (place + 1 < scalars.count && scalars[place + 1] == "$"):
        return isBalanced && depth == 0 && place > start + width ? place + width : nil
      case let other: count(other, &depth, &isBalanced)
      }
      place += 1
    }
    if isDouble { hasNoMoreDouble = true } else { hasNoMoreSingle = true }
    return nil
  }

  private func count(_ scalar: Unicode.Scalar, _ depth: inout Int, _ isBalanced: inout Bool) {
    if scalar == "{" { depth += 1 }
    if scalar == "}" { depth -= 1 }
    if depth < 0 { isBalanced = false }
  }

  /// Whether math comes back as it is: without control characters and without spaces in a row.
  func isPlain(_ range: Range<Int>) -> Bool {
    range.allSatisfy { place in
      scalars[place].value >= 0x20 && scalars[place].value != 0x7F
        && !(scalars[place] == " " && scalars[place + 1] == " ")
    }
  }
}
