import Dispatch
import Heartlog
import HeartlogFormat
import Synchronization
import TestSupport
import Testing

@testable import HeartlogSync

/// Two devices that are paired, and what their stores know of keys.
private enum Pairing {
  static func store(_ name: String, writing count: Int = 2) throws -> FavoritesStore {
    var options = StoreOptions()
    options.name = name
    options.snapshots = .manual
    let store = try FavoritesStore.inMemory(options: options)
    for number in 0..<count { _ = try store.library("papers").add("\(name)-\(number)") }
    return store
  }

  /// The only device of an encrypted vault.
  static func member(_ name: String = "desk") throws -> FavoritesStore {
    let store = try store(name)
    _ = try encrypt(store)
    return store
  }

  /// Returns the recovery code.
  static func encrypt(_ store: FavoritesStore) throws -> String {
    var keys = try VaultKeys(of: store)
    var code = ""
    try keys.make { code = $0 }
    return code
  }

  static func rotate(_ store: FavoritesStore) throws {
    var keys = try VaultKeys(of: store)
    try keys.rotate()
  }

  /// The only device of a vault that has removed another one.
  static func member(without other: FavoritesStore, before: (FavoritesStore) throws -> Void = { _ in }) throws
    -> FavoritesStore
  {
    let store = try store("desk")
    let code = try encrypt(store)
    try before(store)
    var keys = try VaultKeys(of: store)
    try keys.rotate(code: code, without: other.replica) { _ in }
    return store
  }

  /// Both ends, on two threads, over a pair of sockets unless other channels are given.
  static func between(
    _ caller: FavoritesStore, _ server: FavoritesStore, joins: Bool = false,
    channels: (any ByteChannel, any ByteChannel)? = nil
  ) throws -> (calling: Result<PairingReport, HeartlogError>, serving: Result<PairingReport, HeartlogError>) {
    let (one, other): (any ByteChannel, any ByteChannel)
    if let channels { (one, other) = channels } else { (one, other) = try DescriptorChannel.pair() }
    let served = Mutex<Result<PairingReport, HeartlogError>?>(nil)
    let group = DispatchGroup()
    DispatchQueue(label: "serving").async(group: group) {
      let result = Result { () throws(HeartlogError) in
        try PairingSession(server, over: other, role: .serving).run()
      }
      other.close()
      served.withLock { $0 = result }
    }
    var options = SyncOptions()
    options.joinsVault = joins
    let called = Result { () throws(HeartlogError) in
      try PairingSession(caller, over: one, role: .calling, options: options).run()
    }
    one.close()
    group.wait()
    return (called, try #require(served.withLock { $0 }))
  }

  /// Pairs two devices in each of which nothing is wrong.
  @discardableResult
  static func pair(
    _ caller: FavoritesStore, _ server: FavoritesStore, joins: Bool = false
  ) throws -> (calling: PairingReport, serving: PairingReport) {
    let (called, served) = try between(caller, server, joins: joins)
    return (try called.get(), try served.get())
  }

  static func current(_ store: FavoritesStore) throws -> VaultKeys.Epoch? {
    try VaultKeys(of: store).epochs.first { $0.isCurrent }
  }

  /// Checks that two devices write under the same epoch in the same vault.
  static func expectPaired(_ one: FavoritesStore, _ other: FavoritesStore, _ comment: Comment? = nil) throws {
    let epoch = try #require(try current(one), comment)
    #expect(try current(other)?.id == epoch.id, comment)
    #expect(Set(epoch.devices).isSuperset(of: [one.replica, other.replica]), comment)
    #expect(one.vault?.id == other.vault?.id, comment)
  }

  static func error<Success>(_ result: Result<Success, HeartlogError>) -> HeartlogError? {
    guard case .failure(let error) = result else { return nil }
    return error
  }
}

/// A channel that breaks after so many messages were written to it.
private final class CutChannel: ByteChannel {
  private let channel: any ByteChannel
  private let left: Mutex<Int>

  init(_ channel: any ByteChannel, after count: Int) {
    self.channel = channel
    left = Mutex(count)
  }

  func read(atMost count: Int, milliseconds: Int) throws(HeartlogError) -> [UInt8]? {
    guard left.withLock({ $0 >= 0 }) else { return [] }
    return try channel.read(atMost: count, milliseconds: milliseconds)
  }

  func write(_ bytes: ArraySlice<UInt8>, milliseconds: Int) throws(HeartlogError) -> Int {
    guard
      left.withLock({
        $0 -= 1; return $0 >= 0
      })
    else {
      throw HeartlogError(.inputOutput, "the peer hung up before it was done")
    }
    return try channel.write(bytes, milliseconds: milliseconds)
  }

  func close() { channel.close() }
}

@Suite("Pairing")
struct PairingTests {
  @Test(
    "a member admits a device at either end, and both sync through an encrypted place",
    arguments: [true, false])
  func admitting(memberCalls: Bool) throws {
    let (desk, phone) = (try Pairing.member(), try Pairing.store("phone"))
    try Pairing.rotate(desk)
    let (called, served) = try memberCalls ? Pairing.pair(desk, phone) : Pairing.pair(phone, desk)
    let (admitting, joining) = memberCalls ? (called, served) : (served, called)
    let key = try #require(try phone.deviceKey).publicKey
    #expect(try phone.streamHead(of: phone.replica)?.checkpoint?.key == key)
    #expect(
      admitting.admitted?.fingerprint == key.fingerprint && joining.admitted?.fingerprint == key.fingerprint)
    #expect(admitting.admitted?.name == "phone" && admitting.admitted?.isOwn == false)
    #expect(joining.admitted?.replica == phone.replica && joining.admitted?.isOwn == true)
    #expect(admitting.peer == phone.replica && joining.peerName == "desk")
    #expect(joining.epochsReceived == 3 && admitting.epochsSent == 3)
    try Pairing.expectPaired(desk, phone)
    let place = try ObjectPlace(.memory)
    // The new device comes first.
    for store in [phone, desk, phone, desk] { _ = try place.sync(store) }
    #expect(desk.digest == phone.digest)
    #expect(
      try phone.library("papers").item("desk-1") != nil && desk.library("papers").item("phone-1") != nil)
    #expect(try VaultKeys(of: phone).epochs.count == 2)
  }

  @Test("carriers pair the store that they lead to")
  func carrier() throws {
    let (desk, phone) = (try Pairing.member(), try Pairing.store("phone"))
    #expect(try StoreCarrier(desk).pair(phone, options: SyncOptions()).admitted?.isOwn == true)
    try Pairing.expectPaired(desk, phone)
    let stranger = try Pairing.store("stranger")
    let failure = Pairing.error(
      Result { () throws(HeartlogError) in
        try StoreCarrier(try! Pairing.store("other")).pair(stranger, options: SyncOptions())
      })
    #expect(failure?.code == .noKey && failure?.message.contains("--encrypted") == true)
  }

  @Test("members exchange the epochs that the other lacks, and nothing else happens")
  func members() throws {
    let (desk, phone) = (try Pairing.member(), try Pairing.store("phone"))
    try Pairing.pair(desk, phone)
    let nothing = try Pairing.pair(phone, desk)
    #expect(
      nothing.calling.admitted == nil && nothing.calling.epochsReceived == 0
        && nothing.calling.epochsSent == 0)
    try Pairing.rotate(desk)
    #expect(try Pairing.pair(phone, desk).calling.epochsReceived == 1)
    try Pairing.expectPaired(desk, phone)
    try Pairing.rotate(phone)
    #expect(try Pairing.pair(phone, desk).calling.epochsSent == 1)
    try Pairing.expectPaired(desk, phone)
    // Of two rotations at once both take the same.
    try Pairing.rotate(desk)
    try Pairing.rotate(phone)
    let both = try Pairing.pair(phone, desk)
    #expect(both.calling.epochsReceived == 1 && both.serving.epochsReceived == 1)
    try Pairing.expectPaired(desk, phone)
  }

  @Test("devices that two members admit at once are members for both", arguments: [true, false])
  func leftOut(memberCalls: Bool) throws {
    let (desk, phone) = (try Pairing.member(), try Pairing.store("phone"))
    try Pairing.pair(desk, phone)
    let (tablet, watch) = (try Pairing.store("tablet"), try Pairing.store("watch"))
    try Pairing.pair(desk, tablet)
    try Pairing.pair(phone, watch)
    // The desk does not know of it.
    let (called, _) = try memberCalls ? Pairing.pair(desk, watch) : Pairing.pair(watch, desk)
    #expect(called.admitted == nil)
    try Pairing.expectPaired(desk, watch)
    try Pairing.pair(phone, tablet)
    try Pairing.expectPaired(phone, tablet)
    try Pairing.pair(watch, phone)
    let current = try #require(try Pairing.current(phone))
    #expect(Set(current.devices) == Set([desk, phone, tablet, watch].map(\.replica)))
  }

  @Test("a device that was revoked is never admitted, at neither end", arguments: [true, false])
  func revokedJoiner(memberCalls: Bool) throws {
    let phone = try Pairing.store("phone")
    let desk = try Pairing.member(without: phone) { try Pairing.pair($0, phone) }
    let before = try VaultKeys(of: desk).epochs
    func attempt() throws -> [HeartlogError?] {
      let (called, served) = try memberCalls ? Pairing.between(desk, phone) : Pairing.between(phone, desk)
      return [Pairing.error(called), Pairing.error(served)]
    }
    // The phone takes itself for a member.
    for _ in 0..<2 {
      let errors = try attempt()
      #expect(
        errors.allSatisfy { $0?.code == .noKey && $0?.message.contains("removed") == true }, "\(errors)")
    }
    #expect(try VaultKeys(of: desk).epochs == before)
  }

  @Test("a revoked device that knows of no epoch is refused by its announcement")
  func revokedAnnouncement() throws {
    let phone = try Pairing.store("phone")
    let desk = try Pairing.member(without: phone)
    let before = try VaultKeys(of: desk).epochs
    let (called, served) = try Pairing.between(phone, desk)
    for error in [Pairing.error(called), Pairing.error(served)] {
      #expect(error?.code == .noKey && error?.message.contains("only as a new device") == true)
    }
    #expect(try VaultKeys(of: desk).epochs == before && !VaultKeys(of: phone).isEncrypted)
    // It has not joined the vault either.
    #expect(phone.vault?.id != desk.vault?.id && phone.vault?.isEstablished == false)
  }

  @Test("a member that was revoked admits nobody")
  func revokedMember() throws {
    let phone = try Pairing.store("phone")
    let desk = try Pairing.member(without: phone) { try Pairing.pair($0, phone) }
    let place = try ObjectPlace(.memory)
    _ = try place.sync(desk)
    // From now on it knows.
    #expect(throws: HeartlogError.self) { try place.sync(phone) }
    let tablet = try Pairing.store("tablet")
    for pair in [(phone, tablet), (tablet, phone)] {
      let (called, served) = try Pairing.between(pair.0, pair.1)
      let errors = [Pairing.error(called), Pairing.error(served)]
      #expect(errors.allSatisfy { $0?.code == .noKey })
      #expect(errors.contains { $0?.message.contains("admits nobody") == true })
    }
    #expect(try !VaultKeys(of: tablet).isEncrypted)
  }

  @Test("two devices without keys are told to make some")
  func neither() throws {
    let (called, served) = try Pairing.between(try Pairing.store("desk"), try Pairing.store("phone"))
    for error in [Pairing.error(called), Pairing.error(served)] {
      #expect(error?.code == .noKey && error?.message.contains("sync folder:DIR --encrypted") == true)
    }
  }

  @Test("devices of different vaults agree as in a sync, or not at all")
  func vaults() throws {
    func establish(_ store: FavoritesStore) throws {
      _ = try StoreCarrier(try Pairing.store("friend of \(store.name)")).sync(store, options: SyncOptions())
    }
    let (desk, phone) = (try Pairing.member(), try Pairing.store("phone"))
    try establish(desk)
    try establish(phone)
    let own = phone.vault
    let (called, served) = try Pairing.between(phone, desk)
    #expect(Pairing.error(called)?.code == .otherVault && Pairing.error(served)?.code == .otherVault)
    #expect(try !VaultKeys(of: phone).isEncrypted && phone.vault == own)
    try Pairing.pair(phone, desk, joins: true)
    try Pairing.expectPaired(desk, phone)
    // An encrypted vault is left for none that is not.
    let (server, tablet) = (try Pairing.member("server"), try Pairing.store("tablet"))
    try establish(tablet)
    #expect(Pairing.error(try Pairing.between(server, tablet).calling)?.code == .otherVault)
    try Pairing.pair(tablet, server, joins: true)
    try Pairing.expectPaired(server, tablet)
  }

  @Test(
    "a new device always joins the vault of the member, at neither end the other way round",
    arguments: [true, false])
  func provisional(memberCalls: Bool) throws {
    // Which of two provisional vaults has the smaller id differs.
    for _ in 0..<8 {
      let (desk, phone) = (try Pairing.member(), try Pairing.store("phone"))
      let vault = desk.vault?.id
      _ = try memberCalls ? Pairing.pair(desk, phone) : Pairing.pair(phone, desk)
      #expect(phone.vault?.id == vault && desk.vault?.id == vault)
    }
  }

  @Test("members of two encrypted vaults do not mix")
  func twoVaults() throws {
    let (desk, phone) = (try Pairing.member(), try Pairing.member("phone"))
    let before = try [desk, phone].map { try VaultKeys(of: $0).epochs }
    let (called, served) = try Pairing.between(phone, desk)
    #expect(Pairing.error(called)?.code == .otherVault && Pairing.error(served)?.code == .otherVault)
    #expect(try [desk, phone].map { try VaultKeys(of: $0).epochs } == before)
  }

  @Test("devices that one member admits at once all are members")
  func atOnce() throws {
    let desk = try Pairing.member()
    let phones = try (0..<4).map { try Pairing.store("phone-\($0)") }
    let failures = Mutex(0)
    DispatchQueue.concurrentPerform(iterations: phones.count) { index in
      if (try? Pairing.pair(phones[index], desk)) == nil { failures.withLock { $0 += 1 } }
    }
    #expect(failures.withLock { $0 } == 0)
    for phone in phones { try Pairing.expectPaired(desk, phone) }
    let current = try #require(try Pairing.current(desk))
    #expect(Set(current.devices) == Set(([desk] + phones).map(\.replica)))
  }

  // MARK: - Breaking off

  @Test("a pairing that breaks off after any message is completed by the next one", arguments: [true, false])
  func cut(memberCalls: Bool) throws {
    for cutsCaller in [true, false] {
      for count in 0..<4 {
        let (desk, phone) = (try Pairing.member(), try Pairing.store("phone"))
        let (one, other) = try DescriptorChannel.pair()
        let channels: (any ByteChannel, any ByteChannel) =
          cutsCaller ? (CutChannel(one, after: count), other) : (one, CutChannel(other, after: count))
        let (caller, server) = memberCalls ? (desk, phone) : (phone, desk)
        let (called, served) = try Pairing.between(caller, server, channels: channels)
        for error in [Pairing.error(called), Pairing.error(served)].compactMap(\.self) {
          #expect(error.code == .inputOutput, "\(count): \(error)")
        }
        if count == 0 { #expect(Pairing.error(called) != nil && Pairing.error(served) != nil) }
        try Pairing.pair(caller, server)
        try Pairing.expectPaired(desk, phone, "\(count)")
        #expect(try VaultKeys(of: desk).epochs.count == 1, "\(count)")
      }
    }
  }

  @Test("no secret travels")
  func secrets() throws {
    let (desk, phone) = (try Pairing.store("desk"), try Pairing.store("phone"))
    let code = try RecoveryCode(text: try Pairing.encrypt(desk))
    let (one, other) = try DescriptorChannel.pair()
    let (near, far) = (TappedChannel(one), TappedChannel(other))
    _ = try Pairing.between(desk, phone, channels: (near, far)).calling.get()
    let bytes = near.bytesRead + far.bytesRead
    #expect(!bytes.contains(Array(code.text.utf8)) && !bytes.contains(code.key.seed))
    for store in [desk, phone] {
      let seed = try #require(store.deviceKey as? SigningKey).seed
      #expect(!bytes.contains(seed))
    }
  }
}

extension VaultKeys {
  /// The admission of a device.
  fileprivate mutating func admitted(_ member: Member) throws -> Admission {
    let epoch = try admit(member)
    return try #require(admissions[Admission.objectName(of: member.replica, to: epoch.id)])
  }
}

/// What comes from the other end is not what a device sends.
@Suite("Hostile ends of a pairing")
struct HostilePairingTests {
  /// Runs one end that reads these bytes, and then the end.
  private func run(
    _ store: FavoritesStore, reading bytes: [UInt8], role: SyncSession.Role = .calling, silent: Bool = false
  ) -> (error: HeartlogError?, written: [UInt8]) {
    let channel = RecordedChannel(reading: bytes, isSilentAtEnd: silent)
    var options = SyncOptions()
    options.inactivityMillisecondsMax = silent ? 200 : 30_000
    let result = Result { () throws(HeartlogError) in
      try PairingSession(store, over: channel, role: role, options: options).run()
    }
    return (Pairing.error(result), channel.written)
  }

  private func encoded(_ messages: Message...) throws -> [UInt8] {
    let channel = RecordedChannel(reading: [])
    let writer = MessageWriter(MonitoredChannel(channel, options: SyncOptions()))
    for message in messages { try writer.write(message) }
    return channel.written
  }

  private func greeting(
    of store: FavoritesStore, epochVault: VaultID? = nil, isServing: Bool = true
  ) throws -> Message {
    .pairing(
      PairingGreeting(
        isServing: isServing, isEmpty: false, joins: false, replica: store.replica, name: store.name,
        vault: try #require(store.vault), epochVault: epochVault, epochs: []))
  }

  private func isUnchanged(_ store: FavoritesStore, _ vault: VaultMembership?) throws -> Bool {
    try store.vault == vault && !VaultKeys(of: store).isEncrypted
  }

  @Test("garbage, silence and other protocols end in an error")
  func garbage() throws {
    let phone = try Pairing.store("phone")
    let vault = phone.vault
    #expect(run(phone, reading: []).error?.code == .inputOutput)
    #expect(run(phone, reading: [], silent: true).error?.code == .timedOut)
    let banner = run(phone, reading: Array("Welcome to this machine\n".utf8)).error
    #expect(banner?.code == .peer && banner?.message.contains("Welcome to this machine") == true)
    var random = SeededGenerator(seed: 7)
    for _ in 0..<200 {
      let bytes = (0..<64).map { _ in UInt8.random(in: 0 ... .max, using: &random) }
      for role in [SyncSession.Role.calling, .serving] {
        let error = try #require(run(phone, reading: bytes, role: role).error)
        #expect([.peer, .inputOutput].contains(error.code), "\(error)")
      }
    }
    // A length of 8 GiB, of which nothing comes.
    #expect(run(phone, reading: [14, 0xFF, 0xFF, 0xFF, 0xFF, 0x1F]).error?.code == .peer)
    // An end that syncs.
    let sync = RecordedChannel(reading: [])
    _ = try? SyncSession(phone, over: sync, role: .calling).run()
    #expect(run(phone, reading: sync.written, role: .serving).error?.code == .peer)
    // Two ends of one role.
    #expect(run(phone, reading: try encoded(greeting(of: phone, isServing: false))).error?.code == .peer)
    #expect(try isUnchanged(phone, vault))
  }

  @Test("a byte flipped or missing anywhere in a greeting ends in an error")
  func flipped() throws {
    let (desk, phone) = (try Pairing.member(), try Pairing.store("phone"))
    let bytes = try encoded(greeting(of: desk, epochVault: desk.vault?.id))
    for place in bytes.indices {
      var changed = bytes
      changed[place] ^= 0x21
      #expect(run(phone, reading: changed).error != nil)
      #expect(run(phone, reading: Array(bytes.prefix(place))).error?.code == .inputOutput)
    }
  }

  @Test("a greeting of a later version is answered with the version that is known")
  func laterVersion() throws {
    let phone = try Pairing.store("phone")
    guard case .pairing(let greeting) = try greeting(of: phone, isServing: false) else { return }
    var payload = Message.pairing(greeting).payload()
    payload[3] = 2
    let other = #expect(throws: HeartlogError.self) { try Message(.pairing, payload: payload) }
    #expect(other?.code == .newerFormat)
    var checksum = RunningChecksum()
    let head = [Message.Kind.pairing.rawValue, UInt8(payload.count)]
    let (error, written) = run(
      phone, reading: head + payload + checksum.take(head, payload), role: .serving)
    #expect(error?.code == .newerFormat && error?.message.hasSuffix("this Heartlog uses 1") == true)
    #expect(written == (try encoded(.failed(.version, "it uses protocol version 1"))))
    #expect(run(phone, reading: written).error?.code == .newerFormat)
  }

  @Test("an announcement that its key did not make for this vault admits nobody")
  func announcement() throws {
    let (desk, phone) = (try Pairing.member(), try Pairing.store("phone"))
    let before = try VaultKeys(of: desk).epochs
    let hello = try greeting(of: phone, isServing: false)
    let elsewhere = try VaultKeys(of: phone).announcement(in: try #require(phone.vault).id)
    var forged = try VaultKeys(of: phone).announcement(in: try #require(desk.vault).id).bytes
    forged[40] ^= 1
    for bytes in [elsewhere.bytes, forged] {
      let error = run(desk, reading: try encoded(hello, .member(bytes)), role: .serving).error
      #expect(error?.code == .peer && error?.message.contains("announce") == true)
    }
    #expect(throws: (any Error).self) { try Message(.member, payload: Array(forged.dropLast())) }
    #expect(throws: (any Error).self) { try Message(.member, payload: forged + [0]) }
    #expect(try VaultKeys(of: desk).epochs == before)
  }

  @Test("keys that are not sound, or do not admit this device, are not taken")
  func epochs() throws {
    let (desk, phone, tablet) = (
      try Pairing.member(), try Pairing.store("phone"), try Pairing.store("tablet")
    )
    let vault = phone.vault
    let hello = try greeting(of: desk, epochVault: desk.vault?.id)
    var ring = try VaultKeys(of: desk)
    let first = try #require(ring.current)
    let other = try ring.admitted(try VaultKeys(of: tablet).announcement(in: first.vault))
    let own = try ring.admitted(try VaultKeys(of: phone).announcement(in: first.vault))
    func attempt(_ messages: Message...) throws -> HeartlogError? {
      let channel = RecordedChannel(reading: [])
      let writer = MessageWriter(MonitoredChannel(channel, options: SyncOptions()))
      for message in [hello] + messages { try writer.write(message) }
      let error = run(phone, reading: channel.written).error
      #expect(try isUnchanged(phone, vault))
      return error
    }
    // Neither of these has the phone.
    #expect(try attempt(.epoch(first.bytes), .head(first.id))?.code == .peer)
    #expect(try attempt(.epoch(first.bytes), .epoch(other.bytes), .head(first.id))?.code == .peer)
    // What it admits to was not sent.
    #expect(try attempt(.epoch(own.bytes), .head(first.id))?.code == .peer)
    #expect(try attempt(.head(first.id))?.code == .peer)
    var damaged = own.bytes
    damaged[damaged.count - 1] ^= 1
    #expect(try attempt(.epoch(damaged), .head(first.id))?.message.contains("not sound") == true)
    #expect(try attempt(.epoch([]), .head(first.id))?.code == .peer)
    // An epoch of a stranger beside it is left out.
    let thief = try #require(try VaultKeys(of: Pairing.member("thief")).current)
    let bytes = try encoded(
      hello, .epoch(first.bytes), .epoch(other.bytes), .epoch(own.bytes), .epoch(thief.bytes), .head(first.id)
    )
    #expect(run(phone, reading: bytes).error == nil)
    #expect(try VaultKeys(of: phone).objects.count == 3)
    // A member takes no epoch because a peer names it.
    _ = run(phone, reading: try encoded(hello, .epoch(thief.bytes), .head(thief.id)))
    #expect(try VaultKeys(of: phone).objects.count == 3 && VaultKeys(of: phone).current == first)
  }

  @Test("more epochs than a pairing may have are refused before they are kept")
  func tooMany() throws {
    let (desk, phone) = (try Pairing.member(), try Pairing.store("phone"))
    let first = try #require(try VaultKeys(of: desk).current)
    let channel = RecordedChannel(reading: [])
    let writer = MessageWriter(MonitoredChannel(channel, options: SyncOptions()))
    try writer.write(greeting(of: desk, epochVault: first.vault))
    for _ in 0...PairingSession.epochsMax { try writer.write(.epoch(first.bytes)) }
    let error = run(phone, reading: channel.written).error
    #expect(error?.code == .peer && error?.message.contains("more key epochs") == true)
  }

  @Test("a refusal is shown as what the peer said")
  func refusal() throws {
    let phone = try Pairing.store("phone")
    let error = run(phone, reading: try encoded(.failed(.refused, "replica 12 was revoked"))).error
    #expect(error?.code == .noKey && error?.message == "the peer gave up: replica 12 was revoked")
  }
}
