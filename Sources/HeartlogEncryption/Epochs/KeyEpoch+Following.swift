import HeartlogEvents
import HeartlogProofs

extension KeyEpoch {
  /// Checks that the epoch follows exactly these. Source: docs/encryption.md, "Epochs in a row".
  ///
  /// - Throws: `EncryptionError.malformed`, which names the rule that it breaks.
  package func checkFollows(_ previous: [KeyEpoch]) throws(EncryptionError) {
    guard !previous.isEmpty, Set(previous.map(\.id)) == Set(self.previous) else {
      throw .malformed("epoch \(id) does not follow these epochs")
    }
    guard previous.allSatisfy({ $0.vault == vault }) else {
      throw .malformed("epoch \(id) follows one of another vault")
    }
    // No overflow: numbers are below 2^53.
    guard previous.map(\.number).max() == number - 1 else {
      throw .malformed("epoch \(id) has number \(number), which does not follow the ones before it")
    }
    guard previous.allSatisfy({ $0.isMember(maker) }) else {
      throw .malformed("epoch \(id) was made by replica \(maker.replica), which was no member before it")
    }
    let revoked = Dictionary(uniqueKeysWithValues: revocations.map { ($0.replica, $0.size) })
    let devices = Set(devices.map(\.publicKey))
    for device in Self.commonDevices(of: previous)
    where !devices.contains(device.publicKey) && revoked[device.replica] == nil {
      throw .malformed("epoch \(id) leaves out replica \(device.replica) and does not revoke it")
    }
    for revocation in previous.flatMap(\.revocations) {
      guard let size = revoked[revocation.replica], size <= revocation.size else {
        throw .malformed("epoch \(id) takes back the revocation of replica \(revocation.replica)")
      }
    }
    try checkRecovery(previous, revoked: Set(revoked.keys))
  }

  /// The devices that all of some epochs have. A device that joins them by itself takes these only: another one may have been admitted by a
  /// member that one of the epochs revokes.
  package static func commonDevices(of epochs: [KeyEpoch]) -> [Member] {
    guard let first = epochs.first else { return [] }
    let common = epochs.dropFirst().map { Set($0.devices.map(\.publicKey)) }
    return first.devices.filter { device in common.allSatisfy { $0.contains(device.publicKey) } }
  }

  /// The revocations that an epoch has that follows these: of each replica, the one at the earliest commit.
  package static func combinedRevocations(of epochs: [KeyEpoch]) -> [Revocation] {
    let all = epochs.flatMap(\.revocations)
    return Dictionary(all.map { ($0.replica, $0) }) { $0.size <= $1.size ? $0 : $1 }.values
      .sorted { $0.replica < $1.replica }
  }

  private func checkRecovery(_ previous: [KeyEpoch], revoked: Set<ReplicaID>) throws(EncryptionError) {
    let codes = Set(previous.map(\.recovery.publicKey))
    let revokedBefore = Set(previous.flatMap(\.revocations).map(\.replica))
    if codes.count > 1 || !revoked.isSubset(of: revokedBefore) {
      guard !codes.contains(recovery.publicKey) else {
        throw .malformed("epoch \(id) revokes a replica, or joins two rotations, and keeps a recovery code")
      }
    }
    guard codes == [recovery.publicKey] || isSignedByRecovery else {
      throw .malformed("epoch \(id) has a new recovery code, which did not sign it")
    }
  }
}

/// The epochs of a vault that a device trusts.
package struct TrustedEpochs: Sendable {
  /// All of them.
  package private(set) var epochs: [EpochID: KeyEpoch] = [:]

  /// Finds what leads from the epochs that are trusted, back along the ids that they name and forward along epochs that follow.
  ///
  /// - Parameters:
  ///   - found: all epochs that a carrier has, in any order, each once.
  ///   - roots: the ids of epochs that a paired member named.
  ///   - code: the public key of a recovery code. Epochs that it signed are trusted.
  package init(among found: [KeyEpoch], roots: Set<EpochID>, code: PublicKey? = nil) {
    let all = Dictionary(found.map { ($0.id, $0) }) { first, _ in first }
    var waiting = found.filter { epoch in
      roots.contains(epoch.id)
        || code.map { epoch.isSignedByRecovery && epoch.recovery.publicKey == $0 } ?? false
    }
    while let epoch = waiting.popLast() {
      guard epochs.updateValue(epoch, forKey: epoch.id) == nil else { continue }
      waiting += epoch.previous.compactMap { all[$0] }
    }
    // An epoch has a higher number than those before it, so one pass in the order of numbers finds all.
    for epoch in found.sorted(by: { $0.number < $1.number }) where epochs[epoch.id] == nil {
      let previous = epoch.previous.compactMap { epochs[$0] }
      guard !previous.isEmpty, previous.count == epoch.previous.count,
        (try? epoch.checkFollows(previous)) != nil
      else { continue }
      epochs[epoch.id] = epoch
    }
  }

  /// The epochs of which a device is a member and that no other such epoch follows, by id. A device writes under the only one; if there are
  /// several, it makes one that follows them all.
  package func heads(of key: PublicKey) -> [KeyEpoch] {
    let own = epochs.values.filter { $0.isMember(key) }
    let followed = Set(own.flatMap(\.previous))
    return own.filter { !followed.contains($0.id) }.sorted { $0.id < $1.id }
  }

  /// The epochs that no other one follows, by id, whoever their members are.
  package var tips: [KeyEpoch] {
    let followed = Set(epochs.values.flatMap(\.previous))
    return epochs.values.filter { !followed.contains($0.id) }.sorted { $0.id < $1.id }
  }
}
