/// A key as a person presses it.
enum Key: Hashable {
  case up, down, left, right, pageUp, pageDown
  case enter, escape, backspace, tab, backTab
  /// Ctrl-C, which is no signal in raw mode.
  case interrupt
  case character(Character)

  private static let names: [String: Key] = [
    "up": .up, "down": .down, "left": .left, "right": .right, "pageup": .pageUp, "pagedown": .pageDown,
    "enter": .enter, "esc": .escape, "backspace": .backspace, "tab": .tab, "backtab": .backTab,
    "space": .character(" "),
  ]

  /// The keys of a script: words separated by spaces, each the name of a key or characters that are typed.
  static func script(_ text: String) -> [Key] {
    text.split(separator: " ").flatMap { word in names[String(word)].map { [$0] } ?? word.map(Key.character) }
  }
}

/// Decodes what a terminal sends: UTF-8, and escape sequences of ECMA-48 as xterm sends them.
struct KeyDecoder {
  private var rest: [UInt8] = []

  /// Whether the last byte may be the first of a sequence. If nothing follows, `finish` tells the key.
  var isWaiting: Bool { !rest.isEmpty }

  mutating func keys(in bytes: some Sequence<UInt8>) -> [Key] {
    rest += bytes
    return decode(isEnd: false)
  }

  /// The keys of a sequence that nothing follows: Esc is the beginning of all others.
  mutating func finish() -> [Key] { decode(isEnd: true) }

  private mutating func decode(isEnd: Bool) -> [Key] {
    var keys: [Key] = []
    while let first = rest.first {
      guard let length = Self.length(of: rest) ?? (isEnd ? 1 : nil) else { break }
      if let key = Self.key(first, rest.prefix(length)) { keys.append(key) }
      rest.removeFirst(length)
    }
    return keys
  }

  /// The number of bytes of the first key; nil while some of them may be missing.
  private static func length(of bytes: [UInt8]) -> Int? {
    switch bytes[0] {
    case 0x1B:
      guard bytes.count > 1 else { return nil }
      guard bytes[1] == UInt8(ascii: "[") || bytes[1] == UInt8(ascii: "O") else { return 1 }
      return bytes.dropFirst(2).firstIndex { 0x40...0x7E ~= $0 }.map { $0 + 1 }
    case 0xC2...0xF4:
      let length = bytes[0] < 0xE0 ? 2 : bytes[0] < 0xF0 ? 3 : 4
      let tail = bytes.dropFirst().prefix(length - 1).prefix { 0x80...0xBF ~= $0 }
      if tail.count == length - 1 { return length }
      return 1 + tail.count < bytes.count ? 1 : nil
    default: return 1
    }
  }

  private static func key(_ first: UInt8, _ bytes: ArraySlice<UInt8>) -> Key? {
    switch first {
    case 0x1B:
      if bytes.count == 1 { return .escape }
      switch String(decoding: bytes.dropFirst(2), as: UTF8.self) {
      case "A": return .up
      case "B": return .down
      case "C": return .right
      case "D": return .left
      case "Z": return .backTab
      case "5~": return .pageUp
      case "6~": return .pageDown
      default: return nil
      }
    case 0x03: return .interrupt
    case 0x09: return .tab
    case 0x0A, 0x0D: return .enter
    case 0x08, 0x7F: return .backspace
    case 0x00..<0x20: return nil
    default:
      // Bytes that are not UTF-8 are no key.
      return String(validating: bytes, as: UTF8.self)?.first.map(Key.character)
    }
  }
}
