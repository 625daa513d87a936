extension Character {
  /// The columns that a terminal gives it: 2 for emoji, flags and East Asian letters.
  var columns: Int {
    let isWide = unicodeScalars.contains { scalar in
      // East Asian Width W and F (UAX #11), roughly: the blocks, and variation selector 16, which asks for an emoji.
      switch scalar.value {
      case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE0F, 0xFE30...0xFE6F,
        0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD:
        true
      default: scalar.properties.isEmojiPresentation
      }
    }
    return isWide ? 2 : 1
  }
}

extension String {
  var columns: Int { reduce(0) { $0 + $1.columns } }

  /// The text on exactly so many columns, cut with "…" or filled with spaces. Line breaks become spaces, and other characters that
  /// control a terminal or the direction of writing are replaced: a title comes from a service.
  func fitted(to columns: Int) -> String {
    var (result, used) = ("", 0)
    let text = visible
    for (index, character) in zip(text.indices, text) {
      let isLast = text.index(after: index) == text.endIndex
      guard used + character.columns <= (isLast ? columns : columns - 1) else {
        if used < columns { (result, used) = (result + "…", used + 1) }
        break
      }
      result.append(character)
      used += character.columns
    }
    return result + String(repeating: " ", count: max(0, columns - used))
  }

  private var visible: String {
    String(
      String.UnicodeScalarView(
        unicodeScalars.map { scalar in
          switch scalar.value {
          case 0x09, 0x0A, 0x0D, 0x2028, 0x2029: " "
          case 0..<0x20, 0x7F...0x9F, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: "\u{FFFD}"
          default: scalar
          }
        }))
  }

  /// The text in lines of at most so many columns, broken at spaces.
  func wrapped(to columns: Int) -> [String] {
    var lines = [""]
    for word in split(whereSeparator: \.isWhitespace) {
      let line = lines[lines.count - 1]
      if line.isEmpty {
        lines[lines.count - 1] = String(word)
      } else if line.columns + 1 + String(word).columns <= columns {
        lines[lines.count - 1] += " \(word)"
      } else {
        lines.append(String(word))
      }
    }
    return lines
  }
}
