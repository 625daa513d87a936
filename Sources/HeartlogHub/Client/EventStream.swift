/// Finds events in a stream of server-sent events (HTML, "Server-sent events"), whose data nobody needs.
struct EventStream {
  /// How much of the field name `data` the line began with; `nil` if it began with something else.
  private var matched: Int? = 0
  private var isLineEmpty = true
  private var hasData = false
  private var isAfterReturn = false

  private static let name = Array("data".utf8)

  /// Reads on.
  ///
  /// - Returns: Whether an event that has data ended.
  mutating func read(_ bytes: [UInt8]) -> Bool {
    var hasEvent = false
    for byte in bytes {
      // A line ends with CR, LF or both.
      if byte == 0x0A, isAfterReturn {
        isAfterReturn = false
        continue
      }
      isAfterReturn = byte == 0x0D
      if byte == 0x0A || byte == 0x0D {
        if isLineEmpty, hasData {
          hasEvent = true
          hasData = false
        }
        if matched == Self.name.count { hasData = true }
        matched = 0
        isLineEmpty = true
      } else {
        isLineEmpty = false
        take(byte)
      }
    }
    return hasEvent
  }

  private mutating func take(_ byte: UInt8) {
    guard let count = matched else { return }
    if count < Self.name.count {
      matched = byte == Self.name[count] ? count + 1 : nil
    } else {
      // The name is whole: a colon ends it, and what follows is the value.
      hasData = hasData || byte == UInt8(ascii: ":")
      matched = nil
    }
  }
}
