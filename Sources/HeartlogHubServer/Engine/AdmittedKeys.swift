import HeartlogFormat

/// The root of an encrypted vault: "Keys at a hub" in docs/hub.md.
struct VaultRoot: Hashable, Sendable {
  let key: PublicKey
  /// The root that made the anchor; `nil` in generation 0.
  let previous: PublicKey?
  let generation: UInt64
  let anchor: EpochID

  static let byteCount = 2 * PublicKey.byteCount + 8 + EpochID.byteCount

  init(key: PublicKey, previous: PublicKey?, generation: UInt64, anchor: EpochID) {
    (self.key, self.previous, self.generation, self.anchor) = (key, previous, generation, anchor)
  }

  /// What engines keep.
  var bytes: [UInt8] {
    key.bytes + (previous?.bytes ?? [UInt8](repeating: 0, count: PublicKey.byteCount))
      + generation.bigEndianBytes + anchor.bytes
  }

  init?(bytes: [UInt8]) {
    guard bytes.count == Self.byteCount, let key = PublicKey(bytes: bytes[..<32]),
      let previous = PublicKey(bytes: bytes[32..<64]), let anchor = EpochID(bytes: bytes[72...])
    else { return nil }
    let generation = bytes[64..<72].reduce(0) { $0 << 8 | UInt64($1) }
    self.init(
      key: key, previous: generation == 0 ? nil : previous, generation: generation, anchor: anchor)
  }
}

/// The keys that a vault admits.
struct AdmittedKeys: Hashable, Sendable {
  /// In the order of their bytes, with the root.
  let keys: [PublicKey]
  /// The key that outranks the others, if the vault is encrypted.
  let root: VaultRoot?
  /// Replicas that an epoch has removed, in order.
  let removed: [ReplicaID]
  /// The keys of invitations, each of which admits one device, and until when, in nanoseconds since 1970.
  let invited: [PublicKey: Int]
  /// Those of the keys that an invitation brought, and no other key has introduced yet. They withdraw nothing.
  let unconfirmed: Set<PublicKey>

  init(
    _ keys: some Sequence<PublicKey>, root: VaultRoot? = nil, removed: some Sequence<ReplicaID> = [],
    invited: [PublicKey: Int] = [:], unconfirmed: Set<PublicKey> = []
  ) {
    self.keys = Set(keys).union(root.map { [$0.key] } ?? []).sorted {
      $0.bytes.lexicographicallyPrecedes($1.bytes)
    }
    self.root = root
    self.removed = Set(removed).sorted()
    self.invited = invited
    self.unconfirmed = unconfirmed.intersection(self.keys)
  }

  /// The keys of an encrypted vault with these objects.
  ///
  /// - Returns: `nil` if no epoch among them is of the root that the vault's id is derived from, or if there are too many keys.
  init?(of vault: VaultID, objects: [KeyObject]) {
    var (epochs, admissions): ([KeyEpoch], [Admission]) = ([], [])
    for object in objects {
      switch object {
      case .epoch(let epoch): epochs.append(epoch)
      case .admission(let admission): admissions.append(admission)
      }
    }
    let state = KeyState(of: vault, epochs: epochs, admissions: admissions)
    guard let anchor = state.anchors.last else { return nil }
    let root = VaultRoot(
      key: anchor.root.publicKey, previous: anchor.generation == 0 ? nil : anchor.maker,
      generation: anchor.generation, anchor: anchor.id)
    self.init(
      state.members.keys, root: root, removed: state.removed.keys,
      invited: Dictionary(
        uniqueKeysWithValues: state.openInvitations.prefix(HubLimits.invitationsMax).map {
          ($0.member.publicKey, $0.hubEnd)
        }), unconfirmed: Set(state.unconfirmed.map(\.publicKey)))
    guard keys.count <= HubLimits.keysMax, removed.count <= KeyEpoch.removalsMax else { return nil }
  }

  /// The keys of devices.
  var devices: [PublicKey] { keys.filter { $0 != root?.key } }

  /// Whether members share the quota.
  var isShared: Bool { devices.count > 1 }

  /// Whether a key may do something: one of these, or that of an invitation that is not over.
  func admits(_ key: PublicKey) -> Bool { keys.contains(key) || isOpen(key) }

  private func isOpen(_ invitation: PublicKey) -> Bool {
    invited[invitation].map { $0 > WallClock.nanoseconds } ?? false
  }

  /// The keys that members of an encrypted vault may change, and its root.
  ///
  /// - Parameter inviting: Keys of invitations, and until when, in nanoseconds since 1970.
  func changing(
    admitting: [PublicKey], removing: [PublicKey], inviting: [PublicKey: Int], as member: VaultMember
  ) -> Result<KeyChange, KeyRefusal> {
    if isOpen(member.key) {
      // To an encrypted vault, an object admits.
      if root != nil, removing.isEmpty, inviting.isEmpty { return .success(KeyChange(from: self)) }
      guard root == nil, admitting.count == 1, removing.isEmpty, inviting.isEmpty else {
        return .failure(.notInvited)
      }
      return .success(KeyChange(from: self, to: accepting(admitting[0], with: member.key)))
    }
    if let root {
      guard inviting.isEmpty else { return .failure(.notAllowed) }
      guard !removing.contains(root.key),
        member.key == root.key
          || removing.allSatisfy({
            $0 == member.key || unconfirmed.contains($0) && !unconfirmed.contains(member.key)
          })
      else { return .failure(.notAllowed) }
    }
    let invited = self.invited.merging(inviting) { $1 }.filter { !removing.contains($0.key) }
    let after = adding(admitting, to: Set(keys).subtracting(removing), invited: invited)
    guard invited.count <= HubLimits.invitationsMax, (1...HubLimits.keysMax).contains(after.keys.count) else {
      return .failure(.wrongCount)
    }
    return .success(KeyChange(from: self, to: after, ending: removing))
  }

  /// Adds keys to some of these. A replica that an epoch removed never comes back.
  private func adding(
    _ added: [PublicKey], to keys: Set<PublicKey>, invited: [PublicKey: Int]? = nil,
    unconfirmed: Set<PublicKey>? = nil
  ) -> AdmittedKeys {
    AdmittedKeys(
      keys.union(added.filter { !removed.contains($0.replica) }), root: root, removed: removed,
      invited: invited ?? self.invited, unconfirmed: unconfirmed ?? self.unconfirmed)
  }

  /// The keys once a device has used an invitation.
  private func accepting(_ device: PublicKey, with invitation: PublicKey) -> AdmittedKeys {
    adding(
      [device], to: Set(keys), invited: invited.filter { $0.key != invitation },
      unconfirmed: root == nil || keys.contains(device) ? unconfirmed : unconfirmed.union([device]))
  }

  /// What an object under `keys/` changes; `nil` for nothing.
  func following(_ object: KeyObject) -> KeyChange? {
    switch object {
    case .epoch(let epoch): following(epoch)
    case .admission(let admission): following(admission)
    }
  }

  /// What an admission changes; `nil` if it was not signed by one of these keys, or by that of an invitation.
  private func following(_ admission: Admission) -> KeyChange? {
    let key = admission.member.publicKey
    let after =
      switch admission.kind {
      case .gives: adding([key], to: Set(keys))
      case .introduces: adding([key], to: Set(keys), unconfirmed: unconfirmed.subtracting([key]))
      case .invites: adding([], to: Set(keys), invited: invited.merging([key: admission.hubEnd]) { $1 })
      case .accepts: accepting(key, with: admission.admitter)
      case .withdraws: adding([], to: Set(keys), invited: invited.filter { $0.key != key })
      }
    let isSigned =
      switch admission.kind {
      case .accepts: isOpen(admission.admitter)
      case .gives: keys.contains(admission.admitter)
      case .invites where admission.hubEnd <= WallClock.nanoseconds: false
      case .introduces, .invites, .withdraws:
        keys.contains(admission.admitter) && !unconfirmed.contains(admission.admitter)
      }
    guard root != nil, isSigned, after != self, after.keys.count <= HubLimits.keysMax,
      after.invited.count <= HubLimits.invitationsMax
    else { return nil }
    return KeyChange(from: self, to: after)
  }

  /// What an epoch changes that the root made, or the one before it; `nil` for any other epoch.
  private func following(_ epoch: KeyEpoch) -> KeyChange? {
    guard let root, epoch.isOfRoot else { return nil }
    let next: VaultRoot
    if epoch.maker == root.key, epoch.generation == root.generation + 1 {
      next = VaultRoot(
        key: epoch.root.publicKey, previous: root.key, generation: epoch.generation, anchor: epoch.id)
    } else if epoch.maker == root.previous, epoch.generation == root.generation, epoch.id != root.anchor {
      // Of two that were made at once, the one with the smaller id holds. The removals of both do.
      next =
        epoch.id < root.anchor
        ? VaultRoot(
          key: epoch.root.publicKey, previous: root.previous, generation: root.generation, anchor: epoch.id)
        : root
    } else {
      return nil
    }
    let gone = Dictionary(uniqueKeysWithValues: epoch.removals.map { ($0.replica, $0.size) })
    let removed = Set(removed).union(gone.keys)
    // With a new root only those stay whom it names: a removed device may have admitted any key.
    let left = Set(next.anchor == epoch.id ? epoch.devices.map(\.publicKey) : keys.filter { $0 != root.key })
      .filter { !removed.contains($0.replica) }
    guard removed.count <= KeyEpoch.removalsMax, left.count < HubLimits.keysMax else { return nil }
    let after = AdmittedKeys(left, root: next, removed: removed)
    return after == self ? nil : KeyChange(from: self, to: after, gone: gone)
  }

  /// Whether a member may delete an object.
  func allowsDeleting(_ name: String, as member: VaultMember) -> Bool {
    guard let root, member.key != root.key else { return true }
    guard !name.hasPrefix("keys/") else { return false }
    let writer = name.prefix(32)
    return writer == member.owner.description || !devices.contains { $0.replica.description == writer }
  }
}

/// A change of the keys of a vault.
struct KeyChange: Hashable, Sendable {
  let before: AdmittedKeys
  let after: AdmittedKeys
  /// Replicas of which objects go, and the last commits of their own that stay.
  let gone: [ReplicaID: UInt64]
  /// Keys whose sessions end.
  let ended: Set<PublicKey>

  init(
    from before: AdmittedKeys, to changed: AdmittedKeys? = nil, ending: [PublicKey] = [],
    gone: [ReplicaID: UInt64] = [:]
  ) {
    let after = changed ?? before
    (self.before, self.after, self.gone) = (before, after, gone)
    ended = Set(before.keys).union(before.invited.keys).subtracting(after.keys).subtracting(
      after.invited.keys
    ).union(ending)
  }

  /// Whether an object goes that a replica put: all but its own commits up to the one that stays, and the keys of the vault.
  func removes(_ name: String, of owner: ReplicaID) -> Bool {
    guard let last = gone[owner], !name.hasPrefix("keys/") else { return false }
    let parts = name.split(separator: "/")
    let ends = parts.last?.split(separator: "-") ?? []
    guard parts.count == 3, parts[0] == parts[1], ends.count > 1, let end = UInt64(ends[1]) else {
      return true
    }
    return end > last
  }
}

enum KeyRefusal: Error, Hashable {
  /// None or too many would be left.
  case wrongCount
  /// Only the root may do this.
  case notAllowed
  /// An invitation does not, or not any more.
  case notInvited
}

extension Admission {
  /// Until when an invitation is good, in nanoseconds since 1970; 0 for any other admission.
  fileprivate var hubEnd: Int {
    guard case .invites(let end) = kind else { return 0 }
    // 0 would be no end.
    guard end > 0 else { return 1 }
    return Int(clamping: end.multipliedReportingOverflow(by: 1_000_000).overflow ? .max : end * 1_000_000)
  }
}
