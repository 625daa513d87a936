@testable import HeartlogFormat

extension RFC3339 {
  /// The text of a time, as a column of times writes it; nil outside the years 0000–9999.
  static func text(milliseconds: Int64, withFraction: Bool) -> String? {
    var bytes = [UInt8](repeating: 0, count: withFraction ? millisecondsLength : secondsLength)
    let isWritten = bytes.withUnsafeMutableBytes {
      write(milliseconds: milliseconds, withFraction: withFraction, to: $0)
    }
    return isWritten ? String(decoding: bytes, as: UTF8.self) : nil
  }
}

extension UUIDText {
  /// The text of 16 bytes, as a column of UUIDs writes it.
  static func text(_ bytes: UnsafeRawBufferPointer, isUpper: Bool) -> String {
    var text = [UInt8](repeating: 0, count: length)
    text.withUnsafeMutableBytes { write(bytes, isUpper: isUpper, to: $0) }
    return String(decoding: text, as: UTF8.self)
  }
}
