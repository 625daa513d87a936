import Heartlog
import HeartlogFormat

/// The part of a store that shipping uses. Every method may be called from any thread.
package protocol ShippedStreams: Sendable {
  /// The replica that writes in this store.
  var replica: ReplicaID { get }
  /// The name of this replica as shown to people.
  var name: String { get }

  /// All streams, sorted by replica.
  func streamHeads() throws(HeartlogError) -> [StreamHead]

  /// The head of one stream; `nil` if there is no such stream.
  func streamHead(of replica: ReplicaID) throws(HeartlogError) -> StreamHead?

  /// The root over commits 1…`commit`; `nil` if the stream is shorter.
  func streamRoot(of replica: ReplicaID, at commit: CommitNumber) throws(HeartlogError) -> Digest?

  /// Returns the next run after commit `after` (0: from the start), not beyond `last`. The store chooses its
  /// size.
  ///
  /// - Returns: `nil` if the stream has no commit after `after`.
  func streamRun(
    of replica: ReplicaID, after: UInt64, upTo last: CommitNumber
  ) throws(HeartlogError) -> StreamRun?

  /// Where the store reports its work.
  var trace: StoreTrace { get }

  /// The number of open conflicts.
  var conflictCount: Int { get }

  /// The damage found so far. A damaged store receives nothing.
  var findings: [Finding] { get }

  /// Checks whether the commits after `after`, up to `last`, can be read: a store must be able to send what
  /// it announces.
  ///
  /// - Returns: `nil` if they can be read; otherwise the damage. The first commit that it names is the first
  ///   that cannot be read.
  func damage(
    of replica: ReplicaID, after: UInt64, upTo last: CommitNumber
  ) throws(HeartlogError) -> Finding?

  /// Checks the numbers, stamps, limits and root of a run, appends its new commits durably and as a whole,
  /// and applies them. A run may begin before the head of the stream.
  ///
  /// - Throws: `HeartlogError`; `peer` if the bytes are no run or break a rule.
  func receive(_ run: StreamRun) throws(HeartlogError) -> ReceivedRun

  /// Receives runs that had been `waiting`, after all others were received: their stamps may lead up to each
  /// other's.
  ///
  /// - Parameter runs: runs of any streams; those of one stream in order.
  /// - Returns: The outcome for each run.
  func receive(together runs: [StreamRun]) throws(HeartlogError) -> [ReceivedRun]

  /// The wall time of a stream's writer at its last commit in this store; `nil` if there is no commit, or the
  /// time is not known.
  func lastWallTime(of replica: ReplicaID) -> Milliseconds?

  /// Ends a forked stream at its last common commit (0: there is none); the later commits continue as a
  /// stream of their own. If the stream has already ended and `commit` is earlier, it now ends at `commit`.
  /// For a stream that the store does not know, records that nothing is to come.
  func endStream(_ replica: ReplicaID, after commit: CommitNumber) throws(HeartlogError)

  /// The proof that the owner of a stream signed another history than this store has; `nil` if the store cannot show it.
  func forkProof(of other: SignedCheckpoint) throws(HeartlogError) -> ForkProof?

  /// Keeps a proof that a key signed two histories.
  func keep(_ proof: ForkProof) throws(HeartlogError)

  /// A proof that was kept; `nil` if there is none.
  func evidence(of replica: ReplicaID) throws(HeartlogError) -> ForkProof?

  /// Makes room for the signed history of a stream: the unsigned one here continues as a stream of its own.
  func setAside(_ replica: ReplicaID) throws(HeartlogError)

  /// Signs the own stream as far as it has come, if this store has a key.
  ///
  /// - Returns: Why it could not be signed, if that is because the store cannot be written.
  func prepareToShip() throws(HeartlogError) -> HeartlogError?

  /// Erases what erasing commits ask for that were received and are signed.
  ///
  /// - Returns: What was erased by this call.
  func applyErasures() throws(HeartlogError) -> ErasureReport

  /// Whether events of a stream were erased here.
  func hasErased(in replica: ReplicaID) throws(HeartlogError) -> Bool

  /// A run, as another store wrote it or this one did earlier, without what was erased here; `nil` if it contains none of it.
  ///
  /// - Throws: `HeartlogError`; `peer` if the bytes are no run.
  func redacted(_ run: StreamRun) throws(HeartlogError) -> StreamRun?

  /// The replicas that write no more: their streams have ended, or a person says that they will not come back.
  var inactiveReplicas: Set<ReplicaID> { get }

  /// The replicas whose commits this store neither takes nor offers, because a person dropped them.
  func droppedReplicas() throws(HeartlogError) -> [ReplicaID]

  /// Takes a checkpoint with a valid signature, and cosigns it, if the commits in the store lead to it.
  func take(_ checkpoint: SignedCheckpoint, at time: Milliseconds) throws(HeartlogError) -> TakenCheckpoint

  /// The roots that lead from the tree over a stream's first `size` commits to that over `end`: see `RunProof`.
  func treeExtension(
    of replica: ReplicaID, from size: UInt64, to end: UInt64
  ) throws(HeartlogError) -> [Digest]

  /// The vault that the store belongs to; `nil` if it has none.
  var vault: VaultMembership? { get }

  /// The keys of the store's vault; `nil` for a store that keeps none.
  var vaultKeys: FavoritesStore? { get }

  /// Makes the store a member of the vault that it agreed on with another store; established, if that one is a member, too.
  func join(_ vault: VaultID, with other: VaultMembership, isEstablished: Bool) throws(HeartlogError)
}

extension ShippedStreams {
  /// The damage that prevents writes to the store, if any.
  var corruption: Finding? { findings.first { $0.verdict == .corrupt } }

  /// Reports a sync, and what it moved, to the store's tracer.
  func traced(_ sync: () throws(HeartlogError) -> SyncReport) throws(HeartlogError) -> SyncReport {
    guard trace.isOn else { return try sync() }
    let conflicts = conflictCount
    let report = try trace.span(.sync, sync)
    guard !report.isDryRun else { return report }
    trace.count(.receivedCommits, by: report.received.commits)
    trace.count(.receivedBytes, by: report.received.bytes)
    trace.count(.sentCommits, by: report.sent.commits)
    trace.count(.sentBytes, by: report.sent.bytes)
    trace.count(.conflicts, by: UInt64(max(0, conflictCount - conflicts)))
    return report
  }
}

extension FavoritesStore: ShippedStreams {
  package var conflictCount: Int { conflicts.count }
}

/// The rules for replica names received from a peer or a file.
enum ShippedName {
  static let bytesMax = 127

  /// Checks a replica name.
  ///
  /// - Throws: `MalformedError` if the name is too long or contains a control character.
  static func check(_ name: String) throws(MalformedError) {
    guard name.utf8.count <= bytesMax else {
      throw MalformedError("a replica's name of \(name.utf8.count) bytes, the most is \(bytesMax)")
    }
    guard !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
      throw MalformedError("a replica's name with a control character")
    }
  }
}
