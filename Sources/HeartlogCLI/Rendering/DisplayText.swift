import Heartlog

/// The width of text on a terminal, in columns, and text that is safe to show there.
enum DisplayText {
  /// The columns that `text` takes.
  static func width(_ text: String) -> Int {
    var columns = 0
    var rest = text[...]
    while true {
      // Most text is ASCII, and characters are slow: one by one, they take half of the instructions of a list.
      let ascii = rest.utf8.prefix { 0x20...0x7E ~= $0 }.count
      if ascii == rest.utf8.count { return columns + ascii }
      // The last may belong to a character with what follows it.
      columns += max(0, ascii - 1)
      rest = Substring(rest.utf8.dropFirst(max(0, ascii - 1)))
      columns += width(rest.removeFirst())
    }
  }

  /// The columns of one character: 0, 1 or 2.
  static func width(_ character: Character) -> Int {
    if character.isASCII { return (character.asciiValue ?? 0) >= 0x20 && character != "\u{7F}" ? 1 : 0 }
    var widest = 0
    for scalar in character.unicodeScalars {
      // Variation selector 16 requests emoji presentation.
      if scalar.value == 0xFE0F, widest > 0 { return 2 }
      widest = max(widest, width(scalar))
    }
    return widest
  }

  private static func width(_ scalar: Unicode.Scalar) -> Int {
    switch scalar.properties.generalCategory {
    case .control, .nonspacingMark, .enclosingMark, .surrogate: return 0
    // The soft hyphen is the only format character that terminals show.
    case .format: return scalar.value == 0xAD ? 1 : 0
    default: return scalar.properties.isEmojiPresentation || isWide(scalar.value) ? 2 : 1
    }
  }

  /// East Asian Width W and F (Unicode 16, EastAsianWidth.txt), with blocks merged across unassigned code points;
  /// emoji are recognized by their property.
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2329...0x232A, 0x2630...0x2637, 0x268A...0x268F, 0x2E80...0x303E, 0x3041...0x33FF,
    0x3400...0x4DBF, 0x4DC0...0x4DFF, 0x4E00...0x9FFF, 0xA000...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
    0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18DFF,
    0x1AFF0...0x1B2FF, 0x1D300...0x1D376, 0x1F200...0x1F265, 0x20000...0x2FFFD, 0x30000...0x3FFFD,
  ]

  private static func isWide(_ value: UInt32) -> Bool {
    guard value >= wide[0].lowerBound else { return false }
    return wide.contains { $0.contains(value) }
  }

  /// At most `columns` wide; replaces the end by … if the text does not fit.
  static func truncated(_ text: String, to columns: Int) -> String {
    guard width(text) > columns else { return text }
    guard columns > 0 else { return "" }
    var result = ""
    var used = 0
    for character in text {
      used += width(character)
      if used > columns - 1 { break }
      result.append(character)
    }
    return result + "…"
  }

  /// At most `columns` wide; replaces the middle by …, since the end of an address or an id says the most.
  static func shortened(_ text: String, to columns: Int) -> String {
    guard width(text) > columns else { return text }
    let tail = String(truncated(String(text.reversed()), to: (columns + 1) * 2 / 3).dropLast().reversed())
    return truncated(text, to: columns - width(tail)) + tail
  }

  /// `text` without characters that move the cursor, color the screen or change the direction of writing: line breaks
  /// and tabs become spaces, other control characters �.
  static func visible(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n", "\t", "\r", "\u{2028}", "\u{2029}": result.append(" ")
      default: result.append(isUnsafe(scalar) ? "\u{FFFD}" : scalar)
      }
    }
    return String(result)
  }

  /// An id or a name, so that no two different ones look equal: what cannot be seen, and what is not in the composed form (NFC), is
  /// written as `\u{200B}`.
  static func identifier(_ text: String) -> String {
    guard !text.utf8.allSatisfy({ 0x20...0x7E ~= $0 }) else { return text }
    var result = String.UnicodeScalarView()
    for character in text {
      let scalars = character.unicodeScalars
      let isComposed = scalars.elementsEqual(String(character).precomposed)
      for (index, scalar) in scalars.enumerated() {
        // Of a decomposed character, the base is readable.
        let isBase = index == 0 && scalars.count > 1
        if isUnsafe(scalar) || isInvisible(scalar, after: result.last) || !isComposed && !isBase {
          result.append(contentsOf: "\\u{\(String(scalar.value, radix: 16, uppercase: true))}".unicodeScalars)
        } else {
          result.append(scalar)
        }
      }
    }
    return String(result)
  }

  /// A line of JSON in which every character that `visible` would replace, or that cannot be seen, is an escape. The value is the same.
  static func escapedJSON(_ line: [UInt8]) -> String {
    let text = String(decoding: line, as: UTF8.self)
    // Outside of strings, JSON has nothing but printable ASCII.
    guard text.unicodeScalars.contains(where: isEscapedInJSON) else { return text }
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      guard isEscapedInJSON(scalar) else {
        result.append(scalar)
        continue
      }
      for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
        let digits = String(unit, radix: 16)
        result.append(
          contentsOf: "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".unicodeScalars)
      }
    }
    return String(result)
  }

  private static func isEscapedInJSON(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value >= 0x7F && (isUnsafe(scalar) || isHidden(scalar) && !isJoiner(scalar))
  }

  private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }

  /// Whether a scalar is not seen where it stands. Joiners, variation selectors and tags belong to emoji and to scripts other than Latin,
  /// Greek and Cyrillic.
  private static func isInvisible(_ scalar: Unicode.Scalar, after previous: Unicode.Scalar?) -> Bool {
    guard isHidden(scalar) else { return false }
    return !isJoiner(scalar) || previous.map { $0.value < 0x590 } ?? true
  }

  private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value > 0x7F
      && (scalar.properties.isDefaultIgnorableCodePoint || scalar.properties.generalCategory == .format)
  }

  private static func isJoiner(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x200C...0x200D, 0xFE00...0xFE0F, 0xE0020...0xE007F, 0xE0100...0xE01EF: true
    default: false
    }
  }
}
