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
  private static let wide: [(first: UInt32, last: UInt32)] = [
    (0x1100, 0x115F), (0x2329, 0x232A), (0x2630, 0x2637), (0x268A, 0x268F), (0x2E80, 0x303E),
    (0x3041, 0x33FF),
    (0x3400, 0x4DBF), (0x4DC0, 0x4DFF), (0x4E00, 0x9FFF), (0xA000, 0xA4CF), (0xA960, 0xA97F),
    (0xAC00, 0xD7A3),
    (0xF900, 0xFAFF), (0xFE10, 0xFE19), (0xFE30, 0xFE6F), (0xFF01, 0xFF60), (0xFFE0, 0xFFE6),
    (0x16FE0, 0x18DFF),
    (0x1AFF0, 0x1B2FF), (0x1D300, 0x1D376), (0x1F200, 0x1F265), (0x20000, 0x2FFFD), (0x30000, 0x3FFFD),
  ]

  private static func isWide(_ value: UInt32) -> Bool {
    value >= wide[0].first && wide.contains { $0.first <= value && value <= $0.last }
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

/// Input as messages show it: in quotation marks, and cut to a readable length.
struct Quoted: CustomStringConvertible {
  let description: String

  init(_ text: String) {
    description = "\"\(DisplayText.truncated(DisplayText.visible(text), to: 60))\""
  }
}

/// Breaks text into lines.
enum Paragraph {
  /// Breaks `words` into lines of at most `width` columns. A longer word gets its own line.
  static func lines(_ words: [String], width: Int) -> [String] {
    var lines: [String] = []
    var line = ""
    var used = 0
    for word in words {
      let columns = DisplayText.width(word)
      if !line.isEmpty, used + 1 + columns > width {
        lines.append(line)
        line = ""
        used = 0
      }
      if !line.isEmpty {
        line += " "
        used += 1
      }
      line += word
      used += columns
    }
    if !line.isEmpty { lines.append(line) }
    return lines
  }

  static func lines(_ text: String, width: Int) -> [String] {
    lines(text.split(separator: " ").map(String.init), width: width)
  }

  /// A term with its explanation, which starts at `column`, or on the next line if the term is too long.
  static func definition(
    _ term: String, _ styledTerm: String, _ text: String, column: Int, width: Int
  ) -> [String] {
    let indent = String(repeating: " ", count: column)
    var body = lines(text, width: max(20, width - column)).map { indent + $0 }
    let termWidth = 2 + DisplayText.width(term)
    guard termWidth + 2 <= column, let first = body.first else { return ["  " + styledTerm] + body }
    let padding = String(repeating: " ", count: column - termWidth)
    body[0] = "  \(styledTerm)\(padding)\(first.dropFirst(column))"
    return body
  }
}

/// Formats numbers, sizes and durations for people.
enum Quantity {
  /// `1,234,567`.
  static func count(_ number: some BinaryInteger) -> String {
    let digits = String(number.magnitude)
    var result = number < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.utf8.count - index) % 3 == 0 { result += "," }
      result.append(digit)
    }
    return result
  }

  /// `1 event`, `2 events`.
  static func count(_ number: some BinaryInteger, _ singular: String, _ plural: String? = nil) -> String {
    "\(count(number)) \(number == 1 ? singular : plural ?? singular + "s")"
  }

  /// `512 bytes`, `1.5 KiB`, `12 MiB`: two digits or more, rounded down.
  static func size(bytes: UInt64) -> String {
    guard bytes >= 1 << 10 else { return bytes == 1 ? "1 byte" : "\(bytes) bytes" }
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
    let power = (63 - bytes.leadingZeroBitCount) / 10
    let shift = UInt64(power * 10)
    let whole = bytes >> shift
    let unit = units[power - 1]
    guard whole < 10 else { return "\(whole) \(unit)" }
    let tenths = (((bytes & ((1 << shift) - 1)) >> (shift - 10)) * 10) >> 10
    return "\(whole).\(tenths) \(unit)"
  }

  /// `8 s`, `2 min 05 s`, `3 h 07 min`, `4 d 02 h`.
  static func duration(seconds: Double) -> String {
    // Clamped to a thousand years, so that the value fits into Int.
    let total = seconds.isFinite ? Int(min(max(0, seconds), 3.2e10).rounded(.up)) : Int(3.2e10)
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    switch total {
    case ..<60: return "\(total) s"
    case ..<3_600: return "\(total / 60) min \(two(total % 60)) s"
    case ..<86_400: return "\(total / 3_600) h \(two(total / 60 % 60)) min"
    default: return "\(total / 86_400) d \(two(total / 3_600 % 24)) h"
    }
  }
}

/// Colors, if the output is a terminal.
struct Style: Sendable {
  enum Role: Sendable {
    case heading
    case name
    case favorite
    case faint
    case good
    case failure

    /// The parameters of "select graphic rendition" (ECMA-48).
    fileprivate var parameters: String {
      switch self {
      case .heading: "1"
      case .name: "36"
      case .favorite: "31"
      case .faint: "2"
      case .good: "32"
      case .failure: "1;31"
      }
    }
  }

  let isEnabled: Bool

  func callAsFunction(_ role: Role, _ text: String) -> String {
    isEnabled && !text.isEmpty ? "\u{1B}[\(role.parameters)m\(text)\u{1B}[0m" : text
  }

  /// ♥ for a favorite, ♡ for any other item.
  func heart(_ isFavorite: Bool) -> String { isFavorite ? self(.favorite, "♥") : self(.faint, "♡") }

  /// False if NO_COLOR is not empty (no-color.org), or the terminal is dumb.
  static func isWanted(_ environment: [String: String]) -> Bool {
    (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
  }
}
