/// Whole milliseconds since 1970-01-01T00:00:00Z.
public typealias Milliseconds = Int64

/// A hybrid logical timestamp: 48 bits of milliseconds since 1970, 16 bits of counter.
///
/// Timestamps are for ordering. They are only as accurate as the clock that created them.
/// Source: Kulkarni, Demirbas, Madappa, Avva, Leone, "Logical Physical Clocks" (2014).
public struct HybridTimestamp: RawRepresentable, Hashable, Sendable, Comparable, BitwiseCopyable,
  CustomStringConvertible
{
  /// The milliseconds in the high 48 bits, the counter in the low 16 bits.
  public let rawValue: UInt64

  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Creates the first timestamp of a millisecond. Milliseconds before 1970 count as 1970.
  public init(milliseconds: Milliseconds) {
    rawValue = UInt64(max(0, milliseconds)) << 16
  }

  /// Milliseconds since 1970.
  public var milliseconds: Milliseconds { Milliseconds(rawValue >> 16) }
  /// Distinguishes timestamps of the same millisecond.
  public var counter: UInt16 { UInt16(truncatingIfNeeded: rawValue) }

  /// The last valid timestamp: the end of the year 2999.
  public static let last = HybridTimestamp(rawValue: (UInt64(Limits.timeMillisecondsMax) << 16) | 0xFFFF)

  /// The last timestamp that a clock reaches by itself: the end of the year 2199. Later ones are reached only step by step.
  public static let lastOfClocks = HybridTimestamp(
    rawValue: (UInt64(Limits.clockMillisecondsMax) << 16) | 0xFFFF)

  public static func < (a: HybridTimestamp, b: HybridTimestamp) -> Bool { a.rawValue < b.rawValue }

  /// 16 hexadecimal digits.
  public var description: String {
    let digits = String(rawValue, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}

/// The clock that stamps commits. It strictly increases, and is never behind the stamps it has received.
package struct HybridClock: Sendable {
  /// The highest stamp given or received.
  package private(set) var last: HybridTimestamp

  /// Creates a clock that has received a stamp; by default none.
  package init(last: HybridTimestamp = HybridTimestamp(rawValue: 0)) { self.last = last }

  /// Returns the stamp of a new commit: max(last + 1, wall time). The counter carries into the milliseconds. A wall time beyond the year
  /// 2199 counts as the end of that year.
  ///
  /// - Returns: nil if the stamp would exceed the year 2999.
  package mutating func next(wallTime: Milliseconds) -> HybridTimestamp? {
    guard last < .last else { return nil }
    let stamp = max(
      HybridTimestamp(rawValue: last.rawValue + 1),
      HybridTimestamp(milliseconds: min(wallTime, Limits.clockMillisecondsMax)))
    guard stamp <= .last else { return nil }
    last = stamp
    return stamp
  }

  /// Returns whether the clock accepts a stamp from elsewhere: any up to the year 2199, and beyond that at most the last stamp plus one.
  /// Using up the remaining stamps thus takes that many commits.
  @inline(__always)
  package func reaches(_ stamp: HybridTimestamp) -> Bool {
    stamp <= .lastOfClocks || stamp.rawValue <= last.rawValue + 1
  }

  /// Receives a stamp if the clock accepts it; false otherwise.
  package mutating func receive(ifReached stamp: HybridTimestamp) -> Bool {
    guard reaches(stamp) else { return false }
    receive(stamp)
    return true
  }

  /// Returns the index of the first stamp that the clock does not accept after receiving those before it; nil if it accepts all.
  ///
  /// - Parameter stamps: in ascending order.
  package func firstOutOfReach(of stamps: ArraySlice<HybridTimestamp>) -> Int? {
    guard let highest = stamps.last, !reaches(highest) else { return nil }
    var clock = self
    return stamps.firstIndex { !clock.receive(ifReached: $0) }
  }

  /// Receives a stamp from the log or from another replica. The wall clock is not involved.
  package mutating func receive(_ stamp: HybridTimestamp) { last = max(last, stamp) }
}

/// The total order of writes, which decides every merge: the later stamp wins; for equal stamps the greater replica; within one replica the
/// greater number. See docs/merge.md.
package enum MergeOrder {
  /// Returns whether one write comes after another.
  ///
  /// - Parameters:
  ///   - stamps: the stamps of both, as raw values.
  ///   - numbers: the sequence numbers of both events, or the numbers of both commits. Used only if both are of one replica.
  ///   - isSameReplica: whether both are of one replica.
  ///   - replicas: returns the replicas of both. Called only if nothing else decides.
  @inlinable @inline(__always)
  package static func isLater(
    stamps: (UInt64, than: UInt64), numbers: (UInt64, than: UInt64), isSameReplica: Bool,
    replicas: () -> (ReplicaID, than: ReplicaID)
  ) -> Bool {
    if stamps.0 != stamps.than { return stamps.0 > stamps.than }
    if isSameReplica { return numbers.0 > numbers.than }
    let (replica, other) = replicas()
    return isLater(replica, than: other)
  }

  /// Returns whether the write of one replica comes after that of another with the same stamp.
  @inlinable @inline(__always)
  package static func isLater(_ replica: ReplicaID, than other: ReplicaID) -> Bool { replica > other }
}
