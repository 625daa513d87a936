/// Character references of XML and HTML: the text between `&` and `;`.
package enum CharacterReference {
  /// The predefined entities of XML.
  private static let entities = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]

  /// The bytes of the longest reference, that of the last character, with its end: `#x10FFFF;`.
  package static let bytesMax = 9

  /// The text for a reference, by name or by number; `nil` if it is unknown.
  package static func text(_ reference: String) -> String? {
    guard reference.hasPrefix("#") else { return entities[reference] }
    let digits = reference.dropFirst()
    let isHexadecimal = digits.first == "x" || digits.first == "X"
    let number = isHexadecimal ? digits.dropFirst() : digits
    guard let first = number.first, first.isHexDigit,
      let code = UInt32(number, radix: isHexadecimal ? 16 : 10),
      code != 0, let scalar = Unicode.Scalar(code)
    else { return nil }
    return String(Character(scalar))
  }
}
