import HeartlogFormat

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What an item is sorted by.
enum SortValue: Sendable {
  /// Comes after every value.
  case none
  case integer(Int)
  case number(Double)
  /// Of a text its form as people sort it.
  case bytes([UInt8])
  case other(any ComparableValue)

  /// Returns what makes a sort value of a value of a type.
  static func maker<Value: Comparable & Sendable>(of type: Value.Type) -> @Sendable (Value) -> SortValue {
    if type == Int.self { return { .integer($0 as! Int) } }
    if type == Double.self { return { .number($0 as! Double) } }
    if type == Date.self { return { .number(($0 as! Date).timeIntervalSinceReferenceDate) } }
    if type == String.self { return { .bytes(folded($0 as! String)) } }
    // What is no number does not equal itself.
    return { $0 == $0 ? .other(Comparing(value: $0)) : .none }
  }

  /// Whether it comes after every value: also what is no number.
  var isNone: Bool {
    switch self {
    case .none: true
    case .number(let value): value.isNaN
    default: false
    }
  }

  /// A number that is less than that of another value only if this value comes before it.
  var rank: UInt64 {
    switch self {
    case .none, .other: return 0
    case .integer(let value): return UInt64(bitPattern: Int64(value)) ^ (1 << 63)
    case .number(let value):
      // 0 and -0 are equal. The bits of negative numbers ascend as they fall.
      let bits = (value == 0 ? 0 : value).bitPattern
      return bits >> 63 == 0 ? bits | 1 << 63 : ~bits
    case .bytes(let bytes):
      var rank: UInt64 = 0
      for index in 0..<8 { rank = rank << 8 | (index < bytes.count ? UInt64(bytes[index]) : 0) }
      return rank
    }
  }

  /// Whether a value comes before another one; nil if they are equal.
  func isBefore(_ other: SortValue, _ order: SortOrder = .forward) -> Bool? {
    if isNone || other.isNone { return isNone == other.isNone ? nil : other.isNone }
    let result: Bool?
    switch (self, other) {
    case (.integer(let a), .integer(let b)): result = a == b ? nil : a < b
    case (.number(let a), .number(let b)): result = a == b ? nil : a < b
    case (.bytes(let a), .bytes(let b)): result = Self.isBefore(a, b)
    case (.other(let a), .other(let b)): result = a.isBefore(b)
    default: preconditionFailure("the values of one order are of one type")
    }
    return order == .forward ? result : result.map { !$0 }
  }

  private static func isBefore(_ a: [UInt8], _ b: [UInt8]) -> Bool? {
    a.withUnsafeBytes { a in
      b.withUnsafeBytes { b in a.hasSameBytes(as: b) ? nil : a.bytesPrecede(b) }
    }
  }

  /// A text without case and diacritics. The digits of a number follow the number of its digits, so that numbers sort by value.
  static func folded(_ text: String) -> [UInt8] {
    text.withUTF8Bytes { text in
      var folded: [UInt8] = []
      folded.reserveCapacity(text.count + 8)
      var offset = 0
      while offset < text.count {
        guard isDigit(text[offset]) else {
          let (scalar, byteCount) = FoldedScalar.at(offset, in: text)
          for index in 0..<scalar.count { folded.append(scalar[index]) }
          offset += byteCount
          continue
        }
        let digits = UnsafeRawBufferPointer(rebasing: text[offset...]).prefix(while: isDigit)
        offset += digits.count
        let significant = digits.drop { $0 == UInt8(ascii: "0") }
        folded.append(UInt8(ascii: "0"))
        folded.append(UInt8(min(significant.count, 255)))
        folded += significant
      }
      return folded
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}

/// A value of any type that can be compared with others of that type.
protocol ComparableValue: Sendable {
  func isBefore(_ other: any ComparableValue) -> Bool?
}

private struct Comparing<Value: Comparable & Sendable>: ComparableValue {
  let value: Value

  func isBefore(_ other: any ComparableValue) -> Bool? {
    guard let other = other as? Self else { preconditionFailure("the values of one order are of one type") }
    return value < other.value ? true : other.value < value ? false : nil
  }
}
