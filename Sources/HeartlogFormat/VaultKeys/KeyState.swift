/// What holds in a vault by its epochs and admissions: a function of their set. Source: docs/encryption.md, "The state of the keys".
package struct KeyState: Sendable {
  /// A member that the root removed.
  package struct Removed: Hashable, Sendable {
    package let removal: Removal
    /// The device on which it was removed, and when by its clock.
    package let origin: ReplicaID
    package let time: UInt64
  }

  /// The epochs that name the roots, by generation.
  package private(set) var anchors: [KeyEpoch] = []
  /// The epochs that lost to an anchor of their generation.
  package private(set) var lost: [KeyEpoch] = []
  package private(set) var removed: [ReplicaID: Removed] = [:]
  /// The devices, by public key.
  package private(set) var members: [PublicKey: Member] = [:]
  /// The epochs whose keys may be read, by id.
  package private(set) var trusted: [EpochID: KeyEpoch] = [:]
  /// The epoch to write under; nil if the vault has none.
  package private(set) var current: KeyEpoch?
  /// By epoch: the replicas that have its key.
  package private(set) var holders: [EpochID: Set<ReplicaID>] = [:]
  /// Those for whom somebody vouches who was not removed.
  package private(set) var introduced: Set<ReplicaID> = []
  /// Those for whom somebody vouches by more than an invitation.
  private var confirmed: Set<ReplicaID> = []
  /// The invitations that count, by their keys.
  private var invitations: [PublicKey: Admission] = [:]
  private var withdrawn: Set<PublicKey> = []
  /// The devices that accepted invitations, by the keys of these, whether that counts or not.
  private var accepted: [PublicKey: Set<PublicKey>] = [:]
  private var counted: Set<Admission> = []
  /// Whom the objects under a root name, members or not.
  private var named: [PublicKey: Member] = [:]

  /// The root.
  package var root: Member? { anchors.last?.root }

  /// The invitations that nobody has withdrawn, by replica.
  package var openInvitations: [Admission] {
    invitations.values.filter { !withdrawn.contains($0.member.publicKey) }
      .sorted { $0.member.replica < $1.member.replica }
  }

  /// The members for whom nothing vouches but an invitation, by replica.
  package var unconfirmed: [Member] {
    members.values.filter { !confirmed.contains($0.replica) }.sorted { $0.replica < $1.replica }
  }

  /// Whether the key of an invitation is withdrawn.
  package func isWithdrawn(_ invitation: PublicKey) -> Bool { withdrawn.contains(invitation) }

  /// How many devices have accepted an invitation that counts; 0 for any other.
  package func acceptedCount(_ invitation: PublicKey) -> Int {
    invitations[invitation] == nil ? 0 : accepted[invitation]?.count ?? 0
  }

  /// Whether somebody who is no member has the key to write under, from an invitation that was copied.
  package var isKnownToStranger: Bool {
    accepted.contains { invitation, devices in
      current != nil && invitations[invitation]?.epoch == current?.id && devices.count > 1
        && devices.contains { members[$0] == nil && removed[$0.replica] == nil }
    }
  }

  /// Whether somebody has the key to write under who was removed, or whom only a removed device had introduced.
  package var isExposed: Bool {
    guard let current else { return false }
    let holders = holders[current.id] ?? []
    // Whoever makes an epoch after a removal names members only. Of those in it, an introduction may not have come yet.
    return !holders.isDisjoint(with: removed.keys)
      || !followsRemovals(current) && !holders.isSubset(of: introduced)
  }

  private func followsRemovals(_ epoch: KeyEpoch) -> Bool {
    let before = ancestors(of: epoch, among: trusted)
    return (anchors + lost).allSatisfy { $0.removals.isEmpty || before[$0.id] != nil }
  }

  /// The trusted epochs that no other one follows, by id.
  package var tips: [KeyEpoch] {
    let followed = Set(trusted.values.flatMap(\.previous))
    return trusted.values.filter { !followed.contains($0.id) }.sorted { $0.id < $1.id }
  }

  /// Computes the state of a vault.
  ///
  /// - Parameter removals: those of an epoch that is about to be made.
  /// - Complexity: O(*r* · *e* · (*e* + *a*)) for *r* roots, *e* epochs and *a* admissions, almost all of them no signatures to verify.
  package init(
    of vault: VaultID, epochs: some Sequence<KeyEpoch>, admissions: some Sequence<Admission>,
    removing removals: [Removal] = []
  ) {
    var all: [EpochID: KeyEpoch] = [:]
    // An epoch has a higher number than those before it, so one pass in the order of numbers finds what is whole.
    for epoch in epochs.sorted(by: { ($0.number, $0.id) < ($1.number, $1.id) }) where epoch.vault == vault {
      let before = epoch.previous.compactMap { all[$0] }
      guard before.count == epoch.previous.count, (before.map(\.number).max() ?? 0) == epoch.number - 1 else {
        continue
      }
      all[epoch.id] = epoch
    }
    findAnchors(all.values.filter { $0.number == 1 || $0.isOfRoot }.sorted { $0.id < $1.id })
    for epoch in anchors + lost {
      for removal in epoch.removals
      where removed[removal.replica].map({ removal.size < $0.removal.size }) ?? true {
        removed[removal.replica] = Removed(removal: removal, origin: epoch.origin, time: epoch.time)
      }
      trusted.merge(ancestors(of: epoch, among: all)) { known, _ in known }
    }
    for removal in removals where removed[removal.replica] == nil {
      removed[removal.replica] = Removed(removal: removal, origin: removal.replica, time: 0)
    }
    guard let last = anchors.last else { return }
    let roots = anchors.dropLast() + lost + [last]
    let admissions = admissions.filter { $0.vault == vault }
    let accepting = admissions.filter { $0.kind == .accepts }
    for one in accepting { accepted[one.admitter, default: []].insert(one.member.publicKey) }
    findMembers(under: Array(roots), among: all, admissions.filter { $0.kind != .accepts })
    confirmed = introduced
    // Who depends on an invitation withdraws none.
    if !accepting.isEmpty {
      findMembers(under: Array(roots), among: all, admissions.filter { $0.kind != .withdraws })
    }
  }

  private mutating func findMembers(
    under roots: [KeyEpoch], among all: [EpochID: KeyEpoch], _ admissions: [Admission]
  ) {
    var count = -1
    // What a member made beside a rotation may follow what another one made: neither comes before the other in this order.
    while trusted.count + introduced.count > count {
      count = trusted.count + introduced.count
      for anchor in roots { findMembers(under: anchor, among: all, admissions) }
    }
  }

  private mutating func findAnchors(_ ofRoots: [KeyEpoch]) {
    var maker: PublicKey?
    while true {
      let generation = UInt64(anchors.count)
      let candidates = ofRoots.filter {
        $0.generation == generation && (generation == 0 || $0.maker == maker)
      }
      guard let anchor = candidates.first else { return }
      anchors.append(anchor)
      lost += candidates.dropFirst()
      maker = anchor.root.publicKey
    }
  }

  /// An epoch and all before it.
  private func ancestors(of epoch: KeyEpoch, among all: [EpochID: KeyEpoch]) -> [EpochID: KeyEpoch] {
    var (found, waiting) = ([EpochID: KeyEpoch](), [epoch])
    while let epoch = waiting.popLast() {
      guard found.updateValue(epoch, forKey: epoch.id) == nil else { continue }
      waiting += epoch.previous.compactMap { all[$0] }
    }
    return found
  }

  /// Adds the epochs and the members under a root, until nobody comes any more. Those under the last one are the ones that count.
  private mutating func findMembers(
    under anchor: KeyEpoch, among all: [EpochID: KeyEpoch], _ admissions: [Admission]
  ) {
    (named, members, current) = ([:], [:], nil)
    add(anchor)
    if anchor.number == 1 { for device in anchor.devices { introduce(device) } }
    var epochs = all.values.filter {
      $0.generation == anchor.generation && $0.root == anchor.root && !$0.isOfRoot
    }
    .sorted { ($0.number, $0.id) < ($1.number, $1.id) }
    var admissions = admissions
    var isChanged = true
    while isChanged {
      isChanged = false
      epochs.removeAll { epoch in
        guard members[epoch.maker] != nil, epoch.previous.allSatisfy({ trusted[$0] != nil }) else {
          return false
        }
        trusted[epoch.id] = epoch
        add(epoch)
        isChanged = true
        return true
      }
      admissions.removeAll { admission in
        guard counts(admission, under: anchor.root), let epoch = trusted[admission.epoch] else {
          return false
        }
        counted.insert(admission)
        isChanged = true
        switch admission.kind {
        case .invites: invitations[admission.member.publicKey] = admission
        case .withdraws: withdrawn.insert(admission.member.publicKey)
        case .gives, .introduces, .accepts:
          holders[epoch.id, default: []].insert(admission.member.replica)
          if admission.kind != .gives { introduce(admission.member) }
          if epoch.generation == anchor.generation, epoch.root == anchor.root { add(admission.member) }
        }
        return true
      }
    }
  }

  /// Whether a root or one of its members signed an admission to an epoch that is trusted. One that this state was not computed from counts
  /// under the last root alone.
  package func counts(_ admission: Admission) -> Bool {
    counted.contains(admission) || counts(admission, under: root)
  }

  private func counts(_ admission: Admission, under root: Member?) -> Bool {
    guard trusted[admission.epoch]?.body.commitment == admission.commitment else { return false }
    if admission.kind == .accepts {
      // Whose line was copied, nobody can tell.
      return invitations[admission.admitter]?.epoch == admission.epoch
        && accepted[admission.admitter] == [admission.member.publicKey]
        && !withdrawn.contains(admission.admitter)
    }
    return members[admission.admitter] != nil || admission.admitter == root?.publicKey
  }

  private mutating func add(_ epoch: KeyEpoch) {
    holders[epoch.id, default: []].formUnion(epoch.devices.map(\.replica))
    for device in epoch.devices { add(device) }
    if let current, (current.number, epoch.id) > (epoch.number, current.id) { return }
    current = epoch
  }

  private mutating func add(_ member: Member) {
    named[member.publicKey] = member
    if removed[member.replica] == nil, introduced.contains(member.replica) {
      members[member.publicKey] = member
    }
  }

  private mutating func introduce(_ member: Member) {
    introduced.insert(member.replica)
    if let member = named[member.publicKey] { add(member) }
  }
}
