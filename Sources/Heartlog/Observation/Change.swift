/// An event that has just become part of the state, written by this store, another process or another replica.
public struct Change: Hashable, Sendable {
  /// The identity of the event: its replica and its sequence number there.
  public let id: EventID
  /// The commit in its replica's stream that contains the event.
  public let commit: CommitNumber
  /// The commit's timestamp. Together with `id` it decides which of two changes is later.
  public let stamp: HybridTimestamp
  /// The wall time of the device that wrote it, in milliseconds since 1970.
  public let wallTime: Milliseconds
  /// The origin of the commit: an app's name, "cli", "import:bibtex".
  public let origin: String?
  /// The event: library, item, action, fields.
  public let event: Event
}

/// An element of a stream of changes.
public enum ChangeNotice: Hashable, Sendable {
  /// An event became part of the state. A later write that was already there may take precedence over it.
  case change(Change)
  /// The reader was too slow, and changes were left out. It has received those up to these heads. It should reload what it shows; the
  /// changes that follow are complete again.
  case missed(after: [Head])
}

/// The changes of a store or of one library, as they are acknowledged.
///
/// A stream begins when it is created. Its memory is bounded: if a reader falls behind by more than the buffer, one `missed` replaces the
/// changes that were left out.
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

  /// A reader's position in the stream.
  public struct Iterator: AsyncIteratorProtocol {
    let subscription: ChangeSubscription

    /// Returns the next notice; nil once the task is cancelled or the store is closed.
    public mutating func next() async -> ChangeNotice? { await subscription.next() }
  }
}
