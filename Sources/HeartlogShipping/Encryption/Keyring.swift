import Heartlog
import HeartlogEncryption
import HeartlogProofs

/// The key epochs that a device trusts, and what it can do with them. Source: docs/encryption.md, "Epochs in a row".
struct Keyring {
  /// What a device writes under.
  enum Standing {
    /// Under this epoch.
    case writes(KeyEpoch)
    /// Under one that follows these, once it is made; by the recovery code, if the device is no member of them all.
    case joins([KeyEpoch], withCode: RecoveryCode?)
    /// Under none. Why, as a sentence without a full stop.
    case isOut(String)
  }

  private let store: any VaultKeyStore
  private let key: any DeviceKey
  private let agreementKey: AgreementKey
  /// The recovery codes that this device was told or made, the newest first.
  private(set) var codes: [RecoveryCode]
  private var trusted: TrustedEpochs
  /// The vault under whose epochs this device writes at a place. A device that changed from one vault to another has keys of both.
  private(set) var vault: VaultID?
  /// By epoch: the keys that can be read.
  private(set) var keys: [EpochID: EpochKey] = [:]

  private static let codesMax = 8
  private static let epochsFolder = "epochs"
  private static let codesName = "recovery"
  private static let agreementName = "agreement"

  var epochs: [EpochID: KeyEpoch] { trusted.epochs }

  /// Whether the device knows of an epoch, or of a code to one.
  var isEmpty: Bool { epochs.isEmpty && codes.isEmpty }

  /// Reads what the store keeps.
  ///
  /// - Throws: `noKey` if the store has no key of its own; `corrupt`.
  init(of store: any VaultKeyStore) throws(HeartlogError) {
    guard let key = try store.deviceKey else {
      throw HeartlogError(.noKey, "this store has no device key, so no key of a vault can be given to it")
    }
    self.store = store
    self.key = key
    agreementKey = try Self.agreementKey(of: key, in: store)
    codes = try Self.codes(in: store)
    var kept: [KeyEpoch] = []
    for name in try store.keyFileNames(in: Self.epochsFolder) {
      guard let bytes = try store.keyFile("\(Self.epochsFolder)/\(name)") else { continue }
      guard let epoch = try? KeyEpoch(bytes), epoch.id.description == name else {
        throw HeartlogError(
          .corrupt,
          "the key epoch keys/epochs/\(name) of this store is damaged: remove that file, and the next sync brings it again"
        )
      }
      kept.append(epoch)
    }
    trusted = TrustedEpochs(among: kept, roots: Set(kept.map(\.id)))
    unlock()
  }

  /// Whether a store keeps an epoch or a code.
  static func isPresent(in store: any VaultKeyStore) throws(HeartlogError) -> Bool {
    if try !store.keyFileNames(in: epochsFolder).isEmpty { return true }
    return try store.keyFile(codesName) != nil
  }

  private static func agreementKey(
    of key: any DeviceKey, in store: any VaultKeyStore
  ) throws(HeartlogError) -> AgreementKey {
    if let key = key as? SigningKey { return AgreementKey(of: key) }
    // A keychain does not show its seed.
    if let secret = try store.keyFile(agreementName), let known = AgreementKey(secret: secret) {
      return known
    }
    var generator = SystemRandomNumberGenerator()
    let secret = (0..<32).map { _ in UInt8.random(in: 0 ... .max, using: &generator) }
    guard let made = AgreementKey(secret: secret) else {
      preconditionFailure("any 32 bytes are an X25519 secret")
    }
    try store.replaceKeyFile(agreementName, with: secret)
    return made
  }

  // MARK: - Recovery codes

  static func codes(in store: any VaultKeyStore) throws(HeartlogError) -> [RecoveryCode] {
    guard let bytes = try store.keyFile(codesName) else { return [] }
    var codes: [RecoveryCode] = []
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      codes.append(
        try encryptionErrors { () throws(EncryptionError) in
          try RecoveryCode(text: String(decoding: line, as: UTF8.self))
        })
    }
    return codes
  }

  /// Keeps a code, before any epoch needs it.
  mutating func add(_ code: RecoveryCode) throws(HeartlogError) {
    let others = codes.filter { $0.key.publicKey != code.key.publicKey }
    codes = Array(([code] + others).prefix(Self.codesMax))
    try store.replaceKeyFile(Self.codesName, with: Array(codes.map { $0.text + "\n" }.joined().utf8))
  }

  /// The code of the epoch under which this device writes; `nil` if it does not have it.
  var currentCode: RecoveryCode? {
    switch standing {
    case .writes(let epoch): code(of: epoch)
    case .joins(let epochs, let code): code ?? epochs.lazy.compactMap { self.code(of: $0) }.first
    case .isOut: epochs.isEmpty ? codes.first : nil
    }
  }

  private func code(of epoch: KeyEpoch) -> RecoveryCode? {
    codes.first { $0.key.publicKey == epoch.recovery.publicKey }
  }

  /// Whether an epoch has another recovery code than one before it, as a rotation makes.
  func hasNewCode(_ epoch: KeyEpoch) -> Bool {
    epoch.previous.contains { epochs[$0]?.recovery.publicKey != epoch.recovery.publicKey }
  }

  // MARK: - Epochs

  /// Chooses the vault under whose epochs this device writes: one of those that a place has, or of all if it has none. Of several, that of the
  /// code that it was told or made last, then the one that it belongs to, or belonged to last.
  ///
  /// - Throws: `noKey` if the place has epochs, and none that leads to one of this device.
  mutating func choose(
    among found: [EpochID], at place: String, of membership: VaultMembership?
  ) throws(HeartlogError) {
    let candidates = found.isEmpty ? Array(epochs.values) : found.compactMap { epochs[$0] }
    guard !candidates.isEmpty || epochs.isEmpty else {
      throw HeartlogError(
        .noKey, "\(place) is encrypted with the keys of another vault than those of this device")
    }
    let vaults = Set(candidates.map(\.vault))
    let byCode = codes.lazy.compactMap { code in
      candidates.first { $0.recovery.publicKey == code.key.publicKey }?.vault
    }.first
    let belonging = membership.map { [$0.id] + $0.former } ?? []
    vault = byCode ?? belonging.first { vaults.contains($0) } ?? vaults.min()
  }

  /// Takes the epochs of a carrier that lead on from the ones that are trusted, or that a code which is new here made or signed.
  ///
  /// - Parameter root: an epoch that a member named to this device, to be trusted, too.
  /// - Returns: Those that were not trusted before, by number.
  mutating func take(_ found: [KeyEpoch], trusting root: EpochID? = nil) -> [KeyEpoch] {
    // Once an epoch with a code is here, the code vouches for no other: it may be void.
    let known = Set(epochs.values.map(\.recovery.publicKey))
    let code = codes.first { !known.contains($0.key.publicKey) }
    // A member to whom a maker gave another key than to the others refuses the epoch.
    let usable = found.filter { epochs[$0.id] == nil && isReadable($0) }
    let before = Set(epochs.keys)
    trusted = TrustedEpochs(
      among: Array(epochs.values) + usable, roots: root.map { before.union([$0]) } ?? before,
      code: code?.key.publicKey)
    unlock()
    return epochs.values.filter { !before.contains($0.id) }.sorted { ($0.number, $0.id) < ($1.number, $1.id) }
  }

  /// Whether a member can read the key of an epoch; true for who is none.
  private func isReadable(_ epoch: KeyEpoch) -> Bool {
    if epoch.isMember(key.publicKey) { return (try? epoch.key(for: agreementKey)) != nil }
    if let code = code(of: epoch) { return (try? epoch.key(with: code)) != nil }
    return true
  }

  /// Reads the keys of all epochs that can be read.
  private mutating func unlock() {
    for epoch in epochs.values.sorted(by: { ($0.number, $0.id) > ($1.number, $1.id) })
    where keys[epoch.id] == nil {
      var key = try? epoch.key(for: agreementKey)
      if key == nil, let code = code(of: epoch) { key = try? epoch.key(with: code) }
      guard let key else { continue }
      keys.merge(epoch.keys(from: key, among: epochs)) { known, _ in known }
    }
  }

  /// Keeps epochs in the store, and records them in its log.
  func keep(_ new: [KeyEpoch]) throws(HeartlogError) {
    for epoch in new { try store.replaceKeyFile("\(Self.epochsFolder)/\(epoch.id)", with: epoch.bytes) }
    let recorded = store.recordedEpochs
    for epoch in epochs.values.sorted(by: { ($0.number, $0.id) < ($1.number, $1.id) })
    where !recorded.contains(epoch.id.description) {
      try store.record(epoch: epoch.id.description, number: epoch.number)
    }
    try store.revoke(revoked)
  }

  /// The revoked replicas, and the last commit of each that counts.
  var revoked: [ReplicaID: UInt64] {
    Dictionary(
      uniqueKeysWithValues: KeyEpoch.combinedRevocations(of: Array(epochs.values)).map {
        ($0.replica, $0.size)
      })
  }

  /// The epochs that the next epoch of this device, as a member, follows: the one under which it writes, or those that it has to join. None
  /// if it is no member of them all.
  var heads: [KeyEpoch] {
    switch standing {
    case .writes(let epoch): [epoch]
    case .joins(let epochs, withCode: nil): epochs
    case .joins, .isOut: []
    }
  }

  /// Under which epoch this device writes.
  var standing: Standing {
    let tips = trusted.tips.filter { vault == nil || $0.vault == vault }
    let mine = tips.filter(isMember)
    for code in codes {
      let byCode = tips.filter { $0.recovery.publicKey == code.key.publicKey && keys[$0.id] != nil }
      guard !byCode.isEmpty, mine.allSatisfy({ $0.recovery.publicKey == code.key.publicKey }),
        byCode.contains(where: { !$0.isMember(key.publicKey) })
      else { continue }
      guard revoked[key.publicKey.replica] == nil else { break }
      return .joins(Array(byCode.prefix(KeyEpoch.previousMax)), withCode: code)
    }
    if let only = mine.first {
      return mine.count == 1
        ? .writes(only) : .joins(Array(mine.prefix(KeyEpoch.previousMax)), withCode: nil)
    }
    if let size = revoked[key.publicKey.replica] {
      return .isOut(
        "this device was revoked after commit \(size) of its stream, and is never admitted again")
    }
    if epochs.isEmpty {
      return .isOut("no key epoch that this device's recovery code made or signed is there")
    }
    return .isOut("this device is no member of the vault's newest key epoch")
  }

  // MARK: - Making

  /// Makes the first epoch of a vault, with a new recovery code.
  mutating func makeFirst(in vault: VaultID) throws(HeartlogError) -> KeyEpoch {
    try make(following: [], in: vault, revoking: [], withNewCode: true, by: nil)
  }

  /// Makes the epoch that joins some, and admits this device.
  mutating func join(_ epochs: [KeyEpoch], withCode code: RecoveryCode?) throws(HeartlogError) -> KeyEpoch {
    try make(following: epochs, in: epochs[0].vault, revoking: [], withNewCode: false, by: code)
  }

  /// Makes the epoch that joins those of which this device is a member, if there are several.
  mutating func joinHeads() throws(HeartlogError) {
    if case .joins(let epochs, withCode: nil) = standing { _ = try join(epochs, withCode: nil) }
  }

  /// What this device announces to a member, to be admitted.
  func announcement(in vault: VaultID) throws(HeartlogError) -> Member {
    do { return try Member(key, agreementKey: agreementKey, vault: vault) } catch {
      throw HeartlogError(.inputOutput, "the device key cannot be used: \(error)")
    }
  }

  /// Checks that no epoch that is trusted revokes a replica, or this device.
  ///
  /// - Throws: `noKey`.
  func checkNotRevoked(_ replica: ReplicaID? = nil) throws(HeartlogError) {
    let replica = replica ?? key.publicKey.replica
    guard let size = revoked[replica] else { return }
    throw HeartlogError(
      .noKey,
      "replica \(replica) was revoked after commit \(size) of its stream: it is never admitted again, and admits nobody"
    )
  }

  /// Whether this device is a member of an epoch, and can read its key.
  func isMember(of epoch: KeyEpoch) -> Bool { epoch.isMember(key.publicKey) && keys[epoch.id] != nil }

  /// Returns an epoch that this device writes under and that admits another one. It is made if there is none.
  ///
  /// - Throws: `noKey` if this device is no member, or one of the two was revoked.
  mutating func admit(_ member: Member) throws(HeartlogError) -> KeyEpoch {
    try checkNotRevoked()
    try checkNotRevoked(member.replica)
    let heads = heads
    guard !heads.isEmpty else {
      throw HeartlogError(
        .noKey, "the device that should admit the other one is no member of the vault any more")
    }
    // An earlier attempt may have made it.
    if heads.count == 1, heads[0].devices.contains(where: { $0.hasSameKeys(as: member) }) { return heads[0] }
    return try make(
      following: heads, in: heads[0].vault, revoking: [], admitting: member, withNewCode: false, by: nil)
  }

  /// Makes an epoch with a new key and a new recovery code.
  ///
  /// - Throws: `noKey` if this device is no member.
  mutating func rotate(revoking revocations: [Revocation]) throws(HeartlogError) -> KeyEpoch {
    var epochs: [KeyEpoch]
    switch standing {
    case .writes(let epoch): epochs = [epoch]
    case .joins(let joined, let code):
      // A new code cannot be made by the old one: first this device becomes a member.
      if code != nil { _ = try join(joined, withCode: code) }
      guard case .writes(let epoch) = standing else {
        epochs = joined
        break
      }
      epochs = [epoch]
    case .isOut(let reason): throw HeartlogError(.noKey, reason)
    }
    return try make(
      following: epochs, in: epochs[0].vault, revoking: revocations, withNewCode: true, by: nil)
  }

  private mutating func make(
    following previous: [KeyEpoch], in vault: VaultID, revoking new: [Revocation],
    admitting admitted: Member? = nil, withNewCode: Bool, by maker: RecoveryCode?
  ) throws(HeartlogError) -> KeyEpoch {
    var before: [(epoch: KeyEpoch, key: EpochKey)] = []
    for epoch in previous {
      guard let key = keys[epoch.id] else {
        throw HeartlogError(.noKey, "the key of epoch \(epoch.id) cannot be read")
      }
      before.append((epoch, key))
    }
    var revocations = Dictionary(
      uniqueKeysWithValues: KeyEpoch.combinedRevocations(of: previous).map { ($0.replica, $0) })
    for revocation in new where revocations[revocation.replica].map({ revocation.size < $0.size }) ?? true {
      revocations[revocation.replica] = revocation
    }
    let code =
      withNewCode || Set(previous.map(\.recovery.publicKey)).count > 1 ? Self.makeCode() : nil
    if let code { try add(code) }
    let made: (epoch: KeyEpoch, key: EpochKey)
    do {
      let included =
        [try Member(key, agreementKey: agreementKey, vault: vault)] + (admitted.map { [$0] } ?? [])
      let others = KeyEpoch.commonDevices(of: previous).filter { other in
        !included.contains { $0.publicKey == other.publicKey } && revocations[other.replica] == nil
      }
      guard let recovery = code?.member(of: vault) ?? previous.first?.recovery else {
        preconditionFailure("a first epoch has a new recovery code")
      }
      var generator = SystemRandomNumberGenerator()
      made = try KeyEpoch.make(
        in: vault, following: before, recovery: recovery, devices: others + included,
        revocations: Array(revocations.values), by: maker?.key ?? key, signedBy: code, using: &generator)
    } catch let error as EncryptionError {
      throw HeartlogError(.invalid, error.description)
    } catch {
      throw HeartlogError(.inputOutput, "the device key cannot be used: \(error)")
    }
    trusted = TrustedEpochs(
      among: Array(epochs.values) + [made.epoch], roots: Set(epochs.keys).union([made.epoch.id]))
    keys[made.epoch.id] = made.key
    try keep([made.epoch])
    return made.epoch
  }

  private static func makeCode() -> RecoveryCode {
    var generator = SystemRandomNumberGenerator()
    return RecoveryCode(using: &generator)
  }
}

/// Runs what reads an epoch or a code of this store, and converts its errors.
func encryptionErrors<R>(_ body: () throws(EncryptionError) -> R) throws(HeartlogError) -> R {
  do { return try body() } catch {
    throw HeartlogError(.corrupt, "a key of this store is damaged: \(error.description)")
  }
}
