/// The papers and books of the traces, made from their numbers.
public enum Catalog {
  private static let syllables = [
    "ba", "co", "du", "fe", "gi", "hon", "lu", "mar", "ne", "pi", "qua", "ro", "ste", "tri", "vo",
  ]
  private static let categories = [
    "cs.LG", "cs.DC", "cs.DB", "cs.CL", "stat.ML", "math.OC", "quant-ph", "hep-th",
  ]

  public static func paper(_ number: Int) -> String {
    var random = SplitMix(state: UInt64(31 * number + 5))
    let year = Int.random(in: 15...24, using: &random)
    let month = Int.random(in: 1...12, using: &random)
    let version = Int.random(in: 1...4, using: &random)
    return "\(year)\(padded(month, 2)).\(padded(number, 5))v\(version)"
  }

  /// Sorted by name; 130 bytes of values or a little more.
  public static func metadata(_ number: Int) -> [(name: String, value: String)] {
    var random = SplitMix(state: UInt64(1_000_003 * number + 17))
    let date =
      "20\(Int.random(in: 15...24, using: &random))-\(padded(.random(in: 1...12, using: &random), 2))"
      + "-\(padded(.random(in: 1...28, using: &random), 2))T\(padded(.random(in: 0...23, using: &random), 2))"
      + ":\(padded(.random(in: 0...59, using: &random), 2)):00Z"
    return [
      ("authors", text(52, &random)), ("categories", categories.randomElement(using: &random) ?? ""),
      ("date", date),
      ("title", text(52, &random)),
    ]
  }

  public static func book(_ number: Int) -> String {
    var random = SplitMix(state: UInt64(77 * number + 3))
    let digits = Array(
      padded(String(random.next(), radix: 16), 16) + padded(String(random.next(), radix: 16), 16))
    let parts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }
    return parts.joined(separator: "-").uppercased()
  }

  private static func text(_ count: Int, _ random: inout SplitMix) -> String {
    var text = ""
    while text.utf8.count < count {
      if !text.isEmpty { text += " " }
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        text += syllables.randomElement(using: &random) ?? ""
      }
    }
    return text
  }

  private static func padded(_ number: Int, _ width: Int) -> String { padded(String(number), width) }

  private static func padded(_ text: String, _ width: Int) -> String {
    String(repeating: "0", count: max(0, width - text.count)) + text
  }
}
