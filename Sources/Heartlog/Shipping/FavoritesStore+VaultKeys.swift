import HeartlogFormat
import HeartlogStorage

/// What a store keeps of the keys of its vault. Sources: docs/format.md, "Vault keys"; docs/encryption.md.
extension FavoritesStore {
  /// The bytes of a file of the folder `keys`; nil if there is none.
  package func keyFile(_ name: String) throws(HeartlogError) -> [UInt8]? {
    try log.keyFile(name)
  }

  /// The names in a folder of the folder `keys`.
  package func keyFileNames(in folder: String) throws(HeartlogError) -> [String] {
    try log.keyFileNames(in: folder)
  }

  /// Writes a file of the folder `keys`, durably.
  package func replaceKeyFile(_ name: String, with bytes: [UInt8]) throws(HeartlogError) {
    try refuseInsideWrite("replaceKeyFile")
    try log.replaceKeyFile(name, with: bytes)
  }

  /// The revoked replicas, with the last commit of each that counts.
  package func revokedReplicas() throws(HeartlogError) -> [ReplicaID: UInt64] {
    try log.revokedReplicas()
  }

  /// Records which replicas are revoked. Nothing that they write later is received from anywhere, and what came before this was known
  /// goes on as a stream of its own.
  package func revoke(_ revoked: [ReplicaID: UInt64]) throws(HeartlogError) {
    if try revokedReplicas() != revoked { try log.revoke(revoked) }
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

  /// Keeps room for the streams of members, and of those that were, until the store is closed.
  package func vouch(for members: Set<ReplicaID>, removed: Set<ReplicaID>) {
    log.vouch(for: members, removed: removed)
  }

  /// Why a run of a revoked replica is not received; nil if it counts.
  func refusal(of run: StreamRun) throws(HeartlogError) -> String? {
    guard let size = try revokedReplicas()[run.replica], run.lastCommit.rawValue > size else { return nil }
    return "the device was revoked after commit \(size): nothing that it wrote later counts"
  }
}
