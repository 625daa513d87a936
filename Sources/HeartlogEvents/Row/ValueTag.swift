/// The tags of values, as both encodings write them.
package enum ValueTag {
  package static let null: UInt8 = 0
  package static let no: UInt8 = 1
  package static let yes: UInt8 = 2
  package static let int64: UInt8 = 3
  package static let double: UInt8 = 4
  package static let string: UInt8 = 5
  package static let json: UInt8 = 6
  /// Tags that this version does not know; their values carry their length.
  package static let unknown: ClosedRange<UInt8> = 7...63
  /// Beside the tag, in the same byte.
  package static let quietBit: UInt8 = 0x80
}

extension FieldValue {
  var tag: UInt8 {
    switch self {
    case .null: ValueTag.null
    case .bool(false): ValueTag.no
    case .bool(true): ValueTag.yes
    case .int64: ValueTag.int64
    case .double: ValueTag.double
    case .string: ValueTag.string
    case .json: ValueTag.json
    case .unknown(let tag, _): tag
    }
  }
}

extension Field {
  /// The value's tag and the quiet bit.
  var tagByte: UInt8 { isQuiet ? value.tag | ValueTag.quietBit : value.tag }
}
