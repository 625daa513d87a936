/// Whole milliseconds since 1970-01-01T00:00:00Z.
public typealias Milliseconds = Int64

/// A hybrid logical timestamp: 48 bits of milliseconds since 1970, 16 bits of counter.
///
/// Stamps order; they tell the time only as far as the clock that made them did.
/// Source: Kulkarni, Demirbas, Madappa, Avva, Leone, "Logical Physical Clocks" (2014).
public struct HybridTimestamp: RawRepresentable, Hashable, Sendable, Comparable, BitwiseCopyable,
  CustomStringConvertible
{
  public let rawValue: UInt64

  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// The first stamp of a millisecond. Milliseconds before 1970 are taken as 1970.
  public init(milliseconds: Milliseconds) {
    rawValue = UInt64(max(0, milliseconds)) << 16
  }

  /// Milliseconds since 1970.
  public var milliseconds: Milliseconds { Milliseconds(rawValue >> 16) }
  /// What tells stamps of one millisecond apart.
  public var counter: UInt16 { UInt16(truncatingIfNeeded: rawValue) }

  /// The last stamp that is well formed: the end of the year 2999.
  public static let last = HybridTimestamp(rawValue: (UInt64(Limits.timeMillisecondsMax) << 16) | 0xFFFF)

  /// The last stamp that a clock may give by itself: the end of the year 2199. Higher ones are reached step by step.
  public static let lastOfClocks = HybridTimestamp(
    rawValue: (UInt64(Limits.clockMillisecondsMax) << 16) | 0xFFFF)

  public static func < (a: HybridTimestamp, b: HybridTimestamp) -> Bool { a.rawValue < b.rawValue }

  /// 16 hexadecimal digits.
  public var description: String {
    let digits = String(rawValue, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}

/// The clock that stamps commits: strictly rising, never behind what it has seen.
package struct HybridClock: Sendable {
  /// The highest stamp given or received.
  package private(set) var last: HybridTimestamp

  /// A clock that has seen a stamp; none where it is not given.
  package init(last: HybridTimestamp = HybridTimestamp(rawValue: 0)) { self.last = last }

  /// The stamp of a new commit: max(last + 1, wall time). The counter carries into the milliseconds. A wall time beyond the year 2199 counts
  /// as the end of that year.
  ///
  /// - Returns: nil where the stamp would pass the year 2999.
  package mutating func next(wallTime: Milliseconds) -> HybridTimestamp? {
    guard last < .last else { return nil }
    let stamp = max(
      HybridTimestamp(rawValue: last.rawValue + 1),
      HybridTimestamp(milliseconds: min(wallTime, Limits.clockMillisecondsMax)))
    guard stamp <= .last else { return nil }
    last = stamp
    return stamp
  }

  /// Whether the clock may go on to a stamp that comes from elsewhere: any up to the year 2199, and beyond it one more than the last. So whoever
  /// wants to use up the stamps that are left has to send as many commits.
  @inline(__always)
  package func reaches(_ stamp: HybridTimestamp) -> Bool {
    stamp <= .lastOfClocks || stamp.rawValue <= last.rawValue + 1
  }

  /// Takes note of a stamp, if the clock reaches it; false where it does not.
  package mutating func receive(ifReached stamp: HybridTimestamp) -> Bool {
    guard reaches(stamp) else { return false }
    receive(stamp)
    return true
  }

  /// The place of the first stamp that the clock does not reach, having received those before it; nil where it reaches all.
  ///
  /// - Parameter stamps: rising.
  package func firstOutOfReach(of stamps: ArraySlice<HybridTimestamp>) -> Int? {
    guard let highest = stamps.last, !reaches(highest) else { return nil }
    var clock = self
    return stamps.firstIndex { !clock.receive(ifReached: $0) }
  }

  /// Takes note of a stamp from the log or from another replica. The wall clock has no part in it.
  package mutating func receive(_ stamp: HybridTimestamp) { last = max(last, stamp) }
}
