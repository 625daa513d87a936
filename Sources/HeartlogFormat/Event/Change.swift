/// An event, with its identity, the time at which its device wrote it, and what wrote it.
public struct Change: Hashable, Sendable {
  /// The identity of the event: its replica and its sequence number there.
  public let id: EventID
  /// The commit in its replica's stream that contains the event.
  public let commit: CommitNumber
  /// The commit's timestamp. Together with `id` it decides which of two changes is later.
  package let stamp: HybridTimestamp
  /// The wall time of the device that wrote it, in milliseconds since 1970.
  package let wallTime: Milliseconds
  /// The origin of the commit: an app's name, "cli", "import:bibtex".
  public let origin: String?
  /// The event: library, item, action, fields.
  public let event: Event

  /// The change that an event of a commit made; nil for one of a later version, and one of which only the hash is left.
  ///
  /// - Parameter index: The number of events before it in the commit.
  package init?(at index: Int, in commit: Commit) {
    guard let event = commit.records[index].event else { return nil }
    id = commit.eventID(at: index)
    self.commit = commit.number
    stamp = commit.stamp
    wallTime = commit.wallTime
    origin = commit.origin
    self.event = event
  }
}
