/// A key of a nested value: a name, or an index in an array.
struct FieldKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(stringValue: String) {
    self.stringValue = stringValue
    intValue = nil
  }

  init(intValue: Int) {
    stringValue = String(intValue)
    self.intValue = intValue
  }

  static let `super` = FieldKey(stringValue: "super")

  /// Keys whose values come from the item's identity and membership; they are never fields.
  static let id = "id"
  static let isFavorite = "isFavorite"
  static let favoritedDate = "favoritedDate"

  @inline(__always)
  static func isID(_ name: String) -> Bool { name.utf8.count == 2 && name == id }

  @inline(__always)
  static func isSupplied(_ name: String) -> Bool {
    switch name.utf8.count {
    case 2: isID(name)
    case 10: name == isFavorite
    case 13: name == favoritedDate
    default: false
    }
  }
}
