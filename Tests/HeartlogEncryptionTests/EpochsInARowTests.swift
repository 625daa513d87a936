@testable import HeartlogEncryption
import HeartlogEvents
import HeartlogProofs
import Testing

@Suite("Epochs in a row")
struct EpochsInARowTests {
  @Test("a device is admitted by a member, and revoked with a new recovery code")
  func admitAndRevoke() throws {
    var sample = try SampleVault()
    let first = try sample.first()
    let tablet = try sample.addDevice()
    let second = try sample.next(after: [first])
    let newCode = sample.newCode()
    let rest = Array(sample.devices.prefix(2))
    let third = try sample.next(
      after: [second], devices: rest, without: [sample.revocation(of: tablet)], newCode: newCode)
    #expect(try second.epoch.key(for: tablet.agreementKey) == second.key)
    #expect(refusal { try third.epoch.key(for: tablet.agreementKey) } != nil)
    #expect(refusal { try third.epoch.key(with: sample.code) } != nil)
    #expect(try third.epoch.key(with: newCode) == third.key)
    // A code that was lost is replaced without revoking anyone.
    let fourth = try sample.next(
      after: [third], devices: rest, without: third.epoch.revocations, newCode: sample.newCode())
    #expect(fourth.epoch.number == 4)
  }

  @Test("the recovery code alone admits a device")
  func recovery() throws {
    var sample = try SampleVault()
    let first = try sample.first()
    let key = try first.epoch.key(with: sample.code)
    let device = try sample.addDevice()
    let second = try KeyEpoch.make(
      in: sample.vault, following: [(epoch: first.epoch, key: key)], recovery: first.epoch.recovery,
      devices: sample.devices.map(\.member), revocations: [], by: sample.code.key, signedBy: nil,
      using: &sample.random)
    #expect(second.epoch.isSignedByRecovery)
    #expect(
      try second.epoch.keys(
        from: second.epoch.key(for: device.agreementKey), among: [first.epoch.id: first.epoch])[
          first.epoch.id]
        == first.key)
  }

  @Test("a revoked device makes no epoch, and neither does a stranger")
  func makers() throws {
    var sample = try SampleVault(devices: 3)
    let first = try sample.first()
    let (revoked, rest) = (sample.devices[2], Array(sample.devices.prefix(2)))
    let second = try sample.next(
      after: [first], devices: rest, without: [sample.revocation(of: revoked)], newCode: sample.newCode())
    #expect(refusal { try sample.next(after: [second], by: revoked) } != nil)
    let stranger = try sample.addDevice()
    #expect(
      refusal { try sample.next(after: [first], by: stranger) }?.description.contains(
        "was made by replica \(stranger.member.replica), which was no member before it") == true)
  }

  @Test(
    "nobody is left out without being revoked, and no revocation is taken back or moved to a later commit")
  func revocations() throws {
    var sample = try SampleVault(devices: 3)
    let first = try sample.first()
    let (revoked, rest) = (sample.devices[2], Array(sample.devices.prefix(2)))
    #expect(
      refusal { try sample.next(after: [first], devices: rest) }?.description.contains(
        "leaves out replica \(revoked.member.replica) and does not revoke it") == true)
    let revocation = sample.revocation(of: revoked, size: 7)
    #expect(
      refusal { try sample.next(after: [first], devices: rest, without: [revocation]) }?.description.contains(
        "keeps a recovery code") == true)
    let second = try sample.next(
      after: [first], devices: rest, without: [revocation], newCode: sample.newCode())
    for later in [[], [sample.revocation(of: revoked, size: 8)]] {
      #expect(
        refusal { try sample.next(after: [second], devices: rest, without: later) }?.description.contains(
          "takes back the revocation") == true)
    }
    #expect(refusal { try sample.next(after: [second], without: []) } != nil)
    for earlier: UInt64 in [0, 6, 7] {
      let again = sample.revocation(of: revoked, size: earlier)
      #expect(
        try sample.next(after: [second], devices: rest, without: [again]).epoch.revocations == [again])
    }
  }

  @Test("rotations at the same time are followed by one that leaves out everybody either left out")
  func concurrent() throws {
    var sample = try SampleVault(devices: 4)
    let first = try sample.first()
    let devices = sample.devices
    let one = try sample.next(
      after: [first], devices: [devices[0], devices[1], devices[3]],
      without: [sample.revocation(of: devices[2])], newCode: sample.newCode())
    let two = try sample.next(
      after: [first], devices: [devices[0], devices[1], devices[2]],
      without: [sample.revocation(of: devices[3])], by: devices[1], newCode: sample.newCode())
    let both = [sample.revocation(of: devices[2]), sample.revocation(of: devices[3])]
    let rest = [devices[0], devices[1]]
    let joined = try sample.next(
      after: [one, two], devices: rest, without: both, newCode: sample.newCode())
    #expect(joined.epoch.number == 3)
    let all = Dictionary(uniqueKeysWithValues: [first, one, two].map { ($0.epoch.id, $0.epoch) })
    #expect(joined.epoch.keys(from: joined.key, among: all).count == 4)
    for some in both {
      #expect(
        refusal {
          try sample.next(after: [one, two], devices: rest, without: [some], newCode: sample.newCode())
        } != nil)
    }
    // Neither of the two codes goes on.
    #expect(
      refusal { try sample.next(after: [one, two], devices: rest, without: both) }?.description.contains(
        "keeps a recovery code") == true)

    let found = [joined, two, first, one].map(\.epoch)
    let trusted = TrustedEpochs(among: found, roots: [first.epoch.id])
    #expect(trusted.epochs.count == 4)
    #expect(trusted.heads(of: devices[0].key.publicKey) == [joined.epoch])
    // Before the joining one is made, there are two heads for who is in both.
    let before = TrustedEpochs(among: found.filter { $0 != joined.epoch }, roots: [first.epoch.id])
    #expect(Set(before.heads(of: devices[0].key.publicKey)) == [one.epoch, two.epoch])
    #expect(before.heads(of: devices[3].key.publicKey) == [one.epoch])
  }

  @Test("whom a revoked device admitted meanwhile is not taken when the epochs are joined")
  func admittedByRevoked() throws {
    var sample = try SampleVault(devices: 3)
    let first = try sample.first()
    let (phone, thief) = (sample.devices[0], sample.devices[2])
    let rest = Array(sample.devices.prefix(2))
    let accomplice = try sample.addDevice()
    let rotation = try sample.next(
      after: [first], devices: rest, without: [sample.revocation(of: thief, size: 7)],
      newCode: sample.newCode())
    let rogue = try sample.next(after: [first], by: thief)
    let further = try sample.next(
      after: [rogue], without: [], by: accomplice, newCode: nil)
    let found = [first, rotation, rogue, further].map(\.epoch)
    let heads = TrustedEpochs(among: found, roots: [first.epoch.id]).heads(of: phone.key.publicKey)
    #expect(Set(heads) == [rotation.epoch, further.epoch])

    let devices = KeyEpoch.commonDevices(of: heads)
    #expect(Set(devices) == Set(rest.map(\.member)))
    let revocations = KeyEpoch.combinedRevocations(of: heads + heads)
    #expect(revocations == rotation.epoch.revocations)
    // They are of different numbers, and of all members only those of both may join them.
    let joined = try sample.next(
      after: [rotation, further], devices: rest, without: revocations, newCode: sample.newCode())
    #expect(joined.epoch.number == further.epoch.number + 1)
    #expect(refusal { try joined.epoch.key(for: accomplice.agreementKey) } != nil)
    #expect(refusal { try sample.next(after: [joined], by: accomplice) } != nil)
    #expect(KeyEpoch.commonDevices(of: []).isEmpty && KeyEpoch.combinedRevocations(of: []).isEmpty)
  }

  @Test("of two revocations of a replica, the one at the earlier commit holds")
  func combined() throws {
    var sample = try SampleVault(devices: 3)
    let first = try sample.first()
    let rest = Array(sample.devices.prefix(2))
    let epochs = try ([9, 4, 6] as [UInt64]).map { size in
      try sample.next(
        after: [first], devices: rest, without: [sample.revocation(of: sample.devices[2], size: size)],
        newCode: sample.newCode()
      ).epoch
    }
    for order in [epochs, epochs.reversed()] {
      #expect(KeyEpoch.combinedRevocations(of: order) == [sample.revocation(of: sample.devices[2], size: 4)])
    }
  }

  @Test("a new recovery code signs the epoch that has it")
  func newCode() throws {
    var sample = try SampleVault()
    let first = try sample.first()
    let unsigned = sample.newCode().member(of: sample.vault)
    let error = refusal {
      try KeyEpoch.make(
        in: sample.vault, following: [(epoch: first.epoch, key: first.key)], recovery: unsigned,
        devices: first.epoch.devices, revocations: [], by: sample.devices[0].key, signedBy: nil,
        using: &sample.random)
    }
    #expect(error?.description.contains("has a new recovery code, which did not sign it") == true)
    #expect(
      refusal {
        try KeyEpoch.make(
          in: sample.vault, following: [(epoch: first.epoch, key: first.key)], recovery: unsigned,
          devices: first.epoch.devices, revocations: [], by: sample.devices[0].key, signedBy: sample.code,
          using: &sample.random)
      } == .wrongKey("the recovery code is not the one of the epoch"))
  }

  @Test("epochs of another vault, and a number that is skipped, follow nothing")
  func others() throws {
    var sample = try SampleVault()
    var other = try SampleVault(seed: 2)
    let (first, foreign) = (try sample.first(), try other.first())
    let second = try sample.next(after: [first])
    #expect(refusal { try second.epoch.checkFollows([foreign.epoch]) } != nil)
    #expect(refusal { try second.epoch.checkFollows([first.epoch, foreign.epoch]) } != nil)
    #expect(refusal { try second.epoch.checkFollows([]) } != nil)
    #expect(refusal { try first.epoch.checkFollows([]) } != nil)
    var body = second.epoch.body
    body.number = 3
    let message = KeyLabel.epoch.followed(by: body.bytes)
    let skipped = try KeyEpoch(body.bytes + sample.devices[0].key.signature(of: message).bytes)
    #expect(
      refusal { try skipped.checkFollows([first.epoch]) }?.description.contains("has number 3") == true)
  }

  @Test("what a carrier makes for the public keys of a vault is not trusted")
  func forged() throws {
    var sample = try SampleVault()
    let first = try sample.first()
    let second = try sample.next(after: [first])
    // The carrier knows every public key, so everybody could decrypt what it makes.
    let carrier = SigningKey(using: &sample.random)
    let member = try Member(carrier, agreementKey: AgreementKey(of: carrier), vault: sample.vault)
    let ownCode = sample.newCode()
    let forged = try KeyEpoch.make(
      in: sample.vault, following: [], recovery: ownCode.member(of: sample.vault),
      devices: [member] + second.epoch.devices, revocations: [], by: carrier, signedBy: ownCode,
      using: &sample.random)
    #expect(try forged.epoch.key(for: sample.devices[0].agreementKey) == forged.key)
    // One with the vault's own code, which cannot have signed it, and one that pretends to follow.
    var body = forged.epoch.body
    body.number = 2
    body.isSignedTwice = false
    let old = second.epoch.body
    (body.recovery, body.previous) = (old.recovery, old.previous)
    let message = KeyLabel.epoch.followed(by: body.bytes)
    let pretended = try KeyEpoch(body.bytes + carrier.signature(of: message).bytes)

    let found = [pretended, forged.epoch, second.epoch, first.epoch]
    let expected = [first.epoch.id: first.epoch, second.epoch.id: second.epoch]
    #expect(
      TrustedEpochs(among: found, roots: [], code: sample.code.key.publicKey).epochs == expected)
    #expect(TrustedEpochs(among: found, roots: [first.epoch.id]).epochs == expected)
    #expect(TrustedEpochs(among: found, roots: [second.epoch.id]).epochs == expected)
    #expect(TrustedEpochs(among: found, roots: []).epochs.isEmpty)
  }
}
