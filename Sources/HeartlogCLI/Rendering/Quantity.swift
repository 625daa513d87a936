import Heartlog

/// Formats numbers, sizes and durations for people.
enum Quantity {
  /// `1,234,567`.
  static func count(_ number: Int) -> String { grouped(String(number.magnitude), isNegative: number < 0) }

  static func count(_ number: UInt64) -> String { grouped(String(number), isNegative: false) }

  /// `1 event`, `2 events`.
  static func count(_ number: Int, _ singular: String, _ plural: String? = nil) -> String {
    "\(count(number)) \(number == 1 ? singular : plural ?? singular + "s")"
  }

  static func count(_ number: UInt64, _ singular: String, _ plural: String? = nil) -> String {
    "\(count(number)) \(number == 1 ? singular : plural ?? singular + "s")"
  }

  private static func grouped(_ digits: String, isNegative: Bool) -> String {
    var result = isNegative ? "-" : ""
    let length = digits.utf8.count
    for (index, digit) in digits.enumerated() {
      if index > 0, (length - index) % 3 == 0 { result += "," }
      result.append(digit)
    }
    return result
  }

  /// `512 bytes`, `1.5 KiB`, `12 MiB`: two digits or more, rounded down.
  static func size(bytes: UInt64) -> String {
    guard bytes >= 1 << 10 else { return bytes == 1 ? "1 byte" : "\(bytes) bytes" }
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
    let power = (63 - bytes.leadingZeroBitCount) / 10
    let shift = UInt64(power * 10)
    let whole = bytes >> shift
    let unit = units[power - 1]
    guard whole < 10 else { return "\(whole) \(unit)" }
    let tenths = (((bytes & ((1 << shift) - 1)) >> (shift - 10)) * 10) >> 10
    return "\(whole).\(tenths) \(unit)"
  }

  /// `8 s`, `2 min 05 s`, `3 h 07 min`, `4 d 02 h`.
  static func duration(seconds: Double) -> String {
    // Clamped to a thousand years, so that the value fits into Int.
    let total = seconds.isFinite ? Int(min(max(0, seconds), 3.2e10).rounded(.up)) : Int(3.2e10)
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    switch total {
    case ..<60: return "\(total) s"
    case ..<3_600: return "\(total / 60) min \(two(total % 60)) s"
    case ..<86_400: return "\(total / 3_600) h \(two(total / 60 % 60)) min"
    default: return "\(total / 86_400) d \(two(total / 3_600 % 24)) h"
    }
  }
}
