import HeartlogFiles
import HeartlogStorage
import Testing

@testable import Heartlog
@testable import HeartlogEvents
@testable import HeartlogShipping

/// A device whose files a test can look at.
struct SubscribingDevice {
  let files: MemoryFileSystem
  let store: FavoritesStore

  init(
    _ name: String, takes libraries: Set<String>? = nil,
    on files: MemoryFileSystem = MemoryFileSystem(recording: false)
  ) throws {
    var options = StoreOptions()
    options.name = name
    self.files = files
    store = try FavoritesStore(at: "/store", on: files, options: options)
    if let libraries { try store.subscribe(to: libraries) }
  }

  /// A phone with a paper and a city, and a watch that took only papers from it.
  static func pair() throws -> (phone: SubscribingDevice, watch: SubscribingDevice) {
    let phone = try SubscribingDevice("phone")
    let watch = try SubscribingDevice("watch", takes: ["papers"])
    try phone.add("a", to: "papers")
    try phone.add("berlin", to: "cities")
    try watch.sync(phone)
    return (phone, watch)
  }

  @discardableResult
  func sync(_ peer: SubscribingDevice, speaking version: UInt8 = Message.version) throws -> SyncReport {
    let carrier = StoreCarrier(peer.store, description: "peer")
    guard version != Message.version else { return try carrier.sync(store, options: SyncOptions()) }
    let attempts = SyncAttempts(nil)
    attempts.speak(version)
    return try carrier.hold(store, options: SyncOptions(), attempts: attempts)
  }

  func add(_ ids: String..., to library: String) throws {
    for id in ids { try store.library(library).add(id) }
  }

  func favorites(_ library: String) throws -> [String] {
    try store.library(library).favorites().map(\.id).sorted()
  }

  /// Every event that says anything, from the log.
  func content() throws -> Set<EventID> {
    var found: Set<EventID> = []
    let log = try store.readLog()
    while let commit = try log.next() {
      for (index, record) in commit.records.enumerated() where record.event != nil {
        found.insert(commit.eventID(at: index))
      }
    }
    return found
  }

  /// Checks the files, and that the state is what they lead to.
  func check(_ location: SourceLocation = #_sourceLocation) throws {
    try store.flush()
    let verified = try FavoritesStore.verify(at: "/store", on: files, progress: nil)
    #expect(
      verified.streams.allSatisfy { $0.finding == nil }
        && verified.snapshots.allSatisfy { $0.problem == nil },
      sourceLocation: location)
    #expect(try store.replay(upTo: nil).state.digest == store.digest, sourceLocation: location)
    let again = try FavoritesStore(at: "/store", on: files, options: StoreOptions())
    #expect(again.findings.isEmpty && again.digest == store.digest, sourceLocation: location)
    try again.close()
  }
}

@Suite("Subscriptions to some libraries")
struct SubscribingTests {
  @Test("commits to other libraries arrive, count and verify, but say nothing")
  func withheld() throws {
    let phone = try SubscribingDevice("phone")
    let watch = try SubscribingDevice("watch", takes: ["papers"])
    try phone.add("2006.08594v1", to: "papers")
    try phone.add("berlin", "paris", to: "cities")
    try phone.store.library("settings").set([Field(name: "speed", value: .int64(2))], of: "player")
    try phone.store.library("cities").set(
      [Field(name: "note", value: .string((0..<20_000).map { "\($0)" }.joined()))], of: "berlin")
    let report = try watch.sync(phone)
    #expect(report.received.commits == 5 && report.received.events == 5)
    // The sender withholds it already.
    #expect(report.received.bytes < 10_000)
    #expect(try watch.store.roots() == phone.store.roots())
    #expect(try watch.favorites("papers") == ["2006.08594v1"] && watch.favorites("cities") == [])
    #expect(try watch.store.library("settings").item("player")?.value(of: "speed") == .int64(2))
    let status = try watch.store.status()
    #expect(status.events == 5 && status.eventsWithoutContent == 3 && status.commits == 5)
    #expect(status.subscribedLibraries == ["papers"])
    #expect(try watch.store.hasEverything(of: "papers") && watch.store.hasEverything(of: "settings"))
    #expect(try !watch.store.hasEverything(of: "cities"))
    #expect(try ErasingTests.traces(of: "berlin", in: watch.files, under: "/store") == [])
    try watch.check()
    // What it writes itself is whole, for itself and for others, whatever library it is in.
    try watch.add("rome", to: "cities")
    try phone.sync(watch)
    #expect(try phone.favorites("cities") == ["berlin", "paris", "rome"])
    #expect(try phone.store.coverages().isEmpty)
  }

  @Test("a library that is added later is completed by the next device that has it, and stays complete")
  func adding() throws {
    let phone = try SubscribingDevice("phone")
    let watch = try SubscribingDevice("watch", takes: ["papers"])
    try phone.add("a", "b", to: "papers")
    try phone.add("berlin", to: "cities")
    try watch.sync(phone)
    try watch.store.snapshot()
    let before = try watch.store.roots()
    try watch.store.subscribe(to: ["papers", "cities"])
    #expect(try watch.favorites("cities") == [])
    try phone.add("paris", to: "cities")
    try phone.add("poodle", to: "breeds")
    let report = try watch.sync(phone)
    #expect(report.completedEvents == 1 && report.received.events == 2)
    #expect(try watch.favorites("cities") == ["berlin", "paris"] && watch.favorites("breeds") == [])
    #expect(try watch.store.hasEverything(of: "cities") && !watch.store.hasEverything(of: "breeds"))
    #expect(try watch.store.roots() != before && watch.store.roots() == phone.store.roots())
    try watch.check()
    #expect(try watch.sync(phone).completedEvents == 0)
    try watch.store.subscribe(to: nil)
    #expect(try watch.sync(phone).completedEvents == 1)
    #expect(watch.store.digest == phone.store.digest)
    #expect(try watch.store.coverages().isEmpty && watch.store.status().eventsWithoutContent == 0)
    try watch.check()
  }

  @Test("a device that takes less keeps what it has")
  func taking() throws {
    let phone = try SubscribingDevice("phone")
    let watch = try SubscribingDevice("watch")
    try phone.add("berlin", to: "cities")
    try watch.sync(phone)
    try watch.store.subscribe(to: ["papers"])
    try phone.add("paris", to: "cities")
    try phone.add("a", to: "papers")
    try watch.sync(phone)
    #expect(try watch.favorites("cities") == ["berlin"] && watch.favorites("papers") == ["a"])
    let coverage = try #require(try watch.store.coverages()[phone.store.replica])
    #expect(coverage == Coverage(.only(["papers"]), from: CommitNumber(rawValue: 2)))
    try watch.check()
  }

  @Test("what is passed on without its content is not taken for whole, and is completed by its device")
  func relay() throws {
    let phone = try SubscribingDevice("phone")
    let watch = try SubscribingDevice("watch", takes: ["papers"])
    let laptop = try SubscribingDevice("laptop")
    try phone.add("berlin", to: "cities")
    try laptop.sync(phone)
    try phone.add("a", to: "papers")
    try phone.add("paris", to: "cities")
    try watch.sync(phone)
    try laptop.sync(watch)
    #expect(try laptop.favorites("papers") == ["a"] && laptop.favorites("cities") == ["berlin"])
    #expect(try !laptop.store.hasEverything(of: "cities"))
    let coverage = try #require(try laptop.store.coverages()[phone.store.replica])
    #expect(coverage == Coverage(.only(["papers"]), from: CommitNumber(rawValue: 2)))
    try laptop.check()
    // In either direction.
    #expect(try phone.sync(laptop).completedEvents == 0)
    #expect(laptop.store.digest == phone.store.digest)
    #expect(try laptop.store.coverages().isEmpty)
    try laptop.check()
  }

  @Test("two devices complete each other with what they have")
  func partial() throws {
    let phone = try SubscribingDevice("phone")
    let watch = try SubscribingDevice("watch", takes: ["papers"])
    let tablet = try SubscribingDevice("tablet", takes: ["papers", "cities"])
    try phone.add("a", to: "papers")
    try phone.add("berlin", to: "cities")
    try phone.add("poodle", to: "breeds")
    try watch.sync(phone)
    try tablet.sync(phone)
    // The phone is lost.
    try watch.store.subscribe(to: nil)
    try watch.sync(tablet)
    #expect(try watch.favorites("cities") == ["berlin"] && watch.favorites("breeds") == [])
    #expect(watch.store.digest == tablet.store.digest)
    #expect(try watch.store.hasEverything(of: "cities") && !watch.store.hasEverything(of: "breeds"))
    try watch.check()
  }

  @Test(
    "through a folder, the reader withholds; it writes nothing of partial streams, and is completed from the files",
    arguments: ObjectPlace.Kind.allCases)
  func folder(kind: ObjectPlace.Kind) throws {
    let phone = try SubscribingDevice("phone")
    let watch = try SubscribingDevice("watch", takes: ["papers"])
    let folder = try ObjectPlace(kind)
    try phone.add("a", to: "papers")
    try phone.add("berlin", to: "cities")
    _ = try folder.sync(phone.store)
    try watch.add("b", to: "papers")
    _ = try folder.sync(watch.store)
    #expect(try watch.favorites("papers") == ["a", "b"] && watch.favorites("cities") == [])
    #expect(try ErasingTests.traces(of: "berlin", in: watch.files, under: "/store") == [])
    try watch.check()
    // Of the watch, only its own stream is there; a device that knows only the folder gets everything.
    let laptop = try SubscribingDevice("laptop")
    _ = try folder.sync(laptop.store)
    #expect(try laptop.store.coverages().isEmpty && laptop.favorites("cities") == ["berlin"])
    #expect(laptop.store.digest != watch.store.digest)
    try watch.store.subscribe(to: nil)
    let report = try folder.sync(watch.store)
    #expect(report.completedEvents == 1)
    #expect(watch.store.digest == laptop.store.digest)
    #expect(try watch.store.coverages().isEmpty)
    try watch.check()
  }

  @Test(
    "nothing is written to a folder of a stream that is partial, and no file of it is merged",
    arguments: ObjectPlace.Kind.allCases)
  func publishing(kind: ObjectPlace.Kind) throws {
    let phone = try SubscribingDevice("phone")
    let watch = try SubscribingDevice("watch", takes: ["papers"])
    for number in 0..<3 { try phone.add("\(number)", to: "cities") }
    try watch.sync(phone)
    let folder = try ObjectPlace(kind)
    _ = try folder.sync(watch.store)
    let laptop = try SubscribingDevice("laptop")
    _ = try folder.sync(laptop.store)
    #expect(try laptop.store.streamHeads().allSatisfy { $0.replica != phone.store.replica })
    _ = try folder.sync(phone.store)
    _ = try folder.sync(laptop.store)
    #expect(try laptop.favorites("cities") == ["0", "1", "2"] && laptop.store.coverages().isEmpty)
  }

  @Test("a partial stream is kept out of a dialogue of version 1")
  func version1() throws {
    let phone = try SubscribingDevice("phone")
    let watch = try SubscribingDevice("watch", takes: ["papers"])
    let old = try SubscribingDevice("old")
    try phone.add("berlin", to: "cities")
    try phone.add("a", to: "papers")
    try watch.sync(phone)
    try watch.add("b", to: "papers")
    for (calling, serving) in [(watch, old), (old, watch)] {
      try calling.sync(serving, speaking: 1)
      #expect(try old.favorites("papers") == ["b"])
      #expect(try old.store.streamHeads().map(\.replica) == [watch.store.replica])
    }
    // What the old program has more of is not taken either, and that is said.
    try phone.add("c", to: "papers")
    try old.sync(phone)
    let report = try watch.sync(old, speaking: 1)
    #expect(report.skipped.map(\.replica) == [phone.store.replica] && report.skipped[0].cause == .waiting)
    #expect(try watch.favorites("papers") == ["a", "b"])
    try watch.check()
  }

  @Test("both histories of a partial stream stay partial when it is forked, and both can be completed")
  func fork() throws {
    let files = MemoryFileSystem(recording: false)
    let phone = try SubscribingDevice("phone", on: files)
    let watch = try SubscribingDevice("watch", takes: ["papers"])
    try phone.add("berlin", to: "cities")
    try phone.add("a", to: "papers")
    try phone.store.flush()
    // A copy that does not notice, with the key.
    let copied = try SubscribingDevice("copy", on: files.deepCopy())
    try phone.add("paris", to: "cities")
    try copied.add("rome", to: "cities")
    try copied.add("b", to: "papers")
    try #require(copied.store.replica == phone.store.replica)
    try watch.sync(phone)
    _ = try? copied.sync(watch)
    try copied.sync(watch)
    let ended = try #require(try watch.store.streamHeads().first { $0.isEnded })
    #expect(ended.replica != watch.store.replica)
    #expect(try watch.store.coverages().count >= 2)
    #expect(try watch.favorites("papers") == ["a", "b"] && watch.favorites("cities") == [])
    try watch.check()
    try watch.store.subscribe(to: nil)
    for _ in 0..<2 {
      try watch.sync(copied)
      try watch.sync(phone)
    }
    #expect(try watch.favorites("cities") == ["berlin", "paris", "rome"])
    #expect(try watch.store.coverages().isEmpty)
    try watch.check()
    #expect(watch.store.digest == phone.store.digest)
  }

  @Test("an item of a library that is not taken cannot be erased here; erased content does not come back")
  func erasing() throws {
    let phone = try SubscribingDevice("phone")
    let watch = try SubscribingDevice("watch", takes: ["papers"])
    let laptop = try SubscribingDevice("laptop")
    try phone.add("berlin", "paris", to: "cities")
    try laptop.sync(phone)
    try watch.sync(phone)
    do {
      try watch.store.erase("berlin", in: "cities")
      Issue.record("erased what it cannot name")
    } catch { #expect(error.code == .invalid && error.message.contains("cities")) }
    try phone.store.erase("berlin", in: "cities")
    try watch.sync(phone)
    try watch.store.subscribe(to: nil)
    // The laptop has not heard of the erasure, so the content comes with it, and does not stay.
    try watch.sync(laptop)
    #expect(try watch.favorites("cities") == ["paris"] && laptop.favorites("cities") == ["paris"])
    #expect(try ErasingTests.traces(of: "berlin", in: watch.files, under: "/store") == [])
    #expect(watch.store.digest == phone.store.digest && laptop.store.digest == phone.store.digest)
    try watch.check()
  }

  @Test("what others wrote without this store knowing it is not undone by guesses")
  func undo() throws {
    let phone = try SubscribingDevice("phone")
    let watch = try SubscribingDevice("watch", takes: ["papers"])
    let cities = try phone.store.library("cities")
    try cities.add("x", fields: [Field(name: "title", value: .string("Berlin"))])
    try watch.sync(phone)
    try watch.store.library("cities").set([Field(name: "title", value: .string("wrong"))], of: "x")
    try watch.add("a", to: "papers")
    let last = try #require(watch.store.read(\.heads).first { $0.replica == watch.store.replica })
    #expect(last.commit == CommitNumber(rawValue: 2))
    do {
      _ = try watch.store.undo(.lastCommits(2))
      Issue.record("undone without knowing what was there")
    } catch { #expect(error.code == .invalid && error.message.contains("cities")) }
    #expect(try watch.favorites("papers") == ["a"])
    // Of what it has all of, it knows.
    _ = try watch.store.undo(.lastCommits(1))
    #expect(try watch.favorites("papers") == [])
  }

  @Test(
    "a list that was lost is made again, and nothing counts as whole that is not",
    arguments: ObjectPlace.Kind.allCases)
  func lostList(kind: ObjectPlace.Kind) throws {
    let (phone, watch) = try SubscribingDevice.pair()
    try watch.files.remove("/store/libraries")
    let folder = try ObjectPlace(kind)
    _ = try folder.sync(watch.store)
    let laptop = try SubscribingDevice("laptop")
    _ = try folder.sync(laptop.store)
    #expect(try laptop.store.streamHeads().allSatisfy { $0.replica != phone.store.replica })
    #expect(
      try watch.store.coverages() == [
        phone.store.replica: Coverage(.only([]), from: CommitNumber(rawValue: 1))
      ])
    #expect(try watch.sync(phone).completedEvents == 1)
    #expect(watch.store.digest == phone.store.digest)
    #expect(try watch.store.coverages().isEmpty)
  }

  @Test("a damaged list stops every sync until the store subscribes again; then everything is completed")
  func damagedList() throws {
    let phone = try SubscribingDevice("phone")
    let watch = try SubscribingDevice("watch", takes: ["papers"])
    try phone.add("berlin", to: "cities")
    try phone.add("a", to: "papers")
    try watch.sync(phone)
    var bytes = try watch.files.contents(of: "/store/libraries")
    bytes[20] ^= 1
    try watch.files.replaceContents(of: "/store/libraries", with: bytes)
    do {
      try watch.sync(phone)
      Issue.record("synced without knowing what is missing")
    } catch let error as HeartlogError {
      #expect(
        error.code == .corrupt && error.file == "/store/libraries" && error.message.contains("--libraries"))
    }
    #expect(try watch.favorites("papers") == ["a"])
    let verified = try FavoritesStore.verify(at: "/store", on: watch.files, progress: nil)
    #expect(verified.subscriptionProblem?.file == "/store/libraries")
    #expect(try watch.store.status().events == 2)
    try watch.store.subscribe(to: nil)
    #expect(try watch.sync(phone).completedEvents == 1)
    #expect(watch.store.digest == phone.store.digest)
    #expect(try watch.store.coverages().isEmpty)
  }

  @Test("names that are no libraries' are refused")
  func names() throws {
    let watch = try SubscribingDevice("watch")
    for names in [[], ["Papers"], [""], ["a b"], Set((0...64).map { "l\($0)" })] as [Set<String>] {
      do {
        try watch.store.subscribe(to: names)
        Issue.record("took \(names)")
      } catch { #expect(error.code == .invalid) }
    }
    #expect(try watch.store.subscribedLibraries == nil)
    try watch.store.subscribe(to: Set((0..<64).map { "l\($0)" }))
    #expect(try watch.store.subscribedLibraries?.count == 64)
  }

  @Test("a secret that no event with content confirms is not kept")
  func bogusSecret() throws {
    let phone = try SubscribingDevice("phone")
    let watch = try SubscribingDevice("watch")
    try phone.add("a", to: "papers")
    try phone.add("berlin", to: "cities")
    try phone.store.prepareToShip()
    let head = try #require(try phone.store.streamHeads().first)
    let run = try #require(try phone.store.streamRun(of: head.replica, after: 0, upTo: head.commit))
    let block = try run.body.withUnsafeBytes {
      try BlockEncoding.decode($0, replica: run.replica, firstCommit: run.firstCommit, commitCount: 2)
    }
    // A relay withholds everything, and makes up the secret of which nothing is left.
    let withheld = try #require(LibrarySelection.only([]).redacted(block))
    let forged = Block(
      replica: block.replica, firstCommit: block.firstCommit, headsAtStart: block.headsAtStart,
      secrets: [
        SegmentSecret(firstCommit: block.firstCommit, kind: .whole(Digest([UInt8](repeating: 7, count: 32))))
      ],
      commits: withheld.commits)
    var received = StreamRun(
      replica: run.replica, name: run.name, firstCommit: run.firstCommit, commitCount: 2,
      body: try BlockEncoding.encode(forged), root: run.root, libraries: .only([]))
    received.proof = RunProof(checkpoint: try #require(head.checkpoint), extensionRoots: [])
    #expect(try watch.store.receive(received) == .appended(commits: 2, events: 2, changedItems: 0))
    #expect(try watch.sync(phone).completedEvents == 2)
    #expect(watch.store.digest == phone.store.digest)
    try watch.store.seal()
    try watch.check()
  }

  @Test("a relay that withholds content in silence is found out")
  func silentRelay() throws {
    let phone = try SubscribingDevice("phone")
    let watch = try SubscribingDevice("watch")
    try phone.add("a", to: "papers")
    try phone.add("berlin", to: "cities")
    try phone.store.prepareToShip()
    let head = try #require(try phone.store.streamHeads().first)
    let whole = try #require(try phone.store.streamRun(of: head.replica, after: 0, upTo: head.commit))
    var run = try #require(try phone.store.redacted(whole, to: .only(["papers"])))
    run.proof = RunProof(checkpoint: try #require(head.checkpoint), extensionRoots: [])
    #expect(run.libraries == .all)
    #expect(try watch.store.receive(run) == .appended(commits: 2, events: 2, changedItems: 1))
    let partial = [phone.store.replica: Coverage(.only([]), from: CommitNumber(rawValue: 1))]
    #expect(try watch.store.coverages() == partial)
    // Nor does it help to answer with the same when the content is asked for.
    #expect(try watch.store.complete(with: run) == 0)
    #expect(try watch.store.coverages() == partial)
    #expect(try watch.sync(phone).completedEvents == 1)
    #expect(watch.store.digest == phone.store.digest)
    #expect(try watch.store.coverages().isEmpty)
    try watch.check()
  }

  @Test("what an erasure explains is not missing, also if the erasure arrives after it")
  func explained() throws {
    let phone = try SubscribingDevice("phone")
    let laptop = try SubscribingDevice("laptop")
    let desk = try SubscribingDevice("desk")
    try phone.add("berlin", "paris", to: "cities")
    try laptop.sync(phone)
    // In another stream than what it erases; whichever comes first.
    try laptop.store.erase("berlin", in: "cities")
    try phone.sync(laptop)
    let report = try desk.sync(laptop)
    #expect(report.completedEvents == 0)
    #expect(desk.store.digest == phone.store.digest)
    #expect(try desk.store.coverages().isEmpty)
    #expect(try desk.sync(phone).completedEvents == 0)
    try desk.check()
  }

  @Test("a backup of a partial store restores what was partial as partial")
  func backup() throws {
    let (phone, watch) = try SubscribingDevice.pair()
    for path in ["/folder", "/one.backup"] {
      _ = try watch.store.backUp(to: path, on: watch.files)
      _ = try FavoritesStore.restoreBackup(
        at: path, to: path + "-restored", on: watch.files, options: StoreOptions())
      let restored = try FavoritesStore(at: path + "-restored", on: watch.files, options: StoreOptions())
      #expect(restored.digest == watch.store.digest)
      #expect(try restored.coverages() == watch.store.coverages())
      #expect(try restored.subscribedLibraries == ["papers"])
      try restored.close()
    }
    // What arrived since is in the next backup, also if the store takes less again by then.
    try watch.store.subscribe(to: nil)
    try watch.sync(phone)
    try watch.store.subscribe(to: ["papers"])
    _ = try watch.store.backUp(to: "/one.backup", on: watch.files)
    #expect(
      try FavoritesStore.checkBackup(at: "/one.backup", on: watch.files).digest == phone.store.digest)
    do {
      _ = try watch.store.backUp(to: "/folder", on: watch.files)
      Issue.record("a backup that lacks content was taken for complete")
    } catch { #expect(error.code == .invalid && error.message.contains("content")) }
  }

  @Test("a backup is continued after new commits arrived without content")
  func narrowedBackup() throws {
    let phone = try SubscribingDevice("phone")
    let watch = try SubscribingDevice("watch", takes: ["papers"])
    try phone.add("berlin", to: "cities")
    try watch.sync(phone)
    try watch.store.subscribe(to: ["papers", "cities"])
    try watch.sync(phone)
    _ = try watch.store.backUp(to: "/folder", on: watch.files)
    try watch.store.subscribe(to: ["papers"])
    try phone.add("paris", to: "cities")
    try watch.sync(phone)
    let report = try watch.store.backUp(to: "/folder", on: watch.files)
    #expect(report.newCommits == 1 && report.digest == watch.store.digest)
  }

  @Test("content that a peer makes up is not taken, and stops nothing else")
  func madeUpContent() throws {
    let (phone, watch) = try SubscribingDevice.pair()
    try watch.store.subscribe(to: nil)
    try phone.add("b", to: "papers")
    let relay = Relay(phone.store)
    relay.change.withLock { change in change = { $0.firstCommit.rawValue <= 2 ? Relay.forged($0) : $0 } }
    let report = try StoreCarrier(streams: relay, description: "liar").sync(
      streams: watch.store, options: SyncOptions())
    #expect(report.skipped.map(\.cause) == [.refused] && report.received.commits == 1)
    #expect(try watch.favorites("papers") == ["a", "b"] && watch.favorites("cities") == [])
    try watch.check()
    #expect(try watch.sync(phone).completedEvents == 1)
    #expect(watch.store.digest == phone.store.digest)
    try watch.check()
  }

  @Test("a file of nonsense in a folder stops no other file")
  func nonsense() throws {
    let phone = try SubscribingDevice("phone")
    let watch = try SubscribingDevice("watch", takes: ["papers"])
    try phone.add("a", to: "papers")
    try phone.add("berlin", to: "cities")
    let files = MemoryFileSystem(recording: false)
    try files.createDirectory("/cloud")
    let carrier = FolderCarrier("/cloud", on: files)
    _ = try carrier.sync(phone.store, options: SyncOptions())
    _ = try carrier.sync(watch.store, options: SyncOptions())
    try watch.store.subscribe(to: nil)
    let head = try #require(try phone.store.streamHeads().first)
    let run = StreamRun(
      replica: head.replica, name: head.name, firstCommit: CommitNumber(rawValue: 1), commitCount: 2,
      body: [1, 2, 3], root: head.root)
    let file = RunFile(replica: head.replica, name: head.name, firstCommit: 1, runs: [run]).encoded()
    let folder = "/cloud/0123456789abcdef0123456789abcdef"
    try files.createDirectory(folder)
    try files.createDirectory("\(folder)/\(head.replica)")
    let path = "\(folder)/\(head.replica)/\(file.name.text)"
    _ = try files.open(path, .createNew)
    try files.replaceContents(of: path, with: file.bytes)
    try watch.add("b", to: "papers")
    for _ in 0..<2 { _ = try carrier.sync(watch.store, options: SyncOptions()) }
    _ = try carrier.sync(phone.store, options: SyncOptions())
    #expect(try phone.favorites("papers") == ["a", "b"])
    try files.remove(path)
    _ = try carrier.sync(watch.store, options: SyncOptions())
    #expect(watch.store.digest == phone.store.digest)
  }

  @Test("a relay that lies about where a segment begins breaks nothing, also when the segments are joined")
  func segmentStart() throws {
    let phone = try SubscribingDevice("phone")
    let watch = try SubscribingDevice("watch")
    for number in 0..<30 { try phone.add("\(number)", to: "papers") }
    try phone.store.prepareToShip()
    let head = try #require(try phone.store.streamHeads().first)
    for (first, last) in [(1, 10), (11, 20), (21, 30)] as [(UInt64, UInt64)] {
      let honest = try #require(
        try phone.store.streamRun(of: head.replica, after: first - 1, upTo: CommitNumber(rawValue: last)))
      var run = honest
      if first == 11 {
        let block = try honest.body.withUnsafeBytes {
          try BlockEncoding.decode(
            $0, replica: head.replica, firstCommit: honest.firstCommit, commitCount: 10)
        }
        let salts = Salts(block.secrets)
        let secret = SegmentSecret(
          firstCommit: honest.firstCommit,
          kind: .runs([
            RunSecret(
              run: 0,
              kind: .salts(
                block.commits.map {
                  EventSalt(commit: $0.number, event: 0, salt: salts.salt(commit: $0.number, event: 0)!)
                }))
          ]))
        let lie = Block(
          replica: block.replica, firstCommit: block.firstCommit, headsAtStart: block.headsAtStart,
          secrets: [secret], commits: block.commits)
        run = StreamRun(
          replica: run.replica, name: run.name, firstCommit: run.firstCommit, commitCount: 10,
          body: try BlockEncoding.encode(lie), root: run.root)
      }
      run.proof = RunProof(
        checkpoint: try #require(head.checkpoint),
        extensionRoots: try phone.store.treeExtension(of: head.replica, from: last, to: 30))
      #expect(try watch.store.receive(run) == .appended(commits: 10, events: 10, changedItems: 10))
    }
    try watch.store.seal()
    try watch.check()
    #expect(try watch.store.roots()[head.replica] == "30 \(head.root)")
    // Also by who gets it from there.
    let laptop = try SubscribingDevice("laptop")
    try laptop.sync(watch)
    try laptop.store.seal()
    try laptop.check()
    #expect(laptop.store.digest == phone.store.digest)
  }

  @Test(
    "random devices, subscriptions, syncs and erasures end with the same favorites everywhere",
    arguments: ObjectPlace.Kind.allCases)
  func random(kind: ObjectPlace.Kind) throws {
    var completed: UInt64 = 0
    for seed in 0..<UInt64(12) {
      var random = SeededRandomSource(seed: seed)
      let libraries = ["papers", "cities", "breeds"]
      let devices = try (0..<4).map { try SubscribingDevice("device \($0)") }
      let folder = try ObjectPlace(kind)
      // They share a vault.
      try devices[0].add("item 0", to: "papers")
      for device in devices.dropFirst() { try device.sync(devices[0]) }
      for step in 0..<60 {
        let device = try #require(devices.randomElement(using: &random))
        switch Int.random(in: 0..<12, using: &random) {
        case 0..<5:
          let library = try #require(libraries.randomElement(using: &random))
          _ = try device.store.library(library).toggle("item \(Int.random(in: 0..<6, using: &random))")
        case 5..<8:
          let peer = try #require(devices.randomElement(using: &random))
          if peer.store.replica != device.store.replica { try device.sync(peer) }
        case 8: _ = try folder.sync(device.store)
        case 9:
          let taken = Set(libraries.filter { _ in Bool.random(using: &random) })
          try device.store.subscribe(to: taken.isEmpty || taken.count == 3 ? nil : taken)
        case 10: try device.store.seal()
        default:
          if step % 3 == 0 {
            _ = try? device.store.erase("item \(Int.random(in: 0..<6, using: &random))", in: "papers")
          } else {
            try device.store.snapshot()
          }
        }
      }
      for device in devices { try device.check() }
      for device in devices { try device.store.subscribe(to: nil) }
      for _ in 0..<3 {
        for device in devices {
          for peer in devices where peer.store.replica != device.store.replica {
            completed += try device.sync(peer).completedEvents
          }
        }
      }
      #expect(Set(devices.map(\.store.digest)).count == 1, "seed \(seed)")
      for device in devices {
        #expect(try device.store.coverages().isEmpty, "seed \(seed)")
        #expect(try device.content() == devices[0].content(), "seed \(seed)")
        try device.check()
      }
    }
    #expect(completed > 0)
  }
}

@Suite("Crashes while content arrives")
struct CompletingCrashTests {
  @Test("after each, the log is whole, and the next sync brings the rest")
  func crash() throws {
    let phone = try SubscribingDevice("phone")
    try phone.add("a", to: "papers")
    try phone.add("berlin", to: "cities")
    try phone.add("b", to: "papers")
    try phone.add("paris", to: "cities")
    let files = MemoryFileSystem(root: "/")
    let watch = try SubscribingDevice("watch", takes: ["papers"], on: files)
    try watch.sync(phone)
    try watch.store.snapshot()
    try watch.store.subscribe(to: nil)
    let roots = try watch.store.roots()
    files.startJournal()
    try watch.sync(phone)
    let end = files.crashPoints
    #expect(end > 10)
    for point in 0...end {
      for state in files.crashStates(after: point, sectorBytes: 512, limit: 20, seed: 3) {
        let again = try SubscribingDevice("watch", on: state)
        #expect(again.store.findings.isEmpty)
        #expect(try again.favorites("papers") == ["a", "b"])
        #expect(try again.store.replay(upTo: nil).state.digest == again.store.digest)
        try again.sync(phone)
        for (replica, root) in roots { #expect(try again.store.roots()[replica] == root) }
        #expect(again.store.digest == phone.store.digest, "after \(point) of \(end) operations")
        #expect(try again.store.coverages().isEmpty)
        try again.check()
        if again.store.digest != phone.store.digest { return }
      }
    }
  }
}
