@testable import HeartlogFormat
import Testing

/// What a vault's keys are by a set of objects, whatever their order.
@Suite("The state of the keys")
struct KeyStateTests {
  private func state(
    _ sample: SampleVault, _ epochs: [SampleVault.Epoch], _ admissions: [Admission] = []
  ) -> KeyState {
    let state = KeyState(of: sample.vault, epochs: epochs.map(\.epoch), admissions: admissions)
    let reversed = KeyState(
      of: sample.vault, epochs: epochs.reversed().map(\.epoch), admissions: admissions.reversed())
    #expect(state.current == reversed.current && state.members == reversed.members)
    #expect(state.removed == reversed.removed && state.holders == reversed.holders)
    return state
  }

  private func members(_ state: KeyState) -> Set<PublicKey> { Set(state.members.keys) }

  private func keys(_ devices: [SampleVault.Device]) -> Set<PublicKey> { Set(devices.map(\.key.publicKey)) }

  @Test("admissions by the code and by members unite, and make no epoch")
  func admissions() throws {
    var sample = try SampleVault(devices: 1)
    let first = try sample.first()
    var admissions: [Admission] = []
    for number in 0..<20 {
      let device = try sample.addDevice()
      let admitter = number % 2 == 0 ? sample.code.key : sample.devices[number].key
      admissions.append(try sample.admission(of: device, to: first, by: admitter))
    }
    let state = state(sample, [first], admissions)
    #expect(members(state) == keys(sample.devices) && state.current == first.epoch)
    #expect(state.holders[first.epoch.id]?.count == 21 && !state.isExposed)
    for (device, admission) in zip(sample.devices.dropFirst(), admissions) {
      #expect(try first.epoch.key(for: device.agreementKey, in: admission) == first.key)
    }
    #expect(refusal { try first.epoch.key(for: sample.devices[1].agreementKey, in: admissions[1]) } != nil)
  }

  @Test("no byte of an admission can be another, be missing or be added")
  func everyByte() throws {
    var sample = try SampleVault(devices: 2)
    let first = try sample.first()
    let bytes = try sample.admission(of: try sample.addDevice(), to: first, by: sample.code.key).bytes
    for place in bytes.indices {
      var changed = bytes
      changed[place] ^= 1 << UInt8(place % 8)
      #expect(refusal { try Admission(changed) } != nil, "byte \(place)")
      #expect(refusal { try Admission(Array(bytes.prefix(place))) } != nil, "\(place) bytes")
    }
    #expect(refusal { try Admission(bytes + [0]) } != nil)
  }

  @Test("a stranger admits nobody, and neither does a code that is void")
  func strangers() throws {
    var sample = try SampleVault(devices: 1)
    let first = try sample.first()
    let (stranger, friend) = (try sample.addDevice(), try sample.addDevice())
    let new = sample.newCode()
    let second = try sample.next(after: [first], devices: [sample.devices[0]], newCode: new)
    let admissions = [
      try sample.admission(of: friend, to: second, by: stranger.key),
      try sample.admission(of: stranger, to: second, by: sample.code.key),
      try sample.admission(of: stranger, to: first, by: sample.code.key),
    ]
    #expect(members(state(sample, [first, second], admissions)) == keys([sample.devices[0]]))
    // An epoch of a stranger, and one of a root that nobody named.
    let other = try sample.next(after: [second], by: stranger)
    let third = try sample.next(after: [second], newCode: sample.newCode(), with: sample.newCode())
    let state = state(sample, [first, second, other, third], admissions)
    #expect(state.current == second.epoch && state.anchors.count == 2 && state.trusted.count == 2)
  }

  @Test("whoever was removed counts for nothing, whatever it signs, before and after")
  func removed() throws {
    var sample = try SampleVault(devices: 3)
    let (desk, phone, thief) = (sample.devices[0], sample.devices[1], sample.devices[2])
    let first = try sample.first()
    let new = sample.newCode()
    let rotation = try sample.next(
      after: [first], devices: [desk, phone], without: [sample.removal(of: thief, size: 4)], newCode: new)
    // Epochs before, at the same time and after; an accomplice; the owner left out.
    let accomplice = try sample.addDevice()
    let before = try sample.next(after: [first], devices: [thief, accomplice], by: thief)
    let beside = try sample.next(after: [before], devices: [thief], by: thief)
    let after = try sample.next(after: [rotation], devices: [thief, accomplice], by: thief)
    let admissions = [
      try sample.admission(of: accomplice, to: first, by: thief.key),
      try sample.admission(of: accomplice, to: rotation, by: thief.key),
      try sample.admission(of: thief, to: rotation, by: thief.key),
    ]
    let state = state(sample, [first, before, beside, rotation, after], admissions)
    #expect(members(state) == keys([desk, phone]) && state.current == rotation.epoch && !state.isExposed)
    #expect(state.root?.publicKey == new.key.publicKey)
    #expect(state.removed.keys.sorted() == [thief.member.replica])
    #expect(state.removed[thief.member.replica]?.removal.size == 4)
    #expect(Set(state.trusted.keys) == [first.epoch.id, rotation.epoch.id])
  }

  @Test("whom only a removed device introduced is no member, whoever gave it a key or named it in an epoch")
  func introducedByTheRemoved() throws {
    var sample = try SampleVault(devices: 3)
    let (desk, phone, thief) = (sample.devices[0], sample.devices[1], sample.devices[2])
    let first = try sample.first()
    let accomplices = try (0..<3).map { _ in try sample.addDevice() }
    let watch = try sample.addDevice()
    // Honest members give the accomplices the key of an epoch of theirs, and a new code names them, too.
    let second = try sample.next(after: [first], devices: [desk, phone, thief], by: phone)
    let new = sample.newCode()
    let everybody = [desk, phone, thief, watch] + accomplices
    let third = try sample.next(after: [second], devices: everybody, newCode: new)
    let fourth = try sample.next(after: [third], devices: everybody, by: desk)
    var admissions = [
      try sample.admission(of: accomplices[0], to: first, by: thief.key),
      try sample.admission(of: accomplices[0], to: second, as: .gives, by: desk.key),
      try sample.admission(of: accomplices[1], to: second, by: accomplices[0].key),
      try sample.admission(of: accomplices[2], to: fourth, by: thief.key),
      try sample.admission(of: watch, to: second, by: phone.key),
    ]
    let epochs = [first, second, third, fourth]
    let before = state(sample, epochs, admissions)
    #expect(members(before) == keys(everybody) && before.current == fourth.epoch && !before.isExposed)
    // Before the epoch that removes it is made, and with it.
    let removal = sample.removal(of: thief)
    let planned = KeyState(
      of: sample.vault, epochs: epochs.map(\.epoch), admissions: admissions, removing: [removal])
    #expect(members(planned) == keys([desk, phone, watch]))
    let (one, other) = (sample.newCode(), sample.newCode())
    let without = try sample.next(
      after: [fourth], devices: [desk, phone, watch], without: [removal], newCode: one, with: new)
    #expect(members(state(sample, epochs + [without], admissions)) == keys([desk, phone, watch]))
    // A code that is made at the same time names them all. Whichever holds, they are no members, and read nothing more.
    let beside = try sample.next(after: [fourth], devices: everybody, newCode: other, with: new)
    var settled = state(sample, epochs + [without, beside], admissions)
    #expect(members(settled) == keys([desk, phone, watch]))
    #expect(settled.isExposed == (settled.current == beside.epoch))
    let further = try sample.next(
      after: [settled.current == beside.epoch ? beside : without], devices: [desk, phone, watch])
    settled = state(sample, epochs + [without, beside, further], admissions)
    #expect(settled.current == further.epoch && !settled.isExposed)
    // An honest one comes back by a member or by the code.
    admissions.append(try sample.admission(of: accomplices[1], to: further, by: watch.key))
    #expect(
      members(state(sample, epochs + [without, beside, further], admissions))
        == keys([desk, phone, watch, accomplices[1]]))
  }

  @Test("of two rotations at once all take the same, removals unite, and an epoch that leaks is known")
  func rotationsAtOnce() throws {
    for seed in 1...8 as ClosedRange<UInt64> {
      var sample = try SampleVault(seed: seed, devices: 4)
      let devices = sample.devices
      let first = try sample.first()
      let (one, other) = (sample.newCode(), sample.newCode())
      let rotations = [
        try sample.next(
          after: [first], devices: [devices[0], devices[1], devices[2]],
          without: [sample.removal(of: devices[3])], newCode: one),
        try sample.next(
          after: [first], devices: [devices[0], devices[1], devices[3]],
          without: [sample.removal(of: devices[2])], newCode: other),
      ]
      let state = state(sample, [first] + rotations)
      let winner = try #require(rotations.min { $0.epoch.id < $1.epoch.id })
      #expect(state.current == winner.epoch && state.lost.count == 1 && state.isExposed)
      #expect(members(state) == keys([devices[0], devices[1]]) && state.removed.count == 2)
      // The further epoch is one that a member makes, and its key opens both.
      let further = try sample.next(
        after: rotations.sorted { $0.epoch.id == winner.epoch.id && $1.epoch.id != winner.epoch.id },
        devices: [devices[0], devices[1]])
      #expect(further.epoch.root == winner.epoch.root)
      let settled = self.state(sample, [first, further] + rotations)
      #expect(settled.current == further.epoch && !settled.isExposed && settled.tips == [further.epoch])
      // What leads on from the rotation that lost counts for nothing.
      let loser = try #require(rotations.first { $0.epoch.id != winner.epoch.id })
      let void = loser.epoch.root.publicKey == one.key.publicKey ? one : other
      let later = try sample.next(
        after: [loser], devices: [devices[3]], without: [sample.removal(of: devices[0])],
        newCode: sample.newCode(), with: void)
      #expect(self.state(sample, [first, further, later] + rotations).removed.count == 2)
    }
  }

  @Test("a member that rotates keeps the code and all members, also those who joined meanwhile")
  func memberRotation() throws {
    var sample = try SampleVault(devices: 2)
    let first = try sample.first()
    let (one, other) = (
      try sample.next(after: [first]), try sample.next(after: [first], by: sample.devices[1])
    )
    let late = try sample.addDevice()
    let admission = try sample.admission(of: late, to: first, by: sample.code.key)
    let state = state(sample, [first, one, other], [admission])
    #expect(members(state) == keys(sample.devices) && state.root == first.epoch.root)
    #expect(state.current?.id == min(one.epoch.id, other.epoch.id) && state.tips.count == 2)
    #expect(state.holders[one.epoch.id]?.contains(late.member.replica) == false)
  }

  @Test(
    "what a member made beside a new code, or under one that lost, is read, unless the member was removed")
  func besideTheRoot() throws {
    for seed in 1...4 as ClosedRange<UInt64> {
      var sample = try SampleVault(seed: seed, devices: 3)
      let (desk, phone, thief) = (sample.devices[0], sample.devices[1], sample.devices[2])
      let first = try sample.first()
      let (beside, stolen) = (
        try sample.next(after: [first], by: phone), try sample.next(after: [first], by: thief)
      )
      let late = try sample.addDevice()
      let admission = try sample.admission(of: late, to: beside, by: phone.key)
      let roots = [
        try sample.next(
          after: [first], devices: [desk, phone], without: [sample.removal(of: thief)],
          newCode: sample.newCode()),
        try sample.next(
          after: [first], devices: [desk, phone, thief], newCode: sample.newCode()),
      ]
      let under = try roots.map { try sample.next(after: [$0, beside], by: desk) }
      let ofLate = try sample.next(after: [beside], by: late)
      let state = state(sample, [first, beside, stolen, ofLate] + roots + under, [admission])
      #expect(Set(state.trusted.keys) == Set(([first, beside, ofLate] + roots + under).map(\.epoch.id)))
      let winner = try #require(roots.min { $0.epoch.id < $1.epoch.id })
      #expect(state.current?.root == winner.epoch.root && state.root == winner.epoch.root)
      #expect(state.current?.id == under.first { $0.epoch.root == winner.epoch.root }?.epoch.id)
      // The thief is among the recipients of what was made beside its removal.
      #expect(members(state) == keys([desk, phone, late]))
    }
  }

  @Test("an epoch counts only once all before it are there")
  func incomplete() throws {
    var sample = try SampleVault(devices: 2)
    let first = try sample.first()
    let second = try sample.next(after: [first])
    let third = try sample.next(after: [second], newCode: sample.newCode())
    #expect(state(sample, [first, third]).current == first.epoch)
    #expect(state(sample, [second, third]).current == nil)
    #expect(state(sample, [first, second, third]).current == third.epoch)
  }
}
