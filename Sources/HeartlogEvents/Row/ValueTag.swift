/// The tags of values in both encodings. `BorrowedValue` maps them to values and back.
@usableFromInline package enum ValueTag {
  @inlinable package static var null: UInt8 { 0 }
  @inlinable package static var no: UInt8 { 1 }
  @inlinable package static var yes: UInt8 { 2 }
  @inlinable package static var int64: UInt8 { 3 }
  @inlinable package static var double: UInt8 { 4 }
  @inlinable package static var string: UInt8 { 5 }
  @inlinable package static var json: UInt8 { 6 }
  /// Tags that this version does not know; their values are prefixed with their length.
  static let unknown: ClosedRange<UInt8> = 7...63
  /// Combined with the tag in the same byte.
  static let quietBit: UInt8 = 0x80

  /// A tag and the quiet bit.
  static func byte(_ tag: UInt8, isQuiet: Bool) -> UInt8 { isQuiet ? tag | quietBit : tag }
}
