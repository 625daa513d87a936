import HeartlogFormat
import HeartlogFiles
import TestSupport
import Testing

@testable import HeartlogEngine

@Suite("What leads from one tree of a stream to a later one")
struct TreeExtensionTests {
  private func tree(of replica: ReplicaID, at commit: UInt64, in store: TestStore) throws -> MerkleTree {
    let cache = try MerkleCache(
      StoreDirectory(fileSystem: store.files, path: store.path), replica: replica,
      before: CommitNumber(rawValue: 1))
    try cache.advance(to: commit)
    return cache.tree
  }

  private func expectExtensions(
    _ store: TestStore, _ log: CommitLog, _ replica: ReplicaID, upTo last: UInt64, count: Int,
    _ random: inout SeededGenerator
  ) throws {
    for _ in 0..<count {
      let end = UInt64.random(in: 0...last, using: &random)
      let start = UInt64.random(in: 0...end, using: &random)
      let roots = try log.treeExtension(of: replica, from: start, to: end)
      let extended = try tree(of: replica, at: start, in: store).extended(by: roots, to: end)
      #expect(try extended == tree(of: replica, at: end, in: store), "\(start) to \(end)")
    }
  }

  @Test(
    "it is the same for rows, sealed blocks and both, as the stream grows",
    arguments: 1...6 as ClosedRange<UInt64>)
  func own(seed: UInt64) throws {
    print("tree extension: seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let (store, _) = try TestStore.inMemory()
    let open = try store.open(TestStore.options(segmentBytesMax: 20_000))
    var count = 0
    func write(_ more: Int) throws {
      for index in count..<count + more { try open.write(index, .buffered, events: 1 + index % 2) }
      count += more
      try open.write(count)
      count += 1
    }
    try write(Int.random(in: 1...150, using: &random))
    try expectExtensions(store, open.log, open.replica, upTo: UInt64(count), count: 12, &random)
    try write(200)
    _ = try open.log.seal(joining: false)
    try expectExtensions(store, open.log, open.replica, upTo: UInt64(count), count: 12, &random)
    try write(Int.random(in: 1...150, using: &random))
    try expectExtensions(store, open.log, open.replica, upTo: UInt64(count), count: 12, &random)
    _ = try open.log.seal()
    try write(3)
    try expectExtensions(store, open.log, open.replica, upTo: UInt64(count), count: 12, &random)
    let again = try store.open()
    try expectExtensions(store, again.log, open.replica, upTo: UInt64(count), count: 12, &random)
  }

  @Test("it is found in received blocks, and continued when more are received")
  func received() throws {
    var random = SeededGenerator(seed: 9)
    let (store, _) = try TestStore.inMemory()
    let open = try store.open()
    var stream = ForgedStream(5)
    for count in [100, 1, 63, 700, 1_500, 5] {
      let milliseconds = 1_772_000_000_000 + Int64(stream.commitCount)
      let run = try stream.run(
        (0..<count).map { .init(HybridTimestamp(milliseconds: milliseconds + Int64($0))) })
      #expect(try open.log.receive(run).isAppended)
      try expectExtensions(store, open.log, stream.replica, upTo: stream.commitCount, count: 12, &random)
    }
  }

  @Test("a stream that is shorter is an error, and nothing leads from a tree to itself")
  func limits() throws {
    let (store, _) = try TestStore.inMemory()
    let open = try store.open()
    try open.write(0)
    #expect(try open.log.treeExtension(of: open.replica, from: 1, to: 1) == [])
    #expect(try open.log.treeExtension(of: open.replica, from: 0, to: 1).count == 1)
    #expect(
      storageFailure { _ = try open.log.treeExtension(of: open.replica, from: 0, to: 2) }?.code == .corrupt)
  }

  @Test("it does not hash the stream again")
  func continued() throws {
    let files = CountingFiles()
    let store = TestStore(files: files, path: "/store")
    try store.create()
    let open = try store.open()
    for index in 0..<2_000 { try open.write(index, .buffered) }
    try open.write(2_000)
    _ = try open.log.treeExtension(of: open.replica, from: 0, to: 2_000)
    let before = files.readBytes
    _ = try open.log.treeExtension(of: open.replica, from: 64, to: 1_984)
    #expect(files.readBytes == before)
  }
}
