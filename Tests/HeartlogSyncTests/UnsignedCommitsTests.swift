import HeartlogCrashModel
import HeartlogFiles
import HeartlogEngine
import Testing

@testable import Heartlog
@testable import HeartlogSync

@Suite("Commits that their device can sign no more")
struct UnsignedCommitsTests {
  private static func open(_ files: MemoryFileSystem, _ name: String) throws -> FavoritesStore {
    var options = StoreOptions()
    options.name = name
    options.snapshots = .manual
    return try FavoritesStore(at: "/store", on: files, options: options)
  }

  @discardableResult
  private static func sync(_ store: FavoritesStore, with peer: FavoritesStore) throws -> SyncReport {
    try StoreCarrier(peer, description: "peer").sync(store, options: SyncOptions())
  }

  /// A store that wrote after its last signature, lost its key, and wrote on as another replica; and a device that knows the old one.
  private static func lostKey(sealing: Bool) throws -> (
    files: MemoryFileSystem, old: ReplicaID, laptop: FavoritesStore
  ) {
    let files = MemoryFileSystem(root: "/", recording: true)
    let laptop = try open(MemoryFileSystem(), "laptop")
    var store = try open(files, "phone")
    let papers = try store.library("papers")
    for number in 0..<3 { try papers.add("signed \(number)") }
    try sync(store, with: laptop)
    let old = store.replica
    for number in 0..<4 { try papers.add("unsigned \(number)") }
    if sealing { try store.seal() }
    for number in 4..<6 { try papers.add("unsigned \(number)") }
    try papers.remove("signed 0")
    try store.snapshot()
    try store.close()
    try files.remove("/store/keys/device")
    store = try open(files, "phone")
    try store.library("papers").add("new")
    #expect(store.replica != old)
    try store.close()
    return (files, old, laptop)
  }

  @Test(
    "what a lost key left unsigned reaches everybody once its device is retired", arguments: [false, true])
  func retired(sealing: Bool) throws {
    let (files, old, laptop) = try Self.lostKey(sealing: sealing)
    let store = try Self.open(files, "phone")
    let favorites = try store.library("papers").favorites().map(\.id).sorted()
    #expect(favorites.count == 9)
    // The device may still come back. Until then each sync says what it does not send, over a pipe and through a folder.
    try files.createDirectory("/shared")
    for report in [
      try Self.sync(store, with: laptop), try Self.sync(store, with: laptop),
      try FolderCarrier("/shared", on: files).sync(store, options: SyncOptions()),
    ] {
      #expect(report.skipped.map(\.replica) == [old] && report.skipped.map(\.cause) == [.unsent])
      #expect(report.skipped.map(\.firstCommit) == [CommitNumber(rawValue: 4)])
    }
    #expect(try Self.sync(laptop, with: store).skipped.isEmpty)
    #expect(
      try laptop.library("papers").favorites().map(\.id).sorted() == [
        "new", "signed 0", "signed 1", "signed 2",
      ])
    try laptop.retire(old)
    try Self.sync(store, with: laptop)
    try Self.sync(store, with: laptop)
    #expect(try Self.sync(store, with: laptop).skipped.isEmpty)
    #expect(try laptop.library("papers").favorites().map(\.id).sorted() == favorites)
    #expect(store.digest == laptop.digest)
    #expect(try store.roots() == laptop.roots())
    #expect(try store.streamHeads().first { $0.replica == old }?.commit == CommitNumber(rawValue: 3))
    // Each commit once, no damage, also for who opens it anew.
    #expect(store.read { $0.commitCount } == laptop.read { $0.commitCount })
    #expect(store.findings.isEmpty)
    let verified = try FavoritesStore.verify(at: "/store", on: files, progress: nil)
    #expect(verified.streams.compactMap { $0.finding?.error.description } == [])
    #expect(try store.replay(upTo: nil).state.digest == store.digest)
    try store.snapshot()
    let again = try Self.open(files, "phone")
    #expect(again.findings.isEmpty && again.digest == store.digest)
    #expect(try again.log.setUnsignedAside(of: old) == nil)
  }

  @Test("a store that cannot be written says what it cannot sign, and therefore does not send")
  func readOnly() throws {
    let files = MemoryFileSystem(root: "/", recording: true)
    let shared = MemoryFileSystem(root: "/", recording: true)
    try shared.createDirectory("/shared")
    let laptop = try Self.open(MemoryFileSystem(), "laptop")
    var store = try Self.open(files, "phone")
    try store.library("papers").add("signed")
    try Self.sync(store, with: laptop)
    try store.library("papers").add("unsigned")
    try store.close()

    files.isReadOnly = true
    store = try Self.open(files, "phone")
    for report in [
      try Self.sync(store, with: laptop), try Self.sync(laptop, with: store),
      try FolderCarrier("/shared", on: shared).sync(store, options: SyncOptions()),
    ] {
      #expect(report.skipped.map(\.replica) == [store.replica] && report.skipped.map(\.cause) == [.unsent])
      #expect(report.skipped.map(\.firstCommit) == [CommitNumber(rawValue: 2)])
      #expect(report.skipped.allSatisfy { $0.reason.contains("once its store can be written") })
    }
    #expect(try laptop.library("papers").favorites().map(\.id) == ["signed"])
    try store.close()

    files.isReadOnly = false
    store = try Self.open(files, "phone")
    #expect(try Self.sync(store, with: laptop).skipped.isEmpty)
    #expect(try laptop.library("papers").favorites().count == 2)
  }

  @Test("a repair that cannot tell who writes signs what the key in the folder is for, in its vault")
  func repaired() throws {
    let files = MemoryFileSystem(root: "/", recording: true)
    let laptop = try Self.open(MemoryFileSystem(), "laptop")
    var store = try Self.open(files, "phone")
    try store.library("papers").add("signed")
    try Self.sync(store, with: laptop)
    let (old, vault) = (
      store.replica, try store.streamHeads().compactMap { $0.checkpoint?.checkpoint.vault }
    )
    try store.library("papers").add("unsigned")
    try store.close()
    try files.remove("/store/store")
    let report = try FavoritesStore.repair(at: "/store", on: files)
    #expect(report.formerReplica == old && report.replica != old)
    store = try Self.open(files, "phone")
    try store.library("papers").add("new")
    #expect(try Self.sync(store, with: laptop).skipped.isEmpty)
    #expect(store.replica != old && store.digest == laptop.digest)
    #expect(try laptop.streamHeads().first { $0.replica == old }?.commit == CommitNumber(rawValue: 2))
    #expect(try Set(store.streamHeads().compactMap { $0.checkpoint?.checkpoint.vault }) == Set(vault))
  }

  @Test("after a crash in between nothing is lost, and the next sync goes on")
  func crash() throws {
    let (files, old, laptop) = try Self.lostKey(sealing: true)
    let store = try Self.open(files, "phone")
    let favorites = try store.library("papers").favorites().map(\.id).sorted()
    try store.retire(old)
    files.startJournal()
    #expect(try store.log.setUnsignedAside(of: old) != nil)
    let end = files.crashPoints
    #expect(end > 5)
    for point in 0...end {
      for state in files.crashStates(after: point, sectorBytes: 512, limit: 30, seed: 3) {
        let again = try Self.open(state, "phone")
        #expect(again.findings.isEmpty)
        #expect(try again.library("papers").favorites().map(\.id).sorted() == favorites)
        try again.prepareToShip()
        #expect(try again.library("papers").favorites().map(\.id).sorted() == favorites)
        #expect(again.digest == store.digest, "after \(point) of \(end) operations")
        #expect(again.read { $0.commitCount } == store.read { $0.commitCount })
        #expect(
          try FavoritesStore.verify(at: "/store", on: state, progress: nil).streams.allSatisfy {
            $0.finding == nil
          })
        if again.digest != store.digest { return }
      }
    }
    try Self.sync(store, with: laptop)
    #expect(try laptop.library("papers").favorites().map(\.id).sorted() == favorites)
  }

  @Test("a device that comes back after all goes on with its stream, and everybody shows the same")
  func back() throws {
    let files = MemoryFileSystem()
    let phone = try Self.open(files, "phone")
    let laptop = try Self.open(MemoryFileSystem(), "laptop")
    try phone.library("papers").add("a")
    try Self.sync(phone, with: laptop)
    try phone.library("papers").add("b")
    // The backup has what the phone has not signed.
    _ = try phone.backup(to: "/saved.backup", on: files)
    _ = try FavoritesStore.restoreBackup(
      at: "/saved.backup", to: "/restored", on: files, options: StoreOptions())
    let restored = try FavoritesStore(at: "/restored", on: files, options: StoreOptions())
    try restored.retire(phone.replica)
    try Self.sync(restored, with: laptop)
    #expect(try laptop.library("papers").favorites().map(\.id).sorted() == ["a", "b"])
    try phone.library("papers").remove("a")
    try phone.library("papers").toggle("b")
    for _ in 0..<2 {
      try Self.sync(phone, with: laptop)
      try Self.sync(restored, with: laptop)
    }
    #expect(phone.digest == laptop.digest && restored.digest == laptop.digest)
    #expect(try laptop.library("papers").favorites().isEmpty)
    #expect(try phone.roots() == laptop.roots() && restored.roots() == laptop.roots())
  }
}
