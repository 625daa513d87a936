import HeartlogFiles
import HeartlogTesting
import TestSupport
import Testing

@testable import Heartlog
@testable import HeartlogFormat
@testable import HeartlogSync

@Suite("Streams that their devices sign")
struct SignedSyncTests {
  private static func store(
    _ name: String, signs: Bool = true, eventsPerRun: Int = Limits.blockEventsMax
  ) throws -> FavoritesStore {
    var options = StoreOptions()
    options.name = name
    options.snapshots = .manual
    if !signs { options.deviceKey = .none }
    options.changeStorage = { $0.runEventsMax = eventsPerRun }
    return try FavoritesStore.inMemory(options: options)
  }

  private static func write(_ count: Int, to store: FavoritesStore, tag: String = "") throws {
    let papers = try store.library("papers")
    for index in 0..<count { try papers.add("\(store.name)-\(tag)\(index)") }
  }

  @discardableResult
  private static func sync(
    _ store: FavoritesStore, with peer: FavoritesStore, _ options: SyncOptions = SyncOptions()
  ) throws -> SyncReport {
    try StoreCarrier(peer, description: "peer").sync(store, options: options)
  }

  private static func checkpoint(of replica: ReplicaID, in store: FavoritesStore) throws -> SignedCheckpoint {
    try #require(try store.streamHeads().first { $0.replica == replica }?.checkpoint)
  }

  @Test("a sync leaves both ends with both checkpoints, each cosigned by the other")
  func both() throws {
    let (phone, tablet) = (try Self.store("phone"), try Self.store("tablet"))
    try Self.write(5, to: phone)
    try Self.write(3, to: tablet)
    try Self.sync(phone, with: tablet)
    #expect(phone.digest == tablet.digest)
    for (owner, count) in [(phone, UInt64(5)), (tablet, 3)] {
      let witness = owner === phone ? tablet : phone
      for store in [phone, tablet] {
        let signed = try Self.checkpoint(of: owner.replica, in: store)
        #expect(signed.checkpoint.size == count)
        #expect(signed.isSigned)
        #expect(signed.cosignatures.map(\.witness) == [witness.replica])
        let key = try Self.checkpoint(of: witness.replica, in: store).key
        #expect(signed.cosignatures.allSatisfy { $0.isValid(for: signed.note, key: key) })
      }
    }
    let again = try Self.sync(phone, with: tablet)
    #expect(again.received.commits == 0 && again.sent.commits == 0 && again.isComplete)
  }

  @Test("commits that a device has not signed yet do not leave its store through another one")
  func relay() throws {
    let (phone, relay, tablet) = (try Self.store("phone"), try Self.store("relay"), try Self.store("tablet"))
    try Self.write(4, to: phone)
    try Self.sync(relay, with: phone)
    try Self.sync(tablet, with: relay)
    #expect(try Self.checkpoint(of: phone.replica, in: tablet).checkpoint.size == 4)
    #expect(phone.digest == tablet.digest)
  }

  @Test("what a relay adds to a signed stream is held, and everything else arrives", arguments: 1...3)
  func forged(_ kind: Int) throws {
    let (phone, tablet) = (try Self.store("phone", eventsPerRun: kind == 3 ? 1 : 4), try Self.store("tablet"))
    try Self.write(4, to: phone)
    if kind == 2 {
      try Self.sync(tablet, with: phone)
      try Self.write(2, to: phone, tag: "more")
    }
    let replica = phone.replica
    let (one, other) = try DescriptorChannel.pair()
    let relay = ForgingChannel(other, answering: kind == 2 ? 1 : 0) { message in
      switch (message, kind) {
      // The commits lead to a root of their own.
      case (.run(let run), 1):
        let forged = try #require(run.file(of: replica, called: "", nil).runs.first).forged()
        return .run(run.with(forged.body, root: forged.root))
      // Says that the stream is not signed, once the tablet knows that it is.
      case (.answer(var answer), 2):
        answer.facts = []
        answer.states = answer.states.map { state in
          guard case .other(let position) = state else { return state }
          return .other(.init(commit: position.commit, isEnded: false, root: position.root))
        }
        return .answer(answer)
      case (.run(let run), 2), (.run(let run), 3): return .run(run.with(run.body, root: run.root))
      default: return message
      }
    }
    let before = tablet.digest
    let report: SyncReport
    do { report = try Dialogue.between(tablet, phone, channels: (one, relay)).calling.get() } catch let error
      as HeartlogError
    {
      #expect(error.code == .peer)
      #expect(tablet.digest == before)
      return
    }
    #expect(report.received.commits == 0)
    #expect(report.skipped.map(\.replica) == [phone.replica])
    #expect(tablet.digest == before)
    let honest = try Self.sync(tablet, with: phone)
    #expect(honest.isComplete && phone.digest == tablet.digest)
  }

  @Test("a store without a key syncs with one that has a key, comes into its vault, and shows as unsigned")
  func unsigned() throws {
    let (phone, old) = (try Self.store("phone"), try Self.store("old", signs: false))
    try Self.write(4, to: phone)
    try Self.write(4, to: old)
    #expect(old.vault == nil)
    try Self.sync(phone, with: old)
    try Self.sync(old, with: phone)
    #expect(phone.digest == old.digest)
    #expect(old.vault?.id == phone.vault?.id && old.vault?.isEstablished == true)
    #expect(try phone.streamHeads().first { $0.replica == old.replica }?.checkpoint == nil)
    #expect(try Self.checkpoint(of: phone.replica, in: old).checkpoint.size == 4)
    #expect(try Self.checkpoint(of: phone.replica, in: old).cosignatures.isEmpty)
  }

  @Test("a history that its device signed takes the name from one that somebody else made up")
  func setAside() throws {
    let phone = try Self.store("phone")
    let files = MemoryFileSystem()
    let tablet = try FavoritesStore(at: "/tablet", on: files, options: StoreOptions())
    try Self.write(4, to: phone)
    try phone.prepareToShip()
    // The run is sound and nothing shows yet that the phone has a key.
    let run = try phone.streamRun(of: phone.replica, after: 0, upTo: CommitNumber(rawValue: 4))
    let forged = try #require(run).forged()
    guard case .appended = try tablet.receive(forged) else { return #expect(Bool(false), "not appended") }
    #expect(phone.digest != tablet.digest)
    try tablet.snapshot()
    try Self.sync(tablet, with: phone)
    #expect(tablet.findings.isEmpty)
    let again = try FavoritesStore(at: "/tablet", on: files, options: StoreOptions())
    #expect(again.findings.isEmpty && again.digest == tablet.digest)
    #expect(try Self.checkpoint(of: phone.replica, in: tablet).checkpoint.size == 4)
    // What was made up stays, as a stream of nobody's.
    #expect(try tablet.streamHeads().count == 2)
    #expect(try tablet.library("papers").contains("forged"))
    for index in 0..<4 { #expect(try tablet.library("papers").contains("phone-\(index)")) }
  }

  @Test("the run that completes what a device signed brings its first checkpoint with it")
  func firstCheckpoint() throws {
    let phone = try Self.store("phone")
    let tablet = try Self.store("tablet")
    try Self.write(3, to: phone)
    try phone.prepareToShip()
    let head = try #require(try phone.streamHeads().first)
    let signed = try #require(head.checkpoint)
    var part = try #require(try phone.streamRun(of: phone.replica, after: 0, upTo: CommitNumber(rawValue: 1)))
    part.proof = RunProof(
      checkpoint: signed, extensionRoots: try phone.treeExtension(of: phone.replica, from: 1, to: 3))
    guard case .appended = try tablet.receive(part) else { return #expect(Bool(false), "not appended") }
    #expect(try tablet.streamHeads().map(\.checkpoint) == [nil])
    var run = try #require(try phone.streamRun(of: phone.replica, after: 1, upTo: head.commit))
    run.proof = RunProof(checkpoint: signed, extensionRoots: [])
    guard case .appended = try tablet.receive(run) else { return #expect(Bool(false), "not appended") }
    // A sync at the same time may ask now, before the receiving one has taken the checkpoint.
    #expect(try tablet.streamHeads().map(\.checkpoint) == [signed])
  }

  /// A tablet that got the phone's commits without their signature, and was told that the stream ends after the second.
  private static func misled(_ phone: FavoritesStore) throws -> FavoritesStore {
    let tablet = try store("tablet")
    let run = try #require(try phone.streamRun(of: phone.replica, after: 0, upTo: CommitNumber(rawValue: 3)))
    guard case .appended = try tablet.receive(run) else { throw HeartlogError(.peer, "not appended") }
    try tablet.endStream(phone.replica, after: CommitNumber(rawValue: 2))
    return tablet
  }

  @Test("an end that somebody made up gives way to what the device signed after it, at either end")
  func madeUpEnd() throws {
    for isCalling in [true, false] {
      let phone = try Self.store("phone")
      try Self.write(4, to: phone)
      let tablet = try Self.misled(phone)
      for _ in 0..<2 {
        _ = try? isCalling ? Self.sync(tablet, with: phone) : Self.sync(phone, with: tablet)
      }
      #expect(try Self.checkpoint(of: phone.replica, in: tablet).checkpoint.size == 4)
      let head = try #require(try tablet.streamHeads().first { $0.replica == phone.replica })
      #expect(!head.isEnded && head.commit == CommitNumber(rawValue: 4))
      #expect(phone.digest == tablet.digest)
      #expect(try Self.sync(tablet, with: phone).isComplete)
      #expect(tablet.findings.isEmpty)
    }
  }

  @Test("an end that somebody made up in a folder stops nobody", arguments: ObjectPlace.Kind.allCases)
  func madeUpEndInFolder(kind: ObjectPlace.Kind) throws {
    let folder = try ObjectPlace(kind)
    let phone = try Self.store("phone")
    let replica = phone.replica
    try Self.write(4, to: phone)
    let tablet = try Self.misled(phone)
    // The tablet says in the folder that the stream has ended.
    _ = try folder.sync(tablet)
    _ = try folder.sync(phone)
    let laptop = try Self.store("laptop")
    for _ in 0..<2 {
      for store in [laptop, tablet, phone] { _ = try folder.sync(store) }
    }
    for store in [laptop, tablet] {
      let head = try #require(try store.streamHeads().first { $0.replica == phone.replica })
      #expect(!head.isEnded && head.commit == CommitNumber(rawValue: 4) && head.checkpoint != nil)
      #expect(store.digest == phone.digest)
    }
    // Nor does it make the phone another replica, although it had signed nothing when it met the file.
    #expect(phone.replica == replica)
  }

  @Test(
    "devices that meet only in a folder verify, cosign and agree on a vault",
    arguments: ObjectPlace.Kind.allCases)
  func folder(kind: ObjectPlace.Kind) throws {
    let folder = try ObjectPlace(kind)
    let stores = try ["a", "b", "c"].map { try Self.store($0) }
    // A process that syncs again and again says every ten minutes what it has seen.
    var time: Milliseconds = 1_772_438_400_000
    func sync(_ store: FavoritesStore) throws -> SyncReport {
      time += 600_000
      let now = time
      return try folder.sync(store) { $0.clock = { now } }
    }
    for round in 0..<4 {
      for store in stores {
        try Self.write(2, to: store, tag: "\(round)-")
        _ = try sync(store)
      }
    }
    for _ in 0..<3 { for store in stores { #expect(try sync(store).isComplete) } }
    #expect(Set(stores.map(\.digest)).count == 1)
    #expect(Set(stores.map { $0.vault?.id }).count == 1)
    for owner in stores {
      for store in stores {
        let signed = try Self.checkpoint(of: owner.replica, in: store)
        #expect(signed.checkpoint.size == 8)
        #expect(signed.cosignatures.count == 2)
      }
    }
    let quiet = try sync(stores[0])
    #expect(quiet.received.commits == 0 && quiet.folder?.written == 0)
  }

  @Test("a process that syncs again and again says every ten minutes what it has seen")
  func statements() throws {
    let folder = try ObjectPlace(.parts)
    let (phone, tablet) = (try Self.store("phone"), try Self.store("tablet"))
    var time: Milliseconds = 1_772_438_400_000
    func statement(after milliseconds: Milliseconds, count: Int) throws -> UInt64? {
      time += milliseconds
      let now = time
      if count > 0 { try Self.write(count, to: phone, tag: "\(now)-") }
      for store in [phone, tablet] { _ = try folder.sync(store) { $0.clock = { now } } }
      var catalogue = ObjectCatalogue()
      try catalogue.update(from: folder.objects, SyncOptions())
      return FolderListing(catalogue).checkpoints.first {
        $0.writer == tablet.replica && $0.stream == phone.replica && $0.name.isEnd
      }?.name.last
    }
    let first = try statement(after: 0, count: 2)
    #expect(first == 2)
    #expect(try statement(after: 1_000, count: 1) == 2)
    #expect(try statement(after: 598_999, count: 1) == 2)
    #expect(try statement(after: 1, count: 0) == 4)
    #expect(phone.digest == tablet.digest)
  }

  @Test(
    "a run file that is gone is put again, with its proof",
    arguments: ObjectPlace.Kind.allCases)
  func lostRunFile(kind: ObjectPlace.Kind) throws {
    let folder = try ObjectPlace(kind)
    let phone = try Self.store("phone")
    try Self.write(3, to: phone)
    _ = try folder.sync(phone)
    let names = try folder.names()
    let run = try #require(names.first { $0.hasSuffix(".run") })
    try folder.replace(run, with: nil)
    // The app starts again.
    _ = try PlaceCarrier(folder.objects).sync(phone, options: SyncOptions())
    #expect(try folder.names() == names)
    let late = try Self.store("late")
    #expect(try folder.sync(late).isComplete)
    #expect(late.digest == phone.digest)
  }

  @Test("a folder is not mixed with another vault's", arguments: ObjectPlace.Kind.allCases)
  func folderOfAnotherVault(kind: ObjectPlace.Kind) throws {
    let (folder, other) = (try ObjectPlace(kind), try ObjectPlace(kind))
    let stores = try ["a", "b", "c", "d"].map { try Self.store($0) }
    for store in stores { try Self.write(1, to: store) }
    for _ in 0..<2 { for store in stores[..<2] { _ = try folder.sync(store) } }
    for _ in 0..<2 { for store in stores[2...] { _ = try other.sync(store) } }
    let error = #expect(throws: HeartlogError.self) { try other.sync(stores[0]) }
    #expect(error?.code == .otherVault)
    #expect(try stores[0].streamHeads().count == 2)
  }

  // MARK: - Vaults

  @Test("two stores that never synced agree on a vault, and a third one follows")
  func vaults() throws {
    let stores = try ["a", "b", "c"].map { try Self.store($0) }
    for store in stores { try Self.write(1, to: store) }
    try Self.sync(stores[0], with: stores[1])
    let vault = try #require(stores[0].vault)
    #expect(vault.isEstablished && stores[1].vault?.id == vault.id && stores[2].vault?.id != vault.id)
    try Self.sync(stores[2], with: stores[1])
    #expect(stores[2].vault?.id == vault.id)
  }

  @Test("two established vaults do not mix, unless a person means it; then all their devices follow")
  func join() throws {
    let stores = try ["a", "b", "c", "d"].map { try Self.store($0) }
    for store in stores { try Self.write(1, to: store) }
    try Self.sync(stores[0], with: stores[1])
    try Self.sync(stores[2], with: stores[3])
    let error = #expect(throws: HeartlogError.self) { try Self.sync(stores[0], with: stores[2]) }
    #expect(error?.code == .otherVault)
    #expect(try stores[0].streamHeads().count == 2 && stores[2].streamHeads().count == 2)
    var joining = SyncOptions()
    joining.joinsVault = true
    try Self.sync(stores[0], with: stores[2], joining)
    #expect(stores[0].vault?.id == stores[2].vault?.id)
    // `b` was in the vault that `a` left.
    try Self.sync(stores[1], with: stores[0])
    #expect(Set(stores.map { $0.vault?.id }).count == 1)
    for store in stores { try Self.sync(store, with: stores[1]) }
    #expect(Set(stores.map(\.digest)).count == 2 || Set(stores.map(\.digest)).count == 1)
  }

  @Test("who joins takes the vault of the other, even of a store that is new and empty")
  func joinsAnything() {
    var generator = SeededGenerator(seed: 8)
    let ids = (0..<2).map { _ in VaultID.random(using: &generator) }
    // Of equals, the smaller id would win.
    let (small, large) = (min(ids[0], ids[1]), max(ids[0], ids[1]))
    let new = VaultAgreement.Side(membership: VaultMembership(large, isEstablished: false), isEmpty: true)
    for isEmpty in [false, true] {
      let joining = VaultAgreement.Side(
        membership: VaultMembership(small, isEstablished: true), isEmpty: isEmpty, joins: true)
      #expect(VaultAgreement(joining, new) == .vault(large))
    }
  }

  @Test("both ends come to the same vault, whatever they are")
  func symmetry() {
    var generator = SeededGenerator(seed: 7)
    let ids = (0..<3).map { _ in VaultID.random(using: &generator) }
    var sides: [VaultAgreement.Side?] = [nil]
    for id in ids {
      for former in [[], [ids[0]], [ids[1]]] where !former.contains(id) {
        for flags in 0..<8 {
          sides.append(
            VaultAgreement.Side(
              membership: VaultMembership(id, isEstablished: flags & 1 != 0, former: former),
              isEmpty: flags & 2 != 0, joins: flags & 4 != 0))
        }
      }
    }
    for a in sides {
      for b in sides {
        switch (VaultAgreement(a, b), VaultAgreement(b, a)) {
        case (.refused(let mine, let theirs), .refused(let other, let another)):
          #expect(mine == another && theirs == other && a?.isEmpty == false && b?.isEmpty == false)
        case (let one, let other): #expect(one == other, "\(String(describing: a)) \(String(describing: b))")
        }
      }
    }
  }
}

extension ShippedRun {
  /// The run with other commits, and without a proof.
  fileprivate func with(_ body: [UInt8], root: Digest) -> ShippedRun {
    ShippedRun(
      stream: stream, firstCommit: firstCommit, commitCount: commitCount, name: name, root: root,
      extensionRoots: [], body: body)
  }
}
