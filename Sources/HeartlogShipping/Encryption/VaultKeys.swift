import Heartlog
import HeartlogEncryption
import HeartlogProofs

/// What a person does with the keys of a vault.
package struct VaultKeys: ~Copyable {
  /// A key epoch, as shown to people.
  package struct Epoch: Hashable, Sendable {
    package let id: String
    package let number: UInt64
    /// The replica that made it; `nil` if the recovery code did.
    package let maker: ReplicaID?
    package let devices: [ReplicaID]
    package let revoked: [ReplicaID: UInt64]
    /// Whether this device writes under it.
    package let isCurrent: Bool
    /// Whether this device has its key.
    package let isReadable: Bool
  }

  private let store: FavoritesStore
  private var ring: Keyring

  package init(of store: FavoritesStore) throws(HeartlogError) {
    self.store = store
    ring = try Keyring(of: store)
  }

  /// Whether the vault is encrypted, as far as this store knows.
  package var isEncrypted: Bool { !ring.isEmpty || !store.recordedEpochs.isEmpty }

  /// The keys of the recovery codes that a store was told or made, the newest first.
  package static func recoveryKeys(of store: any VaultKeyStore) throws(HeartlogError) -> [any DeviceKey] {
    try Keyring.codes(in: store).map(\.key)
  }

  /// Whether a store's device was revoked, or left out of the vault's newest epoch, as far as it knows.
  package static func isOut(_ store: any VaultKeyStore) throws(HeartlogError) -> Bool {
    guard try Keyring.isPresent(in: store) else { return false }
    let ring = try Keyring(of: store)
    if case .isOut = ring.standing { return !ring.epochs.isEmpty }
    return false
  }

  /// Makes the first epoch, with this device as its only one.
  ///
  /// - Throws: `exists` if the vault is encrypted already.
  package mutating func make() throws(HeartlogError) {
    guard !isEncrypted else { throw HeartlogError(.exists, "the vault is encrypted already") }
    guard let vault = store.vault else {
      throw HeartlogError(.invalid, "a store without a vault cannot be encrypted")
    }
    _ = try ring.makeFirst(in: vault.id)
  }

  /// Keeps a recovery code, with which the next sync admits this device.
  ///
  /// - Throws: `invalid` if it is none; the message says where the mistake is.
  package mutating func join(_ text: String) throws(HeartlogError) {
    let code: RecoveryCode
    do { code = try RecoveryCode(text: text) } catch { throw HeartlogError(.invalid, error.description) }
    try ring.add(code)
  }

  /// The recovery code of the newest epoch; `nil` if this device does not have it.
  package var code: String? { ring.currentCode?.text }

  /// Makes an epoch with a new key and a new recovery code.
  ///
  /// - Parameter replica: The device that reads nothing from then on, and of whose stream nothing counts behind what is here.
  /// - Throws: `noKey` if this device is no member; `invalid` for its own replica.
  package mutating func rotate(without replica: ReplicaID?) throws(HeartlogError) {
    var revocations: [Revocation] = []
    if let replica {
      guard replica != store.replica else {
        throw HeartlogError(.invalid, "a device cannot revoke itself: do it on another one")
      }
      let head = try store.streamHead(of: replica)
      let size = head?.commit.rawValue ?? 0
      revocations.append(Revocation(replica: replica, size: size, root: size > 0 ? head?.root : nil))
    }
    _ = try ring.rotate(revoking: revocations)
  }

  /// All epochs that are trusted here, the newest first.
  package var epochs: [Epoch] {
    var current: EpochID?
    if case .writes(let epoch) = ring.standing { current = epoch.id }
    return ring.epochs.values.sorted { ($0.number, $0.id) > ($1.number, $1.id) }.map { epoch in
      Epoch(
        id: epoch.id.description, number: epoch.number,
        maker: epoch.maker == epoch.recovery.publicKey ? nil : epoch.maker.replica,
        devices: epoch.devices.map(\.replica).sorted(),
        revoked: Dictionary(uniqueKeysWithValues: epoch.revocations.map { ($0.replica, $0.size) }),
        isCurrent: epoch.id == current, isReadable: ring.keys[epoch.id] != nil)
    }
  }

  /// Why this device cannot write to an encrypted place; `nil` if it can, or will once it has synced.
  package var reasonOut: String? {
    if case .isOut(let reason) = ring.standing, !ring.epochs.isEmpty { return reason }
    return nil
  }
}
