import Heartlog

/// One way to keep favorites and their history, playing the operations of a trace.
protocol Peer: AnyObject, Sendable {
  /// What a thread of its own writes through: this, or a connection more.
  func connection() -> any Peer
  /// Writes the operations at these places as one commit.
  func commit(_ places: Range<Int>) throws
  /// As `commit`, in a task.
  func commitAwaited(_ place: Int) async throws
  func isFavorite(_ place: Int) -> Bool
  /// Reads the whole item; returns something that only a reader can know.
  func item(_ place: Int) -> Int
  /// Reads the newest favorites with all that is known of them; returns how many there were.
  func page(_ limit: Int) -> Int
  /// How many favorites there are; nil where it keeps none.
  func favoriteCount() -> Int?
  /// Makes everything durable.
  func flush() throws
  /// Makes the store as small as it gets.
  func compact() throws
  func close() throws
}

/// When a commit returns.
enum Waiting {
  case durable, buffered
}

/// Opens the peer of that name in a folder, for the operations of a trace.
func open(_ peer: String, _ folder: String, _ trace: Trace, _ waiting: Waiting) throws -> any Peer {
  peer.hasPrefix("heartlog")
    ? try HeartlogPeer(folder, trace, waiting) : try CPeer(peer, folder, trace, waiting)
}

extension Peer {
  /// Writes operations in commits of that many.
  func commit(_ places: Range<Int>, by count: Int) throws {
    for start in stride(from: places.lowerBound, to: places.upperBound, by: count) {
      try commit(start..<min(places.upperBound, start + count))
    }
  }

  /// Whoever lost a favorite has measured nothing.
  func check(_ expected: Int) throws {
    guard let count = favoriteCount(), count != expected else { return }
    throw Failure("there are \(count) favorites and should be \(expected)")
  }
}
