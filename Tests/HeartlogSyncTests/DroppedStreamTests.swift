import Heartlog
import HeartlogFiles
import Testing

@testable import HeartlogSync

@Suite("Dropped devices")
struct DroppedStreamTests {
  private static func store(_ name: String) throws -> FavoritesStore {
    var options = StoreOptions()
    options.name = name
    let store = try FavoritesStore.inMemory(options: options)
    try store.library("papers").add("of \(name)")
    return store
  }

  private func sync(_ peer: FavoritesStore, _ store: FavoritesStore) throws -> SyncReport {
    try StoreCarrier(peer, description: peer.name).sync(store, options: SyncOptions())
  }

  /// A store that received a stranger's commits from a peer, and dropped them.
  private func dropped() throws -> (mine: FavoritesStore, peer: FavoritesStore, stranger: FavoritesStore) {
    let (mine, peer, stranger) = try (Self.store("mine"), Self.store("peer"), Self.store("stranger"))
    _ = try sync(stranger, peer)
    _ = try sync(peer, mine)
    _ = try mine.snapshot()
    try mine.library("papers").add("after")
    #expect(mine.devices.count == 3)
    try mine.drop(stranger.replica)
    return (mine, peer, stranger)
  }

  /// Checks that a store is as if it had never received the stranger's commits.
  private func check(_ mine: FavoritesStore, without stranger: FavoritesStore) throws {
    #expect(mine.devices.map(\.replica).contains(stranger.replica) == false)
    #expect(try mine.library("papers").contains("of stranger") == false)
    #expect(mine.findings.isEmpty)
    #expect(try mine.verify().streams.allSatisfy { $0.finding == nil })
    #expect(try mine.replay().state.digest == mine.digest)
    let other = try Self.store("other")
    #expect(try sync(mine, other).isComplete)
    #expect(try other.streamHeads().map(\.replica).contains(stranger.replica) == false)
    #expect(other.digest == mine.digest)
  }

  @Test("no dialogue brings a dropped device back, in either direction")
  func dialogue() throws {
    let (mine, peer, stranger) = try dropped()
    try check(mine, without: stranger)
    try stranger.library("papers").add("more of stranger")
    _ = try sync(stranger, peer)
    for (one, other) in [(peer, mine), (mine, peer)] {
      let report = try sync(one, other)
      #expect(report.isComplete && report.forks.isEmpty)
    }
    try check(mine, without: stranger)
    #expect(try peer.library("papers").contains("more of stranger"))

    #expect(try mine.keep(stranger.replica))
    _ = try sync(peer, mine)
    #expect(try mine.library("papers").contains("more of stranger"))
    #expect(try mine.droppedReplicas().isEmpty)
  }

  @Test("no folder brings a dropped device back", arguments: ObjectPlace.Kind.allCases)
  func folder(_ kind: ObjectPlace.Kind) throws {
    let (mine, peer, stranger) = try dropped()
    let place = try ObjectPlace(kind)
    for _ in 0..<2 {
      for store in [stranger, peer, mine] {
        let report = try place.sync(store)
        #expect(report.isComplete && report.folder?.waiting == 0)
      }
      try check(mine, without: stranger)
      try stranger.library("papers").add("more of stranger")
    }
    #expect(try peer.library("papers").contains("of stranger"))
  }

  @Test("a backup of before goes on without a device that was dropped since")
  func backup() throws {
    let files = MemoryFileSystem()
    let (mine, _, stranger) = try dropped()
    #expect(try mine.keep(stranger.replica))
    _ = try mine.backup(to: "/backup", on: files)
    try mine.drop(stranger.replica)
    _ = try mine.backup(to: "/backup", on: files)
    _ = try FavoritesStore.restoreBackup(at: "/backup", to: "/restored", on: files, options: StoreOptions())
    let restored = try FavoritesStore(at: "/restored", on: files, options: StoreOptions())
    #expect(restored.digest == mine.digest)
  }
}
