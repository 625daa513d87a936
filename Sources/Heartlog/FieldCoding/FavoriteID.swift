import HeartlogEvents

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The identity of an item, as the text that the store knows it by.
///
/// One identity has one text: `init(favoriteID:)` takes no other spelling of it than `favoriteID` gives, or
/// two items of the store would be one to the app.
public protocol FavoriteID: Hashable, Sendable {
  /// 1 to 4,096 bytes of UTF-8 without control characters.
  var favoriteID: String { get }

  /// The identity of a text; nil for a text that `favoriteID` would not give.
  init?(favoriteID: String)
}

/// An item that favorites can be made of, with the library where they are kept.
public protocol FavoriteItem: Codable, Identifiable, Sendable where ID: FavoriteID {
  /// 1 to 64 bytes of a–z, 0–9, `-`, `_`, `.`.
  static var library: String { get }

  /// An item whose properties stand in for those that a stored item lacks; nil, unless said otherwise, for none.
  ///
  /// A property that a later version of a type adds is in no item of before. Where it is not optional, it is read from here:
  ///
  /// ```swift
  /// static var template: Self? { Recipe(id: "", title: "", rating: 3) }
  /// ```
  ///
  /// Optional properties stay nil: that is what they say where there is no value. The `id` of a template means nothing.
  static var template: Self? { get }
}

extension FavoriteItem {
  /// None.
  public static var template: Self? { nil }
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
  // The same by hand: ids of catalogs are read by the ten thousand, and the generic way takes ten times as long.
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
      // Downwards below zero: the least number has no positive.
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

/// In lower case.
extension UUID: FavoriteID {
  public var favoriteID: String { uuidString.lowercased() }

  public init?(favoriteID: String) {
    guard let value = UUID(uuidString: favoriteID), value.favoriteID == favoriteID else { return nil }
    self = value
  }
}

/// As its absolute string.
extension URL: FavoriteID {
  public var favoriteID: String { absoluteString }

  public init?(favoriteID: String) {
    guard let value = URL(string: favoriteID), value.absoluteString.utf8.elementsEqual(favoriteID.utf8) else {
      return nil
    }
    self = value
  }
}
