import Heartlog
import HeartlogFormat

/// One end of a pairing: a member of an encrypted vault admits the device at the other end. Source: "Pairing" in docs/encryption.md.
///
/// Wherever a pairing breaks off, the next one completes it. No secret is sent.
package struct PairingSession: Sendable {
  private let store: FavoritesStore
  private let role: SyncSession.Role
  private let options: SyncOptions
  private let link: ChannelLink

  /// Creates one end, which can run once.
  ///
  /// - Parameters:
  ///   - store: the store at this end.
  ///   - channel: the channel to the other end; the caller closes it after `run` has returned.
  ///   - role: one end calls, and the other serves. Either may be the member.
  ///   - options: `joinsVault`, and the times after which it gives up.
  package init(
    _ store: FavoritesStore, over channel: any ByteChannel, role: SyncSession.Role,
    options: SyncOptions = SyncOptions()
  ) {
    self.store = store
    self.role = role
    self.options = options
    link = ChannelLink(channel, options)
  }

  /// Runs the pairing.
  ///
  /// - Throws: `HeartlogError`; `noKey` if neither device can admit the other, or one of them was revoked; `otherVault`; `peer` if what
  ///   comes is no part of a pairing, or does not admit this device; `timedOut`, `inputOutput`, and what the store throws.
  package func run() throws(HeartlogError) -> PairingReport {
    do throws(HeartlogError) { return try pair() } catch {
      // Whoever gave up is not told.
      if !error.isEcho { link.writer.writeFailure(error) }
      throw error
    }
  }

  private func pair() throws(HeartlogError) -> PairingReport {
    // As a sync does. A copied store gets a key of its own, and only a device that has signed something shows its key, which people compare.
    _ = try store.prepareToShip()
    var ring = try VaultKeys(of: store)
    let (mine, theirs) = try greet(ring)
    var report = PairingReport()
    report.peer = theirs.replica
    report.peerName = theirs.name
    try ring.checkNotRemoved(theirs.replica)
    guard let vault = try VaultAgreement(mine.side, theirs.side).vault else {
      preconditionFailure("both ends of a pairing have a vault")
    }
    try hold(mine, theirs, joining: vault, &ring, &report)
    _ = try store.prepareToShip()
    return report
  }

  private func hold(
    _ mine: PairingGreeting, _ theirs: PairingGreeting, joining vault: VaultID, _ ring: inout VaultKeys,
    _ report: inout PairingReport
  ) throws(HeartlogError) {
    guard let keysVault = mine.epochVault ?? theirs.epochVault else {
      throw HeartlogError(
        .noKey,
        "neither this device nor the peer can write to an encrypted vault, so neither can admit the other: "
          + "on one of them, run \"heartlog sync folder:DIR --encrypted\" or \"heartlog keys init\" first")
    }
    guard keysVault == vault, theirs.epochVault ?? vault == vault else {
      throw HeartlogError(.noKey, "the two devices have keys of different vaults")
    }
    var givesFirst = role == .serving
    if theirs.epochVault == nil {
      let member = try announced(in: vault)
      guard member.replica == theirs.replica else {
        throw .peer("a device that announces the key of another one")
      }
      // Another process may have taken keys meanwhile.
      ring = try VaultKeys(of: store)
      _ = try ring.admit(member)
      report.admitted = device(member, theirs.name, isOwn: false)
      givesFirst = true
    } else if mine.epochVault == nil {
      let own = try ring.announcement(in: vault)
      try link.write(.member(own.bytes))
      report.admitted = device(own, store.name, isOwn: true)
      givesFirst = false
    }
    if givesFirst { report.epochsSent = try give(ring, to: theirs) }
    report.epochsReceived = try take(into: &ring, joining: vault, of: theirs)
    if !givesFirst { report.epochsSent = try give(ring, to: theirs) }
  }

  // MARK: - Greeting

  private func greeting(_ ring: VaultKeys) throws(HeartlogError) -> PairingGreeting {
    guard let vault = store.vault else {
      throw HeartlogError(.invalid, "a store without a vault cannot be encrypted")
    }
    return PairingGreeting(
      isServing: role == .serving,
      isEmpty: try store.streamHeads().allSatisfy { $0.commit.rawValue == 0 },
      joins: role == .calling && options.joinsVault, replica: store.replica, name: store.name, vault: vault,
      epochVault: ring.current?.vault,
      epochs: ring.objects.suffix(PairingGreeting.epochsMax).map(\.id).sorted())
  }

  /// Exchanges the greetings.
  private func greet(
    _ ring: VaultKeys
  ) throws(HeartlogError) -> (mine: PairingGreeting, theirs: PairingGreeting) {
    let first = role == .serving ? try theirGreeting() : nil
    try ring.checkNotRemoved()
    let mine = try greeting(ring)
    try link.write(.pairing(mine))
    if let first { return (mine, first) }
    return (mine, try theirGreeting())
  }

  private func theirGreeting() throws(HeartlogError) -> PairingGreeting {
    guard case .pairing(let theirs) = try link.reader.read(.pairing) else {
      throw .peer("a message out of turn")
    }
    guard theirs.isServing == (role == .calling) else {
      throw .peer("a greeting from an end of the same role")
    }
    return theirs
  }

  // MARK: - Announcing

  /// What the other end announces.
  private func announced(in vault: VaultID) throws(HeartlogError) -> Member {
    guard case .member(let bytes) = try link.reader.read(.member) else {
      throw .peer("a message out of turn")
    }
    do throws(MalformedError) { return try Member(bytes, vault: vault) } catch {
      throw .peer(error.description)
    }
  }

  private func device(_ member: Member, _ name: String, isOwn: Bool) -> PairingReport.Device {
    PairingReport.Device(
      replica: member.replica, name: name, fingerprint: member.publicKey.fingerprint, isOwn: isOwn)
  }

  // MARK: - Epochs

  /// Sends the objects that the other end lacks, and the id of the current epoch.
  ///
  /// - Returns: How many it sent.
  private func give(_ ring: VaultKeys, to theirs: PairingGreeting) throws(HeartlogError) -> Int {
    guard let current = ring.current else { throw HeartlogError(.noKey, "this device is no member any more") }
    let known = Set(theirs.epochs)
    var sent: [KeyObject] = []
    var byteCount = 0
    for object in ring.objects.filter({ !known.contains($0.id) }).reversed().prefix(Self.epochsMax) {
      byteCount += object.bytes.count
      // A place has the older ones, too.
      guard byteCount <= Self.epochBytesMax else { break }
      sent.append(object)
    }
    for object in sent.reversed() { try link.write(.epoch(object.bytes)) }
    try link.write(.head(current.id))
    return sent.count
  }

  static let epochsMax = PairingGreeting.epochsMax
  static let epochBytesMax = 64 << 20

  /// Receives what the other end gives, joins its vault, and keeps it.
  ///
  /// - Returns: How many objects were new.
  private func take(
    into ring: inout VaultKeys, joining vault: VaultID, of theirs: PairingGreeting
  ) throws(HeartlogError) -> Int {
    let new = ring.take(try receive(), of: vault)
    // Whoever is out should know it from now on.
    if vault == store.vault?.id { try ring.keep(new) }
    try ring.checkNotRemoved()
    guard ring.current != nil else {
      // It took itself for a member. From now on it asks to be admitted.
      if vault == store.vault?.id, case .notAMember(let reason) = ring.standing {
        throw HeartlogError(.noKey, reason)
      }
      throw .peer("what the other device gave does not admit this device")
    }
    try store.join(vault, with: theirs.vault)
    try ring.keep(new)
    return new.count
  }

  private func receive() throws(HeartlogError) -> [KeyObject] {
    var found: [KeyObject] = []
    var byteCount = 0
    while true {
      switch try link.reader.read(.epoch, .head) {
      case .epoch(let bytes):
        byteCount += bytes.count
        guard found.count < Self.epochsMax, byteCount <= Self.epochBytesMax else {
          throw .peer("more key epochs than a pairing may have")
        }
        do throws(MalformedError) { found.append(try KeyObject(bytes)) } catch {
          throw .peer("a key epoch that is not sound: \(error.description)")
        }
      case .head: return found
      default: throw .peer("a message out of turn")
      }
    }
  }
}

/// What an end of a pairing says about itself. The format is specified in "Pairing" in docs/encryption.md.
struct PairingGreeting: Hashable {
  var isServing: Bool
  /// Whether its store has no commits.
  var isEmpty: Bool
  /// Whether a person asked the calling end to join the other's vault.
  var joins: Bool
  var replica: ReplicaID
  var name: String
  var vault: VaultMembership
  /// The vault of its keys; `nil` if it is no member.
  var epochVault: VaultID?
  /// The epochs and admissions that it has, by id; some if there are too many.
  var epochs: [EpochID]

  static let epochsMax = 4_096
  /// A bound for everything but the epochs is 595 bytes.
  static let bytesMax = 1_024 + epochsMax * EpochID.byteCount
  private static let magic: [UInt8] = Array("HLP".utf8)

  /// The end as two stores agree on a vault. That of a member counts as established: epochs are made in it, and places know it by its id.
  var side: VaultAgreement.Side {
    var membership = vault
    if epochVault != nil { membership.isEstablished = true }
    return VaultAgreement.Side(membership: membership, isEmpty: isEmpty, joins: joins)
  }
}

extension PairingGreeting {
  init(_ reader: inout ByteReader) throws {
    guard try reader.take(Self.magic.count).elementsEqual(Self.magic) else {
      throw MalformedError("a greeting that is not that of a pairing")
    }
    try reader.greetingVersion()
    let flags = try reader.u8()
    guard flags & ~15 == 0 else { throw MalformedError("unknown flags in a greeting") }
    isServing = flags & 1 != 0
    isEmpty = flags & 2 != 0
    joins = flags & 4 != 0
    replica = try reader.replica()
    name = try reader.text()
    try ShippedName.check(name)
    guard let vault = try reader.vaultMembership() else { throw MalformedError("a pairing without a vault") }
    self.vault = vault
    epochVault = flags & 8 != 0 ? try reader.vault() : nil
    epochs = []
    for _ in 0..<(try reader.count(atMost: Self.epochsMax, "key epochs")) {
      let id = try reader.epochID()
      guard epochs.last.map({ $0 < id }) ?? true else {
        throw MalformedError("key epochs that are not in their order")
      }
      epochs.append(id)
    }
  }

  func write(to writer: inout ByteWriter) {
    writer.raw(Self.magic)
    writer.u8(Message.version)
    writer.u8((isServing ? 1 : 0) | (isEmpty ? 2 : 0) | (joins ? 4 : 0) | (epochVault != nil ? 8 : 0))
    writer.replica(replica)
    writer.text(name)
    writer.vault(vault)
    if let epochVault { writer.raw(epochVault.bytes) }
    writer.varint(epochs.count)
    for id in epochs { writer.raw(id.bytes) }
  }
}

/// What a pairing did.
package struct PairingReport: Hashable, Sendable {
  /// A device that was admitted.
  package struct Device: Hashable, Sendable {
    package let replica: ReplicaID
    package let name: String
    /// The fingerprint of its key, which it shows itself, too.
    package let fingerprint: Digest
    /// Whether it is this device.
    package let isOwn: Bool
  }

  /// The other device.
  package var peer = ReplicaID(high: 0, low: 0)
  package var peerName = ""
  /// `nil` if both devices were members before.
  package var admitted: Device?
  /// The key epochs and admissions that were new here.
  package var epochsReceived = 0
  /// Those that the other device did not announce.
  package var epochsSent = 0
}
