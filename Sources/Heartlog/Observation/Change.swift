/// One event that has just become part of the state: an own write, another process's, or another replica's.
public struct Change: Hashable, Sendable {
  /// The identity of the event: its replica and its number there.
  public let id: EventID
  /// The commit that the event belongs to, in its replica's stream.
  public let commit: CommitNumber
  /// The commit's place in time; with the id it says which of two changes is later.
  public let stamp: HybridTimestamp
  /// When the device that wrote it says it happened: milliseconds since 1970.
  public let wallTime: Milliseconds
  /// Who wrote it: an app's name, "cli", "import:bibtex".
  public let origin: String?
  /// What happened: library, item, action, fields.
  public let event: Event
}

/// What a stream of changes brings.
public enum ChangeNotice: Hashable, Sendable {
  /// An event became part of the state. It may have lost to a later write that was there before it.
  case change(Change)
  /// The reader was too slow, and changes were left out. Those up to these heads it has had; what it shows should be read anew, and
  /// what follows is complete again.
  case missed(after: [Head])
}

/// The changes of a store or of one library, as they are acknowledged.
///
/// A stream begins when it is made. Its memory is bounded: a reader that falls behind by more than the buffer is told so by one
/// `missed` in the place of what was left out.
public struct Changes: AsyncSequence, Sendable {
  let hub: ChangeHub
  let library: String?
  let subscription: ChangeSubscription

  init(_ hub: ChangeHub, library: String?) {
    self.hub = hub
    self.library = library
    subscription = hub.subscribe(to: library)
  }

  public func makeAsyncIterator() -> Iterator { Iterator(subscription: subscription) }

  /// The place of one reader in the stream.
  public struct Iterator: AsyncIteratorProtocol {
    let subscription: ChangeSubscription

    /// The next notice; nil once the task is cancelled or the store is closed.
    public mutating func next() async -> ChangeNotice? { await subscription.next() }
  }
}
