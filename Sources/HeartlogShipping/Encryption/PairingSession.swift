import Heartlog
import HeartlogEncryption

/// One end of a pairing: a member of an encrypted vault admits the device at the other end. Source: "Pairing" in docs/encryption.md.
///
/// Whichever end a pairing breaks off at, the next one completes it. No secret is sent.
package struct PairingSession: Sendable {
  private let store: FavoritesStore
  private let role: SyncSession.Role
  private let options: SyncOptions
  private let reader: MessageReader
  private let writer: MessageWriter

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
    let link = MonitoredChannel(channel, options: options)
    reader = MessageReader(link)
    writer = MessageWriter(link)
  }

  /// Runs the pairing.
  ///
  /// - Throws: `HeartlogError`; `noKey` if neither device can admit the other, or one of them was revoked; `otherVault`; `peer` if what
  ///   comes is no part of a pairing, or does not admit this device; `timedOut`, `inputOutput`, and what the store throws.
  package func run() throws(HeartlogError) -> PairingReport {
    do throws(HeartlogError) { return try pair() } catch {
      if error.code == .noKey {
        writer.writeRefusal(error.message)
      } else {
        writer.writeFailure(error, versions: role == .serving ? PairingGreeting.versions : nil)
      }
      throw error
    }
  }

  private func pair() throws(HeartlogError) -> PairingReport {
    // As a sync does. A copied store gets a key of its own, and only a device that has signed something shows its key, which people compare.
    _ = try store.prepareToShip()
    let codes = try Keyring.codes(in: store).map(\.key.publicKey)
    var report = PairingReport()
    var isDone = false
    for _ in 0..<Self.roundsMax where !isDone {
      // Another process may have taken or made epochs since the last round.
      var ring = try Keyring(of: store)
      let (mine, theirs) = try greet(&ring)
      report.peer = theirs.replica
      report.peerName = theirs.name
      try ring.checkNotRevoked(theirs.replica)
      guard let vault = try VaultAgreement(mine.side, theirs.side).vault else {
        preconditionFailure("both ends of a pairing have a vault")
      }
      isDone = try hold(mine, theirs, joining: vault, &ring, &report)
    }
    guard isDone else { throw HeartlogError(.timedOut, "others changed the keys again and again meanwhile") }
    _ = try store.prepareToShip()
    report.hasNewRecoveryCode = try Keyring.codes(in: store).map(\.key.publicKey) != codes
    return report
  }

  /// The most times that a pairing begins: members learn what the other knows, one of them joins the epochs, the other takes that one, and
  /// is admitted again if it was left out.
  private static let roundsMax = 4

  /// Holds a round.
  ///
  /// - Returns: Whether both are members now, and know the same.
  private func hold(
    _ mine: PairingGreeting, _ theirs: PairingGreeting, joining vault: VaultID, _ ring: inout Keyring,
    _ report: inout PairingReport
  ) throws(HeartlogError) -> Bool {
    switch (mine.epochVault, theirs.epochVault) {
    case (nil, nil):
      throw HeartlogError(
        .noKey,
        "neither this device nor the peer can write to an encrypted vault, so neither can admit the other: "
          + "on one of them, run \"heartlog sync folder:DIR --encrypted\" or \"heartlog keys init\" first")
    case (let epochVault?, nil):
      let member = try announced(in: epochVault)
      guard member.replica == theirs.replica else {
        throw .peer("a device that announces the key of another one")
      }
      // Another pairing may have admitted a device meanwhile. Two epochs that admit one each would leave both out.
      ring = try Keyring(of: store)
      let head = try ring.admit(member)
      report.admitted = device(member, theirs.name, isOwn: false)
      report.epochsSent += try give(ring, head, to: theirs)
      report.epochsReceived += try take(into: &ring, joining: vault, of: theirs).newCount
      return true
    case (nil, let epochVault?):
      let own = try ring.announcement(in: epochVault)
      try write(.member(own.bytes))
      report.admitted = device(own, store.name, isOwn: true)
      let (head, newCount) = try take(into: &ring, joining: vault, of: theirs, trustsHead: true)
      report.epochsReceived += newCount
      report.epochsSent += try give(ring, head, to: theirs)
      return true
    case (_?, _?) where mine.epochs == theirs.epochs:
      // An earlier attempt may have ended before this was done.
      try store.join(vault, with: theirs.vault)
      try ring.keep([])
      return true
    case (_?, _?):
      // What is taken may leave this device out.
      let head = ring.heads[0]
      if role == .serving { report.epochsSent += try give(ring, head, to: theirs) }
      report.epochsReceived += try take(into: &ring, joining: vault, of: theirs).newCount
      if role == .calling { report.epochsSent += try give(ring, head, to: theirs) }
      return false
    }
  }

  // MARK: - Greeting

  private func greeting(_ ring: Keyring) throws(HeartlogError) -> PairingGreeting {
    guard let vault = store.vault else {
      throw HeartlogError(.invalid, "a store without a vault cannot be encrypted")
    }
    let newest = ring.epochs.values.sorted { ($0.number, $0.id) > ($1.number, $1.id) }
    return PairingGreeting(
      isServing: role == .serving,
      isEmpty: try store.streamHeads().allSatisfy { $0.commit.rawValue == 0 },
      joins: role == .calling && options.joinsVault, replica: store.replica, name: store.name, vault: vault,
      epochVault: ring.heads.first?.vault,
      epochs: newest.prefix(PairingGreeting.epochsMax).map(\.id).sorted())
  }

  /// Exchanges the greetings. If this device has to join several epochs, it does: the serving end only if it knows all that the calling
  /// end does, so that not both make one.
  private func greet(
    _ ring: inout Keyring
  ) throws(HeartlogError) -> (mine: PairingGreeting, theirs: PairingGreeting) {
    switch role {
    case .calling:
      try ring.checkNotRevoked()
      try ring.joinHeads()
      let mine = try greeting(ring)
      try write(.pairing(mine), reading: .pairing)
      return (mine, try theirGreeting())
    case .serving:
      let theirs = try theirGreeting()
      try ring.checkNotRevoked()
      if theirs.epochs.allSatisfy({ ring.epochs[$0] != nil }) { try ring.joinHeads() }
      let mine = try greeting(ring)
      try write(.pairing(mine))
      return (mine, theirs)
    }
  }

  private func theirGreeting() throws(HeartlogError) -> PairingGreeting {
    let message = try read(.pairing)
    if case .versions(let least, let most) = message {
      throw .otherVersions(min(least, most)...most, known: PairingGreeting.versions)
    }
    guard case .pairing(let theirs) = message else { throw .peer("a message out of turn") }
    guard theirs.isServing == (role == .calling) else {
      throw .peer("a greeting from an end of the same role")
    }
    return theirs
  }

  // MARK: - Announcing

  /// What the other end announces.
  private func announced(in vault: VaultID) throws(HeartlogError) -> Member {
    guard case .member(let bytes) = try read(.member) else { throw .peer("a message out of turn") }
    do throws(EncryptionError) { return try Member(bytes, vault: vault) } catch {
      throw .peer(error.description)
    }
  }

  private func device(_ member: Member, _ name: String, isOwn: Bool) -> PairingReport.Device {
    PairingReport.Device(
      replica: member.replica, name: name, fingerprint: member.publicKey.fingerprint, isOwn: isOwn)
  }

  // MARK: - Epochs

  /// Sends the epochs that the other end lacks, and a head of this one.
  ///
  /// - Returns: How many it sent.
  private func give(
    _ ring: Keyring, _ head: KeyEpoch, to theirs: PairingGreeting
  ) throws(HeartlogError) -> Int {
    let known = Set(theirs.epochs)
    let newest = ring.epochs.values.filter { !known.contains($0.id) }
      .sorted { ($0.number, $0.id) > ($1.number, $1.id) }
    var sent: [KeyEpoch] = []
    var byteCount = 0
    for epoch in newest.prefix(Self.epochsMax) {
      byteCount += epoch.bytes.count
      // A place has the older ones, too.
      guard byteCount <= Self.epochBytesMax else { break }
      sent.append(epoch)
    }
    for epoch in sent.reversed() { try write(.epoch(epoch.bytes)) }
    try write(.head(head.id))
    return sent.count
  }

  static let epochsMax = PairingGreeting.epochsMax
  static let epochBytesMax = 64 << 20

  /// Receives what the other end gives, joins its vault, and keeps the epochs.
  ///
  /// - Parameter trustsHead: whether the epoch that the other end names is trusted, because it is to admit this device.
  /// - Returns: The epoch under which the other end writes, and how many were new.
  private func take(
    into ring: inout Keyring, joining vault: VaultID, of theirs: PairingGreeting, trustsHead: Bool = false
  ) throws(HeartlogError) -> (head: KeyEpoch, newCount: Int) {
    let (found, head) = try receive()
    let new = ring.take(found, trusting: trustsHead ? head : nil)
    guard let epoch = ring.epochs[head] else {
      if trustsHead {
        throw .peer("epoch \(head), which is to admit this device, is not there or does not give it the key")
      }
      throw HeartlogError(
        .noKey,
        "the two devices have keys of different vaults: the epochs of neither lead to those of the other")
    }
    if trustsHead {
      try ring.checkNotRevoked(epoch.maker.replica)
      try ring.checkNotRevoked()
      guard ring.isMember(of: epoch) else { throw .peer("epoch \(head) does not admit this device") }
    }
    try store.join(vault, with: theirs.vault)
    try ring.keep(new)
    // Whoever is out should know it from now on.
    try ring.checkNotRevoked()
    return (epoch, new.count)
  }

  private func receive() throws(HeartlogError) -> (epochs: [KeyEpoch], head: EpochID) {
    var found: [KeyEpoch] = []
    var byteCount = 0
    while true {
      switch try read(.epoch, .head) {
      case .epoch(let bytes):
        byteCount += bytes.count
        guard found.count < Self.epochsMax, byteCount <= Self.epochBytesMax else {
          throw .peer("more key epochs than a pairing may have")
        }
        do throws(EncryptionError) { found.append(try KeyEpoch(bytes)) } catch {
          throw .peer("a key epoch that is not sound: \(error.description)")
        }
      case .head(let id): return (found, id)
      default: throw .peer("a message out of turn")
      }
    }
  }

  /// Writes a message.
  ///
  /// - Parameter kind: what the other end would say next.
  /// - Throws: the reason that the other end gave, if it hung up.
  private func write(_ message: Message, reading kind: Message.Kind = .refused) throws(HeartlogError) {
    do throws(HeartlogError) { try writer.write(message) } catch {
      if error.code == .inputOutput { _ = try read(kind) }
      throw error
    }
  }

  /// Reads the next message.
  ///
  /// - Throws: `noKey` if the other end refuses.
  private func read(_ kinds: Message.Kind...) throws(HeartlogError) -> Message {
    let message = try reader.read(kinds + [.refused])
    if case .refused(let sentence) = message { throw HeartlogError(.noKey, "the peer refused: \(sentence)") }
    return message
  }
}
