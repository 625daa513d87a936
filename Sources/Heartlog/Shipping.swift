import HeartlogFiles
import HeartlogFormat
import HeartlogEngine

/// A store as a transport for commits sees it: streams, runs of commits, and the roots that prove them.
///
/// `HeartlogSync` syncs stores with these calls. They are thread-safe.
extension FavoritesStore {
  /// Returns the heads of all streams, sorted by replica. Counts durable commits only.
  ///
  /// - Complexity: hashes what was written since the last call; the first call hashes from the last sealed segment.
  package func streamHeads() throws(HeartlogError) -> [StreamHead] {
    try refuseInsideWrite("streamHeads")
    return try log.streamHeads()
  }

  /// Returns the head of one stream; nil if there is no such stream. What `streamHeads()` costs, for one.
  package func streamHead(of replica: ReplicaID) throws(HeartlogError) -> StreamHead? {
    try refuseInsideWrite("streamHead")
    return try log.streamHeads(of: replica).first
  }

  /// Returns the root of a stream's hash tree over its commits up to `commit`; nil if the stream is shorter.
  package func streamRoot(of replica: ReplicaID, at commit: CommitNumber) throws(HeartlogError) -> Digest? {
    try log.streamRoot(of: replica, at: commit)
  }

  /// Returns the next run of a stream: at most as many commits as one block holds.
  ///
  /// - Parameters:
  ///   - replica: the stream's replica.
  ///   - after: the commit before the run; 0 for the start of the stream.
  ///   - last: the last commit that the run may contain.
  /// - Returns: nil if there is nothing after `after`.
  package func streamRun(
    of replica: ReplicaID, after: UInt64, upTo last: CommitNumber
  ) throws(HeartlogError) -> StreamRun? {
    try log.streamRun(of: replica, after: after, upTo: last)
  }

  /// Checks whether commits of a stream can be read, so that none are announced that cannot be sent.
  ///
  /// - Parameters:
  ///   - replica: the stream's replica.
  ///   - after: the commit before the first one to check; 0 for the start of the stream.
  ///   - last: the last commit to check.
  /// - Returns: nil if all can be read; otherwise the damage. Its first commit is the first that cannot be read.
  /// - Complexity: reads only the part of the log before the snapshot that the store was opened from.
  package func damage(
    of replica: ReplicaID, after: UInt64, upTo last: CommitNumber
  ) throws(HeartlogError) -> Finding? {
    try log.damage(of: replica, after: after, upTo: last)
  }

  /// Receives a run of another replica's commits. Writes the new ones durably, all or nothing.
  ///
  /// Numbers, sequences, stamps, limits, and the root after the run are checked before anything is written. Observers are notified as for
  /// own writes.
  ///
  /// - Throws: `peer` if the bytes are not a run or break a rule; `HeartlogError` if the store cannot be written.
  package func receive(_ run: StreamRun) throws(HeartlogError) -> ReceivedRun {
    try refuseInsideWrite("receive")
    if let reason = try refusal(of: run) { return .unsigned(reason) }
    return try peerErrors { () throws(HeartlogError) in try log.receive(run) }
  }

  /// Receives runs that were `waiting` for each other or for others that have now arrived.
  ///
  /// - Parameter runs: runs of any streams; the runs of one stream in stream order.
  /// - Returns: the outcome of each run.
  /// - Throws: like ``receive(_:)``. Some of the runs may have been received then.
  package func receive(together runs: [StreamRun]) throws(HeartlogError) -> [ReceivedRun] {
    try refuseInsideWrite("receive")
    for run in runs where try refusal(of: run) != nil {
      // Few vaults have revoked a device, and few runs wait for others.
      var outcomes: [ReceivedRun] = []
      for run in runs { outcomes.append(try receive(run)) }
      return outcomes
    }
    return try peerErrors { () throws(HeartlogError) in try log.receive(together: runs) }
  }

  /// The proof that the owner of a stream signed another history than this store has; nil if the store cannot show it.
  package func forkProof(of other: SignedCheckpoint) throws(HeartlogError) -> ForkProof? {
    try log.forkProof(of: other)
  }

  /// Keeps a proof that a key signed two histories.
  package func keep(_ proof: ForkProof) throws(HeartlogError) {
    try refuseInsideWrite("keep")
    try log.keep(proof)
  }

  /// A proof that a device's key signed two histories; nil if none is kept.
  package func evidence(of replica: ReplicaID) throws(HeartlogError) -> ForkProof? {
    try evidence().lazy.compactMap(\.proof).first { $0.replica == replica }
  }

  /// Makes room for the signed history of a stream: the unsigned one in this store continues as a stream of its own.
  package func setAside(_ replica: ReplicaID) throws(HeartlogError) {
    try refuseInsideWrite("setAside")
    try log.setAside(replica)
  }

  /// Makes everything in the store fit to be shipped: signs the own stream as far as it has come, if there is a key. What a retired device
  /// never signed becomes a stream of its own.
  ///
  /// - Returns: The `readOnly` error if the store cannot be written. What was signed before is still shipped.
  /// - Throws: `corrupt` if the own stream cannot be read, or contradicts what was signed before. What was signed is still shipped. Damage
  ///   that is among the `findings` already is not thrown.
  @discardableResult
  package func prepareToShip() throws(HeartlogError) -> HeartlogError? {
    do {
      _ = try log.makeCheckpoint()
      for device in devices where device.isRetired && !device.isOwn && !device.isEnded {
        try log.setUnsignedAside(of: device.replica)
      }
      return nil
    } catch {
      guard error.code != .readOnly else { return error }
      guard error.code == .corrupt else { throw error }
      if findings.contains(where: { $0.verdict == .corrupt }) { return nil }
      let last = CommitNumber(rawValue: Limits.numberMax)
      throw try damage(of: replica, after: 0, upTo: last)?.error ?? error
    }
  }

  /// Takes a checkpoint that another store showed, with a valid signature.
  package func take(
    _ checkpoint: SignedCheckpoint, at time: Milliseconds
  ) throws(HeartlogError) -> TakenCheckpoint {
    try refuseInsideWrite("take")
    return try log.take(checkpoint, seconds: UInt64(max(0, time) / 1_000))
  }

  /// Returns the roots that lead from the tree over a stream's first `size` commits to that over `end`.
  package func treeExtension(
    of replica: ReplicaID, from size: UInt64, to end: UInt64
  ) throws(HeartlogError) -> [Digest] {
    try log.treeExtension(of: replica, from: size, to: end)
  }

  /// The vault that the store belongs to.
  package var vault: VaultMembership? { log.vault }

  /// The key with which this device signs; nil if the store has none.
  package var deviceKey: (any DeviceKey)? {
    get throws(HeartlogError) { try log.deviceKey }
  }

  /// Makes the store a member of a vault.
  package func join(
    _ vault: VaultID, with other: VaultMembership, isEstablished: Bool
  ) throws(HeartlogError) {
    try log.join(vault, with: other, isEstablished: isEstablished)
  }

  func peerErrors<R>(_ body: () throws(HeartlogError) -> R) throws(HeartlogError) -> R {
    do { return try body() } catch {
      guard error.code == .invalid else { throw error }
      throw HeartlogError(.peer, "a malformed run of commits: \(error.message)")
    }
  }

  /// Ends a stream with two histories, after the last commit that both have in common. This store's commits beyond it continue as a stream
  /// of their own, under a name that every store derives in the same way. If it is the store's own stream, the store writes as another
  /// replica from then on.
  ///
  /// - Parameters:
  ///   - replica: the stream's replica.
  ///   - commit: the last common commit; 0 if even the first differs.
  package func endStream(_ replica: ReplicaID, after commit: CommitNumber) throws(HeartlogError) {
    try refuseInsideWrite("endStream")
    try heartlogErrors { _ = try log.endStream(replica, after: commit.rawValue) }
  }
}

/// A store as a backup sees it: everything that is durable, signed or not.
extension FavoritesStore {
  /// Returns the last durable commit of each stream, sorted by replica, whether its device has signed it or not.
  ///
  /// A store that is open for reading is not changed, and takes no lock.
  ///
  /// - Throws: `corrupt` if the store is damaged, as far as that is known.
  package func durableHeads() throws(HeartlogError) -> [StreamHead] {
    try refuseInsideWrite("backUp")
    let heads = try log.streamHeads(includesUnsigned: true)
    if let damage = findings.first(where: { $0.verdict != .torn }) { throw damage.error }
    return heads
  }

  /// Returns the newest checkpoint of a stream among its first commits; nil if there is none.
  package func checkpoint(of head: StreamHead) throws(HeartlogError) -> SignedCheckpoint? {
    let signed = try log.checkpoint(of: head.replica)
    return signed.flatMap { $0.checkpoint.size <= head.commit.rawValue ? $0 : nil }
  }

  /// Returns the state of all commits up to these heads. Replays the log from the newest snapshot before them.
  ///
  /// - Throws: `corrupt` if the log cannot be read.
  package func state(upTo heads: [Head]) throws(HeartlogError) -> FavoritesState {
    try heartlogErrors {
      let last = Dictionary(uniqueKeysWithValues: heads.map { ($0.replica, $0.commit) })
      let log = try LogReplay(at: path, on: fileSystem)
      let (state, _, outcome) = try snapshots.replay(
        where: { $0.allSatisfy { position in last[position.replica].map { position.commit <= $0 } ?? false } }
      ) { state, positions in
        try log.run(from: positions) { state.apply($0, upTo: heads) }
      }
      if let damage = outcome.findings.damage.first { throw damage.error }
      return state
    }
  }

  /// Creates an empty store with a new replica in a vault, and opens it.
  ///
  /// - Throws: `exists` if there already is something at the path.
  package static func create(
    at path: String, on fileSystem: any FileSystem, in vault: VaultMembership?, options: StoreOptions
  ) throws(HeartlogError) -> FavoritesStore {
    try heartlogErrors {
      try CommitLog.create(
        at: path, on: fileSystem, name: options.name, vault: vault, options: options.storage)
    }
    return try FavoritesStore(at: path, on: fileSystem, options: options)
  }
}

/// What a store keeps of the keys of its vault. Sources: docs/format.md, "Vault keys"; docs/encryption.md.
extension FavoritesStore {
  /// Writes a file of the folder `keys`, durably.
  package func replaceKeyFile(_ name: String, with bytes: [UInt8]) throws(HeartlogError) {
    try refuseInsideWrite("replaceKeyFile")
    try log.replaceKeyFile(name, with: bytes)
  }

  /// Records which replicas are revoked. Nothing that they write later is received from anywhere, and what came before this was known
  /// goes on as a stream of its own.
  package func revoke(_ revoked: [ReplicaID: UInt64]) throws(HeartlogError) {
    if try log.revokedReplicas() != revoked { try log.revoke(revoked) }
    // A damaged store takes no commits, those of a branch included.
    guard !revoked.isEmpty, !findings.contains(where: { $0.verdict == .corrupt }) else { return }
    for (other, size) in revoked.sorted(by: { $0.key < $1.key }) where other != replica {
      try setAside(other, after: size)
    }
  }

  /// Makes what a revoked replica wrote behind a commit a stream of its own. If it is the store's own replica, it goes on as another one.
  package func setAside(_ replica: ReplicaID, after size: UInt64) throws(HeartlogError) {
    try refuseInsideWrite("setAside")
    _ = try log.setAside(replica, after: size)
  }

  /// Why a run of a revoked replica is not received; nil if it counts.
  func refusal(of run: StreamRun) throws(HeartlogError) -> String? {
    guard let size = try log.revokedReplicas()[run.replica], run.lastCommit.rawValue > size else {
      return nil
    }
    return "the device was revoked after commit \(size): nothing that it wrote later counts"
  }
}
