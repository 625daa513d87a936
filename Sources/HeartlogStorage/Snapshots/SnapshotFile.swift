/// The name of a snapshot: `0000000001000000-9f8e7d6c.snapshot`.
package struct SnapshotFile: Hashable, Sendable {
  /// Events in front of the positions that it stands for.
  package let eventCount: UInt64
  /// Tells snapshots of the same length apart.
  let suffix: UInt32

  private static let ending = ".snapshot"
  private static let digits = 16

  init(eventCount: UInt64, suffix: UInt32) {
    self.eventCount = eventCount
    self.suffix = suffix
  }

  /// Nil for any other name.
  init?(name: String) {
    guard name.hasSuffix(Self.ending) else { return nil }
    let parts = name.utf8.dropLast(Self.ending.utf8.count)
      .split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard parts.count == 2, let eventCount = UInt64(Substring(parts[0])),
      let suffix = UInt32(Substring(parts[1]), radix: 16)
    else { return nil }
    self.init(eventCount: eventCount, suffix: suffix)
    // One number has one name.
    guard self.name == name else { return nil }
  }

  package var name: String {
    Self.padded(String(eventCount), Self.digits) + "-" + Self.padded(String(suffix, radix: 16), 8)
      + Self.ending
  }

  private static func padded(_ digits: String, _ count: Int) -> String {
    String(repeating: "0", count: max(0, count - digits.utf8.count)) + digits
  }
}
