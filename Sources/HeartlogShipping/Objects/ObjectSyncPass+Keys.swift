import Heartlog
import HeartlogEncryption

/// The keys of an encrypted vault: which epochs a place has, and under which one this device writes there.
extension ObjectSyncPass {
  /// Finds out whether the vault is encrypted, and reads the epochs that the place has.
  ///
  /// - Throws: `noKey` if it is, and this device has no key to it.
  mutating func beginKeys(_ listing: FolderListing) throws(HeartlogError) {
    guard let store = store.vaultKeys else {
      guard listing.epochs.isEmpty else { throw Self.notJoined(objects.description) }
      return
    }
    guard try Keyring.isPresent(in: store) else {
      guard listing.epochs.isEmpty else { throw Self.notJoined(objects.description) }
      guard store.recordedEpochs.isEmpty else {
        throw HeartlogError(
          .noKey,
          "this store's vault is encrypted, and this device has no key to it: nothing of it is put to \(objects.description)"
        )
      }
      guard options.encrypts, !options.isDryRun, !options.isPull else { return }
      let ring = try Keyring(of: store)
      self.ring = ring
      format = .encrypted(ObjectKeys(ring))
      return
    }
    var ring = try Keyring(of: store)
    let new = ring.take(try epochs(listing, in: ring))
    // Whoever is out should know it from now on.
    if !options.isDryRun { try ring.keep(new) }
    try ring.choose(among: listing.epochs, at: objects.description, of: self.store.vault)
    if case .isOut(let reason) = ring.standing {
      throw HeartlogError(.noKey, "\(objects.description) is encrypted: \(reason)")
    }
    self.ring = ring
    format = .encrypted(ObjectKeys(ring))
  }

  /// Makes the epoch that this device needs to write, and puts those that the place lacks.
  mutating func settleKeys(_ listing: FolderListing) throws(HeartlogError) {
    guard var ring, !options.isDryRun, !options.isPull else { return }
    let codes = ring.codes.map(\.key.publicKey)
    if ring.isEmpty {
      guard let vault = store.vault else {
        throw HeartlogError(.invalid, "a store without a vault cannot be encrypted")
      }
      _ = try ring.makeFirst(in: vault.id)
      try ring.choose(among: [], at: objects.description, of: vault)
      self.ring = ring
      try recall()
    } else if case .joins(let epochs, let code) = ring.standing {
      _ = try ring.join(epochs, withCode: code)
    }
    report.hasNewRecoveryCode = ring.codes.map(\.key.publicKey) != codes
    let there = Set(listing.epochs)
    let missing = ring.epochs.values.filter {
      !there.contains($0.id) && (ring.vault == nil || $0.vault == ring.vault)
    }
    if case .writes(let head) = ring.standing, !missing.isEmpty {
      try objects.admit(
        head.devices.map(\.publicKey) + [head.recovery.publicKey],
        onlyThem: missing.contains { ring.hasNewCode($0) })
    }
    let broken = ring.epochs.values.filter { damaged.contains($0.id.objectName) }
    for epoch in (missing + broken).sorted(by: { ($0.number, $0.id) < ($1.number, $1.id) }) {
      if damaged.contains(epoch.id.objectName) { try delete(epoch.id.objectName) }
      try put(epoch.id.objectName, epoch.bytes)
      memory.checked.insert(epoch.id.objectName)
    }
    self.ring = ring
    format = .encrypted(ObjectKeys(ring))
  }

  /// Reads the epochs of the place that this device keeps, to find those that are damaged there.
  mutating func checkEpochs(_ listing: FolderListing) throws(HeartlogError) {
    guard let ring else { return }
    for id in listing.epochs where !memory.checked.contains(id.objectName) {
      guard let known = ring.epochs[id] else { continue }
      try options.checkTime()
      switch try objects.get(id.objectName, bytesMax: KeyEpoch.bytesMax) {
      case .bytes(let bytes) where bytes == known.bytes: memory.checked.insert(id.objectName)
      case .bytes, .unreadable: damaged.insert(id.objectName)
      case .absent, .deleted: break
      }
    }
  }

  /// The epochs of the place that this device does not keep yet. What is none is left alone.
  private mutating func epochs(
    _ listing: FolderListing, in ring: Keyring
  ) throws(HeartlogError) -> [KeyEpoch] {
    var found: [KeyEpoch] = []
    for id in listing.epochs where ring.epochs[id] == nil {
      try options.checkTime()
      guard case .bytes(let bytes) = try objects.get(id.objectName, bytesMax: KeyEpoch.bytesMax) else {
        continue
      }
      report.received.bytes += UInt64(bytes.count)
      guard let epoch = try? KeyEpoch(bytes), epoch.id == id else {
        damaged.insert(id.objectName)
        continue
      }
      found.append(epoch)
    }
    return found
  }

  private static func notJoined(_ place: String) -> HeartlogError {
    HeartlogError(.noKey, "\(place) is encrypted, and this device has no key to it")
  }
}
