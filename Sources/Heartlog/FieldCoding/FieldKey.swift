#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

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

  // Names that the store fills in from the item's identity and membership, unless the item has a value of its own under them.
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

extension CodingKey {
  /// Whether this is the key of the property `id`: its text is "id", or its case is called so, as in `case id = "_id"`.
  var isOfID: Bool {
    if FieldKey.isID(stringValue) { return true }
    guard let name = enumCaseName(self) else { return false }
    return strcmp(name, FieldKey.id) == 0
  }
}

/// The name of an enum's case, from the runtime that prints it; nil for a value of another kind. Coding keys describe themselves by their
/// text alone.
@_silgen_name("swift_EnumCaseName")
private func enumCaseName<T>(_ value: T) -> UnsafePointer<CChar>?
