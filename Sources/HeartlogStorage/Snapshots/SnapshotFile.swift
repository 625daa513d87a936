/// The name of a snapshot: `0000000001000000-9f8e7d6c.snapshot`.
package struct SnapshotFile: Hashable, Sendable {
  /// The number of events before the snapshot's positions.
  package let eventCount: UInt64
  /// Distinguishes snapshots with the same number of events.
  let suffix: UInt32

  static let ending = ".snapshot"
  private static let digits = 16

  init(eventCount: UInt64, suffix: UInt32) {
    self.eventCount = eventCount
    self.suffix = suffix
  }

  /// Parses a file name; nil if it is not the name of a snapshot.
  init?(name: String) {
    guard name.hasSuffix(Self.ending) else { return nil }
    let parts = name.utf8.dropLast(Self.ending.utf8.count)
      .split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard parts.count == 2, let eventCount = UInt64(Substring(parts[0])),
      let suffix = UInt32(Substring(parts[1]), radix: 16)
    else { return nil }
    self.init(eventCount: eventCount, suffix: suffix)
    // Each number has exactly one valid name.
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
