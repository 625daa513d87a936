/// What stands between `&` and `;` in XML and in HTML.
package enum CharacterReference {
  /// The predefined entities of XML.
  private static let entities = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]

  /// Bytes of the longest reference, that of the last character: `#x10FFFF`, and one more.
  package static let bytesMax = 9

  /// The text that a reference stands for, by name or by number; nil for one that is unknown.
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
