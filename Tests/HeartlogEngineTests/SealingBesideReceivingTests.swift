import HeartlogFormat
import HeartlogFiles
import Synchronization
import Testing

@testable import HeartlogEngine

/// One process seals and another receives, in one store. A store has one lock, so what they do with it held never mixes: what is tried
/// here is each of them, whole or killed at any change of a file, between any two changes of the other.
@Suite("Sealing beside receiving")
struct SealingBesideReceivingTests {
  /// A store that received a stream in three runs, of which none, one or two are sealed, and two more runs to come.
  private final class Scene: Sendable {
    let memory: MemoryFileSystem
    let store: TestStore
    let source: OpenStore
    let receiver: OpenStore
    let runs: [StreamRun]
    private let reported = Mutex<[Commit]>([])

    /// - Parameter files: what the receiver sees of the store.
    init(sealedRuns: Int, receiver files: (MemoryFileSystem) -> any FileSystem = { $0 }) throws {
      (store, memory) = try TestStore.inMemory(seed: 3)
      let elsewhere = try TestStore.inMemory(seed: 4).0
      source = try elsewhere.open(TestStore.options(seed: 5))
      var runs: [StreamRun] = []
      for run in 0..<5 {
        for index in 0..<2 { try source.write(run * 2 + index) }
        _ = try source.log.streamHeads()
        let last = CommitNumber(rawValue: UInt64(run * 2 + 2))
        runs.append(
          try #require(try source.log.streamRun(of: source.replica, after: last.rawValue - 2, upTo: last)))
      }
      self.runs = runs
      let first = try store.open(TestStore.options(seed: 6))
      for run in 0..<3 {
        _ = try first.log.receive(runs[run])
        if run < sealedRuns { _ = try first.log.seal(joining: false) }
      }
      first.log.close()
      receiver = try TestStore(files: files(memory), path: "/store").open(Self.options(seed: 7))
      reported.withLock { $0 = Array(source.projection.commits[..<6]) }
    }

    /// Who finds the lock held gives up at once: the other one stands still.
    static func options(seed: UInt64) -> StorageOptions {
      var options = TestStore.options(seed: seed)
      options.lockMillisecondsMax = 0
      return options
    }

    func sealer(_ files: any FileSystem) throws -> OpenStore {
      try TestStore(files: files, path: "/store").open(Self.options(seed: 8))
    }

    /// Receives a run, if the lock can be had and nobody dies.
    func receive(_ run: Int) {
      guard case .appended? = try? receiver.log.receive(runs[run]) else { return }
      reported.withLock { $0 += source.projection.commits[run * 2..<run * 2 + 2] }
    }

    /// All that was reported received is there, the store is sound, and goes on.
    func check(_ comment: Comment) throws {
      let streams = try store.verify()
      #expect(streams.allSatisfy { $0.finding?.verdict ?? .torn == .torn }, comment)
      let read = try store.read().commits
      let isReportedThere = Set(reported.withLock { $0 }).isSubset(of: read)
      #expect(isReportedThere, comment)
      expectNoGap(read, comment)

      let next = try store.open(TestStore.options(seed: 9))
      let before = try #require(try next.log.streamHeads().first { $0.replica == source.replica })
      for run in Int(before.commit.rawValue / 2)..<5 {
        #expect(try next.log.receive(runs[run]) == .appended(commits: 2, events: 2, changedItems: 2), comment)
      }
      try next.write(100)
      let isWhole = next.projection.commits(of: source.replica) == source.projection.commits
      #expect(isWhole, comment)
      let isReadAlike = try store.read().commits == next.projection.commits
      #expect(isReadAlike, comment)
      #expect(try store.verify().allSatisfy { $0.finding == nil }, comment)
      let names = try store.names(of: source.replica)
      #expect(names.allSatisfy { !$0.contains(".tmp-") }, comment)
    }
  }

  @Test(
    "each run is received between any two changes of sealing, which ends there or goes on", arguments: 0..<3)
  func receivingMeanwhile(sealedRuns: Int) throws {
    func run(_ first: Int, _ second: Int, killedAfter limit: Int) throws -> Int {
      let scene = try Scene(sealedRuns: sealedRuns)
      let files = KillableFiles(scene.memory, changesMax: limit) { change in
        if change == first { scene.receive(3) }
        if change == second { scene.receive(4) }
      }
      let sealer = try scene.sealer(files)
      _ = storageFailure { _ = try sealer.log.seal() }
      // Both had the store open before; the sealing process is gone.
      sealer.log.close()
      scene.receive(3)
      scene.receive(4)
      try scene.check("received before changes \(first) and \(second), killed after \(limit)")
      return files.changeCount
    }
    let changes = try run(-1, -1, killedAfter: .max)
    #expect(changes > 5)
    for first in 0...changes {
      for second in first...changes { _ = try run(first, second, killedAfter: .max) }
      for limit in 0...changes { _ = try run(first, -1, killedAfter: limit) }
    }
  }

  @Test("all is sealed between any two changes of receiving, which ends there or goes on", arguments: 0..<3)
  func sealingMeanwhile(sealedRuns: Int) throws {
    func run(_ place: Int, killedAfter limit: Int, sealerKilledAfter sealerLimit: Int) throws -> (Int, Int) {
      let sealing = Mutex<(@Sendable () -> Void)?>(nil)
      let counts = Mutex((receiver: 0, sealer: 0))
      let killable = Mutex<KillableFiles?>(nil)
      let scene = try Scene(sealedRuns: sealedRuns) { memory in
        let files = KillableFiles(memory, changesMax: limit) { change in
          if change == place { sealing.withLock { $0 }?() }
        }
        killable.withLock { $0 = files }
        return files
      }
      sealing.withLock {
        $0 = { [unowned scene] in
          let files = KillableFiles(scene.memory, changesMax: sealerLimit)
          _ = storageFailure {
            let sealer = try scene.sealer(files)
            defer { sealer.log.close() }
            _ = try sealer.log.seal()
          }
          counts.withLock { $0.sealer = files.changeCount }
        }
      }
      scene.receive(3)
      scene.receive(4)
      if place < 0 { sealing.withLock { $0 }?() }
      sealing.withLock { $0 = nil }
      scene.receiver.log.close()
      counts.withLock { $0.receiver = killable.withLock { $0?.changeCount ?? 0 } }
      try scene.check("sealed before change \(place), killed after \(sealerLimit) of \(limit)")
      return counts.withLock { ($0.receiver, $0.sealer) }
    }
    let (received, sealed) = try run(-1, killedAfter: .max, sealerKilledAfter: .max)
    #expect(received > 3 && sealed > 3)
    for place in 0...received {
      for limit in place...received { _ = try run(place, killedAfter: limit, sealerKilledAfter: .max) }
      for limit in 0...sealed { _ = try run(place, killedAfter: .max, sealerKilledAfter: limit) }
    }
  }
}
