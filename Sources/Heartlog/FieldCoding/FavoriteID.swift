import HeartlogFormat

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The identity of an item, as text for the store.
///
/// Every identity has exactly one text: `init(favoriteID:)` must reject any spelling that `favoriteID` would not return. Otherwise two
/// items of the store would be the same item to the app.
public protocol FavoriteID: Hashable, Sendable {
  /// 1 to 4,096 bytes of UTF-8 without control characters.
  var favoriteID: String { get }

  /// Creates the identity from its text; nil for a text that `favoriteID` would not return.
  init?(favoriteID: String)
}

/// An item type that names the library of its favorites.
public protocol FavoriteItem: Codable, Identifiable, Sendable where ID: FavoriteID {
  /// The library: 1 to 64 bytes of a–z, 0–9, `-`, `_`, `.`.
  static var library: String { get }

  /// An item whose properties replace those that a stored item lacks; nil, the default, for none.
  ///
  /// Stored items lack properties that were added in a later version of the type. A property that is not optional is then taken from the
  /// template:
  ///
  /// ```swift
  /// static var template: Self? { Recipe(id: "", title: "", rating: 3) }
  /// ```
  ///
  /// Optional properties stay nil, which is how they express a missing value. The template's `id` has no meaning.
  static var template: Self? { get }

  /// The version of the type, and how its fields changed since the first one: see <doc:WhenYourItemTypeChanges>. Version 1 by default.
  static var schema: ItemSchema { get }

  /// The names of the stored fields, which are coding keys, that belong to this device; none by default.
  ///
  /// The value of such a field is kept beside the log and never leaves the device. Another device sees the value that it set itself, or
  /// nil:
  ///
  /// ```swift
  /// static var localFields: Set<String> { ["fileURL", "isDownloaded"] }
  /// ```
  static var localFields: Set<String> { get }
}

extension FavoriteItem {
  /// No template.
  public static var template: Self? { nil }

  /// Version 1.
  public static var schema: ItemSchema { ItemSchema() }

  /// No device-local fields.
  public static var localFields: Set<String> { [] }
}

extension String: FavoriteID {
  public var favoriteID: String { self }
  public init?(favoriteID: String) { self = favoriteID }
}

extension FavoriteID where Self: FixedWidthInteger {
  public var favoriteID: String { String(self) }

  public init?(favoriteID: String) {
    guard let value = Self(favoriteID, radix: 10), String(value) == favoriteID else { return nil }
    self = value
  }
}

extension Int: FavoriteID {
  // Written out by hand: ids of catalogs are parsed by the ten thousand, and the generic initializer takes ten times as long.
  public init?(favoriteID: String) {
    let isNegative = favoriteID.utf8.first == UInt8(ascii: "-")
    let digits = isNegative ? favoriteID.utf8.dropFirst() : favoriteID.utf8[...]
    guard let first = digits.first, first != UInt8(ascii: "0") || favoriteID.utf8.count == 1 else {
      return nil
    }
    var value = 0
    for digit in digits {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
      let (tens, isTooLarge) = value.multipliedReportingOverflow(by: 10)
      let unit = Int(digit - UInt8(ascii: "0"))
      // Count downwards for negative numbers, because the smallest number has no positive counterpart.
      let (sum, isPastEnd) =
        isNegative ? tens.subtractingReportingOverflow(unit) : tens.addingReportingOverflow(unit)
      guard !isTooLarge, !isPastEnd else { return nil }
      value = sum
    }
    self = value
  }
}

extension Int8: FavoriteID {}
extension Int16: FavoriteID {}
extension Int32: FavoriteID {}
extension Int64: FavoriteID {}
extension UInt: FavoriteID {}
extension UInt8: FavoriteID {}
extension UInt16: FavoriteID {}
extension UInt32: FavoriteID {}
extension UInt64: FavoriteID {}

/// The text is the UUID in lowercase.
extension UUID: FavoriteID {
  public var favoriteID: String { uuidString.lowercased() }

  public init?(favoriteID: String) {
    guard let value = UUID(uuidString: favoriteID), value.favoriteID == favoriteID else { return nil }
    self = value
  }
}

/// The text is the absolute string.
extension URL: FavoriteID {
  public var favoriteID: String { absoluteString }

  public init?(favoriteID: String) {
    guard let value = URL(string: favoriteID), value.absoluteString.utf8.elementsEqual(favoriteID.utf8) else {
      return nil
    }
    self = value
  }
}

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

/// An item that cannot be encoded as fields, or fields that cannot be decoded as an item.
package struct FieldCodingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The name of the field; nil if the error is about the whole item.
  package let field: String?
  /// What is wrong, as a sentence without a full stop. For a nested value it begins with the path inside the field.
  package let reason: String

  /// The reason if a value is absent.
  static let missing = "it is missing"

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - field: the name of the field; nil if the error is about the whole item.
  ///   - reason: a sentence without a full stop.
  package init(field: String?, reason: String) {
    self.field = field
    self.reason = reason
  }

  /// The first key of the path is the field, the rest is the path inside it.
  init(path: [any CodingKey], reason: String) {
    field = path.first?.stringValue
    let location = path.dropFirst().map { key in key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)" }
    self.reason = location.isEmpty ? reason : "at \(location.joined()): \(reason)"
  }

  /// Converts an error that an item's own coding threw.
  init(_ error: any Error) {
    switch error {
    case let error as FieldCodingError: self = error
    case EncodingError.invalidValue(_, let context):
      self.init(path: context.codingPath, reason: context.debugDescription)
    case DecodingError.keyNotFound(let key, let context):
      self.init(path: context.codingPath + [key], reason: Self.missing)
    case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
      DecodingError.dataCorrupted(let context):
      self.init(path: context.codingPath, reason: context.debugDescription)
    default: self.init(field: nil, reason: "\(error)")
    }
  }

  package var description: String { field.map { "field \"\($0)\": \(reason)" } ?? reason }
}
