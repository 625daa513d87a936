/// When a store writes snapshots automatically.
///
/// A store opens from a snapshot quickly, however many favorites it has, because the events it covers need not be replayed. A snapshot
/// takes about as many bytes as the favorites take in memory, and may be deleted at any time.
public struct SnapshotPolicy: Hashable, Sendable {
  /// The number of events since the last snapshot after which the next one is written in the background.
  public var eventsMin: UInt64
  /// The number of events since the last snapshot after which one is written when the store is closed.
  public var eventsMinAtClose: UInt64
  /// The next snapshot also waits for this share of the events that the last one covers. While the store is open, that is as many events
  /// again. All snapshots of a growing store then cost as much as two of its size, and a process that dies without closing leaves no more
  /// events to replay than it found. At close, a 32nd is enough.
  static let share: (open: UInt64, close: UInt64) = (1, 32)

  /// Creates a policy.
  ///
  /// - Parameters:
  ///   - eventsMin: the number of events since the last snapshot after which the next one is written in the background. It must also be at
  ///     least the number of events that the last one covers.
  ///   - eventsMinAtClose: the same when the store is closed, but with a 32nd of the covered events.
  public init(eventsMin: UInt64, eventsMinAtClose: UInt64) {
    self.eventsMin = eventsMin
    self.eventsMinAtClose = eventsMinAtClose
  }

  /// The policy for most stores. Small stores replay their log within a few milliseconds and write no snapshot.
  public static let automatic = SnapshotPolicy(eventsMin: 20_000, eventsMinAtClose: 5_000)
  /// Writes snapshots only when requested.
  public static let manual = SnapshotPolicy(eventsMin: .max, eventsMinAtClose: .max)

  /// The number of events at which the next snapshot is due.
  func due(covered: UInt64, atClose: Bool = false) -> UInt64 {
    let wanted =
      atClose
      ? max(eventsMinAtClose, covered / Self.share.close) : max(eventsMin, covered / Self.share.open)
    let (due, overflow) = covered.addingReportingOverflow(wanted)
    return overflow ? .max : due
  }
}
