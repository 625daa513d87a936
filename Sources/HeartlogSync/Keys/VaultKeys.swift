import Heartlog
import HeartlogFormat

/// What a person does with the keys of a vault.
package struct VaultKeys: ~Copyable {
  /// A key epoch, as shown to people.
  package struct Epoch: Hashable, Sendable {
    package let id: String
    package let number: UInt64
    /// The number of recovery codes before the one of this epoch.
    package let generation: UInt64
    /// The device on which it was made.
    package let maker: ReplicaID
    /// Whether the recovery code made it.
    package let isOfRoot: Bool
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

  /// Whether the vault is encrypted.
  package var isEncrypted: Bool { store.vaultID?.isEncrypted == true }

  /// Whether a code is kept until a sync joins with it.
  package var isJoining: Bool { ring.code != nil }

  /// The key of the recovery code or of the invitation with which a store will join; `nil` if there is none.
  package static func joiningKey(of store: FavoritesStore) throws(HeartlogError) -> (any DeviceKey)? {
    try Keyring.joiningKey(of: store)
  }

  /// Keeps an invitation, with which the next sync admits this device.
  package static func join(_ vault: VaultID, with key: SigningKey, _ store: FavoritesStore)
    throws(HeartlogError)
  {
    try Keyring.keep(nil, in: store)
    try Keyring.keepInvitation((vault, key), in: store)
  }

  /// Makes an invitation, which the next sync puts where the vault is.
  ///
  /// - Parameter end: until when it is good, in milliseconds since 1970.
  /// - Returns: The key that admits one device.
  /// - Throws: `noKey` if this device is no member, or no other one has confirmed it.
  package mutating func invite(until end: Milliseconds) throws(HeartlogError) -> SigningKey {
    try ring.invite(until: end)
  }

  /// Withdraws all invitations that are open.
  ///
  /// - Returns: How many there were.
  /// - Throws: `noKey` if this device is no member, or no other one has confirmed it.
  package mutating func withdrawInvitations() throws(HeartlogError) -> Int {
    let open = ring.state.openInvitations
    try ring.withdraw(open)
    return open.count
  }

  /// Whether a store's device was removed, or has no key of its vault, as far as it knows.
  package static func isNotAMember(_ store: FavoritesStore) throws(HeartlogError) -> Bool {
    guard store.vault?.id.isEncrypted == true else { return false }
    if case .notAMember = try Keyring(of: store).standing { return true }
    return false
  }

  /// The epochs and admissions of a store's vault: what leads from its id to its members.
  package static func objects(of store: FavoritesStore) throws(HeartlogError) -> [[UInt8]] {
    try Keyring(of: store).objects.map(\.bytes)
  }

  /// Encrypts the vault of a store, unless it is: it becomes another vault, with this device as its only member. The code is kept until
  /// a sync reports it.
  package static func encrypt(_ store: FavoritesStore, at time: Milliseconds) throws(HeartlogError) {
    guard store.vault?.id.isEncrypted != true else { return }
    var ring = try Keyring(of: store)
    do {
      try ring.makeFirst(at: time) { code in try Keyring.keep(code, as: .unshown, in: store) }
    } catch {
      try Keyring.keep(nil, as: .unshown, in: store)
      throw HeartlogError(wrapping: error)
    }
  }

  /// Keeps a code that a sync reported and that could not be shown, so that the next one reports it again.
  package static func keepUnshown(_ code: String, in store: FavoritesStore) throws(HeartlogError) {
    try Keyring.keep(try Self.code(code), as: .unshown, in: store)
  }

  /// Makes the first epoch, with this device as its only one. The vault gets another id, which is derived from the recovery code.
  ///
  /// - Parameters:
  ///   - isAgain: whether an encrypted vault is left for a new one with the same log.
  ///   - show: shows the code to a person. If it throws, nothing was made.
  /// - Throws: `exists` if the vault is encrypted already; what `show` throws.
  package mutating func make(
    again isAgain: Bool = false, at time: Milliseconds = StoreOptions.systemTime(),
    show: (String) throws -> Void
  ) throws {
    guard !isEncrypted || isAgain else { throw HeartlogError(.exists, "the vault is encrypted already") }
    guard ring.ownRemoval == nil else {
      throw HeartlogError(.noKey, "this device was removed from its vault: begin a new store instead")
    }
    try ring.makeFirst(at: time) { try show($0.text) }
  }

  /// Keeps a recovery code, with which the next sync admits this device.
  ///
  /// - Throws: `invalid` if it is none; the message says where the mistake is.
  package mutating func join(_ text: String) throws(HeartlogError) {
    try Keyring.keep(try Self.code(text), in: store)
    try Keyring.keepInvitation(nil, in: store)
    ring = try Keyring(of: store)
  }

  private static func code(_ text: String) throws(HeartlogError) -> RecoveryCode {
    do { return try RecoveryCode(text: text) } catch { throw HeartlogError(.invalid, error.description) }
  }

  /// Makes an epoch with a new key.
  ///
  /// - Throws: `noKey` if this device is no member.
  package mutating func rotate(at time: Milliseconds = StoreOptions.systemTime()) throws(HeartlogError) {
    try ring.makeEpoch(at: time)
  }

  /// Makes an epoch with a new key and a new recovery code.
  ///
  /// - Parameters:
  ///   - code: the present code.
  ///   - replica: the device that reads nothing from then on, and of whose stream nothing counts after what is here.
  ///   - show: shows the new code to a person. If it throws, nothing was made.
  /// - Throws: `noKey` if this device is no member, or the code is not the present one; `invalid` for its own replica, or a text that is
  ///   no code; what `show` throws.
  package mutating func rotate(
    code: String, without replica: ReplicaID? = nil, at time: Milliseconds = StoreOptions.systemTime(),
    show: (String) throws -> Void
  ) throws {
    var removals: [Removal] = []
    if let replica {
      guard replica != store.replica else {
        throw HeartlogError(.invalid, "a device cannot remove itself: do it on another one")
      }
      let head = try store.streamHead(of: replica)
      let size = head?.commit.rawValue ?? 0
      removals.append(Removal(replica: replica, size: size, root: size > 0 ? head?.root : nil))
    }
    try ring.makeRoot(with: try Self.code(code), removing: removals, at: time, show: show)
  }

  /// All epochs that are trusted here, the newest first.
  package var epochs: [Epoch] {
    let current = ring.current?.id
    let removed = ring.state.removed
    return ring.state.trusted.values.sorted { ($0.number, $0.id) > ($1.number, $1.id) }.map { epoch in
      Epoch(
        id: epoch.id.description, number: epoch.number, generation: epoch.generation, maker: epoch.origin,
        isOfRoot: epoch.isOfRoot,
        devices: (ring.state.holders[epoch.id] ?? Set(epoch.devices.map(\.replica))).filter {
          removed[$0] == nil
        }
        .sorted(),
        revoked: Dictionary(uniqueKeysWithValues: epoch.removals.map { ($0.replica, $0.size) }),
        isCurrent: epoch.id == current, isReadable: ring.keys[epoch.id] != nil)
    }
  }

  /// The members whom nobody introduced but a replica, or devices that it introduced: its removal leaves them out.
  package func leftOut(without replica: ReplicaID) -> [ReplicaID] {
    let removal = Removal(replica: replica, size: 0, root: nil)
    let left = Set(ring.members(removing: [removal]).map(\.replica)).union([replica, store.replica])
    return members.filter { !left.contains($0) }
  }

  /// The members of the vault.
  package var members: [ReplicaID] { ring.state.members.values.map(\.replica).sorted() }

  /// Whether more than an invitation vouches for this device.
  package var isConfirmed: Bool { ring.isConfirmed }

  /// Why this device cannot write to an encrypted place; `nil` if it can, or will once it has synced.
  package var reasonOut: String? {
    if isEncrypted, case .notAMember(let reason) = ring.standing { return reason }
    return nil
  }

  /// What is wrong with the keys that a store keeps.
  package static func faults(of store: FavoritesStore) throws(HeartlogError) -> [Fault] {
    let isJoining = try store.log.keyFile("recovery")?.isEmpty == false
    guard isJoining || store.vaultID?.isEncrypted == true else { return [] }
    let place = "\(store.path)/keys"
    do throws(HeartlogError) {
      let keys = try VaultKeys(of: store)
      let void = try keys.voidCode.map { Fault(.voidRecoveryCode, $0, at: place) }
      return [keys.reasonOut.map { Fault(.notAMember, $0, at: place) }, void].compactMap(\.self)
    } catch {
      guard error.code == .corrupt else { throw error }
      return [Fault(.damagedVaultKeys, error.message, at: place)]
    }
  }

  /// What is said of a void code at every command, as of the last sync; `nil` if the code is good.
  package static func voidCode(of store: FavoritesStore) throws(HeartlogError) -> String? {
    guard store.vaultID?.isEncrypted == true, let bytes = try store.log.keyFile("void"), !bytes.isEmpty else {
      return nil
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Why the code that was shown or entered here last is not the good one; `nil` if it is.
  package var voidCode: String? { get throws(HeartlogError) { try ring.voidCode } }
}

extension FavoritesStore {
  /// The source of secrets.
  var generator: KeyGenerator { KeyGenerator(random: options.random) }
}

struct KeyGenerator: RandomNumberGenerator {
  let random: @Sendable () -> UInt64
  mutating func next() -> UInt64 { random() }
}
