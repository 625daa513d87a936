import HeartlogFormat
import HeartlogHTTPServer
import Testing

@testable import HeartlogHubServer

/// "Keys at a hub" in docs/hub.md, with each database.
@Suite struct VaultKeysTests {
  private static let quota = 10_000

  private func withHub(_ database: TestDatabase, _ body: (HubService) throws -> Void) throws {
    let hub = try TestHub(database, quota: Self.quota)
    defer { hub.close() }
    try body(HubService(engine: hub.engine, invitations: nil))
  }

  /// Puts an object as the hub does when a member asks for it.
  @discardableResult
  private func put(
    _ name: String, _ bytes: [UInt8] = [1], as member: VaultMember, _ hub: HubService,
    isInvited: Bool = false
  ) throws -> PutOutcome {
    try hub.engine.write(name, bytes, as: try hub.putting(name, bytes, as: member, isInvited: isInvited))
  }

  @discardableResult
  private func put(_ object: KeyObject, as member: VaultMember, _ hub: HubService) throws -> PutOutcome {
    try put(object.name, object.bytes, as: member, hub)
  }

  private func names(_ member: VaultMember, _ hub: HubService) throws -> Set<String> {
    Set(try hub.engine.list(after: nil, limit: 1_000, as: member).entries.map(\.name))
  }

  private func refusal(_ body: () throws -> Void) -> UInt32? {
    do { try body() } catch { return (error as? HTTPResponse)?.status }
    return nil
  }

  // MARK: Who may what

  @Test(arguments: TestDatabase.present)
  func aMemberRemovesNobodyAndTheRootDoes(database: TestDatabase) throws {
    try withHub(database) { hub throws in
      let vault = try TestVault(deviceCount: 2)
      #expect(try hub.engine.createVault(vault.id, keys: vault.keys, invitation: nil))
      let (first, second, root) = (vault.devices[0].publicKey, vault.devices[1].publicKey, vault.root(0))
      #expect(try hub.engine.changeKeys(removing: [second], admitting: [], as: vault.member(0)) == nil)
      #expect(try hub.engine.changeKeys(removing: [root.key], admitting: [], as: vault.member(0)) == nil)
      #expect(try hub.engine.changeKeys(removing: [root.key], admitting: [], as: root) == nil)
      #expect(
        Set(try hub.engine.changeKeys(removing: [second], admitting: [], as: root) ?? []) == [
          first, root.key,
        ])
      #expect(try hub.engine.changeKeys(removing: [], admitting: [second], as: vault.member(0))?.count == 3)
      // A device leaves by itself, and another member may admit it again.
      #expect(try hub.engine.changeKeys(removing: [second], admitting: [], as: vault.member(1))?.count == 2)
      #expect(try hub.engine.changeKeys(removing: [], admitting: [second], as: vault.member(0))?.count == 3)
      #expect(try hub.engine.keys(of: vault.id)?.devices.count == 2)
    }
  }

  @Test(arguments: TestDatabase.present)
  func aMemberPutsAndDeletesUnderItsOwnName(database: TestDatabase) throws {
    try withHub(database) { hub throws in
      let vault = try TestVault(deviceCount: 2)
      _ = try hub.engine.createVault(vault.id, keys: vault.keys, invitation: nil)
      let (first, second, root) = (vault.member(0), vault.member(1), vault.root(0))
      #expect(refusal { try put(vault.run(1, 1...1), as: first, hub) } == 403)
      #expect(try put(vault.run(1, 3...3), as: root, hub) == .stored)
      #expect(refusal { try put("keys/" + String(repeating: "0", count: 32), as: first, hub) } == 403)
      #expect(try put(vault.run(1, 1...1), as: second, hub) == .stored)
      #expect(try put(.epoch(vault.first.epoch), as: second, hub) == .stored)
      #expect(refusal { try hub.checkDeleting(vault.run(1, 1...1), as: first) } == 403)
      #expect(refusal { try hub.checkDeleting(vault.first.epoch.id.objectName, as: second) } == 403)
      for (name, member) in [
        (vault.run(1, 1...1), second), (vault.run(1, 1...1), root), (vault.first.epoch.id.objectName, root),
      ] {
        try hub.checkDeleting(name, as: member)
      }
      // Anybody may delete what a device has put that is no member.
      _ = try hub.engine.changeKeys(removing: [second.key], admitting: [], as: root)
      try hub.checkDeleting(vault.run(1, 1...1), as: first)
    }
  }

  // MARK: Rotations

  @Test(arguments: TestDatabase.present)
  func aRotationThatAnybodyCarriesMakesTheNextRoot(database: TestDatabase) throws {
    try withHub(database) { hub throws in
      let vault = try TestVault(deviceCount: 3)
      _ = try hub.engine.createVault(vault.id, keys: vault.keys, invitation: nil)
      let (first, lost) = (vault.member(0), vault.member(1))
      let (token, rootToken) = (
        SHA256Hasher.digest(of: vault.id.bytes), SHA256Hasher.digest(of: vault.id.bytes + [1])
      )
      for (token, member) in [(token, lost), (rootToken, vault.root(0))] {
        _ = try hub.engine.openSession(token, for: member, with: HubNonce(RandomBytes.next(32))!)
      }
      let admission = try vault.admission(of: vault.devices[2], by: vault.devices[1])
      #expect(try put(.admission(admission), as: lost, hub) == .stored)
      for name in [
        vault.run(1, 1...5), vault.run(1, 6...9),
        vault.run(1, 1...2, stream: String(repeating: "a", count: 32)),
      ] {
        #expect(try put(name, as: lost, hub) == .stored)
      }
      #expect(try put(vault.run(0, 6...9), as: first, hub) == .stored)
      let accomplice = TestVault.newKey().publicKey
      #expect(
        try hub.engine.changeKeys(removing: [], admitting: [accomplice], as: lost)?.contains(accomplice)
          == true)
      _ = try hub.engine.changeKeys(removing: [accomplice], admitting: [], as: vault.root(0))
      let rotation = try vault.rotation(without: [vault.removal(1, after: 5)])
      let epoch = rotation.epoch
      // The lost device can as little keep it out as it can carry another one.
      let forged = try vault.rotation(
        root: vault.roots[3], devices: [vault.devices[1]], without: [vault.removal(0)], by: vault.roots[2]
      ).epoch
      #expect(try put(.epoch(forged), as: lost, hub) == .stored)
      #expect(try hub.engine.keys(of: vault.id) == vault.keys)
      _ = try hub.engine.changeKeys(removing: [], admitting: [accomplice], as: lost)
      for _ in 0..<2 {
        let outcome = try put(.epoch(epoch), as: first, hub)
        #expect(outcome == .stored || outcome == .same)
        let keys = try #require(try hub.engine.keys(of: vault.id))
        #expect(Set(keys.devices) == [first.key, vault.devices[2].publicKey])
        #expect(keys.root?.key == vault.roots[1].publicKey && keys.removed == [lost.owner])
      }
      #expect(
        try names(first, hub) == [
          vault.run(1, 1...5), admission.objectName, vault.run(0, 6...9), epoch.id.objectName,
          forged.id.objectName,
        ])
      #expect(try hub.engine.session(token) == nil && hub.engine.session(rootToken) == nil)
      #expect(throws: HeartlogError.self) { try put(vault.run(1, 10...10), as: lost, hub) }
      #expect(throws: HeartlogError.self) { try names(vault.root(0), hub) }
      // Removal is final: nobody admits it again, in whatever way.
      for member in [first, vault.root(1)] {
        #expect(
          try hub.engine.changeKeys(removing: [], admitting: [lost.key], as: member)?.contains(lost.key)
            == false)
      }
      let again = try vault.admission(of: vault.devices[1], by: vault.devices[0], to: rotation)
      try put(.admission(again), as: first, hub)
      #expect(try hub.engine.keys(of: vault.id)?.keys.contains(lost.key) == false)
    }
  }

  @Test(arguments: TestDatabase.present)
  func anAdmissionThatAMemberSignedAdmits(database: TestDatabase) throws {
    try withHub(database) { hub throws in
      let vault = try TestVault(deviceCount: 1)
      _ = try hub.engine.createVault(vault.id, keys: vault.keys, invitation: nil)
      let stranger = TestVault.newKey()
      let own = try KeyObject.admission(vault.admission(of: stranger, by: stranger))
      #expect(try put(own, as: vault.member(0), hub) == .stored)
      #expect(try hub.engine.keys(of: vault.id)?.devices.count == 1)
      let otherName = Admission.objectName(of: TestVault.newKey().publicKey.replica, to: vault.first.epoch.id)
      #expect(refusal { try put(otherName, own.bytes, as: vault.member(0), hub) } == 403)
      for signer in [vault.devices[0], vault.roots[0]] {
        let key = TestVault.newKey()
        let admission = try vault.admission(of: key, by: signer)
        #expect(try put(.admission(admission), as: vault.member(0), hub) == .stored)
        #expect(try hub.engine.isAdmitted(VaultMember(vault: vault.id, key: key.publicKey)))
      }
    }
  }

  @Test(arguments: TestDatabase.present)
  func ofTwoRotationsAtOnceTheSmallerIdHoldsAndTheRemovalsOfBoth(database: TestDatabase) throws {
    try withHub(database) { hub throws in
      for isReversed in [false, true] {
        let vault = try TestVault(deviceCount: 4)
        _ = try hub.engine.createVault(vault.id, keys: vault.keys, invitation: nil)
        let pair = try [
          (vault.roots[1], vault.rotation(without: [vault.removal(1)])),
          (vault.roots[2], vault.rotation(root: vault.roots[2], without: [vault.removal(2)])),
        ].sorted { $0.1.epoch.id < $1.1.epoch.id }
        for (_, rotation) in isReversed ? pair.reversed() : pair {
          #expect(try put(.epoch(rotation.epoch), as: vault.member(0), hub) == .stored)
        }
        let keys = try #require(try hub.engine.keys(of: vault.id))
        #expect(keys.root?.key == pair[0].0.publicKey)
        #expect(Set(keys.devices) == [vault.devices[0].publicKey, vault.devices[3].publicKey])
        #expect(keys.removed == [vault.member(1).owner, vault.member(2).owner])
        // The loser makes no root any more, and the winner does.
        for (root, isNext) in [(pair[1].0, false), (pair[0].0, true)] {
          let next = try vault.rotation(
            after: pair[0].1, root: vault.roots[3], devices: [vault.devices[0]], by: root)
          try put(.epoch(next.epoch), as: vault.member(0), hub)
          #expect(try (hub.engine.keys(of: vault.id)?.root?.key == vault.roots[3].publicKey) == isNext)
        }
      }
    }
  }

  // MARK: Quotas

  @Test(arguments: TestDatabase.present)
  func aMemberHasHalfOfTheQuotaAndKeysHaveRoomOfTheirOwn(database: TestDatabase) throws {
    try withHub(database) { hub throws in
      let vault = try TestVault(deviceCount: 3)
      _ = try hub.engine.createVault(vault.id, keys: vault.keys, invitation: nil)
      let half = [UInt8](repeating: 1, count: Self.quota / 2)
      #expect(try put(vault.run(0, 1...1), half, as: vault.member(0), hub) == .stored)
      #expect(try put(vault.run(0, 2...2), [1], as: vault.member(0), hub) == .full)
      #expect(try put(vault.run(1, 1...1), half, as: vault.member(1), hub) == .stored)
      #expect(try put(vault.run(2, 1...1), [1], as: vault.member(2), hub) == .full)
      // The epoch that removes a member is larger than all that is left, and it makes room.
      let epoch = try vault.rotation(without: [vault.removal(0)]).epoch
      #expect(try put(.epoch(epoch), as: vault.member(2), hub) == .stored)
      let most = [UInt8](repeating: 1, count: Self.quota / 2 - epoch.bytes.count)
      #expect(try put(vault.run(2, 1...1), most, as: vault.member(2), hub) == .stored)
      #expect(try put(vault.run(2, 2...2), [1], as: vault.member(2), hub) == .full)
    }
  }

  @Test(arguments: TestDatabase.present)
  func aMemberFillsHalfOfTheRoomForKeysAndTheRootHasItsOwn(database: TestDatabase) throws {
    try withHub(database) { hub throws in
      let vault = try TestVault(deviceCount: 2)
      _ = try hub.engine.createVault(vault.id, keys: vault.keys, invitation: nil)
      // An epoch with many removals has a fifth of a megabyte.
      let many = (1...4_000).map { number in
        Removal(
          replica: ReplicaID(high: 0, low: number), size: UInt64.max >> 11,
          root: SHA256Hasher.digest(of: []))
      }
      func fill(as member: VaultMember) throws -> Int {
        for number in 0..<99 {
          let epoch = try vault.rotation(devices: vault.devices, without: many, by: TestVault.newKey()).epoch
          if try put(.epoch(epoch), as: member, hub) == .full { return number * epoch.bytes.count }
        }
        return 0
      }
      let (room, epochBytes) = (HubLimits.keysRoomBytes, 250_000)
      for index in 0...1 {
        let filled = try fill(as: vault.member(index))
        #expect((room / 2 - epochBytes...room / 2 + Self.quota).contains(filled))
      }
      #expect(try put(.epoch(vault.rotation().epoch), as: vault.member(1), hub) == .stored)
      let filled = try fill(as: vault.root(1))
      #expect((room - 2 * epochBytes...room + 2 * epochBytes).contains(filled))
    }
  }

  // MARK: Beginnings

  @Test(arguments: TestDatabase.present)
  func aVaultThatTheOperatorRemovedIsCreatedAgain(database: TestDatabase) throws {
    try withHub(database) { hub throws in
      let (vault, other) = try (TestVault(deviceCount: 1), TestVault(deviceCount: 1))
      let word = "word \(vault.id)"
      #expect(try hub.engine.createVault(vault.id, keys: vault.keys, invitation: word))
      #expect(try !hub.engine.createVault(other.id, keys: other.keys, invitation: word))
      #expect(try put(vault.run(0, 1...1), as: vault.member(0), hub) == .stored)
      let cursor = try hub.engine.list(after: nil, limit: 9, as: vault.member(0)).cursor
      #expect(try hub.engine.removeVault(vault.id))
      #expect(try !hub.engine.removeVault(vault.id))
      #expect(try hub.engine.keys(of: vault.id) == nil)
      #expect(throws: HeartlogError.self) { try names(vault.member(0), hub) }
      #expect(try hub.engine.createVault(vault.id, keys: vault.keys, invitation: word))
      let list = try hub.engine.list(after: cursor, limit: 9, as: vault.member(0))
      #expect(list.startsOver && list.entries.isEmpty)
      #expect(try put(vault.run(0, 1...1), as: vault.member(0), hub) == .stored)
    }
  }

  @Test func keysAreThereAfterARestart() throws {
    let folder = TestFolder()
    let vault = try TestVault(deviceCount: 3)
    func withEngine(_ body: (HubService) throws -> Void) throws {
      let engine = try HubEngine(SQLiteDatabase(at: folder.file))
      defer { engine.close() }
      try body(HubService(engine: engine, invitations: nil))
    }
    var keys: AdmittedKeys?
    var there: Set<String> = []
    try withEngine { hub throws in
      _ = try hub.engine.createVault(vault.id, keys: vault.keys, invitation: nil)
      for commits in [1...3, 4...9] { try put(vault.run(1, commits), as: vault.member(1), hub) }
      var rotation = vault.first
      for _ in 1...2 {
        rotation = try vault.rotation(after: rotation, without: [vault.removal(1, after: 3)])
        try put(.epoch(rotation.epoch), as: vault.member(0), hub)
      }
      keys = try hub.engine.keys(of: vault.id)
      there = try names(vault.member(0), hub)
    }
    #expect(there.count == 3 && keys?.root?.generation == 2)
    try withEngine { hub throws in
      #expect(try hub.engine.keys(of: vault.id) == keys)
      #expect(try names(vault.member(0), hub) == there)
      #expect(try hub.engine.removeVault(vault.id))
    }
    try withEngine { hub throws in #expect(try hub.engine.keys(of: vault.id) == nil) }
  }

  @Test func aVaultBeginsOnlyWithItsChainOfRoots() throws {
    let (vault, other) = try (TestVault(deviceCount: 2), TestVault(deviceCount: 2))
    let removals = [vault.removal(1)]
    let next = try vault.rotation(without: removals)
    let last = try vault.rotation(after: next, without: removals)
    let epochs = [vault.first, next, last].map { KeyObject.epoch($0.epoch) }
    let device = vault.devices[0].publicKey
    let (third, fourth) = (TestVault.newKey(), TestVault.newKey())
    func admission(
      of key: SigningKey, by signer: SigningKey, to epoch: TestVault.Epoch
    ) throws -> KeyObject { .admission(try vault.admission(of: key, by: signer, to: epoch)) }
    let admissions = [
      try admission(of: third, by: vault.devices[0], to: last),
      try admission(of: fourth, by: third, to: last),
    ]
    func keys(_ objects: [KeyObject], of id: VaultID? = nil) -> AdmittedKeys? {
      AdmittedKeys(of: id ?? vault.id, objects: objects)
    }
    // In whatever order they come.
    for objects in [epochs + admissions, (epochs + admissions).reversed()] {
      let found = try #require(keys(objects))
      #expect(Set(found.devices) == [device, third.publicKey, fourth.publicKey])
      #expect(found.root?.key == vault.roots[2].publicKey && found.root?.generation == 2)
      #expect(found.root?.previous == vault.roots[1].publicKey && found.removed == [vault.member(1).owner])
    }
    #expect(keys([]) == nil && keys(Array(epochs.dropFirst())) == nil && keys(epochs, of: other.id) == nil)
    #expect(keys([epochs[0], epochs[2]])?.root?.generation == 0)
    #expect(keys([epochs[0], .epoch(try other.rotation().epoch)]) == keys([epochs[0]]))
    // Whoever was removed admits nobody, and is not admitted; nor does a stranger, or an admission to an older epoch.
    for admission in [
      try admission(of: third, by: vault.devices[1], to: last),
      try admission(of: vault.devices[1], by: vault.devices[0], to: last),
      try admission(of: third, by: fourth, to: last),
      try admission(of: third, by: vault.devices[0], to: next),
      try admission(of: third, by: vault.devices[0], to: other.rotation()),
    ] {
      #expect(keys(epochs + [admission])?.devices == [device])
    }
    // Of two next roots the epoch with the smaller id holds, and the removals of both do.
    let second = try vault.rotation(root: vault.roots[3], without: [vault.removal(0)])
    let both = try #require(keys([epochs[0], epochs[1], .epoch(second.epoch)]))
    let isSecond = second.epoch.id < next.epoch.id
    #expect(both.root?.key == vault.roots[isSecond ? 3 : 1].publicKey && both.devices.isEmpty)
  }

  @Test func anObjectIsTakenOnlyAsItWasSigned() throws {
    try withHub(.sqlite) { hub throws in
      let vault = try TestVault(deviceCount: 2)
      _ = try hub.engine.createVault(vault.id, keys: vault.keys, invitation: nil)
      let rotation = try vault.rotation(without: [vault.removal(1, after: 7)])
      let admission = try vault.admission(of: TestVault.newKey(), by: vault.devices[0])
      for object in [KeyObject.epoch(rotation.epoch), .admission(admission)] {
        func isRefused(_ bytes: [UInt8]) -> Bool {
          [object.name, EpochID(of: bytes).objectName].allSatisfy { name in
            refusal { try put(name, bytes, as: vault.member(0), hub) } == 403
          }
        }
        for place in object.bytes.indices {
          var changed = object.bytes
          changed[place] ^= 0x10
          #expect(isRefused(changed), "at \(place)")
          #expect(isRefused(Array(object.bytes[..<place])), "up to \(place)")
        }
        #expect(isRefused(object.bytes + [0]))
      }
      let others = try KeyObject.epoch(TestVault(deviceCount: 1).first.epoch)
      #expect(refusal { try put(others, as: vault.member(0), hub) } == 403)
      #expect(try hub.engine.keys(of: vault.id) == vault.keys)
    }
  }

  // MARK: Invitations

  private var later: Int { WallClock.nanoseconds + 3_600 * 1_000_000_000 }

  @Test(arguments: TestDatabase.present)
  func anInvitationAdmitsOneDeviceOnceAndNothingElse(database: TestDatabase) throws {
    try withHub(database) { hub throws in
      let (vault, desk, key, phone) = (VaultID.new(), PublicKey.new(), PublicKey.new(), PublicKey.new())
      let (member, invited) = (VaultMember(vault: vault, key: desk), VaultMember(vault: vault, key: key))
      #expect(try hub.engine.createVault(vault, keys: AdmittedKeys([desk]), invitation: nil))
      #expect(try !hub.engine.isAdmitted(VaultMember(vault: vault, key: key)))
      // An invitation is no key of the vault, and is let in as long as it is good.
      #expect(
        try hub.engine.changeKeys(removing: [], admitting: [], inviting: [key: later], as: member) == [desk])
      #expect(try hub.engine.isAdmitted(VaultMember(vault: vault, key: key)))
      for (admitting, removing, inviting) in [
        ([phone, .new()], [], [:]), ([], [desk], [:]), ([phone], [desk], [:]), ([phone], [], [.new(): later]),
        ([], [], [:]),
      ] as [([PublicKey], [PublicKey], [PublicKey: Int])] {
        #expect(
          try hub.engine.changeKeys(removing: removing, admitting: admitting, inviting: inviting, as: invited)
            == nil)
      }
      #expect(
        Set(try hub.engine.changeKeys(removing: [], admitting: [phone], as: invited) ?? []) == [desk, phone])
      // It is used up, also for whoever asks at the same time.
      #expect(try !hub.engine.isAdmitted(VaultMember(vault: vault, key: key)))
      #expect(throws: HeartlogError.self) {
        try hub.engine.changeKeys(removing: [], admitting: [.new()], as: invited)
      }
      #expect(try hub.engine.keys(of: vault)?.invited == [:])
    }
  }

  @Test(arguments: TestDatabase.present)
  func anInvitationThatIsOverOrWithdrawnAdmitsNobody(database: TestDatabase) throws {
    try withHub(database) { hub throws in
      let (vault, desk, old, withdrawn) = (VaultID.new(), PublicKey.new(), PublicKey.new(), PublicKey.new())
      let member = VaultMember(vault: vault, key: desk)
      #expect(try hub.engine.createVault(vault, keys: AdmittedKeys([desk]), invitation: nil))
      let invited = [old: WallClock.nanoseconds, withdrawn: later]
      #expect(try hub.engine.changeKeys(removing: [], admitting: [], inviting: invited, as: member) != nil)
      #expect(try hub.engine.changeKeys(removing: [withdrawn], admitting: [], as: member) != nil)
      for key in invited.keys {
        #expect(try !hub.engine.isAdmitted(VaultMember(vault: vault, key: key)))
        #expect(throws: HeartlogError.self) {
          try hub.engine.changeKeys(
            removing: [], admitting: [.new()], as: VaultMember(vault: vault, key: key))
        }
      }
      // A vault has a limited number of them.
      let many = Dictionary(
        uniqueKeysWithValues: (0...HubLimits.invitationsMax).map { _ in (PublicKey.new(), later) })
      #expect(try hub.engine.changeKeys(removing: [], admitting: [], inviting: many, as: member) == nil)
    }
  }

  @Test(arguments: TestDatabase.present)
  func anInvitationToAnEncryptedVaultAdmitsWhomItSigned(database: TestDatabase) throws {
    try withHub(database) { hub throws in
      let vault = try TestVault(deviceCount: 1)
      let (desk, key) = (vault.devices[0], TestVault.newKey())
      let (phone, thief) = (TestVault.newKey(), TestVault.newKey())
      #expect(try hub.engine.createVault(vault.id, keys: vault.keys, invitation: nil))
      let end = UInt64(later / 1_000_000)
      let invitation = try vault.admission(of: key, by: desk, as: .invites(end: end))
      let invited = VaultMember(vault: vault.id, key: key.publicKey)
      // A stranger invites nobody.
      let foreign = try vault.admission(of: thief, by: thief, as: .invites(end: end))
      try put(.admission(foreign), as: vault.member(0), hub)
      #expect(try !hub.engine.isAdmitted(VaultMember(vault: vault.id, key: thief.publicKey)))
      try put(.admission(invitation), as: vault.member(0), hub)
      #expect(try hub.engine.isAdmitted(VaultMember(vault: vault.id, key: key.publicKey)))
      // It may put nothing but that it was accepted.
      for object in [
        try vault.admission(of: phone, by: key, as: .introduces),
        try vault.admission(of: phone, by: desk, as: .introduces),
        try vault.admission(of: phone, by: thief, as: .accepts),
      ] {
        #expect(
          refusal { _ = try hub.putting(object.objectName, object.bytes, as: invited, isInvited: true) }
            == 403)
      }
      #expect(
        try hub.engine.changeKeys(removing: [], admitting: [phone.publicKey], as: invited)
          == hub.engine.keys(of: vault.id)?.keys)
      #expect(try !hub.engine.isAdmitted(VaultMember(vault: vault.id, key: phone.publicKey)))
      let accepted = try vault.admission(of: phone, by: key, as: .accepts)
      #expect(
        try put(accepted.objectName, accepted.bytes, as: invited, hub, isInvited: true) == .stored)
      #expect(try hub.engine.isAdmitted(VaultMember(vault: vault.id, key: phone.publicKey)))
      // The second one to use it is refused, also if a member carries it.
      let copied = try vault.admission(of: thief, by: key, as: .accepts)
      #expect(throws: (any Error).self) {
        try hub.putting(copied.objectName, copied.bytes, as: invited, isInvited: true)
      }
      try put(.admission(copied), as: vault.member(0), hub)
      #expect(try !hub.engine.isAdmitted(VaultMember(vault: vault.id, key: thief.publicKey)))
      // With the withdrawal goes the invitation itself.
      try put(.admission(try Admission(withdrawing: invitation, by: desk)), as: vault.member(0), hub)
      #expect(!(try names(vault.member(0), hub).contains(invitation.objectName)))
      #expect(try names(vault.member(0), hub).contains(accepted.objectName))
    }
  }

  @Test(arguments: TestDatabase.present)
  func invitationsThatAreOverTakeNoRoom(database: TestDatabase) throws {
    try withHub(database) { hub throws in
      let (vault, desk) = (VaultID.new(), PublicKey.new())
      let member = VaultMember(vault: vault, key: desk)
      #expect(try hub.engine.createVault(vault, keys: AdmittedKeys([desk]), invitation: nil))
      func invite(_ count: Int, until end: Int) throws -> Set<PublicKey>? {
        let keys = (0..<count).map { _ in (PublicKey.new(), end) }
        return try hub.engine.changeKeys(
          removing: [], admitting: [], inviting: Dictionary(uniqueKeysWithValues: keys), as: member)
      }
      #expect(try invite(HubLimits.invitationsMax, until: WallClock.nanoseconds + 1) != nil)
      #expect(try invite(HubLimits.invitationsMax, until: later) != nil)
      #expect(try invite(1, until: later) == nil)
      #expect(try hub.engine.keys(of: vault)?.invited.count == HubLimits.invitationsMax)
    }
  }

  @Test(arguments: TestDatabase.present)
  func noInvitationIsAKeyAndNoWithdrawalDeletesAnythingElse(database: TestDatabase) throws {
    try withHub(database) { hub throws in
      let vault = try TestVault(deviceCount: 1)
      let (desk, phone) = (vault.devices[0], TestVault.newKey())
      #expect(try hub.engine.createVault(vault.id, keys: vault.keys, invitation: nil))
      for end in [0, 1, UInt64(WallClock.nanoseconds / 1_000_000) - 1] {
        let over = try vault.admission(of: TestVault.newKey(), by: desk, as: .invites(end: end))
        #expect(refusal { try put(.admission(over), as: vault.member(0), hub) } == 403)
        #expect(try !hub.engine.isAdmitted(VaultMember(vault: vault.id, key: over.member.publicKey)))
      }
      let admission = try vault.admission(of: phone, by: desk)
      try put(.admission(admission), as: vault.member(0), hub)
      try put(.admission(try Admission(withdrawing: admission, by: desk)), as: vault.member(0), hub)
      #expect(try names(vault.member(0), hub).contains(admission.objectName))
    }
  }

  @Test(arguments: TestDatabase.present)
  func aDeviceThatAnInvitationBroughtChangesNothingUntilItIsIntroduced(database: TestDatabase) throws {
    try withHub(database) { hub throws in
      let vault = try TestVault(deviceCount: 1)
      let (desk, phone, key, next) = (
        vault.devices[0], TestVault.newKey(), TestVault.newKey(), TestVault.newKey()
      )
      #expect(try hub.engine.createVault(vault.id, keys: vault.keys, invitation: nil))
      let end = UInt64(later / 1_000_000)
      for key in [key, next] {
        try put(
          .admission(try vault.admission(of: key, by: desk, as: .invites(end: end))), as: vault.member(0), hub
        )
      }
      let accepted = try vault.admission(of: phone, by: key, as: .accepts)
      try put(
        accepted.objectName, accepted.bytes, as: VaultMember(vault: vault.id, key: key.publicKey), hub,
        isInvited: true)
      let member = VaultMember(vault: vault.id, key: phone.publicKey)
      let open = try vault.admission(of: next, by: desk, as: .invites(end: end))
      try put(.admission(try Admission(withdrawing: open, by: phone)), as: member, hub)
      try put(.admission(try vault.admission(of: TestVault.newKey(), by: phone)), as: member, hub)
      #expect(try hub.engine.isAdmitted(VaultMember(vault: vault.id, key: next.publicKey)))
      #expect(try names(member, hub).contains(open.objectName))
      #expect(try hub.engine.keys(of: vault.id)?.devices.count == 2)
      // A member may throw it out, and does what it wants once it was introduced.
      #expect(try hub.engine.changeKeys(removing: [desk.publicKey], admitting: [], as: member) == nil)
      try put(.admission(try vault.admission(of: phone, by: desk)), as: vault.member(0), hub)
      try put(
        .admission(try Admission(withdrawing: open, by: vault.devices[0])), as: vault.member(0), hub)
      #expect(try !hub.engine.isAdmitted(VaultMember(vault: vault.id, key: next.publicKey)))
      #expect(
        try hub.engine.changeKeys(removing: [phone.publicKey], admitting: [], as: vault.member(0)) == nil)
    }
  }
}
