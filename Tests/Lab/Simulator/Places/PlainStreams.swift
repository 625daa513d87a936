import Heartlog
import HeartlogSync
import HeartlogFormat

/// What a store does that has no key, no vault, no conflicts and no known damage, and that erases nothing.
extension ShippedStreams {
  /// `nil`: a store that keeps no checkpoints.
  package func forkProof(of other: SignedCheckpoint) throws(HeartlogError) -> ForkProof? { nil }

  /// Nothing: a store that keeps no checkpoints.
  package func keep(_ proof: ForkProof) throws(HeartlogError) {}

  /// `nil`: a store that keeps no checkpoints.
  package func evidence(of replica: ReplicaID) throws(HeartlogError) -> ForkProof? { nil }

  /// Nothing: a store that keeps no checkpoints.
  package func setAside(_ replica: ReplicaID) throws(HeartlogError) {}

  /// Nothing: a store without a key.
  package func prepareToShip() throws(HeartlogError) -> HeartlogError? { nil }

  /// Nothing: a store that keeps no checkpoints.
  package func applyErasures() throws(HeartlogError) -> ErasureReport { ErasureReport() }

  /// `false`: a store that erases nothing.
  package func hasErased(in replica: ReplicaID) throws(HeartlogError) -> Bool { false }

  /// `nil`: a store that erases nothing.
  package func redacted(_ run: StreamRun) throws(HeartlogError) -> StreamRun? { nil }

  /// Empty: a store that knows of none.
  package var inactiveReplicas: Set<ReplicaID> { [] }

  /// `ahead`: a store that keeps no checkpoints.
  package func take(
    _ checkpoint: SignedCheckpoint, at time: Milliseconds
  ) throws(HeartlogError) -> TakenCheckpoint { .ahead }

  /// Empty: a store without signed streams.
  package func treeExtension(
    of replica: ReplicaID, from size: UInt64, to end: UInt64
  ) throws(HeartlogError) -> [Digest] { [] }

  /// `nil`: a store without a vault.
  package var vault: VaultMembership? { nil }

  /// Nothing: a store without a vault.
  package func join(
    _ vault: VaultID, with other: VaultMembership, isEstablished: Bool
  ) throws(HeartlogError) {}

  /// One of all heads.
  package func streamHead(of replica: ReplicaID) throws(HeartlogError) -> StreamHead? {
    try streamHeads().first { $0.replica == replica }
  }

  /// Receives the runs one by one.
  package func receive(together runs: [StreamRun]) throws(HeartlogError) -> [ReceivedRun] {
    var outcomes: [ReceivedRun] = []
    for run in runs { outcomes.append(try receive(run)) }
    return outcomes
  }

  /// `nil`: the wall time is not known.
  package func lastWallTime(of replica: ReplicaID) -> Milliseconds? { nil }

  /// Nowhere.
  package var trace: StoreTrace { StoreTrace() }

  /// Empty: no person drops any.
  package func droppedReplicas() throws(HeartlogError) -> [ReplicaID] { [] }

  /// `nil`: a store that keeps no keys, so its vault is not encrypted.
  package var vaultKeys: FavoritesStore? { nil }

  /// 0: what keeps no state has no conflicts.
  package var conflictCount: Int { 0 }

  /// Empty: no damage is known.
  package var findings: [Finding] { [] }

  /// `nil`: a store that cannot check in advance reports damage when the read fails.
  package func damage(
    of replica: ReplicaID, after: UInt64, upTo last: CommitNumber
  ) throws(HeartlogError) -> Finding? { nil }
}
