import HeartlogFormat
import TestSupport

extension JSONValue {
  /// Any value that the canonical form takes, at most `depth` levels deep.
  static func generated(depth: Int, using generator: inout SeededGenerator) -> JSONValue {
    switch Int.random(in: 0...(depth > 0 ? 9 : 5), using: &generator) {
    case 0: return .null
    case 1: return .bool(.random(using: &generator))
    case 2: return .int64(.random(in: -1000...1000, using: &generator))
    case 3: return .int64(.random(in: -(1 << 53)...(1 << 53), using: &generator))
    case 4: return .double(.random(in: 0.001...0.999, using: &generator))
    case 5: return .string(generatedText(using: &generator))
    case 6, 7:
      return .array(
        (0..<Int.random(in: 0...4, using: &generator)).map { _ in
          generated(depth: depth - 1, using: &generator)
        })
    default:
      let count = Int.random(in: 0...4, using: &generator)
      return .object(
        (0..<count).map { index in
          JSONMember(
            "\(index)" + generatedText(using: &generator), generated(depth: depth - 1, using: &generator))
        })
    }
  }

  private static func generatedText(using generator: inout SeededGenerator) -> String {
    let scalars: [Unicode.Scalar] = [
      "a", "Z", "\"", "\\", "/", "\0", "\n", "\u{1F}", "\u{7F}", "é", "\u{301}", "€", "😀", "\u{2028}",
    ]
    var text = ""
    for _ in 0..<Int.random(in: 0...20, using: &generator) {
      text.unicodeScalars.append(scalars.randomElement(using: &generator) ?? "a")
    }
    return text
  }
}
