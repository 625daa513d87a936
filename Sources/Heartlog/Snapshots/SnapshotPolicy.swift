/// When a store writes snapshots by itself.
///
/// A snapshot is a file from which a store opens at once, however many favorites it has: what it covers need not be replayed. It costs
/// about as many bytes as the favorites take in memory, and may be removed at any time.
public struct SnapshotPolicy: Hashable, Sendable {
  /// Events since the last snapshot after which the next one is written, in the background.
  public var eventsMin: UInt64
  /// The same when the store is closed.
  public var eventsMinAtClose: UInt64
  /// It waits for as many events as the last one covers, too: so all that are written while a store grows cost as much as two of its
  /// size, and a process that dies without closing leaves no more to replay than it found. At close, a 32nd is enough.
  static let share: (open: UInt64, close: UInt64) = (1, 32)

  /// A policy of one's own.
  ///
  /// - Parameters:
  ///   - eventsMin: events since the last snapshot after which the next one is written, in the background; as many as it covers must have
  ///     come, too.
  ///   - eventsMinAtClose: the same when the store is closed, with a 32nd.
  public init(eventsMin: UInt64, eventsMinAtClose: UInt64) {
    self.eventsMin = eventsMin
    self.eventsMinAtClose = eventsMinAtClose
  }

  /// What suits most stores: small ones replay their log in a few milliseconds, and have no snapshot.
  public static let automatic = SnapshotPolicy(eventsMin: 20_000, eventsMinAtClose: 5_000)
  /// Snapshots are written when they are asked for, and at no other time.
  public static let manual = SnapshotPolicy(eventsMin: .max, eventsMinAtClose: .max)

  /// How many events a state has when the next snapshot is due.
  func due(covered: UInt64, atClose: Bool = false) -> UInt64 {
    let wanted =
      atClose
      ? max(eventsMinAtClose, covered / Self.share.close) : max(eventsMin, covered / Self.share.open)
    let (due, overflow) = covered.addingReportingOverflow(wanted)
    return overflow ? .max : due
  }
}
