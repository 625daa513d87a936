/// A list of texts that is a plain string where it has one.
struct OneOrMany: Codable {
  let texts: [String]

  /// Nil for an empty list.
  init?(_ texts: [String]) {
    guard !texts.isEmpty else { return nil }
    self.texts = texts
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let text = try? container.decode(String.self) {
      texts = [text]
    } else {
      texts = try container.decode([String].self)
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if texts.count == 1 { try container.encode(texts[0]) } else { try container.encode(texts) }
  }
}
