import HeartlogFormat

/// The root of an encrypted vault: "Keys at a hub" in docs/hub.md.
struct VaultRoot: Hashable, Sendable {
  let key: PublicKey
  /// The root that made the anchor; `nil` in generation 0.
  let previous: PublicKey?
  let generation: UInt64
  let anchor: EpochID

  static let byteCount = 2 * PublicKey.byteCount + 8 + EpochID.byteCount

  /// The root that an epoch names.
  init(_ anchor: KeyEpoch) {
    (key, generation, self.anchor) = (anchor.root.publicKey, anchor.generation, anchor.id)
    previous = generation == 0 ? nil : anchor.maker
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
    generation = bytes[64..<72].reduce(0) { $0 << 8 | UInt64($1) }
    (self.key, self.anchor) = (key, anchor)
    self.previous = generation == 0 ? nil : previous
  }
}

/// The keys that a vault admits.
struct AdmittedKeys: Hashable, Sendable {
  /// The keys of devices.
  private(set) var devices: Set<PublicKey>
  /// The key that outranks the others, if the vault is encrypted.
  private(set) var root: VaultRoot?
  /// Replicas that an epoch has removed.
  private(set) var removed: Set<ReplicaID>
  /// The keys of invitations, each of which admits one device, and until when, in nanoseconds since 1970.
  private(set) var invited: [PublicKey: Int]
  /// The devices that an invitation brought, and no other key has introduced yet. They withdraw nothing.
  private(set) var unconfirmed: Set<PublicKey>

  /// - Parameter keys: Those of devices, with the root's or without it.
  init(
    _ keys: some Sequence<PublicKey>, root: VaultRoot? = nil, removed: Set<ReplicaID> = [],
    invited: [PublicKey: Int] = [:], unconfirmed: Set<PublicKey> = []
  ) {
    devices = Set(keys).subtracting(root.map { [$0.key] } ?? [])
    (self.root, self.removed, self.invited) = (root, removed, invited)
    self.unconfirmed = unconfirmed.intersection(devices)
  }

  /// The keys of an encrypted vault with these objects.
  ///
  /// - Returns: `nil` if no epoch among them is of the root that the vault's id is derived from, or if there are too many keys.
  init?(of vault: VaultID, objects: [KeyObject]) {
    var (epochs, admissions): ([KeyEpoch], [Admission]) = ([], [])
    for case .epoch(let epoch) in objects { epochs.append(epoch) }
    for case .admission(let admission) in objects { admissions.append(admission) }
    let state = KeyState(of: vault, epochs: epochs, admissions: admissions)
    guard let anchor = state.anchors.last else { return nil }
    self.init(
      state.members.keys, root: VaultRoot(anchor), removed: Set(state.removed.keys),
      invited: Dictionary(
        uniqueKeysWithValues: state.openInvitations.prefix(HubLimits.invitationsMax).map {
          ($0.member.publicKey, $0.hubEnd)
        }), unconfirmed: Set(state.unconfirmed.map(\.publicKey)))
    guard keys.count <= HubLimits.keysMax, removed.count <= KeyEpoch.removalsMax else { return nil }
  }

  /// The keys of devices, and the root's.
  var keys: Set<PublicKey> { devices.union(root.map { [$0.key] } ?? []) }

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
  ) throws(KeyRefusal) -> KeyChange {
    var after = self
    if isOpen(member.key) {
      guard removing.isEmpty, inviting.isEmpty, root != nil || admitting.count == 1 else {
        throw .notInvited
      }
      // To an encrypted vault, an object admits.
      if root == nil { after.accept(admitting[0], with: member.key) }
      return KeyChange(after: after)
    }
    if let root {
      guard inviting.isEmpty, !removing.contains(root.key),
        member.key == root.key
          || removing.allSatisfy({
            $0 == member.key || unconfirmed.contains($0) && !unconfirmed.contains(member.key)
          })
      else { throw .notAllowed }
    }
    after.devices.subtract(removing)
    after.invited = invited.merging(inviting) { $1 }.filter { !removing.contains($0.key) }
    for key in admitting { after.add(key) }
    // Whoever comes back in the change that removes it is not confirmed by that.
    after.unconfirmed.formIntersection(after.devices)
    guard after.invited.count <= HubLimits.invitationsMax, (1...HubLimits.keysMax) ~= after.keys.count else {
      throw .wrongCount
    }
    return KeyChange(after: after, ended: Set(removing))
  }

  /// Adds a device. A replica that an epoch removed never comes back.
  ///
  /// - Returns: Whether it is a new one.
  @discardableResult
  private mutating func add(_ key: PublicKey) -> Bool {
    key != root?.key && !removed.contains(key.replica) && devices.insert(key).inserted
  }

  /// Adds a device that has used an invitation.
  private mutating func accept(_ device: PublicKey, with invitation: PublicKey) {
    invited[invitation] = nil
    if add(device), root != nil { unconfirmed.insert(device) }
  }

  /// What an object under `keys/` changes; `nil` for nothing.
  func following(_ object: KeyObject) -> KeyChange? {
    let change =
      switch object {
      case .epoch(let epoch): following(epoch)
      case .admission(let admission): following(admission)
      }
    guard let change, change.after != self, change.after.keys.count <= HubLimits.keysMax,
      change.after.removed.count <= KeyEpoch.removalsMax,
      change.after.invited.count <= HubLimits.invitationsMax
    else { return nil }
    return change
  }

  /// What an admission changes; `nil` if it was not signed by one of these keys, or by that of an invitation.
  private func following(_ admission: Admission) -> KeyChange? {
    let (key, signer) = (admission.member.publicKey, admission.admitter)
    let isConfirmed = keys.contains(signer) && !unconfirmed.contains(signer)
    var after = self
    switch admission.kind {
    case _ where root == nil: return nil
    case .gives where keys.contains(signer): after.add(key)
    case .introduces where isConfirmed:
      after.add(key)
      after.unconfirmed.remove(key)
    case .invites where isConfirmed && admission.hubEnd > WallClock.nanoseconds:
      after.invited[key] = admission.hubEnd
    case .accepts where isOpen(signer): after.accept(key, with: signer)
    case .withdraws where isConfirmed: after.invited[key] = nil
    default: return nil
    }
    return KeyChange(after: after)
  }

  /// What an epoch changes that the root made, or the one before it; `nil` for any other epoch.
  private func following(_ epoch: KeyEpoch) -> KeyChange? {
    guard let root, epoch.isOfRoot else { return nil }
    let isNext = epoch.maker == root.key && epoch.generation == root.generation + 1
    let isRival =
      epoch.maker == root.previous && epoch.generation == root.generation && epoch.id != root.anchor
    guard isNext || isRival else { return nil }
    let gone = Dictionary(uniqueKeysWithValues: epoch.removals.map { ($0.replica, $0.size) })
    var after = AdmittedKeys(devices, root: root, removed: removed.union(gone.keys))
    // Of two that were made at once, the one with the smaller id holds. The removals of both do.
    if isNext || epoch.id < root.anchor {
      after.root = VaultRoot(epoch)
      // With a new root only those stay whom it names: a removed device may have admitted any key.
      after.devices = Set(epoch.devices.map(\.publicKey))
    }
    after.devices = after.devices.filter { !after.removed.contains($0.replica) }
    return KeyChange(after: after, gone: gone)
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
  let after: AdmittedKeys
  /// Keys whose sessions end, beside those that go.
  var ended: Set<PublicKey> = []
  /// Replicas of which objects go, and the last commits of their own that stay.
  var gone: [ReplicaID: UInt64] = [:]

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
