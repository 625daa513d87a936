import Heartlog
import HeartlogFormat

/// The keys of an encrypted vault: what a place has of them, and under which one this device writes there.
extension SyncPass {
  /// Finds out whether the vault is encrypted, and reads the keys that the place has.
  ///
  /// - Throws: `noKey` if it is, and this device has no key to it.
  mutating func beginKeys(_ listing: FolderListing) throws(HeartlogError) {
    let notJoined = HeartlogError(
      .noKey, "\(place.description) is encrypted, and this device has no key to it")
    if store.vault?.id.isEncrypted != true, try VaultKeys.joining(of: store) == nil {
      guard listing.keys.isEmpty else { throw notJoined }
      guard options.encrypts, !options.isDryRun, !options.isPull else { return }
      // A vault is encrypted before the first object is put.
      try VaultKeys.encrypt(store, at: options.clock())
    }
    var ring = try VaultKeys(of: store)
    // What was found out with the keys that are here already.
    try open(ring)
    try recall()
    let shown = try found(listing, in: ring)
    let new = ring.take(shown, listed: Set(listing.keys))
    for object in shown where ring.isVoid(object) { voidKeys.insert(object.name) }
    // What counts for nothing must not stand where something should.
    for object in shown where !ring.isSame(object) {
      if case .admission(let other) = object, ring.serves(other) {
        memory.checked.insert(object.name)
      } else {
        idleKeys.insert(object.name)
      }
    }
    // Otherwise no code and no invitation leads to a vault, which `standing` says.
    guard ring.vault == nil || listing.keys.isEmpty || listing.keys.contains(where: ring.has) else {
      throw HeartlogError(
        .noKey,
        "\(place.description) is encrypted with the keys of another vault than those of this device, or not all of them are here yet"
      )
    }
    // An invitation that leads nowhere must not take the store out of its vault.
    if ring.vault != store.vault?.id, ring.code == nil, case .notAMember(let reason) = ring.standing {
      throw HeartlogError(.noKey, "\(place.description) is encrypted: \(reason)")
    }
    if !options.isDryRun {
      if let vault = ring.vault { try join(vault) }
      // Whoever is out should know it from now on.
      try ring.keep(new)
    }
    if let removed = ring.ownRemoval, ring.comesBack, !options.isDryRun {
      // What counts no more goes on as a stream of its own, and this device as another one.
      try store.setAside(store.replica, after: removed.removal.size)
      _ = try store.prepareToShip()
      ring = try VaultKeys(of: store)
    }
    if case .notAMember(let reason) = ring.standing {
      throw HeartlogError(.noKey, "\(place.description) is encrypted: \(reason)\(try whatIsHereOnly(ring))")
    }
    try open(ring)
  }

  /// Who removed this device, when, and how many of its events count no more.
  private func whatIsHereOnly(_ ring: VaultKeys) throws(HeartlogError) -> String {
    guard let removed = ring.ownRemoval else { return "" }
    if !options.isDryRun { _ = try store.prepareToShip() }
    guard let head = try head(of: store.replica) else { return "" }
    var (position, count) = (removed.removal.size, UInt64(0))
    while let run = try store.streamRun(of: store.replica, after: position, upTo: head.commit) {
      count += run.eventCount ?? UInt64(run.commitCount)
      position = run.lastCommit.rawValue
    }
    let time = RFC3339.text(Milliseconds(clamping: removed.time))
    return
      ". It was removed on replica \(removed.origin) at \(time); \(count) of its events are here only"
  }

  private mutating func open(_ ring: VaultKeys) throws(HeartlogError) {
    self.ring = ring
    format = .encrypted(ObjectKeys(ring))
  }

  /// Joins the vault to which a recovery code led.
  private func join(_ vault: VaultID) throws(HeartlogError) {
    guard let mine = store.vault, mine.id != vault else { return }
    let theirs = VaultMembership(vault, isEstablished: true)
    // Whoever enters the code of a vault means it.
    try store.join(vault, with: theirs, isEstablished: true)
  }

  /// Makes what this device and other members need to write, and puts what the place lacks.
  mutating func settleKeys(_ listing: FolderListing) throws(HeartlogError) {
    guard var ring, !options.isDryRun, !options.isPull else { return }
    try ring.settle(at: options.clock())
    let there = Set(listing.keys)
    let bad = damaged.union(idleKeys)
    let missing = ring.objects.filter { !there.contains($0.name) || bad.contains($0.name) }
    if !missing.isEmpty { try place.admit(ring.state.members.values.map(\.publicKey)) }
    for object in missing {
      if bad.contains(object.name) { try delete(object.name) }
      do throws(HeartlogError) { try put(object.name, object.bytes) } catch {
        guard error.code == .exists else { throw error }
        // Another member has admitted the same device meanwhile, unless what is there counts for nothing.
        guard case .bytes(let bytes) = try place.get(object.name, bytesMax: KeyEpoch.bytesMax),
          case .admission(let other)? = try? KeyObject(bytes), ring.serves(other)
        else {
          // At a hub only the root may.
          do throws(HeartlogError) { try delete(object.name) } catch {
            guard error.code == .notAdmitted else { throw error }
            continue
          }
          try put(object.name, object.bytes)
          continue
        }
      }
      memory.checked.insert(object.name)
    }
    try ring.forgetHowItJoined()
    // A key stands in an invitation.
    voidKeys.formUnion(listing.keys.filter(ring.isWithdrawn))
    for name in voidKeys.subtracting(missing.map(\.name)).sorted() {
      // At a hub only the root may, and it stays.
      do throws(HeartlogError) { try delete(name) } catch { break }
    }
    try open(ring)
  }

  /// The objects of the place that this device does not keep yet. Compares the others with what is kept, to find those that are damaged.
  private mutating func found(
    _ listing: FolderListing, in ring: VaultKeys
  ) throws(HeartlogError) -> [KeyObject] {
    var found: [KeyObject] = []
    for name in listing.keys where !ring.has(name) || !memory.checked.contains(name) {
      try options.checkTime()
      switch try place.get(name, bytesMax: KeyEpoch.bytesMax) {
      case .bytes(let bytes):
        report.received.bytes += UInt64(bytes.count)
        if let object = try? KeyObject(bytes), object.name == name {
          found.append(object)
          if ring.isSame(object) { memory.checked.insert(name) }
        } else {
          damaged.insert(name)
        }
      case .unreadable, .file, .lost: damaged.insert(name)
      case .absent, .deleted: break
      }
    }
    return found
  }
}
