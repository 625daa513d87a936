@testable import HeartlogFormat
import TestSupport
import Testing

/// Whom an invitation lets in, whatever the order in which its objects come.
@Suite("Invitations")
struct InvitationTests {
  /// A vault with one member, which has invited somebody.
  private struct Scene {
    var sample: SampleVault
    let first: SampleVault.Epoch
    let invited: SampleVault.Device
    let invitation: Admission

    init() throws {
      sample = try SampleVault(devices: 1)
      first = try sample.first()
      invited = try sample.newMember()
      invitation = try sample.admission(
        of: invited, to: first, as: .invites(end: 1_700_000_000_000), by: sample.devices[0].key)
    }

    mutating func accepts(_ device: SampleVault.Device) throws -> Admission {
      try sample.admission(of: device, to: first, as: .accepts, by: invited.key)
    }

    /// The state of these objects, which is the same in any order.
    func state(_ admissions: [Admission], _ epochs: [SampleVault.Epoch]? = nil) -> KeyState {
      let epochs = (epochs ?? [first]).map(\.epoch)
      let states = [admissions, admissions.reversed(), admissions.sorted { $0.objectName < $1.objectName }]
        .map {
          KeyState(of: sample.vault, epochs: epochs, admissions: $0)
        }
      for state in states {
        #expect(state.members == states[0].members && state.introduced == states[0].introduced)
        #expect(
          state.openInvitations == states[0].openInvitations && state.unconfirmed == states[0].unconfirmed)
        #expect(state.isKnownToStranger == states[0].isKnownToStranger)
      }
      return states[0]
    }
  }

  @Test("an invitation admits one device, which depends on it until a member confirms")
  func accepted() throws {
    var scene = try Scene()
    let (desk, phone) = (scene.sample.devices[0], try scene.sample.addDevice())
    #expect(scene.state([scene.invitation]).openInvitations == [scene.invitation])
    #expect(
      try scene.first.epoch.key(for: scene.invited.agreementKey, in: scene.invitation) == scene.first.key)

    let accepted = try scene.accepts(phone)
    var state = scene.state([scene.invitation, accepted])
    #expect(Set(state.members.keys) == [desk.key.publicKey, phone.key.publicKey])
    #expect(state.unconfirmed == [phone.member] && !state.isKnownToStranger && !state.isExposed)
    #expect(state.holders[scene.first.epoch.id] == [desk.member.replica, phone.member.replica])

    // Without a confirmation, a withdrawal ends it; with one, it does not.
    let withdrawn = try Admission(withdrawing: scene.invitation, by: desk.key)
    state = scene.state([scene.invitation, accepted, withdrawn])
    #expect(Set(state.members.keys) == [desk.key.publicKey] && state.openInvitations.isEmpty)
    #expect(!state.isKnownToStranger && state.isWithdrawn(scene.invited.key.publicKey))
    let confirmed = try scene.sample.admission(of: phone, to: scene.first, by: desk.key)
    state = scene.state([scene.invitation, accepted, withdrawn, confirmed])
    #expect(
      state.members[phone.key.publicKey] != nil && state.unconfirmed.isEmpty && !state.isKnownToStranger)
    // Others may have the confirmation alone.
    #expect(scene.state([confirmed]).members[phone.key.publicKey] != nil)
  }

  @Test("of two devices that use the same invitation neither gets in, and the key is known to a stranger")
  func copied() throws {
    var scene = try Scene()
    let (phone, thief) = (try scene.sample.addDevice(), try scene.sample.addDevice())
    let both = [scene.invitation, try scene.accepts(phone), try scene.accepts(thief)]
    var state = scene.state(both)
    #expect(Set(state.members.keys) == [scene.sample.devices[0].key.publicKey])
    #expect(state.isKnownToStranger && state.acceptedCount(scene.invited.key.publicKey) == 2)
    // Whom a member had confirmed stays.
    let confirmed = try scene.sample.admission(of: phone, to: scene.first, by: scene.sample.devices[0].key)
    state = scene.state(both + [confirmed])
    #expect(state.members[phone.key.publicKey] != nil && state.members[thief.key.publicKey] == nil)
    // A further epoch has a key that the stranger does not know.
    let further = try scene.sample.next(after: [scene.first], devices: [scene.sample.devices[0]])
    #expect(!scene.state(both, [scene.first, further]).isKnownToStranger)
  }

  @Test(
    "nobody comes in with an invitation of a stranger, of a removed device, to another epoch, or with none")
  func refused() throws {
    var scene = try Scene()
    let (desk, phone) = (scene.sample.devices[0], try scene.sample.addDevice())
    let stranger = try scene.sample.newMember()
    let accepted = try scene.accepts(phone)
    #expect(scene.state([accepted]).members[phone.key.publicKey] == nil)
    let forged = try scene.sample.admission(
      of: scene.invited, to: scene.first, as: .invites(end: 1), by: stranger.key)
    #expect(scene.state([forged, accepted]).members[phone.key.publicKey] == nil)
    // A key that guesses accepts nothing.
    let guessed = try scene.sample.admission(of: phone, to: scene.first, as: .accepts, by: stranger.key)
    #expect(scene.state([scene.invitation, guessed]).members[phone.key.publicKey] == nil)
    // The invitation of a device that was removed leads nowhere.
    let laptop = try scene.sample.addDevice()
    let joined = try scene.sample.admission(of: laptop, to: scene.first, by: desk.key)
    let second = try scene.sample.newMember()
    let theirs = [
      joined, try scene.sample.admission(of: second, to: scene.first, as: .invites(end: 1), by: laptop.key),
      try scene.sample.admission(of: phone, to: scene.first, as: .accepts, by: second.key),
    ]
    #expect(scene.state(theirs).members[phone.key.publicKey] != nil)
    let code = scene.sample.newCode()
    let removing = try scene.sample.next(
      after: [scene.first], devices: [desk], without: [scene.sample.removal(of: laptop)], newCode: code)
    let state = scene.state(theirs, [scene.first, removing])
    #expect(Set(state.members.keys) == [desk.key.publicKey] && state.openInvitations.isEmpty)
    // What was accepted under another epoch than that of the invitation counts for nothing.
    let next = try scene.sample.next(after: [scene.first], devices: [desk])
    let elsewhere = try scene.sample.admission(of: phone, to: next, as: .accepts, by: scene.invited.key)
    #expect(
      scene.state([scene.invitation, elsewhere], [scene.first, next]).members[phone.key.publicKey] == nil)
  }

  @Test("who depends on an invitation withdraws none, its own included")
  func unconfirmedWithdraws() throws {
    var scene = try Scene()
    let phone = try scene.sample.addDevice()
    let accepted = try scene.accepts(phone)
    let withdrawn = try Admission(withdrawing: scene.invitation, by: phone.key)
    let state = scene.state([scene.invitation, accepted, withdrawn])
    #expect(state.members[phone.key.publicKey] != nil && !state.isWithdrawn(scene.invited.key.publicKey))
    // A stranger withdraws none, either.
    let stranger = try Admission(withdrawing: scene.invitation, by: try scene.sample.newMember().key)
    #expect(scene.state([scene.invitation, accepted, stranger]).members[phone.key.publicKey] != nil)
  }

  @Test("each kind has a name of its own, and a withdrawal no key")
  func names() throws {
    var scene = try Scene()
    let phone = try scene.sample.addDevice()
    let withdrawn = try Admission(withdrawing: scene.invitation, by: scene.sample.devices[0].key)
    let all = [scene.invitation, try scene.accepts(phone), withdrawn]
    #expect(Set(all.map(\.objectName)).count == 3)
    for admission in all {
      #expect(try Admission(admission.bytes) == admission && ObjectPath.isKey(admission.objectName))
    }
    #expect(refusal { try scene.first.epoch.key(for: scene.invited.agreementKey, in: withdrawn) } != nil)
  }

  @Test("a line is read as it was written, and what is not whole is named")
  func line() throws {
    var random = SeededGenerator(seed: 3)
    let (key, vault) = (SigningKey(using: &random), VaultID(root: SigningKey(using: &random).publicKey))
    for (place, endpoint) in [
      ("davs://cloud.example.org/anna", nil), ("s3://favorites", "https://s3.example.org"), ("folder:ö", nil),
    ] as [(String, String?)] {
      for key in [key, nil] {
        let line = Invitation(to: vault, key: key, place: place, endpoint: endpoint).text
        let read = try Invitation(text: " \(line.prefix(40))\n\(line.dropFirst(40))\n")
        #expect(read.vault == vault && read.key?.seed == key?.seed && read.place == place)
        #expect(read.endpoint == endpoint && !String(reflecting: read).contains(line))
        for count in 0..<line.utf8.count {
          #expect(throws: MalformedError.self) { try Invitation(text: line.prefix(count)) }
        }
        for place in line.indices where line[place] != "A" {
          var changed = line
          changed.replaceSubrange(place...place, with: "A")
          #expect(throws: MalformedError.self) { try Invitation(text: changed) }
        }
      }
    }
    #expect(throws: MalformedError.self) { try Invitation(text: String(repeating: "x", count: 5_000)) }
  }
}
