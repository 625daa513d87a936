import Dispatch
import Heartlog
import HeartlogFormat
import HeartlogFiles
import Synchronization
import Testing

@testable import HeartlogSync

/// Devices of one person, the folder between them, and the paper with the recovery code.
private final class Devices {
  let place: ObjectPlace
  /// The code that was shown last.
  var code = ""

  init(_ kind: ObjectPlace.Kind = .directory) throws { place = try ObjectPlace(kind) }

  /// Of how many streams a store takes at most.
  var streamsMax = 4_096

  func store(_ name: String, writing count: Int = 0) throws -> FavoritesStore {
    var options = StoreOptions()
    options.changeStorage = { [streamsMax] in $0.streamsMax = streamsMax }
    options.name = name
    options.snapshots = .manual
    let store = try FavoritesStore.inMemory(options: options)
    for number in 0..<count { try write("\(name)-\(number)", in: store) }
    return store
  }

  func write(_ id: String, in store: FavoritesStore) throws {
    try store.library("papers").set(
      [Field(name: "title", value: .string("a secret title of \(id)"))], of: id)
  }

  func has(_ id: String, _ store: FavoritesStore) throws -> Bool {
    try store.library("papers").item(id) != nil
  }

  @discardableResult
  func sync(_ store: FavoritesStore, encrypts: Bool = false) throws -> SyncReport {
    let report = try place.sync(store) { $0.encrypts = encrypts }
    if let code = report.recoveryCode { self.code = code }
    return report
  }

  func join(_ store: FavoritesStore, _ code: String? = nil) throws {
    var keys = try VaultKeys(of: store)
    try keys.join(code ?? self.code)
  }

  /// Makes a new key, as a member.
  func rotate(_ store: FavoritesStore) throws {
    var keys = try VaultKeys(of: store)
    try keys.rotate()
  }

  /// Makes a new code with the one on the paper, or another one.
  @discardableResult
  func newCode(
    _ store: FavoritesStore, without other: FavoritesStore? = nil, with code: String? = nil
  ) throws -> String {
    var keys = try VaultKeys(of: store)
    try keys.rotate(code: code ?? self.code, without: other?.replica) { self.code = $0 }
    return self.code
  }

  /// Has a member admit a device that it reaches.
  func pair(_ store: FavoritesStore, with member: FavoritesStore) throws {
    _ = try StoreCarrier(member).pair(store, options: SyncOptions())
  }

  /// Makes an invitation, and puts it at the place.
  func invite(
    _ store: FavoritesStore, until end: Milliseconds = StoreOptions.systemTime() + 60_000
  ) throws -> SigningKey {
    var keys = try VaultKeys(of: store)
    let key = try keys.invite(until: end)
    try sync(store)
    return key
  }

  func accept(_ store: FavoritesStore, _ key: SigningKey, of other: FavoritesStore) throws {
    try VaultKeys.join(try #require(other.vaultID), with: key, store)
  }

  func epochCount() throws -> Int { try place.names().count { $0.hasPrefix("keys/") && $0.utf8.count == 37 } }

  /// A vault of so many devices that all know the same.
  func vault(_ names: String...) throws -> [FavoritesStore] {
    let stores = try names.map { try store($0, writing: 2) }
    try sync(stores[0], encrypts: true)
    for store in stores.dropFirst() {
      try join(store)
      try sync(store)
    }
    try settle(stores)
    return stores
  }

  func settle(_ stores: [FavoritesStore]) throws {
    for _ in 0..<3 { for store in stores { try sync(store) } }
  }

  func names() throws -> [String] { try place.names().filter { !$0.hasPrefix("keys/") } }

  /// The epochs under which the objects are.
  func epochs() throws -> Set<EpochID> {
    Set(try names().map { try ObjectHeader(try place.bytes($0)).epoch })
  }

  /// Who put the objects in which a text can be read with the keys of a store.
  func writers(of text: String, as store: FavoritesStore) throws -> [ReplicaID] {
    let format = ObjectFormat.encrypted(ObjectKeys(try VaultKeys(of: store)))
    return try names().compactMap { name in
      guard case .content(let content, _) = format.opened(name, try place.bytes(name)), content.contains(text)
      else { return nil }
      return ReplicaID(String(name.prefix(32)))
    }
  }

  func refusal(_ body: () throws -> Void) -> HeartlogError? {
    do {
      try body()
      return nil
    } catch { return error as? HeartlogError }
  }
}

@Suite("Encrypted sync over each kind of place")
struct EncryptedSyncTests {
  @Test(
    "the recovery code admits a device, and all know the same", arguments: ObjectPlace.Kind.allCases)
  func exchange(kind: ObjectPlace.Kind) throws {
    let devices = try Devices(kind)
    let (desk, phone) = (try devices.store("desk", writing: 40), try devices.store("phone", writing: 3))
    #expect(try devices.sync(desk, encrypts: true).recoveryCode != nil)
    #expect(devices.refusal { try devices.sync(phone) }?.code == .noKey)
    #expect(devices.refusal { try devices.sync(phone, encrypts: true) }?.code == .noKey)
    try devices.join(phone)
    #expect(try devices.sync(phone).received.commits == 40)
    try devices.settle([desk, phone])
    #expect(desk.digest == phone.digest)
    #expect(try devices.has("phone-2", desk))
    let before = try devices.place.names()
    let report = try devices.sync(desk)
    #expect(report.sent.commits == 0 && report.folder?.written == 0 && report.recoveryCode == nil)
    #expect(try devices.place.names() == before)
    #expect(try devices.epochs().count == 1 && devices.epochCount() == 1)
  }

  @Test(
    "what was erased leaves the place once every device has synced that is not revoked",
    arguments: ObjectPlace.Kind.allCases)
  func erasing(kind: ObjectPlace.Kind) throws {
    let devices = try Devices(kind)
    let stores = try devices.vault("desk", "phone", "lost")
    for store in stores { try devices.write("regretted", in: store) }
    try devices.settle(stores)
    #expect(Set(try devices.writers(of: "regretted", as: stores[0])) == Set(stores.map(\.replica)))
    try stores[0].erase("regretted", in: "papers")
    try devices.newCode(stores[0], without: stores[2])
    try devices.sync(stores[0])
    // The phone does not know of it yet.
    #expect(try devices.writers(of: "regretted", as: stores[0]) == [stores[1].replica])
    try devices.settle(Array(stores.prefix(2)))
    #expect(try devices.writers(of: "regretted", as: stores[0]) == [])
    #expect(stores[0].digest == stores[1].digest)
    // Nothing else is lost to a device that comes later.
    let late = try devices.store("late")
    try devices.join(late)
    try devices.sync(late)
    #expect(try devices.has("lost-1", late) && !devices.has("regretted", late))
    try devices.settle([stores[0], late])
    #expect(late.digest == stores[0].digest)
  }

  @Test("no byte of a place tells what is in it", arguments: ObjectPlace.Kind.allCases)
  func noPlaintext(kind: ObjectPlace.Kind) throws {
    let devices = try Devices(kind)
    let stores = try devices.vault("desk-of-anna", "phone-of-anna")
    let words = [
      "secret", "title", "desk-of", "phone-of", "anna", "papers", "settings", "heartlog/", "HLRUN",
    ]
    for name in try devices.place.names() {
      let bytes = try devices.place.bytes(name)
      for word in words {
        #expect(!bytes.contains(Array(word.utf8)), "\(word) in \(name)")
        #expect(!name.contains(word))
      }
      if !name.hasPrefix("keys/") { #expect((bytes.count - ObjectLayout.headerByteCount - 16) % 512 == 0) }
    }
    #expect(stores[0].digest == stores[1].digest)
  }

  @Test("many small files are merged and read as in a plain place", arguments: ObjectPlace.Kind.allCases)
  func merging(kind: ObjectPlace.Kind) throws {
    let devices = try Devices(kind)
    let stores = try devices.vault("desk", "phone")
    var removed = 0
    for round in 0..<30 {
      try devices.write("round-\(round)", in: stores[0])
      removed += try devices.sync(stores[0]).folder?.removed ?? 0
      if round % 7 == 0 { try devices.sync(stores[1]) }
    }
    try devices.settle(stores)
    #expect(removed > 20 && stores[0].digest == stores[1].digest)
    // Proofs are in the run files.
    let own = try devices.names().filter { $0.hasPrefix("\(stores[0].replica)/\(stores[0].replica)/") }
    #expect(!own.isEmpty && own.allSatisfy { $0.hasSuffix(".run") })
    let fresh = try devices.store("tablet")
    try devices.join(fresh)
    try devices.sync(fresh)
    #expect(try devices.has("round-29", fresh) && devices.has("phone-1", fresh))
  }

  @Test("a change is one object, of the smallest size", arguments: ObjectPlace.Kind.allCases)
  func oneObject(kind: ObjectPlace.Kind) throws {
    let devices = try Devices(kind)
    let stores = try devices.vault("desk", "phone")
    let before = Set(try devices.place.names())
    _ = try stores[0].library("papers").toggle("desk-1")
    let report = try devices.sync(stores[0])
    #expect(report.sent.commits == 1 && report.folder?.written == 1 && report.folder?.removed == 0)
    let after = Set(try devices.place.names())
    let name = try #require(after.subtracting(before).first)
    #expect(after.count == before.count + 1 && before.isSubset(of: after))
    #expect(try devices.place.bytes(name).count == ObjectLayout.objectByteCount(0))
    #expect(try devices.sync(stores[1]).received.commits == 1)
    #expect(stores[0].digest == stores[1].digest)
    // What its owner signed came with it.
    let known = try #require(try stores[1].streamHead(of: stores[0].replica)?.checkpoint)
    #expect(known.checkpoint.size == (try stores[0].streamHead(of: stores[0].replica))?.commit.rawValue)
  }

  @Test("a place of another vault is left alone", arguments: ObjectPlace.Kind.allCases)
  func otherPlace(kind: ObjectPlace.Kind) throws {
    let (devices, others) = (try Devices(kind), try Devices(kind))
    let (mine, theirs) = (try devices.vault("desk", "phone"), try others.vault("tablet", "laptop"))
    let before = try others.place.names()
    #expect(devices.refusal { try others.sync(mine[0]) }?.code == .noKey)
    #expect(try others.place.names() == before)
    // Whoever enters the code of that vault moves there, and puts nothing of the keys of the one before.
    try others.join(mine[0])
    try others.sync(mine[0])
    let keys = Set(try VaultKeys(of: mine[1]).objects.map(\.name))
    #expect(keys.isDisjoint(with: try others.place.names()))
    try others.settle([mine[0]] + theirs)
    #expect(try others.has("desk-1", theirs[1]) && others.has("laptop-1", mine[0]))
    #expect(Set([mine[0], theirs[0], theirs[1]].map(\.digest)).count == 1)
    #expect(mine[0].vaultID == theirs[0].vaultID)
  }

  @Test("two vaults that began in one place become one, once one device has the code of the other")
  func twoBeginnings() throws {
    let (devices, others) = (try Devices(.memory), try Devices(.memory))
    let (desk, phone) = (try devices.store("desk", writing: 3), try others.store("phone", writing: 3))
    try devices.sync(desk, encrypts: true)
    try others.sync(phone, encrypts: true)
    // Both began before either saw the other.
    for name in try others.place.names() { try devices.place.objects.put(name, try others.place.bytes(name)) }
    try devices.join(desk, others.code)
    try devices.settle([desk, phone])
    #expect(try devices.has("desk-2", phone) && devices.has("phone-2", desk))
    #expect(desk.digest == phone.digest)
  }

  @Test("an epoch that is damaged at a place is put again", arguments: [ObjectPlace.Kind.directory, .memory])
  func damagedEpochs(kind: ObjectPlace.Kind) throws {
    let devices = try Devices(kind)
    let stores = try devices.vault("desk", "phone")
    let epochs = try devices.place.names().filter { $0.hasPrefix("keys/") }
    #expect(epochs.count == 2)
    let whole = try epochs.map { try devices.place.bytes($0) }
    for name in epochs {
      var bytes = try devices.place.bytes(name)
      bytes[bytes.count / 2] ^= 1
      try devices.place.objects.delete(name)
      try devices.place.objects.put(name, bytes)
    }
    #expect(try devices.sync(stores[1]).folder?.damaged == 0)
    #expect(try epochs.map { try devices.place.bytes($0) } == whole)
    let late = try devices.store("late")
    try devices.join(late)
    try devices.settle(stores + [late])
    #expect(late.digest == stores[0].digest)
  }

  @Test("a run file without its proof is written again with it", arguments: ObjectPlace.Kind.allCases)
  func unproven(kind: ObjectPlace.Kind) throws {
    let devices = try Devices(kind)
    let stores = try devices.vault("desk", "phone")
    try devices.write("later", in: stores[0])
    let before = Set(try devices.place.names())
    try devices.sync(stores[0])
    let name = try #require(try Set(devices.place.names()).subtracting(before).first)
    let format = ObjectFormat.encrypted(ObjectKeys(try VaultKeys(of: stores[0])))
    guard case .content(let content, _) = format.opened(name, try devices.place.bytes(name)) else {
      Issue.record("\(name) cannot be read")
      return
    }
    let file = try RunFile(content)
    #expect(file.checkpoint?.isSigned == true)
    let (bareName, bytes) = file.withoutProof.encoded()
    let object = try format.sealed(
      "\(FolderFile.folder(of: file.replica, by: file.replica))/\(bareName.text)", bytes)
    try devices.place.objects.put(object.path, object.bytes)
    try devices.place.objects.delete(name)
    // Without a proof nothing is taken.
    let report = try devices.sync(stores[1])
    #expect(report.received.commits == 0 && report.folder?.waiting == 1)
    // Whoever reads its own objects again finds it.
    _ = try PlaceCarrier(devices.place.objects).sync(stores[0], options: SyncOptions())
    #expect(try Set(devices.place.names()) == before.union([name]))
    #expect(try devices.sync(stores[1]).received.commits == 1)
    #expect(stores[0].digest == stores[1].digest)
  }

  @Test(
    "plain objects of an encrypted vault are refused, and its devices put none",
    arguments: ObjectPlace.Kind.allCases)
  func plain(kind: ObjectPlace.Kind) throws {
    let devices = try Devices(kind)
    let (desk, phone) = (try devices.store("desk", writing: 2), try devices.store("phone", writing: 2))
    try devices.sync(phone)
    let plain = try devices.names()
    let report = try devices.sync(desk, encrypts: true)
    #expect(report.received.commits == 0 && (report.folder?.plain ?? 0) > 0)
    #expect(try !devices.has("phone-1", desk))
    // The phone's objects are replaced by encrypted ones once it has the code.
    try devices.join(phone)
    try devices.sync(phone)
    #expect(try devices.sync(desk).folder?.plain == 0)
    #expect(try devices.has("phone-1", desk) && Set(devices.names()).isDisjoint(with: plain))
    // Whoever learns of the encryption in another way puts nothing plain.
    let tablet = try devices.store("tablet", writing: 1)
    _ = try StoreCarrier(desk).sync(tablet, options: SyncOptions())
    let empty = try ObjectPlace(.directory)
    #expect(devices.refusal { _ = try empty.sync(tablet) }?.code == .noKey)
    #expect(try empty.names() == [])
  }

  @Test("what was changed on the place is refused")
  func damage() throws {
    let devices = try Devices()
    let desk = try devices.store("desk", writing: 3)
    try devices.sync(desk, encrypts: true)
    let run = try #require(try devices.names().first { $0.hasSuffix(".run") })
    var bytes = try devices.place.bytes(run)
    bytes[60] ^= 1
    try devices.place.replace(run, with: bytes)
    let phone = try devices.store("phone")
    try devices.join(phone)
    let report = try devices.sync(phone)
    #expect(report.folder?.damaged == 1 && report.received.commits == 0)
    // Its writer replaces it.
    try devices.settle([desk, phone])
    #expect(try devices.has("desk-2", phone))
  }

  @Test("an epoch of a stranger changes nothing")
  func stranger() throws {
    let devices = try Devices()
    let stores = try devices.vault("desk", "phone")
    let other = try Devices()
    _ = try other.vault("thief")
    for name in try other.place.names() where name.hasPrefix("keys/") {
      try devices.place.replace(name, with: try other.place.bytes(name))
    }
    try devices.place.replace("keys/\(String(repeating: "0", count: 32))", with: [1, 2, 3])
    let epochs = try VaultKeys(of: stores[0]).epochs
    try devices.settle(stores)
    #expect(try VaultKeys(of: stores[0]).epochs == epochs)
    #expect(stores[0].digest == stores[1].digest)
  }
}

@Suite("Rotating the keys of a vault")
struct KeyRotationTests {
  @Test(
    "a removed device with every object, its old keys and the old code removes nobody, hides nothing and voids no code",
    arguments: ObjectPlace.Kind.allCases)
  func removed(kind: ObjectPlace.Kind) throws {
    let devices = try Devices(kind)
    let stores = try devices.vault("desk", "phone", "stolen")
    let (desk, phone, stolen) = (stores[0], stores[1], stores[2])
    let oldCode = devices.code
    // What the thief goes on with: a place where nothing of the rotation is.
    let hidden = try Devices(kind)
    for name in try devices.place.names() {
      try hidden.place.replace(name, with: try devices.place.bytes(name))
    }
    // It acts first.
    try hidden.rotate(stolen)
    try devices.newCode(desk, without: stolen)
    let newCode = devices.code
    try devices.write("after", in: desk)
    try devices.settle([desk, phone])
    #expect(try devices.has("after", phone) && newCode != oldCode)
    let new = try #require(try VaultKeys(of: desk).epochs.first { $0.isCurrent })

    // It writes under its old keys, and puts its objects beside those of the others, afterwards and again.
    for round in 0..<2 {
      try hidden.write("forged-\(round)", in: stolen)
      try hidden.rotate(stolen)
      try hidden.sync(stolen)
      for name in try hidden.place.names() {
        try devices.place.replace(name, with: try hidden.place.bytes(name))
      }
      try devices.settle([desk, phone])
      #expect(try !devices.has("forged-\(round)", desk) && !devices.has("forged-\(round)", phone))
    }
    #expect(try devices.sync(desk).folder?.revoked ?? 0 > 0)
    try devices.write("later", in: phone)
    try devices.settle([desk, phone])
    #expect(try devices.has("later", desk) && desk.digest == phone.digest)
    #expect(try VaultKeys(of: phone).epochs.first { $0.isCurrent } == new)
    // It sees all that the others put, and is told at each sync.
    for _ in 0..<2 {
      let error = devices.refusal { try devices.sync(stolen) }
      #expect(error?.code == .noKey && error?.message.contains("removed on replica \(desk.replica)") == true)
      #expect(error?.message.contains("2 of its events are here only") == true)
      #expect(error?.message.contains("come back as a new device") == true)
    }
    try devices.join(stolen, oldCode)
    #expect(devices.refusal { try devices.sync(stolen) }?.code == .noKey)
    #expect(devices.refusal { try devices.rotate(stolen) }?.code == .noKey)
    #expect(devices.refusal { try devices.newCode(stolen, without: desk, with: oldCode) }?.code == .noKey)
    #expect(try !devices.has("after", stolen))
    let keys = try VaultKeys(of: stolen).keys
    #expect(!keys.keys.contains { new.id == $0.description })
    #expect(!new.devices.contains(stolen.replica) && new.revoked[stolen.replica] != nil)
    // Nothing comes by any other way: a dialogue asks nobody for keys, but takes nothing of a removed device.
    let before = try phone.streamHead(of: stolen.replica)?.commit
    let refused = devices.refusal { _ = try StoreCarrier(stolen).sync(phone, options: SyncOptions()) }
    #expect(refused?.code == .noKey && refused?.message.contains("removed") == true)
    #expect(try !devices.has("forged-0", phone) && phone.streamHead(of: stolen.replica)?.commit == before)
    // The printed code is good.
    let late = try devices.store("late")
    try devices.join(late, newCode)
    try devices.sync(late)
    #expect(try devices.has("after", late) && devices.has("desk-1", late) && !devices.has("forged-0", late))
    // With it the device comes back as a new one, and brings what it has.
    let replica = stolen.replica
    try devices.join(stolen, newCode)
    try devices.sync(stolen)
    #expect(stolen.replica != replica)
    try devices.settle([desk, phone, late, stolen])
    #expect(try devices.has("forged-0", desk) && devices.has("later", stolen))
    #expect(Set([desk, phone, late, stolen].map(\.digest)).count == 1)
  }

  @Test(
    "what came of a removed device before its removal was known goes on as a stream of its own, with everybody",
    arguments: ObjectPlace.Kind.allCases)
  func surplus(kind: ObjectPlace.Kind) throws {
    let devices = try Devices(kind)
    let stores = try devices.vault("desk", "phone", "lost", "tablet")
    let (desk, phone, lost, tablet) = (stores[0], stores[1], stores[2], stores[3])
    for number in 0..<5 {
      try devices.write("late-\(number)", in: lost)
      // The tablet gets less of it.
      for store in number < 3 ? [phone, tablet] : [phone] {
        _ = try StoreCarrier(lost).sync(store, options: SyncOptions())
      }
    }
    // Whoever has seen a commit says so in its own.
    for store in [phone, tablet] { try devices.write("seen-\(store.name)", in: store) }
    try devices.newCode(desk, without: lost)
    try devices.sync(desk)
    let members = [desk, tablet, phone]
    try devices.settle(members)
    for store in members {
      #expect(try devices.has("late-4", store) && devices.has("seen-phone", store))
      #expect(try store.roots() == desk.roots() && store.digest == desk.digest)
      #expect(try store.streamHead(of: lost.replica)?.commit.rawValue == 2)
      #expect(
        try VaultKeys.faults(of: store) == [] && store.verify().streams.allSatisfy { $0.finding == nil })
      #expect(try devices.sync(store).folder?.written == 0)
    }
    // Neither a dialogue among them nor the device that comes back finds anything else.
    #expect(try StoreCarrier(phone).sync(desk, options: SyncOptions()).skipped == [])
    let replica = lost.replica
    try devices.join(lost)
    try devices.settle(members + [lost])
    let report = try StoreCarrier(lost).sync(desk, options: SyncOptions())
    #expect(report.skipped == [] && report.forks == [] && report.received.commits == 0)
    #expect(try lost.replica != replica && lost.roots() == desk.roots() && lost.digest == desk.digest)
  }

  @Test(
    "streams that a member makes up keep no device out",
    arguments: [ObjectPlace.Kind.directory, .memory])
  func madeUpStreams(kind: ObjectPlace.Kind) throws {
    let devices = try Devices(kind)
    let lost = try devices.store("lost", writing: 1)
    devices.streamsMax = 16
    let desk = try devices.store("desk", writing: 1)
    try devices.sync(desk, encrypts: true)
    try devices.join(lost)
    try devices.sync(lost)
    for number in 1...20 as ClosedRange<UInt64> {
      var stream = MadeUpStream(number, "device \(number)")
      try stream.append("of \(number)")
      guard case .appended = try lost.receive(stream.run()) else {
        Issue.record("a made-up stream")
        continue
      }
    }
    try devices.settle([lost, desk])
    let report = try devices.sync(desk)
    #expect(report.skipped.count == 9 && report.skipped.allSatisfy { $0.cause == .full })
    #expect(
      report.skipped.first?.reason
        == "the store has 11 streams of devices that are no members of the vault, and takes at most 11")
    // Two new devices, which meet the made-up streams first, and a device whose store they filled.
    let (phone, tablet) = (try devices.store("phone", writing: 1), try devices.store("tablet", writing: 1))
    for store in [phone, tablet] {
      try devices.join(store)
      try devices.sync(store)
    }
    try devices.sync(desk)
    try devices.sync(phone)
    for store in [desk, phone] {
      for id in ["desk-0", "lost-0", "phone-0", "tablet-0"] { #expect(try devices.has(id, store), "\(id)") }
    }
    // What was removed stays part of the history, also for a device that comes later.
    try devices.newCode(desk, without: lost)
    try devices.sync(desk)
    let laptop = try devices.store("laptop", writing: 1)
    try devices.join(laptop)
    try devices.sync(laptop)
    #expect(try devices.has("lost-0", laptop))
    try devices.sync(desk)
    #expect(try devices.has("laptop-0", desk))
  }

  @Test("a stream that a removed device makes up under an old key is shown under the name that it made up")
  func madeUpAfterwards() throws {
    let devices = try Devices(.memory)
    let stores = try devices.vault("desk", "stolen")
    let (desk, stolen) = (stores[0], stores[1])
    let hidden = try Devices(.memory)
    for name in try devices.place.names() {
      try hidden.place.replace(name, with: try devices.place.bytes(name))
    }
    try devices.newCode(desk, without: stolen)
    try devices.sync(desk)
    var madeUp = MadeUpStream(1)
    try madeUp.append("forged")
    _ = try stolen.receive(madeUp.run())
    try hidden.sync(stolen)
    for name in try hidden.place.names() {
      try devices.place.replace(name, with: try hidden.place.bytes(name))
    }
    try devices.settle([desk])
    let head = try desk.streamHead(of: madeUp.replica)
    #expect(head?.commit.rawValue == 1 && head?.checkpoint == nil)
    #expect(try VaultKeys(of: desk).members == [desk.replica])
  }

  @Test("a device without the code removes nobody and makes no code")
  func withoutTheCode() throws {
    let devices = try Devices()
    let stores = try devices.vault("desk", "phone")
    var random = SystemRandomNumberGenerator()
    let wrong = RecoveryCode(using: &random).text
    let error = devices.refusal { try devices.newCode(stores[1], without: stores[0], with: wrong) }
    #expect(error?.message == "this is not the recovery code of this vault")
    #expect(throws: HeartlogError.self) { try devices.newCode(stores[1], with: "1234") }
    for store in stores {
      #expect(try store.log.keyFile("recovery") ?? [] == [] && store.log.keyFile("unshown") ?? [] == [])
    }
  }

  @Test("a code that cannot be shown is not made")
  func notShown() throws {
    let devices = try Devices()
    let stores = try devices.vault("desk", "phone")
    struct Full: Error {}
    var keys = try VaultKeys(of: stores[0])
    let before = keys.epochs
    #expect(throws: Full.self) {
      try keys.rotate(code: devices.code, without: stores[1].replica) { _ in throw Full() }
    }
    let after = keys.epochs
    #expect(after == before)
    let fresh = try devices.store("fresh")
    var first = try VaultKeys(of: fresh)
    #expect(throws: Full.self) { try first.make { _ in throw Full() } }
    #expect(fresh.vaultID?.isEncrypted == false)
  }

  @Test(
    "of two codes that are made at once one is good, the other one is named void, and nobody who was removed reads on"
  )
  func atOnce() throws {
    for _ in 0..<4 {
      let devices = try Devices()
      let stores = try devices.vault("desk", "phone", "tablet", "watch")
      let paper = devices.code
      // One of them is replaced on its device before that knows of the other.
      let first = try devices.newCode(stores[0], without: stores[2], with: paper)
      let codes = [
        try devices.newCode(stores[0], with: first),
        try devices.newCode(stores[1], without: stores[3], with: paper),
      ]
      let members = Array(stores.prefix(2))
      try devices.settle(members)
      let epochs = try devices.epochCount()
      try devices.settle(members)
      #expect(try epochs <= 5 && devices.epochCount() == epochs)
      let current = try members.map { try VaultKeys(of: $0).epochs.first { $0.isCurrent } }
      #expect(current[0] != nil && current[0] == current[1])
      #expect(current[0]?.devices == members.map(\.replica).sorted())
      for store in stores.suffix(2) { #expect(devices.refusal { try devices.sync(store) }?.code == .noKey) }
      let void = try members.map { try VaultKeys(of: $0).voidCode }
      #expect(void.count { $0 == nil } == 1)
      let good = codes[void[0] == nil ? 0 : 1]
      try devices.write("joined", in: stores[0])
      try devices.settle(members)
      for store in stores.suffix(2) { _ = devices.refusal { try devices.sync(store) } }
      #expect(try devices.has("joined", stores[1]) && !devices.has("joined", stores[2]))
      let late = try devices.store("late")
      try devices.join(late, codes[void[0] == nil ? 1 : 0])
      #expect(devices.refusal { try devices.sync(late) }?.code == .noKey)
      try devices.join(late, good)
      try devices.sync(late)
      #expect(try devices.has("joined", late))
    }
  }

  @Test("a member that was offline during three rotations goes on")
  func offline() throws {
    let devices = try Devices()
    let stores = try devices.vault("desk", "phone", "tablet")
    try devices.write("offline", in: stores[2])
    for round in 0..<3 {
      try devices.rotate(stores[round % 2])
      try devices.write("round-\(round)", in: stores[round % 2])
      try devices.settle([stores[0], stores[1]])
    }
    try devices.settle(stores)
    #expect(stores[0].digest == stores[2].digest)
    #expect(try devices.has("round-2", stores[2]) && devices.has("offline", stores[0]))
    #expect(try VaultKeys(of: stores[2]).epochs.map(\.id) == VaultKeys(of: stores[0]).epochs.map(\.id))
    #expect(try devices.epochCount() == 4)
  }

  @Test("an invitation lets one device in, and none after it", arguments: ObjectPlace.Kind.allCases)
  func invitation(kind: ObjectPlace.Kind) throws {
    let devices = try Devices(kind)
    let (desk, phone) = (try devices.store("desk", writing: 3), try devices.store("phone", writing: 2))
    try devices.sync(desk, encrypts: true)
    let key = try devices.invite(desk)
    try devices.accept(phone, key, of: desk)
    #expect(try devices.sync(phone).received.commits == 3)
    // The phone writes, and is read, before anybody has confirmed it.
    try devices.write("early", in: phone)
    try devices.sync(phone)
    try devices.settle([desk, phone])
    #expect(try devices.has("early", desk) && desk.digest == phone.digest)
    // The line is worth nothing any more, and the place keeps no key for it.
    let late = try devices.store("late")
    try devices.accept(late, key, of: desk)
    let error = devices.refusal { try devices.sync(late) }
    #expect(error?.code == .noKey && error?.message.contains("the invitation is not good") == true)
    let name = Admission.objectName(of: key.publicKey.replica, to: try #require(try devices.epochs().first))
    #expect(try !devices.place.names().contains(name))
    // Nobody makes an epoch, and all are quiet.
    #expect(try devices.epochCount() == 1)
    #expect(try devices.sync(desk).folder?.written == 0 && devices.sync(phone).folder?.written == 0)
    // The one that was invited invites.
    try devices.accept(late, try devices.invite(phone), of: phone)
    try devices.sync(late)
    try devices.settle([phone, late])
    #expect(phone.digest == late.digest)
  }

  @Test("of two devices that use one invitation at once neither gets in, and the key is changed")
  func copiedInvitation() throws {
    let devices = try Devices(.memory)
    let desk = try devices.store("desk", writing: 1)
    let (phone, thief) = (try devices.store("phone", writing: 1), try devices.store("thief"))
    try devices.sync(desk, encrypts: true)
    let key = try devices.invite(desk)
    try devices.accept(phone, key, of: desk)
    try devices.sync(phone)
    // The place shows the thief what it was before.
    let used = try devices.place.names().filter { name in
      (try? Admission(try devices.place.bytes(name)))?.kind == .accepts
    }
    let bytes = try devices.place.bytes(try #require(used.first))
    try devices.place.replace(used[0], with: nil)
    try devices.accept(thief, key, of: desk)
    try devices.sync(thief)
    try devices.place.replace(used[0], with: bytes)
    try devices.sync(desk)
    #expect(try devices.epochCount() == 2)
    try devices.write("secret", in: desk)
    try devices.sync(desk)
    for store in [phone, thief] {
      let error = devices.refusal { try devices.sync(store) }
      #expect(error?.code == .noKey && error?.message.contains("another device used its invitation") == true)
      #expect(try !devices.has("secret", store))
    }
    // Nothing that the phone wrote is lost.
    try devices.accept(phone, try devices.invite(desk), of: desk)
    try devices.sync(phone)
    try devices.settle([desk, phone])
    #expect(try devices.has("phone-0", desk) && desk.digest == phone.digest)
    #expect(devices.refusal { try devices.sync(thief) }?.code == .noKey)
  }

  @Test("an invitation is void after its end, a withdrawal, a rotation, and the removal of who made it")
  func voidInvitation() throws {
    let devices = try Devices(.memory)
    let stores = try devices.vault("desk", "laptop")
    let late = try devices.store("late")
    func expectVoid(
      _ key: SigningKey, _ word: String = "the invitation is not good", after milliseconds: Milliseconds = 0
    ) throws {
      try devices.accept(late, key, of: stores[0])
      let error = devices.refusal {
        _ = try devices.place.sync(late) { $0.clock = { StoreOptions.systemTime() + milliseconds } }
      }
      #expect(error?.code == .noKey && error?.message.contains(word) == true, "\(error?.message ?? "")")
    }
    let old = try devices.invite(stores[0])
    try expectVoid(old, "the invitation was good until", after: 3_600_000)
    // A member that sees it withdraws it.
    _ = try devices.place.sync(stores[1]) { $0.clock = { StoreOptions.systemTime() + 3_600_000 } }
    try expectVoid(old)
    let withdrawn = try devices.invite(stores[0])
    var keys = try VaultKeys(of: stores[1])
    #expect(try keys.withdrawInvitations() == 0)
    try devices.sync(stores[1])
    keys = try VaultKeys(of: stores[1])
    #expect(try keys.withdrawInvitations() == 1)
    try devices.sync(stores[1])
    try expectVoid(withdrawn)
    let before = try devices.invite(stores[0])
    try devices.rotate(stores[0])
    try devices.sync(stores[0])
    try expectVoid(before)
    let stolen = try devices.invite(stores[1])
    try devices.sync(stores[0])
    try devices.newCode(stores[0], without: stores[1])
    try devices.sync(stores[0])
    try expectVoid(stolen)
    #expect(try !devices.has("desk-0", late))
    try devices.accept(late, try devices.invite(stores[0]), of: stores[0])
    try devices.sync(late)
    #expect(try devices.has("desk-0", late))
  }

  @Test("a code that was replaced opens nothing that is written later")
  func replacedCode() throws {
    let devices = try Devices()
    let stores = try devices.vault("desk", "phone")
    let old = devices.code
    try devices.newCode(stores[1])
    try devices.write("after", in: stores[1])
    try devices.settle(stores)
    #expect(try devices.has("after", stores[0]))
    let finder = try devices.store("finder")
    try devices.join(finder, old)
    let error = devices.refusal { try devices.sync(finder) }
    #expect(error?.code == .noKey && error?.message.contains("void") == true)
    #expect(try !devices.has("after", finder))
    try devices.join(finder)
    try devices.sync(finder)
    #expect(try devices.has("after", finder))
  }

  @Test("all devices are lost: the code alone brings everything back")
  func onlyTheCode() throws {
    let devices = try Devices()
    do {
      let stores = try devices.vault("desk", "phone")
      try devices.newCode(stores[0])
      try devices.write("last", in: stores[0])
      try devices.settle(stores)
    }
    let fresh = try devices.store("fresh")
    try devices.join(fresh)
    try devices.sync(fresh)
    #expect(try devices.has("last", fresh) && devices.has("phone-1", fresh))
  }

  @Test("a lost code is replaced by a new vault with the same log, which the others join")
  func lostCode() throws {
    let devices = try Devices()
    let stores = try devices.vault("desk", "phone")
    var keys = try VaultKeys(of: stores[0])
    try keys.make(again: true) { devices.code = $0 }
    let next = try ObjectPlace(.directory)
    _ = try next.sync(stores[0])
    try devices.join(stores[1])
    for _ in 0..<2 { for store in stores { _ = try next.sync(store) } }
    try devices.write("again", in: stores[1])
    for store in stores.reversed() { _ = try next.sync(store) }
    #expect(try devices.has("again", stores[0]) && stores[0].vaultID == stores[1].vaultID)
  }

  @Test("devices that join at once make no epoch and no event, and are quiet after two rounds")
  func joiningAtOnce() throws {
    let count = 3
    let devices = try Devices(.memory)
    let desk = try devices.store("desk", writing: 2)
    try devices.sync(desk, encrypts: true)
    let others = try (0..<count).map { try devices.store("device-\($0)", writing: 1) }
    for store in others { try devices.join(store) }
    // All have listed before any of them puts.
    let failures = Mutex(0)
    let objects = devices.place.objects
    DispatchQueue.concurrentPerform(iterations: count) { index in
      let report = try? PlaceCarrier(objects).sync(others[index], options: SyncOptions())
      if report == nil { failures.withLock { $0 += 1 } }
    }
    #expect(failures.withLock { $0 } == 0)
    let all = [desk] + others
    for _ in 0..<2 { for store in all { try devices.sync(store) } }
    let names = try devices.place.names().filter { $0.hasPrefix("keys/") }
    for store in all {
      let report = try devices.sync(store)
      #expect(report.sent.commits == 0 && report.received.commits == 0 && report.folder?.written == 0)
      #expect(try store.streamHead(of: store.replica)?.commit.rawValue == (store.name == "desk" ? 2 : 1))
    }
    #expect(try names.count == 1 + count && devices.epochCount() == 1)
    #expect(try devices.place.names().filter { $0.hasPrefix("keys/") } == names)
    #expect(Set(all.map(\.digest)).count == 1)
    #expect(try VaultKeys(of: desk).members == all.map(\.replica).sorted())
  }

  @Test("a device that a rotation did not know is admitted by a member that knew it")
  func leftOut() throws {
    let devices = try Devices(.memory)
    let stores = try devices.vault("desk", "phone")
    // It joins elsewhere, and the desk does not know of it.
    let other = try ObjectPlace(.memory)
    for name in try devices.place.names() { try other.replace(name, with: try devices.place.bytes(name)) }
    let late = try devices.store("late", writing: 1)
    try devices.join(late)
    for store in [late, stores[1]] { _ = try other.sync(store) }
    try devices.newCode(stores[0])
    try devices.sync(stores[0])
    #expect(devices.refusal { try devices.sync(late) }?.message.contains("no member since") == true)
    try devices.sync(stores[1])
    try devices.sync(late)
    try devices.settle(stores + [late])
    #expect(try devices.has("late-0", stores[0]) && devices.epochCount() == 2)
  }

  @Test("a device that joined before a rotation was put is in, unless a removed device admitted it")
  func joinedMeanwhile() throws {
    let devices = try Devices(.memory)
    let stores = try devices.vault("desk", "thief")
    let late = try devices.store("late", writing: 1)
    try devices.join(late)
    try devices.newCode(stores[0], without: stores[1])
    try devices.sync(late)
    let friend = try devices.store("friend")
    var ring = try VaultKeys(of: stores[1])
    let epoch = try ring.admit(try VaultKeys(of: friend).announcement(in: try #require(stores[1].vaultID)))
    for object in ring.objects where object.name.hasPrefix("\(epoch.id.objectName)-") {
      try devices.place.replace(object.name, with: object.bytes)
    }
    try devices.sync(stores[0])
    try devices.sync(late)
    try devices.settle([stores[0], late])
    #expect(try devices.has("late-0", stores[0]))
    #expect(try VaultKeys(of: stores[0]).members == [stores[0], late].map(\.replica).sorted())
  }

  @Test(
    "whom only a removed device admitted is left out and named, and comes back with the code or a member",
    arguments: [ObjectPlace.Kind.directory, .memory])
  func admittedByTheRemoved(kind: ObjectPlace.Kind) throws {
    let devices = try Devices(kind)
    let stores = try devices.vault("desk", "phone", "laptop")
    let (desk, phone, laptop) = (stores[0], stores[1], stores[2])
    let (tablet, watch) = (try devices.store("tablet", writing: 1), try devices.store("watch", writing: 1))
    try devices.pair(tablet, with: phone)
    try devices.pair(watch, with: tablet)
    try devices.settle(stores + [tablet, watch])
    // The others give it the key of a later epoch, and a new code names it.
    try devices.rotate(laptop)
    try devices.settle(stores + [tablet, watch])
    try devices.newCode(desk)
    try devices.settle(stores + [tablet, watch])
    try devices.write("before", in: tablet)
    try devices.write("before", in: watch)
    let leftOut = try VaultKeys(of: desk).leftOut(without: phone.replica)
    #expect(leftOut == [tablet, watch].map(\.replica).sorted())
    try devices.newCode(desk, without: phone)
    try devices.write("secret", in: desk)
    try devices.settle([desk, laptop])
    for store in [tablet, watch] {
      let error = devices.refusal { try devices.sync(store) }
      #expect(error?.code == .noKey && error?.message.contains("only a device that was removed") == true)
      #expect(try error?.message.contains("keys join -") == true && !devices.has("secret", store))
      #expect(try VaultKeys.faults(of: store).map(\.kind) == [.notAMember])
    }
    try devices.settle([desk, laptop])
    #expect(try VaultKeys(of: desk).members == [desk, laptop].map(\.replica).sorted())
    let replicas = [tablet, watch].map(\.replica)
    try devices.join(tablet)
    try devices.pair(watch, with: laptop)
    let all = [desk, laptop, tablet, watch]
    try devices.settle(all)
    #expect([tablet, watch].map(\.replica) == replicas && Set(all.map(\.digest)).count == 1)
    #expect(try devices.has("secret", watch) && VaultKeys(of: desk).members == all.map(\.replica).sorted())
    // Nobody needs the removed one any more.
    try devices.newCode(laptop)
    try devices.settle(all)
    #expect(try VaultKeys(of: watch).members == all.map(\.replica).sorted())
  }

  @Test("a member that makes up 2,000 devices can be removed, and they go with it")
  func madeUpDevices() throws {
    let devices = try Devices(.memory)
    let stores = try devices.vault("desk", "thief")
    let (desk, thief) = (stores[0], stores[1])
    let (ring, count) = (try VaultKeys(of: thief), 2_000)
    let (epoch, key) = (try #require(ring.current), try #require(try thief.deviceKey))
    var random = SystemRandomNumberGenerator()
    for _ in 0..<count {
      let madeUp = SigningKey(using: &random)
      let member = try Member(madeUp, agreementKey: AgreementKey(of: madeUp), vault: epoch.vault)
      let admission = try Admission(
        of: member, to: epoch, key: try #require(ring.keys[epoch.id]), by: key, using: &random)
      try devices.place.objects.put(admission.objectName, admission.bytes)
    }
    try devices.sync(desk)
    let keys = try VaultKeys(of: desk)
    #expect(keys.members.count == count + 2 && keys.leftOut(without: thief.replica).count == count)
    try devices.newCode(desk, without: thief)
    try devices.write("after", in: desk)
    try devices.sync(desk)
    #expect(try VaultKeys(of: desk).members == [desk.replica] && devices.epochCount() == 2)
    let late = try devices.store("late")
    try devices.join(late)
    try devices.sync(late)
    #expect(try devices.has("after", late))
    // Nobody reads them again: two epochs, and the admissions of the thief and of the late device are left.
    #expect(try devices.place.names().count { $0.hasPrefix("keys/") } == 4)
  }

  @Test("a device that was admitted by the one that it removes goes on, and others learn of it")
  func removingTheAdmitter() throws {
    let devices = try Devices(.memory)
    let stores = try devices.vault("phone", "desk")
    let (phone, desk) = (stores[0], stores[1])
    let tablet = try devices.store("tablet", writing: 1)
    try devices.pair(tablet, with: phone)
    try devices.settle(stores + [tablet])
    try devices.newCode(tablet, without: phone)
    try devices.settle([tablet, desk])
    try devices.write("after", in: tablet)
    try devices.settle([tablet, desk])
    #expect(try devices.has("after", desk) && devices.epochCount() == 2)
    #expect(try VaultKeys(of: desk).members == [tablet, desk].map(\.replica).sorted())
  }

  @Test("an admission that counts for nothing keeps nobody out", arguments: ObjectPlace.Kind.allCases)
  func squatting(kind: ObjectPlace.Kind) throws {
    let devices = try Devices(kind)
    let stores = try devices.vault("desk", "phone", "thief")
    try devices.newCode(stores[0], without: stores[2])
    try devices.settle([stores[0], stores[1]])
    // The thief has the epoch, and not its key. It puts what it signed where the admission of a new device will be.
    let ring = try VaultKeys(of: stores[0])
    let epoch = try #require(ring.current)
    let key = try #require(try stores[2].deviceKey)
    let late = try devices.store("late", writing: 1)
    let member = try VaultKeys(of: late).announcement(in: epoch.vault)
    var random = SystemRandomNumberGenerator()
    let admission = try Admission(
      of: member, to: epoch, key: try #require(ring.keys[epoch.id]), by: key, using: &random)
    try devices.place.objects.put(admission.objectName, admission.bytes)
    try devices.join(late)
    try devices.sync(late)
    try devices.settle([stores[0], stores[1], late])
    #expect(try devices.has("late-0", stores[1]) && devices.has("desk-1", late))
  }

  @Test("nothing that a stranger puts in a plain folder makes a vault encrypted, and no event does")
  func madeUp() throws {
    let devices = try Devices()
    let (desk, thief) = (try devices.store("desk", writing: 2), try devices.store("thief", writing: 1))
    try devices.sync(desk)
    // A program of its own writes where only the store may.
    var stranger = MadeUpStream(1, "stranger")
    try stranger.append("epoch-7919", in: "heartlog.vault")
    guard case .appended = try thief.receive(stranger.run()) else {
      throw HeartlogError(.invalid, "a made-up stream")
    }
    try devices.sync(thief)
    try devices.sync(desk)
    #expect(try devices.has("thief-0", desk) && !VaultKeys(of: desk).isEncrypted)
    // It is shown, and can be undone.
    let library = try desk.library("heartlog.vault")
    #expect(library.items().count(where: \.isFavorite) == 1)
    _ = try desk.undo(.commit(stranger.replica, CommitNumber(rawValue: 1)))
    #expect(library.items().count(where: \.isFavorite) == 0)
    var keys = try VaultKeys(of: desk)
    try keys.make { devices.code = $0 }
    #expect(desk.vaultID?.isEncrypted == true)
  }
}
