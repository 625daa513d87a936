@testable import HeartlogFormat
import TestSupport
import Testing

@Suite("Key epochs")
struct KeyEpochTests {
  /// The object of a body with a signature that is valid, whatever it says.
  private func object(_ body: EpochBody, by key: SigningKey) throws -> [UInt8] {
    try body.bytes + key.signature(of: KeyLabel.epoch.followed(by: body.bytes)).bytes
  }

  @Test("every member reads the same key, and nobody else reads one")
  func members() throws {
    var sample = try SampleVault(devices: 3)
    let made = try sample.first()
    let epoch = try KeyEpoch(made.epoch.bytes)
    #expect(epoch == made.epoch)
    #expect(epoch.id.objectName == "keys/\(SHA256Hasher.digest(of: epoch.bytes).description.prefix(32))")
    for device in sample.devices { #expect(try epoch.key(for: device.agreementKey) == made.key) }
    #expect(try epoch.key(for: sample.code.agreementKey) == made.key)
    #expect(made.key.bytes.count == 32 && !epoch.bytes.contains(made.key.bytes))
    let stranger = try sample.addDevice()
    #expect(
      refusal { try epoch.key(for: stranger.agreementKey) }
        == .malformed("epoch \(epoch.id) is not for this device or recovery code"))
    #expect(refusal { try epoch.key(for: sample.newCode().agreementKey) } != nil)
  }

  @Test("one key opens all epochs before it, and no later one")
  func chain() throws {
    var sample = try SampleVault()
    let first = try sample.first()
    let second = try sample.next(after: [first])
    let late = try sample.addDevice()
    let third = try sample.next(after: [second])
    let all = Dictionary(uniqueKeysWithValues: [first, second, third].map { ($0.epoch.id, $0.epoch) })
    let key = try third.epoch.key(for: late.agreementKey)
    let keys = third.epoch.keys(from: key, among: all)
    #expect(keys == [first.epoch.id: first.key, second.epoch.id: second.key, third.epoch.id: third.key])
    #expect(refusal { try second.epoch.key(for: late.agreementKey) } != nil)
    #expect(second.epoch.keys(from: second.key, among: all).count == 2)
    // What a carrier withholds is left out, with all that only it leads to.
    let withheld = all.filter { $0.key != second.epoch.id }
    #expect(third.epoch.keys(from: key, among: withheld) == [third.epoch.id: third.key])
  }

  @Test("no byte of an epoch can be another, be missing or be added")
  func everyByte() throws {
    var sample = try SampleVault(devices: 3)
    let first = try sample.first()
    let newCode = sample.newCode()
    let epoch = try sample.next(
      after: [first], devices: Array(sample.devices.prefix(2)),
      without: [sample.removal(of: sample.devices[2])], newCode: newCode
    ).epoch
    for place in epoch.bytes.indices {
      var changed = epoch.bytes
      changed[place] ^= 1 << UInt8(place % 8)
      #expect(refusal { try KeyEpoch(changed) } != nil, "byte \(place)")
      #expect(refusal { try KeyEpoch(Array(epoch.bytes.prefix(place))) } != nil, "\(place) bytes")
    }
    #expect(refusal { try KeyEpoch(epoch.bytes + [0]) } == .malformed("1 bytes after the end"))
    #expect(refusal { try KeyEpoch([UInt8](repeating: 0, count: KeyEpoch.bytesMax + 1)) } != nil)
    var later = epoch.bytes
    later[8] = 2
    #expect(refusal { try KeyEpoch(later) } == .laterVersion(2))
  }

  /// A change of a body, and what is said of it.
  struct Breach: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let change: @Sendable (inout EpochBody, SampleVault) throws -> Void
  }

  @Test(
    "a maker that breaks a rule is refused, though it signs",
    arguments: [
      Breach(testDescription: "number 0") { body, _ in body.number = 0 },
      Breach(testDescription: "number beyond the last") { body, _ in body.number = Limits.numberMax + 1 },
      Breach(testDescription: "number 2 with none before") { body, _ in body.number = 2 },
      Breach(testDescription: "no device") { body, _ in body.devices = [] },
      Breach(testDescription: "a device twice") { body, _ in body.devices.append(body.devices[1]) },
      Breach(testDescription: "devices out of order") { body, _ in body.devices.swapAt(0, 1) },
      Breach(testDescription: "the root as a device") { body, _ in
        body.devices.append(body.root)
        body.devices.sort { $0.member.publicKey < $1.member.publicKey }
      },
      Breach(testDescription: "generation 1 with none before") { body, _ in body.generation = 1 },
      Breach(testDescription: "another root than that of the vault") { body, _ in
        var random = SeededGenerator(seed: 98)
        body.vault = VaultID(root: SigningKey(using: &random).publicKey)
      },
      Breach(testDescription: "a recipient that is removed") { body, sample in
        body.removals = [sample.removal(of: sample.devices[1])]
      },
      Breach(testDescription: "the same removal twice") { body, sample in
        let replica = ReplicaID(high: 1, low: 2)
        body.removals = [
          Removal(replica: replica, size: 0, root: nil), Removal(replica: replica, size: 0, root: nil),
        ]
      },
      Breach(testDescription: "the same epoch before it twice") { body, _ in
        let wrapped = [UInt8](repeating: 0, count: 48)
        let id = try #require(EpochID(bytes: [UInt8](repeating: 1, count: 16)))
        body.number = 2
        body.previous = [.init(id: id, wrappedKey: wrapped), .init(id: id, wrappedKey: wrapped)]
      },
      Breach(testDescription: "an announcement of another device") { body, _ in
        let (one, two) = (body.devices[0], body.devices[1])
        let keys = one.member.publicKey.bytes + [UInt8](repeating: 9, count: 32)
        let member = try (keys + two.member.announcement.bytes).withBytes { (bytes) throws(MalformedError) in
          var reader = ByteReader(bytes)
          return try Member(unverifiedFrom: &reader)
        }
        body.devices[0] = Recipient(member: member, wrappedKey: one.wrappedKey)
      },
      Breach(testDescription: "another vault than the one of the announcements") { body, _ in
        var random = SeededGenerator(seed: 99)
        body.vault = VaultID.random(using: &random)
      },
      Breach(testDescription: "too many epochs before it") { body, _ in
        body.number = 2
        body.previous = try (0..<17).map { number in
          EpochBody.Previous(
            id: try #require(EpochID(bytes: [UInt8](repeating: number, count: 16))),
            wrappedKey: [UInt8](repeating: 0, count: 48))
        }
      },
    ])
  func breaches(breach: Breach) throws {
    var sample = try SampleVault(devices: 2)
    var body = try sample.first().epoch.body
    _ = try KeyEpoch(object(body, by: sample.code.key))
    try breach.change(&body, sample)
    #expect(refusal { try KeyEpoch(object(body, by: sample.code.key)) } != nil)
  }

  @Test(
    "an epoch signed by another key is refused, and so is one with which a member removes another, or makes a first one"
  )
  func makers() throws {
    var sample = try SampleVault(devices: 3)
    let first = try sample.first()
    let other = SigningKey(using: &sample.random)
    #expect(refusal { try KeyEpoch(object(first.epoch.body, by: other)) } != nil)
    var body = first.epoch.body
    body.maker = sample.devices[0].key.publicKey
    #expect(refusal { try KeyEpoch(object(body, by: sample.devices[0].key)) } != nil)
    let last = sample.devices[2]
    #expect(
      refusal {
        try sample.next(
          after: [first], devices: Array(sample.devices.prefix(2)), without: [sample.removal(of: last)])
      }?.description.contains("is no root") == true)
    // A root that names itself as the next one.
    #expect(refusal { try sample.next(after: [first], newCode: sample.code) } != nil)
  }

  @Test("a maker that gives members different keys is found out by each of them")
  func differentKeys() throws {
    var sample = try SampleVault()
    let made = try sample.first()
    var body = made.epoch.body
    let ephemeral = AgreementKey.ephemeral(using: &sample.random)
    body.ephemeralKey = ephemeral.publicKey
    func wrap(_ key: [UInt8], for member: Member) throws -> Recipient {
      try Recipient(member, wrapping: key, with: ephemeral, vault: sample.vault)
    }
    let other = [UInt8](repeating: 3, count: 32)
    body.root = try wrap(made.key.bytes, for: body.root.member)
    body.devices = try body.devices.map { device in
      let isLast = device.member == sample.devices[1].member
      return try wrap(isLast ? other : made.key.bytes, for: device.member)
    }
    let epoch = try KeyEpoch(object(body, by: sample.code.key))
    #expect(try epoch.key(for: sample.devices[0].agreementKey).bytes == made.key.bytes)
    #expect(
      refusal { try epoch.key(for: sample.devices[1].agreementKey) }
        == .malformed(
          "the key of epoch \(epoch.id) does not decrypt for replica \(sample.devices[1].member.replica)"))
    // A key that was wrapped for one member is of no use to another.
    var swapped = body
    let wrapped = body.devices.map(\.wrappedKey)
    swapped.devices = zip(body.devices, wrapped.reversed()).map {
      Recipient(member: $0.member, wrappedKey: $1)
    }
    let mixed = try KeyEpoch(object(swapped, by: sample.code.key))
    for device in sample.devices { #expect(refusal { try mixed.key(for: device.agreementKey) } != nil) }
  }

  @Test("a maker that wraps a wrong key of an epoch before takes away no other epoch")
  func wrongKeyOfOneBefore() throws {
    var sample = try SampleVault()
    let first = try sample.first()
    let (one, other) = (try sample.next(after: [first]), try sample.next(after: [first]))
    let joined = try sample.next(after: [one, other])
    var body = joined.epoch.body
    let place = try #require(body.previous.firstIndex { $0.id == one.epoch.id })
    body.previous[place] = .init(id: one.epoch.id, wrappedKey: [UInt8](repeating: 7, count: 48))
    let epoch = try KeyEpoch(object(body, by: sample.devices[0].key))
    let all = Dictionary(uniqueKeysWithValues: [first, one, other].map { ($0.epoch.id, $0.epoch) })
    let keys = epoch.keys(from: try epoch.key(for: sample.devices[1].agreementKey), among: all)
    #expect(Set(keys.keys) == [epoch.id, other.epoch.id, first.epoch.id])
    #expect(keys[first.epoch.id] == first.key && keys[other.epoch.id] == other.key)
  }

  @Test("an agreement key of small order gets no epoch")
  func smallOrder() throws {
    var sample = try SampleVault()
    let point = [1] + [UInt8](repeating: 0, count: 31)
    let key = SigningKey(using: &sample.random)
    let announcement = try key.signature(of: KeyLabel.member.followed(by: sample.vault.bytes + point))
    let member = try Member(key.publicKey.bytes + point + announcement.bytes, vault: sample.vault)
    let first = try sample.first()
    let error = refusal {
      try KeyEpoch.make(
        in: sample.vault, generation: 0, following: [(epoch: first.epoch, key: first.key)],
        root: first.epoch.root,
        devices: first.epoch.devices + [member], by: sample.devices[0].key, on: (member.replica, 0),
        using: &sample.random)
    }
    #expect(
      error == .malformed("replica \(member.replica) announced an agreement key that shares no secret"))
  }

  @Test("what is read of any bytes is written as the same bytes")
  func anyBytes() throws {
    var sample = try SampleVault(devices: 2)
    let first = try sample.first()
    let bytes = try sample.next(
      after: [first], devices: [sample.devices[0]], without: [sample.removal(of: sample.devices[1])],
      newCode: sample.newCode()
    ).epoch.body.bytes
    var random = SeededGenerator(seed: 4)
    var accepted = 0
    for _ in 0..<20_000 {
      var changed = bytes
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let place = Int.random(in: 9..<changed.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: changed[place] = UInt8.random(in: 0...255, using: &random)
        case 1: changed.remove(at: place)
        case 2: changed.insert(UInt8.random(in: 0...255, using: &random), at: place)
        default: changed.removeLast(changed.count - place)
        }
        guard changed.count > 10 else { break }
      }
      changed.withUnsafeBytes { bytes in
        var reader = ByteReader(bytes)
        guard (try? reader.take(EpochBody.magic.count + 1)) != nil, let body = try? EpochBody(from: &reader)
        else { return }
        accepted += 1
        #expect(body.bytes == Array(bytes.prefix(reader.offset)))
      }
    }
    #expect(accepted > 100)
  }
}
