import HeartlogFormat

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
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
