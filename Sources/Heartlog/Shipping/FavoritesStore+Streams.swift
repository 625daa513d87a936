import HeartlogStorage

/// How far a stream goes that can be shipped.
package typealias StreamHead = HeartlogStorage.StreamHead
/// A run of commits on its way from store to store.
package typealias StreamRun = HeartlogStorage.StreamRun
/// What became of a run that was received.
package typealias ReceivedRun = HeartlogStorage.ReceivedRun

/// A store as carriers of commits see it: streams, runs of them, and the roots that prove them.
///
/// `HeartlogShipping` syncs stores over these; a carrier of an app's own can, too. Every call may come from any thread.
extension FavoritesStore {
  /// The streams and how far they go, durable commits alone, sorted by replica.
  ///
  /// - Complexity: hashes what has come since the last call; the first time since the last sealed segment.
  package func streamHeads() throws(HeartlogError) -> [StreamHead] {
    try refuseInsideWrite("streamHeads")
    return try heartlogErrors { try log.streamHeads() }
  }

  /// The root of a stream's tree over its commits up to `commit`; nil where the stream is shorter.
  package func streamRoot(of replica: ReplicaID, at commit: CommitNumber) throws(HeartlogError) -> Digest? {
    try heartlogErrors { try log.streamRoot(of: replica, at: commit) }
  }

  /// The next run of a stream, as many commits as one block holds.
  ///
  /// - Parameters:
  ///   - replica: whose stream.
  ///   - after: the commit that comes before it; 0 for the stream's start.
  ///   - last: the run goes up to this commit at most.
  /// - Returns: nil where there is nothing behind `after`.
  package func streamRun(
    of replica: ReplicaID, after: UInt64, upTo last: CommitNumber
  ) throws(HeartlogError) -> StreamRun? {
    try heartlogErrors { try log.streamRun(of: replica, after: after, upTo: last) }
  }

  /// Looks whether commits of a stream can be read, so that none are announced that cannot be given.
  ///
  /// - Parameters:
  ///   - replica: whose stream.
  ///   - after: the commit in front of them; 0 for the stream's start.
  ///   - last: the last of them.
  /// - Returns: nil where they can; else what is in the way. The first of the commits that it names is the first that cannot be read.
  /// - Complexity: reads what lies in front of the snapshot from which the store was opened, and nothing else.
  package func damage(
    of replica: ReplicaID, after: UInt64, upTo last: CommitNumber
  ) throws(HeartlogError) -> Finding? {
    try heartlogErrors { try log.damage(of: replica, after: after, upTo: last).map(Finding.init) }
  }

  /// Takes a run of another replica's commits: what of it is new, durable and as a whole, or nothing.
  ///
  /// Numbers, sequences, stamps, limits, and the root after the run are checked before anything is written. Who observes the store hears
  /// of it as of own writes.
  ///
  /// - Throws: `peer` for bytes that are no run, or break a rule; `HeartlogError` where the store cannot be written.
  package func receive(_ run: StreamRun) throws(HeartlogError) -> ReceivedRun {
    try refuseInsideWrite("receive")
    return try peerErrors { () throws(StorageError) in try log.receive(run) }
  }

  /// Takes runs that were `waiting`, now that others are here: they may lead up to each other.
  ///
  /// - Parameter runs: of any streams; those of one stream in its order.
  /// - Returns: what became of each.
  /// - Throws: as ``receive(_:)``; some of the runs may have been taken then.
  package func receive(together runs: [StreamRun]) throws(HeartlogError) -> [ReceivedRun] {
    try refuseInsideWrite("receive")
    return try peerErrors { () throws(StorageError) in try log.receive(together: runs) }
  }

  private func peerErrors<R>(_ body: () throws(StorageError) -> R) throws(HeartlogError) -> R {
    do { return try body() } catch {
      guard error.code == .malformed else { throw HeartlogError(error) }
      throw HeartlogError(.peer, "a run of commits that is malformed: \(error.reason)")
    }
  }

  /// Ends a stream of which two histories were found behind the last commit that both have. What this store holds beyond goes on as a
  /// stream of its own, under a name that every store derives alike. Where the stream is the store's own, the store writes as another
  /// replica from then on.
  ///
  /// - Parameters:
  ///   - replica: whose stream.
  ///   - commit: 0 where not even the first is the same.
  package func endStream(_ replica: ReplicaID, after commit: CommitNumber) throws(HeartlogError) {
    try refuseInsideWrite("endStream")
    try heartlogErrors { _ = try log.endStream(replica, after: commit.rawValue) }
  }
}
