import Heartlog
import HeartlogFormat

/// The keys of a vault that a device keeps, and what it and a person may do with them. Source: docs/encryption.md, "What a device does".
package struct VaultKeys {
  /// What a device writes under.
  enum Standing {
    case writes(KeyEpoch)
    /// Under none before its recovery code, or an invitation, has admitted it to this one.
    case joins(KeyEpoch, by: SigningKey, as: Admission.Kind)
    /// Under none. Why, and what to do, as a sentence without a full stop.
    case notAMember(String)
  }

  /// What will admit a device when it syncs next.
  enum Joining {
    /// The recovery code.
    case code(RecoveryCode)
    /// The key of an invitation, and its vault.
    case invitation(VaultID, SigningKey)

    var key: SigningKey {
      switch self {
      case .code(let code): code.key
      case .invitation(_, let key): key
      }
    }
  }

  private let store: FavoritesStore
  private let key: any DeviceKey
  private let agreementKey: AgreementKey
  /// The vault whose keys these are; nil if it is not encrypted, and no code has led to one.
  private(set) var vault: VaultID?
  /// `nil` if the device is a member, or cannot become one.
  private var joining: Joining?
  private(set) var epochsByID: [EpochID: KeyEpoch] = [:]
  /// By the names of their objects.
  private(set) var admissions: [String: Admission] = [:]
  private(set) var state: KeyState
  /// The keys that can be read, of trusted epochs.
  private(set) var keys: [EpochID: EpochKey] = [:]
  /// Members whom this device knew before it learned of a new root, and whom the epoch that names it did not know.
  private var leftOut: [Member] = []

  private static let epochsFolder = "epochs"
  private static let admissionsFolder = "admissions"
  private static let codeName = "recovery"
  private static let unshownName = "unshown"
  private static let shownName = "shown"
  private static let voidName = "void"
  private static let agreementName = "agreement"
  private static let invitationName = "invitation"

  /// Reads what the store keeps.
  ///
  /// - Throws: `noKey` if the store has no key of its own; `corrupt`.
  package init(of store: FavoritesStore) throws(HeartlogError) {
    guard let key = try store.deviceKey else {
      throw HeartlogError(.noKey, "this store has no device key, so no key of a vault can be given to it")
    }
    self.store = store
    self.key = key
    agreementKey = try Self.agreementKey(of: key, in: store)
    joining = try Self.joining(of: store)
    vault = store.vault.flatMap { $0.id.isEncrypted ? $0.id : nil }
    state = KeyState(
      of: vault ?? VaultID(root: key.publicKey), epochs: [KeyEpoch](), admissions: [Admission]())
    for folder in [Self.epochsFolder, Self.admissionsFolder] {
      for name in try store.log.keyFileNames(in: folder) {
        guard let bytes = try store.log.keyFile("\(folder)/\(name)") else { continue }
        guard let object = try? KeyObject(bytes), Self.fileName(of: object) == "\(folder)/\(name)" else {
          throw HeartlogError(
            .corrupt,
            "the file keys/\(folder)/\(name) of this store is damaged: remove it, and the next sync brings it again"
          )
        }
        add(object)
      }
    }
    recompute()
  }

  private static func fileName(of object: KeyObject) -> String {
    switch object {
    case .epoch(let epoch): "\(epochsFolder)/\(epoch.id)"
    case .admission(let admission):
      "\(admissionsFolder)/\(admission.objectName.dropFirst("keys/".utf8.count))"
    }
  }

  private static func agreementKey(
    of key: any DeviceKey, in store: FavoritesStore
  ) throws(HeartlogError) -> AgreementKey {
    if let key = key as? SigningKey { return AgreementKey(of: key) }
    // A keychain does not show its seed.
    if let secret = try store.log.keyFile(agreementName), let known = AgreementKey(secret: secret) {
      return known
    }
    var generator = store.generator
    let secret = (0..<32).map { _ in UInt8.random(in: 0 ... .max, using: &generator) }
    guard let made = AgreementKey(secret: secret) else {
      preconditionFailure("any 32 bytes are an X25519 secret")
    }
    try store.replaceKeyFile(agreementName, with: secret)
    return made
  }

  // MARK: - Recovery codes and invitations

  /// The recovery code with which the device will join.
  var code: RecoveryCode? { if case .code(let code) = joining { code } else { nil } }

  /// With what a store's device will join; `nil` if it has nothing.
  static func joining(of store: FavoritesStore) throws(HeartlogError) -> Joining? {
    if let code = try code(in: codeName, of: store) { return .code(code) }
    guard let bytes = try store.log.keyFile(invitationName), !bytes.isEmpty else { return nil }
    guard let vault = VaultID(bytes: bytes.prefix(16)), let key = SigningKey(seed: bytes.dropFirst(16)) else {
      throw HeartlogError(
        .corrupt,
        "the invitation in keys/\(invitationName) of this store is damaged: enter it again with \"heartlog join -\""
      )
    }
    return .invitation(vault, key)
  }

  private static func code(
    in name: String, of store: FavoritesStore
  ) throws(HeartlogError) -> RecoveryCode? {
    guard let bytes = try store.log.keyFile(name), !bytes.isEmpty else { return nil }
    do throws(MalformedError) { return try RecoveryCode(text: String(decoding: bytes, as: UTF8.self)) } catch
    {
      throw HeartlogError(
        .corrupt,
        "the recovery code in keys/\(name) of this store is damaged (\(error.description)): enter it again with \"heartlog keys join -\""
      )
    }
  }

  private static func keep(_ joining: Joining?, in store: FavoritesStore) throws(HeartlogError) {
    var (code, invitation): ([UInt8], [UInt8]) = ([], [])
    switch joining {
    case .code(let new): code = Array(new.text.utf8)
    case .invitation(let vault, let key): invitation = vault.bytes + key.seed
    case nil: break
    }
    try replace(codeName, with: code, in: store)
    try replace(invitationName, with: invitation, in: store)
  }

  /// Writes a file, unless it has these bytes. One that is not there has none.
  private static func replace(
    _ name: String, with bytes: [UInt8], in store: FavoritesStore
  ) throws(HeartlogError) {
    if try store.log.keyFile(name) ?? [] != bytes { try store.replaceKeyFile(name, with: bytes) }
  }

  /// Keeps an invitation, with which the next sync admits this device.
  package static func join(
    _ vault: VaultID, with key: SigningKey, _ store: FavoritesStore
  ) throws(HeartlogError) {
    try keep(.invitation(vault, key), in: store)
  }

  /// Forgets an invitation with which the device did not join.
  static func forgetInvitation(in store: FavoritesStore) throws(HeartlogError) {
    try replace(invitationName, with: [], in: store)
  }

  /// Keeps a recovery code, with which the next sync admits this device.
  ///
  /// - Throws: `invalid` if it is none; the message says where the mistake is.
  package mutating func join(_ text: String) throws(HeartlogError) {
    try Self.keep(.code(try Self.code(text)), in: store)
    self = try VaultKeys(of: store)
  }

  private static func code(_ text: String) throws(HeartlogError) -> RecoveryCode {
    do { return try RecoveryCode(text: text) } catch { throw HeartlogError(.invalid, error.description) }
  }

  /// The code that a sync made, and nobody has seen.
  static func unshownCode(of store: FavoritesStore) throws(HeartlogError) -> RecoveryCode? {
    try code(in: unshownName, of: store)
  }

  /// Forgets that code: a person has seen it.
  static func forgetUnshown(in store: FavoritesStore) throws(HeartlogError) {
    try replace(unshownName, with: [], in: store)
  }

  /// Keeps a code that a sync reported and that could not be shown, so that the next one reports it again.
  package static func keepUnshown(_ code: String, in store: FavoritesStore) throws(HeartlogError) {
    try replace(unshownName, with: Array(try Self.code(code).text.utf8), in: store)
  }

  /// Remembers whose code was printed or entered here last: a person has it.
  func noteShown(_ root: PublicKey) throws(HeartlogError) {
    guard try store.log.keyFile(Self.shownName) != root.bytes else { return }
    try store.replaceKeyFile(Self.shownName, with: root.bytes)
    try keep([])
  }

  /// Why the code that was printed here last never was the good one; nil if it was, or if none was printed.
  package var voidCode: String? {
    get throws(HeartlogError) {
      // It lost, or was made with one that lost. Others do not know of the latter, which counts for nothing.
      guard let shown = try store.log.keyFile(Self.shownName),
        let made = epochsByID.values.first(where: {
          $0.vault == vault && $0.isOfRoot && $0.root.publicKey.bytes == shown
        }),
        let anchor = state.anchors.last,
        !state.anchors.contains(where: { $0.root.publicKey == made.root.publicKey })
      else { return nil }
      let isUndone = !made.removals.isEmpty && state.trusted[made.id] == nil
      return
        "the recovery code that was printed here is void: the one that replica \(anchor.origin) printed at the same time is good"
        + (isUndone ? ". Whom it removed is not removed: do it again with the good one" : "")
    }
  }

  // MARK: - Objects

  /// All that the vault has.
  var objects: [KeyObject] {
    epochsByID.values.filter { state.trusted[$0.id] != nil }.sorted {
      ($0.number, $0.id) < ($1.number, $1.id)
    }
    .map { .epoch($0) }
      // Who is introduced anew must not miss that, if the puts end after the withdrawal.
      + admissions.values.filter { counts($0) && !isVoid(.admission($0)) }.sorted {
        ($0.kind == .withdraws ? 1 : 0, $0.objectName) < ($1.kind == .withdraws ? 1 : 0, $1.objectName)
      }.map { .admission($0) }
  }

  /// Whether an admission says something of the vault.
  func counts(_ admission: Admission) -> Bool {
    admission.vault == vault && state.counts(admission)
  }

  private mutating func add(_ object: KeyObject) {
    switch object {
    case .epoch(let epoch): epochsByID[epoch.id] = epoch
    case .admission(let admission): admissions[admission.objectName] = admission
    }
  }

  /// Takes the objects of a carrier that belong to the vault, or to the one of the code with which the device will join.
  ///
  /// - Parameters:
  ///   - other: the vault that a member named; nil to stay in this one, or to follow the code.
  ///   - listed: the names of all objects that the carrier has.
  /// - Returns: Those that were new, for `keep`.
  mutating func take(
    _ found: [KeyObject], of other: VaultID? = nil, listed: Set<String>? = nil
  ) -> [KeyObject] {
    let known = state.members
    let (former, generation) = (vault, state.anchors.count)
    let new = found.filter { !has($0.name) || introducesAgain($0) }
    for object in new { add(object) }
    if let other {
      vault = other
    } else if case .invitation(let invited, _) = joining,
      epochsByID.values.contains(where: { $0.vault == invited })
    {
      vault = invited
    } else if let code,
      let leading = epochsByID.values.first(where: { $0.root.publicKey == code.key.publicKey })
    {
      vault = leading.vault
    }
    recompute()
    if let listed { leftOut += joinedMeanwhile(without: listed) }
    if vault == former, generation > 0, state.anchors.count > generation {
      leftOut += known.values.filter { state.members[$0.publicKey] == nil }
    }
    return drop(new)
  }

  /// Who has joined while nobody could know of the roots that this device made: the code before them was good.
  private func joinedMeanwhile(without listed: Set<String>) -> [Member] {
    let own = epochsByID.values.filter { epoch in
      epoch.number > 1 && epoch.isOfRoot && epoch.origin == key.publicKey.replica
        && !listed.contains(epoch.id.objectName)
    }
    guard !own.isEmpty, let vault else { return [] }
    let before = KeyState(
      of: vault,
      epochs: epochsByID.values.filter { epoch in
        !own.contains { $0.id == epoch.id } && state.removed[epoch.maker.replica] == nil
      },
      admissions: admissions.values.filter { state.removed[$0.admitter.replica] == nil })
    return before.members.values.filter { state.members[$0.publicKey] == nil }
  }

  /// Whether an object of this name is kept.
  func has(_ name: String) -> Bool {
    admissions[name] != nil || ObjectPath.epoch(name).map { epochsByID[$0] != nil } ?? false
  }

  /// Whether an object introduces a device for which the one that is kept does not vouch.
  private func introducesAgain(_ object: KeyObject) -> Bool {
    guard case .admission(let admission) = object, admission.kind == .introduces, counts(admission) else {
      return false
    }
    return admissions[admission.objectName]?.kind == .gives
  }

  /// Whether an object never counts again: a removed device signed it, and removal is final, or it is of an invitation that was withdrawn.
  /// Whom it admitted keeps it.
  func isVoid(_ object: KeyObject) -> Bool {
    guard case .admission(let admission) = object, admission.vault == vault else { return false }
    switch admission.kind {
    case .invites where state.isWithdrawn(admission.member.publicKey): return true
    case .accepts where state.isWithdrawn(admission.admitter): return true
    default: return state.removed[admission.admitter.replica] != nil && !counts(admission)
    }
  }

  /// Whether an object of this name is kept that is an invitation, and withdrawn.
  func isWithdrawn(_ name: String) -> Bool {
    guard let admission = admissions[name], case .invites = admission.kind else { return false }
    return isVoid(.admission(admission))
  }

  /// Whether an admission may stand where the one that is kept would.
  func serves(_ admission: Admission) -> Bool {
    counts(admission)
      && (admission.kind == .introduces || admissions[admission.objectName]?.kind != .introduces)
  }

  /// Whether this very object is kept.
  func isSame(_ object: KeyObject) -> Bool {
    switch object {
    case .epoch(let epoch): epochsByID[epoch.id] != nil
    case .admission(let admission): admissions[admission.objectName] == admission
    }
  }

  private mutating func recompute() {
    guard let vault else { return }
    state = KeyState(of: vault, epochs: epochsByID.values, admissions: admissions.values)
    store.log.vouch(for: Set(state.members.values.map(\.replica)), removed: Set(state.removed.keys))
    keys = [:]
    unlock()
  }

  /// Forgets objects that count for nothing: whoever can put objects at a place can put any number.
  private mutating func drop(_ new: [KeyObject]) -> [KeyObject] {
    new.filter { object in
      switch object {
      case .epoch(let epoch):
        if state.trusted[epoch.id] != nil { return true }
        epochsByID[epoch.id] = nil
      case .admission(let admission):
        if counts(admission) || tells(admission) { return true }
        admissions[admission.objectName] = nil
      }
      return false
    }
  }

  /// Whether an admission tells that an invitation was copied. Two of an invitation do.
  private func tells(_ admission: Admission) -> Bool {
    guard admission.kind == .accepts, !state.isWithdrawn(admission.admitter) else { return false }
    let kept = admissions.values.count { $0.kind == .accepts && $0.admitter == admission.admitter }
    return state.acceptedCount(admission.admitter) > 1 && kept <= 2
  }

  /// Reads the keys of all epochs that can be read.
  private mutating func unlock() {
    for epoch in state.trusted.values.sorted(by: { ($0.number, $0.id) > ($1.number, $1.id) })
    where keys[epoch.id] == nil {
      guard let key = readKey(of: epoch) else { continue }
      keys.merge(epoch.keys(from: key, among: state.trusted)) { known, _ in known }
    }
  }

  private func readKey(of epoch: KeyEpoch) -> EpochKey? {
    if let key = try? epoch.key(for: agreementKey) { return key }
    for admission in admissions.values where admits(admission, to: epoch) {
      if let key = try? epoch.key(for: agreementKey, in: admission) { return key }
    }
    if let key = code.flatMap({ try? epoch.key(for: $0.agreementKey) }) { return key }
    guard case .invitation(_, let key) = joining,
      let admission = admissions[Admission.objectName(of: key.publicKey.replica, to: epoch.id)]
    else { return nil }
    return try? epoch.key(for: AgreementKey(of: key), in: admission)
  }

  /// Whether an admission gives this device the key of an epoch.
  private func admits(_ admission: Admission, to epoch: KeyEpoch) -> Bool {
    admission.epoch == epoch.id && admission.member.publicKey == key.publicKey
  }

  /// Keeps objects in the store, and whom the vault removed.
  func keep(_ new: [KeyObject]) throws(HeartlogError) {
    for object in new { try store.replaceKeyFile(Self.fileName(of: object), with: object.bytes) }
    guard vault == store.vault?.id else { return }
    try store.revoke(revoked)
    try Self.replace(Self.voidName, with: Array((try voidCode ?? "").utf8), in: store)
  }

  // MARK: - Standing

  /// The removed replicas, and the last commit of each that counts.
  var revoked: [ReplicaID: UInt64] { state.removed.mapValues { $0.removal.size } }

  /// Whether the device was removed and has the present code: it comes back as a new one.
  var comesBack: Bool { ownRemoval != nil && code.map { $0.key.publicKey == state.root?.publicKey } ?? false }

  /// The removal of this device; nil if it was not removed.
  var ownRemoval: KeyState.Removed? { state.removed[key.publicKey.replica] }

  var standing: Standing {
    guard let current = state.current, let root = state.root else {
      if case .invitation = joining {
        return .notAMember(
          "the keys to which the invitation leads are not here yet: wait until the files of the other device have come, and join again"
        )
      }
      return .notAMember(
        code == nil
          ? "this device has no key of its vault: \"heartlog keys join -\" takes the recovery code, \"heartlog keys pair\" gets the keys from another device"
          : "no key epoch of this device's recovery code is there: it is the code of another vault, or nothing was put here yet"
      )
    }
    if let removed = ownRemoval {
      return .notAMember(
        "this device was removed after commit \(removed.removal.size) of its stream: to come back as a new device that brings what is here, "
          + "enter the present recovery code with \"heartlog keys join -\", and sync")
    }
    let isMember = state.members[key.publicKey] != nil && keys[current.id] != nil
    if let code {
      if code.key.publicKey == root.publicKey {
        return isMember && isConfirmed && readsWithoutCode(current)
          ? .writes(current) : .joins(current, by: code.key, as: .introduces)
      }
      if !isMember {
        return .notAMember(
          "this device's recovery code is void: another one was made on replica \(state.anchors.last?.origin ?? current.origin); enter that one with \"heartlog keys join -\""
        )
      }
    }
    // Others may not count a device that only an invitation brought.
    if case .invitation(let invited, let invitation) = joining, invited == vault, !(isMember && isConfirmed) {
      let isOpen = state.openInvitations.contains {
        $0.member.publicKey == invitation.publicKey && $0.epoch == current.id
      }
      if isOpen, keys[current.id] != nil, state.acceptedCount(invitation.publicKey) == 0 {
        return .joins(current, by: invitation, as: .accepts)
      }
      guard isMember else {
        return .notAMember(
          "the invitation is not good any more: it was used or withdrawn, its time is over, or the keys were rotated since. Ask for another one, or join again later if the other device's files are still on their way"
        )
      }
    }
    if isMember { return .writes(current) }
    if admissions.values.contains(where: { accepts($0) && !isOfRemoved($0) }) {
      return .notAMember(
        "this device is no member any more: another device used its invitation, too, or the invitation was withdrawn before a member had seen it used. "
          + "Nothing that is here is lost; ask for another one")
    }
    // What admitted this device is kept here, whether it counts or not.
    if !state.introduced.contains(key.publicKey.replica),
      admissions.values.contains(where: {
        $0.kind == .introduces && $0.member.publicKey == key.publicKey || accepts($0)
      })
    {
      return .notAMember(
        "this device is no member any more: only a device that was removed since had admitted it. Nothing that is here is lost; to go on, "
          + "enter the present recovery code with \"heartlog keys join -\", or pair it with a member with \"heartlog keys pair\""
      )
    }
    return .notAMember(
      "this device is no member since the keys were rotated on replica \(current.origin): the next sync of a member admits it, or the newest recovery code does, with \"heartlog keys join -\""
    )
  }

  /// Whether more than an invitation vouches for this device.
  package var isConfirmed: Bool { !state.unconfirmed.contains { $0.publicKey == key.publicKey } }

  private func checkConfirmed() throws(HeartlogError) {
    guard isConfirmed else {
      throw HeartlogError(
        .noKey,
        "this device came with an invitation, and no other one has seen it yet: another device of the vault must sync first"
      )
    }
  }

  /// Whether this device accepted an invitation with an admission.
  private func accepts(_ admission: Admission) -> Bool {
    admission.kind == .accepts && admission.member.publicKey == key.publicKey
  }

  /// Whether a removed device made the invitation that was accepted.
  private func isOfRemoved(_ admission: Admission) -> Bool {
    let invitation = admissions[Admission.objectName(of: admission.admitter.replica, to: admission.epoch)]
    return invitation.map { state.removed[$0.admitter.replica] != nil } ?? false
  }

  private func readsWithoutCode(_ epoch: KeyEpoch) -> Bool {
    epoch.isMember(key.publicKey) || admissions.values.contains { admits($0, to: epoch) }
  }

  /// The epoch under which this device writes; nil if there is none.
  var current: KeyEpoch? { if case .writes(let epoch) = standing { epoch } else { nil } }

  /// Checks that neither a replica nor this device was removed.
  ///
  /// - Throws: `noKey`.
  func checkNotRemoved(_ replica: ReplicaID? = nil) throws(HeartlogError) {
    let replica = replica ?? key.publicKey.replica
    guard let removed = state.removed[replica] else { return }
    throw HeartlogError(
      .noKey,
      "replica \(replica) was removed on replica \(removed.origin), after commit \(removed.removal.size) of its stream: it admits nobody, and comes back only as a new device"
    )
  }

  // MARK: - Making

  /// What this device announces to a member, to be admitted.
  func announcement(in vault: VaultID) throws(HeartlogError) -> Member {
    do { return try Member(key, agreementKey: agreementKey, vault: vault) } catch {
      throw HeartlogError(.inputOutput, "the device key cannot be used: \(error)")
    }
  }

  /// Admits this device with its code or its invitation, and other members who lack the key to write under. Replaces an epoch whose key
  /// somebody has who was removed, or is no member.
  mutating func settle(at time: Milliseconds) throws(HeartlogError) {
    if case .joins(let epoch, let admitter, let kind) = standing {
      if let end = end(ofInvitation: admitter.publicKey), end < time {
        throw HeartlogError(.noKey, "the invitation was good until \(RFC3339.text(end)): ask for another one")
      }
      try admit(try announcement(in: epoch.vault), to: epoch, as: kind, by: admitter)
    }
    guard var current else { return }
    if isConfirmed && state.isKnownToStranger
      || state.isExposed && state.members.values.map(\.replica).min() == key.publicKey.replica
    {
      current = try rotate(at: time)
    }
    try confirm(in: current, at: time)
    for member in leftOut
    where state.members[member.publicKey] == nil && state.removed[member.replica] == nil
      && state.introduced.contains(member.replica)
    {
      try admit(member, to: current, by: key)
    }
    leftOut = []
    // Whoever joined since then reads what was written under an epoch that lost, too.
    for epoch in state.tips + [current] where keys[epoch.id] != nil {
      for member in state.members.values.sorted(by: { $0.replica < $1.replica })
      where state.holders[epoch.id]?.contains(member.replica) != true && !epoch.isMember(member.publicKey) {
        try admit(member, to: epoch, by: key)
      }
    }
    if let code, code.key.publicKey == state.root?.publicKey { try noteShown(code.key.publicKey) }
  }

  /// Forgets the code or the invitation with which this device joined, once what it put admits it.
  mutating func forgetHowItJoined() throws(HeartlogError) {
    guard current != nil else { return }
    try Self.keep(nil, in: store)
    joining = nil
  }

  // MARK: - Invitations

  /// Vouches for the devices that invitations brought, and withdraws the invitations that were used or are over.
  private mutating func confirm(in current: KeyEpoch, at time: Milliseconds) throws(HeartlogError) {
    guard isConfirmed else { return }
    for member in state.unconfirmed { try admit(member, to: current, as: .introduces, by: key) }
    let over = state.openInvitations.filter { invitation in
      invitation.epoch != current.id || state.acceptedCount(invitation.member.publicKey) > 0
        || end(ofInvitation: invitation.member.publicKey).map { $0 < time } ?? true
    }
    try withdraw(over)
  }

  private func end(ofInvitation key: PublicKey) -> Milliseconds? {
    for invitation in state.openInvitations where invitation.member.publicKey == key {
      if case .invites(let end) = invitation.kind { return Milliseconds(clamping: end) }
    }
    return nil
  }

  /// Makes an invitation to the current epoch, which the next sync puts where the vault is.
  ///
  /// - Parameter end: until when it is good, in milliseconds since 1970.
  /// - Returns: The key that admits one device.
  /// - Throws: `noKey` if this device is no member, or only an invitation vouches for it so far.
  package mutating func invite(until end: Milliseconds) throws(HeartlogError) -> SigningKey {
    guard let current, let vault else { throw notAMember }
    try checkConfirmed()
    var generator = store.generator
    let made = SigningKey(using: &generator)
    let member = try making { try Member(made, agreementKey: AgreementKey(of: made), vault: vault) }
    try admit(member, to: current, as: .invites(end: UInt64(max(0, end))), by: key)
    return made
  }

  /// Withdraws all invitations that are open.
  ///
  /// - Returns: How many there were.
  /// - Throws: `noKey` if this device is no member, or only an invitation vouches for it so far: nobody would believe it.
  package mutating func withdrawInvitations() throws(HeartlogError) -> Int {
    let open = state.openInvitations
    try withdraw(open)
    return open.count
  }

  private mutating func withdraw(_ invitations: [Admission]) throws(HeartlogError) {
    try checkConfirmed()
    for invitation in invitations {
      let withdrawal = try making { try Admission(withdrawing: invitation, by: key) }
      add(.admission(withdrawal))
      try keep([.admission(withdrawal)])
    }
    if !invitations.isEmpty { recompute() }
  }

  /// Admits a device to the current epoch.
  ///
  /// - Throws: `noKey` if this device is no member, or one of the two was removed.
  mutating func admit(_ member: Member) throws(HeartlogError) -> KeyEpoch {
    try checkNotRemoved()
    try checkNotRemoved(member.replica)
    guard let current else {
      throw HeartlogError(
        .noKey, "the device that should admit the other one is no member of the vault any more")
    }
    // An earlier attempt may have done it.
    if state.members[member.publicKey] == nil || state.holders[current.id]?.contains(member.replica) != true {
      try admit(member, to: current, as: .introduces, by: key)
    }
    return current
  }

  private mutating func admit(
    _ member: Member, to epoch: KeyEpoch, as kind: Admission.Kind = .gives, by admitter: any DeviceKey
  ) throws(HeartlogError) {
    guard let key = keys[epoch.id] else { preconditionFailure("an epoch whose key was read") }
    var generator = store.generator
    let admission = try making {
      try Admission(
        of: member, to: epoch, key: key, as: kind, by: admitter, using: &generator)
    }
    add(.admission(admission))
    recompute()
    try keep([.admission(admission)])
  }

  /// Makes an epoch with a new key.
  ///
  /// - Throws: `noKey` if this device is no member, or only an invitation vouches for it so far.
  @discardableResult
  package mutating func rotate(
    at time: Milliseconds = StoreOptions.systemTime()
  ) throws(HeartlogError) -> KeyEpoch {
    guard let root = state.root, current != nil else { throw notAMember }
    try checkConfirmed()
    let devices = Array(state.members.values)
    return try make(
      root: root, devices: devices, removals: [], generation: state.anchors.count - 1, by: key, at: time)
  }

  /// Makes the epoch that names the next root, with a new key and a new recovery code.
  ///
  /// - Parameters:
  ///   - text: the present code.
  ///   - replica: the device that reads nothing from then on, and of whose stream nothing counts after what is here.
  ///   - show: shows the new code to a person. If it throws, nothing was made.
  /// - Throws: `noKey` if this device is no member, or the code is not the present one; `invalid` for its own replica, or a text that is
  ///   no code; what `show` throws.
  package mutating func rotate(
    code text: String, without replica: ReplicaID? = nil, at time: Milliseconds = StoreOptions.systemTime(),
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
    let code = try Self.code(text)
    guard let root = state.root, let vault, current != nil else { throw notAMember }
    guard code.key.publicKey == root.publicKey else {
      throw HeartlogError(
        .noKey,
        state.anchors.contains { $0.root.publicKey == code.key.publicKey }
          ? "this recovery code is void: another one was made since"
          : "this is not the recovery code of this vault")
    }
    let new = makeCode()
    let own = try announcement(in: vault)
    let devices = members(removing: removals).filter { $0.publicKey != own.publicKey } + [own]
    try show(new.text)
    let epoch = try make(
      root: new.member(of: vault), devices: devices, removals: removals, generation: state.anchors.count,
      by: code.key, at: time)
    if state.members[own.publicKey] == nil { try admit(own, to: epoch, as: .introduces, by: new.key) }
    try noteShown(new.key.publicKey)
  }

  /// The members once others are removed: without those whom nobody else had introduced.
  private func members(removing removals: [Removal]) -> [Member] {
    guard let vault else { return [] }
    return Array(
      KeyState(of: vault, epochs: epochsByID.values, admissions: admissions.values, removing: removals)
        .members.values)
  }

  /// Encrypts the vault of a store, unless it is: it becomes another vault, with this device as its only member. The code is kept until
  /// a sync reports it.
  package static func encrypt(_ store: FavoritesStore, at time: Milliseconds) throws(HeartlogError) {
    guard store.vaultID?.isEncrypted != true else { return }
    var keys = try VaultKeys(of: store)
    do {
      try keys.make(at: time) { code in try keepUnshown(code, in: store) }
    } catch {
      try forgetUnshown(in: store)
      throw HeartlogError(wrapping: error)
    }
  }

  /// Makes the first epoch of a new vault with the log of this one, with this device as its only member. Its id is derived from the recovery
  /// code.
  ///
  /// - Parameters:
  ///   - isAgain: whether an encrypted vault is left.
  ///   - show: shows the code to a person. If it throws, nothing was made.
  /// - Throws: `exists` if the vault is encrypted already; what `show` throws.
  package mutating func make(
    again isAgain: Bool = false, at time: Milliseconds = StoreOptions.systemTime(),
    show: (String) throws -> Void
  ) throws {
    guard !isEncrypted || isAgain else { throw HeartlogError(.exists, "the vault is encrypted already") }
    guard ownRemoval == nil else {
      throw HeartlogError(.noKey, "this device was removed from its vault: begin a new store instead")
    }
    let code = makeCode()
    let new = VaultID(root: code.key.publicKey)
    try show(code.text)
    vault = new
    state = KeyState(of: new, epochs: [KeyEpoch](), admissions: [Admission]())
    try make(
      root: code.member(of: new), devices: [try announcement(in: new)], removals: [], generation: 0,
      by: code.key, at: time)
    try store.join(new, with: VaultMembership(new, isEstablished: true), isEstablished: true)
    try noteShown(code.key.publicKey)
  }

  @discardableResult
  private mutating func make(
    root: Member, devices: [Member], removals: [Removal], generation: Int, by maker: any DeviceKey,
    at time: Milliseconds
  ) throws(HeartlogError) -> KeyEpoch {
    guard let vault else { preconditionFailure("keys are made in a vault") }
    let previous = state.tips.compactMap { epoch in keys[epoch.id].map { (epoch: epoch, key: $0) } }
      .sorted { $0.epoch.number > $1.epoch.number }.prefix(KeyEpoch.previousMax)
    let origin = (replica: key.publicKey.replica, time: UInt64(max(0, time)))
    var generator = store.generator
    let made = try making {
      try KeyEpoch.make(
        in: vault, generation: UInt64(generation), following: Array(previous), root: root, devices: devices,
        removals: removals, by: maker, on: origin, using: &generator)
    }
    add(.epoch(made.epoch))
    try keep([.epoch(made.epoch)])
    recompute()
    try keep([])
    // A rotation voids what was given away.
    try withdraw(state.openInvitations)
    return made.epoch
  }

  private var notAMember: HeartlogError {
    if case .notAMember(let reason) = standing { return HeartlogError(.noKey, reason) }
    return HeartlogError(.noKey, "this device is no member of the vault yet: sync first")
  }

  private func making<R>(_ body: () throws -> R) throws(HeartlogError) -> R {
    do { return try body() } catch let error as MalformedError {
      throw HeartlogError(.invalid, error.description)
    } catch { throw HeartlogError(.inputOutput, "the device key cannot be used: \(error)") }
  }

  private func makeCode() -> RecoveryCode {
    var generator = store.generator
    return RecoveryCode(using: &generator)
  }
}

// MARK: - What is shown to people

extension VaultKeys {
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

  /// Whether the vault is encrypted.
  package var isEncrypted: Bool { store.vaultID?.isEncrypted == true }

  /// Whether a code is kept until a sync joins with it.
  package var isJoining: Bool { code != nil }

  /// Whether a store's device was removed, or has no key of its vault, as far as it knows.
  package static func isNotAMember(_ store: FavoritesStore) throws(HeartlogError) -> Bool {
    guard store.vault?.id.isEncrypted == true else { return false }
    if case .notAMember = try VaultKeys(of: store).standing { return true }
    return false
  }

  /// The epochs and admissions of a store's vault: what leads from its id to its members.
  package static func objects(of store: FavoritesStore) throws(HeartlogError) -> [[UInt8]] {
    try VaultKeys(of: store).objects.map(\.bytes)
  }

  /// All epochs that are trusted here, the newest first.
  package var epochs: [Epoch] {
    let current = current?.id
    let removed = state.removed
    return state.trusted.values.sorted { ($0.number, $0.id) > ($1.number, $1.id) }.map { epoch in
      Epoch(
        id: epoch.id.description, number: epoch.number, generation: epoch.generation, maker: epoch.origin,
        isOfRoot: epoch.isOfRoot,
        devices: (state.holders[epoch.id] ?? Set(epoch.devices.map(\.replica))).filter {
          removed[$0] == nil
        }
        .sorted(),
        revoked: Dictionary(uniqueKeysWithValues: epoch.removals.map { ($0.replica, $0.size) }),
        isCurrent: epoch.id == current, isReadable: keys[epoch.id] != nil)
    }
  }

  /// The members whom nobody introduced but a replica, or devices that it introduced: its removal leaves them out.
  package func leftOut(without replica: ReplicaID) -> [ReplicaID] {
    let removal = Removal(replica: replica, size: 0, root: nil)
    let left = Set(members(removing: [removal]).map(\.replica)).union([replica, store.replica])
    return members.filter { !left.contains($0) }
  }

  /// The members of the vault.
  package var members: [ReplicaID] { state.members.values.map(\.replica).sorted() }

  /// Why this device cannot write to an encrypted place; `nil` if it can, or will once it has synced.
  package var reasonOut: String? {
    if isEncrypted, case .notAMember(let reason) = standing { return reason }
    return nil
  }

  /// What is wrong with the keys that a store keeps.
  package static func faults(of store: FavoritesStore) throws(HeartlogError) -> [Fault] {
    let isJoining = try store.log.keyFile(codeName)?.isEmpty == false
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
    guard store.vaultID?.isEncrypted == true, let bytes = try store.log.keyFile(voidName), !bytes.isEmpty
    else {
      return nil
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension FavoritesStore {
  /// The source of secrets.
  var generator: KeyGenerator { KeyGenerator(random: options.random) }
}

struct KeyGenerator: RandomNumberGenerator {
  let random: @Sendable () -> UInt64
  mutating func next() -> UInt64 { random() }
}
