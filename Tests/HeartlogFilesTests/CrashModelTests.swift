import HeartlogCrashModel
import HeartlogFiles
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

@Suite("What a disk may hold after a crash")
struct CrashModelTests {
  /// What may be found of one file after all operations, nil where it is missing; each once.
  private func outcomes(
    _ files: MemoryFileSystem, _ path: String, after operations: Int? = nil, sectorBytes: Int = 4,
    limit: Int = 10_000
  ) -> Set<[UInt8]?> {
    let states = files.crashStates(
      after: operations ?? files.crashPoints, sectorBytes: sectorBytes, limit: limit, seed: 1)
    return Set(states.map { try? $0.contents(of: path) })
  }

  /// A file of these bytes that is on the disk.
  private func synced(_ bytes: [UInt8]) throws -> (MemoryFileSystem, any OpenFile) {
    let files = MemoryFileSystem(recording: true)
    let file = try files.make("a", bytes)
    files.startJournal()
    return (files, file)
  }

  @Test("a write that was synced is there")
  func syncedWrite() throws {
    let (files, file) = try synced([1, 1])
    try file.put([2, 2], at: 0)
    try file.synchronizeData()
    #expect(files.crashPoints == 2)
    #expect(outcomes(files, "a") == [[2, 2]])
    #expect(outcomes(files, "a", after: 1) == [[1, 1], [2, 2]])
    #expect(outcomes(files, "a", after: 0) == [[1, 1]])
  }

  @Test("a write that was not synced may be lost, sector by sector")
  func unsyncedWrite() throws {
    let (files, file) = try synced([1, 1, 1, 1, 1, 1, 1, 1, 1])
    try file.put([2, 2, 2, 2, 2, 2, 2], at: 0)
    #expect(
      outcomes(files, "a") == [
        [1, 1, 1, 1, 1, 1, 1, 1, 1], [2, 2, 2, 2, 1, 1, 1, 1, 1],
        [1, 1, 1, 1, 2, 2, 2, 1, 1], [2, 2, 2, 2, 2, 2, 2, 1, 1],
      ])
  }

  @Test("a sector holds what any write since the sync left there")
  func versions() throws {
    let (files, file) = try synced([1])
    try file.put([2], at: 0)
    try file.put([3], at: 0)
    try file.put([3], at: 0)
    #expect(files.crashStates(after: 3, limit: 100, seed: 1).count == 3)
    #expect(outcomes(files, "a") == [[1], [2], [3]])
  }

  @Test("zeros written where zeros were count as size only")
  func zerosAhead() throws {
    let (files, file) = try synced([1])
    try file.put([0, 0, 0, 0, 0, 0, 0], at: 1)
    #expect(outcomes(files, "a") == [[1], [1, 0, 0, 0, 0, 0, 0, 0]])
    #expect(files.crashStates(after: 1, sectorBytes: 4, limit: 100, seed: 1).count == 2)
  }

  @Test("growth may be lost, or come without its bytes")
  func growth() throws {
    let (files, file) = try synced([1])
    try file.put([2, 2, 2, 2], at: 1)
    #expect(
      outcomes(files, "a") == [[1], [1, 0, 0, 0, 0], [1, 2, 2, 2, 0], [1, 0, 0, 0, 2], [1, 2, 2, 2, 2]])
    try file.synchronizeData()
    try file.put([3], at: 5)
    #expect(outcomes(files, "a") == [[1, 2, 2, 2, 2], [1, 2, 2, 2, 2, 0], [1, 2, 2, 2, 2, 3]])
  }

  @Test("a truncation may be lost, and what it cut does not come back where it was not")
  func truncation() throws {
    let (files, file) = try synced([1, 1, 1, 1, 1, 1])
    try file.truncate(to: 1)
    #expect(outcomes(files, "a") == [[1, 1, 1, 1, 1, 1], [1]])
    try file.put([2], at: 6)
    let found = outcomes(files, "a")
    #expect(found.isSuperset(of: [[1, 1, 1, 1, 1, 1], [1], [1, 0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 2]]))
    #expect(!found.contains([1, 1, 1, 1, 1, 1, 2]))
    #expect(!found.contains([1, 0, 0, 0, 1, 1, 2]))
    try file.synchronize()
    #expect(outcomes(files, "a") == [[1, 0, 0, 0, 0, 0, 2]])
  }

  @Test("a synced file whose directory was not synced may be missing")
  func unsyncedName() throws {
    let files = MemoryFileSystem(recording: true)
    let file = try files.make("a", [1])
    try file.synchronize()
    #expect(outcomes(files, "a") == [nil, [1]])
    try files.synchronizeDirectory("/")
    #expect(outcomes(files, "a") == [[1]])
    #expect(outcomes(files, "a", after: 0) == [nil])
    #expect(outcomes(files, "a", after: 1) == [nil, []])
  }

  @Test("a rename without a sync of the directory may be lost, but never both names or none")
  func unsyncedRename() throws {
    let (files, _) = try synced([1])
    try files.rename("a", to: "b")
    let states = files.crashStates(after: 1, limit: 100, seed: 1)
    #expect(Set(states.map { try? $0.entries(of: "/") }) == [["a"], ["b"]])
    try files.synchronizeDirectory("/")
    #expect(files.crashStates(after: 2, limit: 100, seed: 1).map { try? $0.entries(of: "/") } == [["b"]])
  }

  @Test("a rename across directories is certain once both are synced")
  func renameAcross() throws {
    let (files, _) = try synced([1])
    try files.createDirectory("d")
    try files.synchronizeDirectory("/")
    files.startJournal()
    try files.rename("a", to: "d/a")
    try files.synchronizeDirectory("d")
    #expect(outcomes(files, "a") == [nil, [1]])
    try files.synchronizeDirectory("/")
    #expect(outcomes(files, "d/a") == [[1]])
    #expect(outcomes(files, "a") == [nil])
  }

  @Test("temporary, fsync, rename, sync of the directory: the old file or the new one, never half of one")
  func replacement() throws {
    let (files, _) = try synced([1, 1, 1, 1, 1, 1, 1, 1])
    let temporary = try files.make("t", [2, 2, 2, 2, 2, 2, 2, 2])
    try temporary.synchronize()
    try files.rename("t", to: "a")
    try files.synchronizeDirectory("/")
    let old = [UInt8](repeating: 1, count: 8)
    let new = [UInt8](repeating: 2, count: 8)
    for point in 0...files.crashPoints {
      #expect(outcomes(files, "a", after: point).isSubset(of: [old, new]))
    }
    #expect(outcomes(files, "a") == [new])
  }

  @Test("without the fsync, half a file shows")
  func carelessReplacement() throws {
    let (files, _) = try synced([1, 1, 1, 1, 1, 1, 1, 1])
    try files.make("t", [2, 2, 2, 2, 2, 2, 2, 2])
    try files.rename("t", to: "a")
    try files.synchronizeDirectory("/")
    #expect(outcomes(files, "a").isSuperset(of: [[], [0, 0, 0, 0, 2, 2, 2, 2]]))
  }

  @Test("operations on one name keep their order, those on others do not")
  func order() throws {
    let (files, _) = try synced([1])
    try files.remove("a")
    try files.make("a")
    try files.make("b")
    let states = files.crashStates(after: files.crashPoints, limit: 100, seed: 1)
    // Removal lost; kept; kept and made anew. Each with and without b.
    #expect(states.count == 6)
    #expect(outcomes(files, "a") == [[1], nil, []])
    #expect(outcomes(files, "b") == [nil, []])
  }

  @Test("a removed file that comes back has its bytes")
  func removal() throws {
    let (files, _) = try synced([1, 2])
    try files.remove("a")
    #expect(outcomes(files, "a") == [nil, [1, 2]])
    try files.synchronizeDirectory("/")
    #expect(outcomes(files, "a") == [nil])
  }

  @Test("a new directory is lost with what was synced in it")
  func newDirectory() throws {
    let files = MemoryFileSystem(recording: true)
    try files.createDirectory("d")
    try files.make("d/a", [1]).synchronize()
    try files.synchronizeDirectory("d")
    #expect(outcomes(files, "d/a") == [nil, [1]])
    #expect(outcomes(files, "d/a", after: 4) == [nil, [1]])
    try files.synchronizeDirectory("/")
    #expect(outcomes(files, "d/a") == [[1]])
  }

  @Test("after a failed sync only what is written again becomes certain")
  func failedSync() throws {
    let (files, file) = try synced([1, 1, 1, 1, 1, 1, 1, 1])
    try file.put([2, 2, 2, 2, 2, 2, 2, 2], at: 0)
    files.failNext(.synchronizeData, code: EIO)
    #expect(failure { try file.synchronizeData() } == EIO)
    try file.synchronizeData()
    #expect(outcomes(files, "a").count == 4)
    try file.put([2], at: 0)
    try file.synchronizeData()
    #expect(outcomes(files, "a") == [[2, 2, 2, 2, 1, 1, 1, 1], [2, 2, 2, 2, 2, 2, 2, 2]])
  }

  @Test("the lock page comes back as zeros or as it was, and unlocked")
  func lockPage() throws {
    let files = MemoryFileSystem(recording: true)
    let lock = try files.openLock("lock")
    try files.synchronizeDirectory("/")
    files.startJournal()
    lock.store(1, 0)
    #expect(try lock.tryLock())
    try files.make("a")
    lock.store(2, 0)
    let states = files.crashStates(after: 1, limit: 100, seed: 1)
    let words = try states.map { state in
      let lock = try state.openLock("lock")
      #expect(try lock.tryLock())
      return lock.load(0)
    }
    #expect(Set(words) == [0, 1, 2])
  }

  @Test("what was replaced behind the back is on the disk")
  func replaced() throws {
    let (files, file) = try synced([1])
    try file.put([2], at: 0)
    try files.replaceContents(of: "a", with: [3])
    #expect(outcomes(files, "a") == [[3]])
  }

  @Test("a state found after a crash can be used, and crash again")
  func crashAgain() throws {
    let (files, file) = try synced([1])
    try file.put([2], at: 0)
    for state in files.crashStates(after: 1, limit: 100, seed: 1) {
      let found = try state.contents(of: "a")
      #expect(state.crashPoints == 0)
      try state.make("b")
      try state.open("a", .readWrite).put([7], at: 0)
      #expect(outcomes(state, "a") == [found, [7]])
      #expect(try state.contents(of: "a") == [7])
    }
    #expect(try files.contents(of: "a") == [2])
  }

  @Test("a restart does not make certain what was not synced")
  func restart() throws {
    let (files, file) = try synced([1])
    try file.put([2], at: 0)
    let restarted = files.deepCopy()
    try restarted.open("a", .readWrite).put([3], at: 0)
    #expect(outcomes(restarted, "a") == [[1], [2], [3]])
  }

  @Test("beyond the limit: all kept, all lost, each alone, then others, the same for the same seed")
  func limit() throws {
    let (files, file) = try synced([UInt8](repeating: 1, count: 40))
    try file.put([UInt8](repeating: 2, count: 40), at: 0)
    let states = files.crashStates(after: 1, sectorBytes: 4, limit: 50, seed: 7)
    let found = try states.map { try $0.contents(of: "a") }
    #expect(found.count == 50)
    #expect(Set(found).count == 50)
    #expect(found[0] == [UInt8](repeating: 2, count: 40))
    #expect(found[1] == [UInt8](repeating: 1, count: 40))
    for sector in 0..<10 {
      let mixed = (0..<40).map { $0 / 4 == sector }
      #expect(found.contains(mixed.map { $0 ? 2 : 1 }))
      #expect(found.contains(mixed.map { $0 ? 1 : 2 }))
    }
    let again = files.crashStates(after: 1, sectorBytes: 4, limit: 50, seed: 7)
    #expect(try again.map { try $0.contents(of: "a") } == found)
    let other = files.crashStates(after: 1, sectorBytes: 4, limit: 50, seed: 8)
    #expect(try other.map { try $0.contents(of: "a") } != found)
    #expect(files.crashStates(after: 1, sectorBytes: 4, limit: 5, seed: 7).count == 5)
    #expect(files.crashStates(after: 1, sectorBytes: 4, limit: 1024, seed: 7).count == 1024)
  }

  @Test("whatever is done, what is synced stays and what programs saw is possible", arguments: 0..<40)
  func generated(_ seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    let files = MemoryFileSystem(recording: true)
    var live: [String: any OpenFile] = [:]
    for _ in 0..<30 {
      let name = ["a", "b", "c"].randomElement(using: &random) ?? "a"
      if live[name] == nil { live[name] = try files.make(name) }
      guard let file = live[name] else { continue }
      switch Int.random(in: 0..<8, using: &random) {
      case 0, 1, 2:
        let byte = UInt8.random(in: 0...9, using: &random)
        let count = Int.random(in: 1...9, using: &random)
        try file.put(
          [UInt8](repeating: byte, count: count), at: UInt64.random(in: 0..<20, using: &random))
      case 3: try file.truncate(to: UInt64.random(in: 0..<20, using: &random))
      case 4:
        let target = ["a", "b", "c"].randomElement(using: &random) ?? "a"
        try files.rename(name, to: target)
        live[name] = nil
        live[target] = file
      case 5:
        try files.remove(name)
        live[name] = nil
      case 6: try file.synchronizeData()
      default: try files.synchronizeDirectory("/")
      }
      let states = files.crashStates(after: files.crashPoints, sectorBytes: 4, limit: 12, seed: UInt64(seed))
      #expect(states.contains { snapshot($0) == snapshot(files) }, "seed \(seed)")
    }
    for (_, file) in live { try file.synchronizeData() }
    try files.synchronizeDirectory("/")
    let after = files.crashStates(after: files.crashPoints, sectorBytes: 4, limit: 100, seed: UInt64(seed))
    #expect(after.map(snapshot) == [snapshot(files)], "seed \(seed)")
  }

  private func snapshot(_ files: MemoryFileSystem) -> [String: [UInt8]] {
    var contents: [String: [UInt8]] = [:]
    for name in (try? files.entries(of: "/")) ?? [] { contents[name] = try? files.contents(of: name) }
    return contents
  }
}

/// Knuth's MMIX linear congruential generator, of which the upper half is good enough here.
private struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed &+ 1 }

  mutating func next() -> UInt64 {
    func half() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state >> 32
    }
    return half() << 32 | half()
  }
}
