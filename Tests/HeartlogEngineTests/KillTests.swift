import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import Testing

@testable import HeartlogEngine

@Suite("A process is killed, and another one goes on")
struct KillTests {
  /// Creation, rotation, sealing, another opening, joining; until it is killed.
  private func run(changesMax: Int) throws -> (KillableFiles, [Commit]) {
    let files = KillableFiles(MemoryFileSystem(root: "/store", recording: true), changesMax: changesMax)
    let store = TestStore(files: files, path: "/store")
    var acknowledged: [Commit] = []
    let failure = storageFailure {
      try store.create()
      for round in 0..<2 {
        let open = try store.open(TestStore.options(seed: UInt64(round), segmentBytesMax: 4_600))
        for index in 0..<4 { acknowledged.append(try open.write(round * 10 + index, bytes: 200)) }
        _ = try open.log.seal()
        for index in 4..<7 { acknowledged.append(try open.write(round * 10 + index, bytes: 200)) }
        if round == 0 { _ = try open.log.seal() }
      }
    }
    #expect((failure == nil) == (changesMax == .max))
    return (files, acknowledged)
  }

  @Test("at any operation; when the power goes later, nothing that either acknowledged is lost")
  func killedThenPower() throws {
    let changes = try run(changesMax: .max).0.changeCount
    #expect(changes > 80)
    for limit in 0..<changes {
      let (killed, acknowledged) = try run(changesMax: limit)
      let files = killed.files.deepCopy()
      let store = TestStore(files: files, path: "/store")
      if storageFailure({ _ = try store.open() })?.code == .notAStore { try store.create(seed: 8) }
      let second = try store.open(TestStore.options(seed: 30, segmentBytesMax: 4_600))
      var all = acknowledged
      all.append(try second.write(500))
      if limit % 2 == 0 { _ = try second.log.seal() }
      all.append(try second.write(501))
      #expect(second.log.findings.isEmpty)
      for state in files.crashStates(after: files.crashPoints, sectorBytes: 512, limit: 12, seed: 4) {
        let problem = try FaultTests.problem(TestStore(files: state, path: "/store"), all)
        #expect(problem == nil, "killed after \(limit) changes")
      }
    }
  }

  @Test("while it seals; and the power goes at any moment of what the next one does")
  func killedWhileSealing() throws {
    func run(changesMax: Int) throws -> (KillableFiles, MemoryFileSystem, [Commit]) {
      let (store, memory) = try TestStore.inMemory()
      let open = try store.open(TestStore.options(segmentBytesMax: 4_400))
      let commits = try (0..<5).map { try open.write($0, bytes: 100) }
      open.log.close()
      memory.startJournal()
      let files = KillableFiles(memory, changesMax: changesMax)
      let mortal = try TestStore(files: files, path: "/store").open(TestStore.options(seed: 41))
      let failure = storageFailure { _ = try mortal.log.seal() }
      #expect((failure == nil) == (changesMax == .max))
      return (files, memory, commits)
    }
    let changes = try run(changesMax: .max).0.changeCount
    #expect(changes > 5)
    for limit in 0..<changes {
      let (_, memory, commits) = try run(changesMax: limit)
      let start = memory.crashPoints
      let files = memory.deepCopy()
      let last = try TestStore(files: files, path: "/store").open(TestStore.options(seed: 9)).write(100)
      for point in start...files.crashPoints {
        let all = point == files.crashPoints ? commits + [last] : commits
        for state in files.crashStates(after: point, sectorBytes: 4_096, limit: 60, seed: 4) {
          let problem = try FaultTests.problem(TestStore(files: state, path: "/store"), all)
          #expect(problem == nil, "killed after \(limit) changes, power after \(point - start) more")
        }
      }
    }
  }

  @Test("at any operation, while another has the store open and holds its tail", arguments: [false, true])
  func killedBesideAnother(_ diesAtOnce: Bool) throws {
    func run(changesMax: Int) throws -> (KillableFiles, MemoryFileSystem, OpenStore, [Commit]) {
      let (store, memory) = try TestStore.inMemory()
      let files = KillableFiles(memory, changesMax: changesMax, diesAtOnce: diesAtOnce)
      let other = try store.open(TestStore.options(seed: 40, segmentBytesMax: 4_800))
      var acknowledged = try (0..<3).map { try other.write($0, bytes: 100) }
      let mortal = try TestStore(files: files, path: "/store").open(
        TestStore.options(seed: 41, segmentBytesMax: 4_400))
      _ = storageFailure {
        for index in 3..<6 { acknowledged.append(try mortal.write(index, bytes: 100)) }
        _ = try mortal.log.seal()
        for index in 6..<8 { acknowledged.append(try mortal.write(index, bytes: 100)) }
        _ = try mortal.log.seal()
        // The other one holds the tail when it is sealed.
        for index in 8..<10 { acknowledged.append(try other.write(index, bytes: 100)) }
        _ = try mortal.log.seal()
      }
      return (files, memory, other, acknowledged)
    }
    let changes = try run(changesMax: .max).0.changeCount
    #expect(changes > 20)
    for limit in 0..<changes {
      var (_, memory, other, all) = try run(changesMax: limit)
      all.append(try other.write(100, bytes: 100))
      all.append(try other.write(101, bytes: 100))
      let commits = other.projection.commits
      expectNoGap(commits, "killed after \(limit) changes")
      #expect(other.projection.now.applied.values.allSatisfy { $0 == 1 })
      let store = TestStore(files: memory, path: "/store")
      #expect(try store.read().commits == commits, "killed after \(limit) changes")
      #expect(Set(all).isSubset(of: commits), "killed after \(limit) changes")
      for state in memory.crashStates(after: memory.crashPoints, sectorBytes: 512, limit: 12, seed: 6) {
        let problem = try FaultTests.problem(TestStore(files: state, path: "/store"), all)
        #expect(problem == nil, "killed after \(limit) changes")
      }
    }
  }

  @Test("after it wrote and before it said so: what a reader saw stays as it was")
  func killedAfterWriting() throws {
    for changesMax in 0..<5 {
      let (store, memory) = try TestStore.inMemory()
      let other = try store.open(TestStore.options(seed: 40))
      let reader = try store.open(TestStore.options(access: .readOnly))
      try other.write(0)
      let files = KillableFiles(memory, changesMax: changesMax, diesAtOnce: true)
      let mortal = try TestStore(files: files, path: "/store").open(TestStore.options(seed: 41))
      // Takes the tail over, and knows that nobody else wrote since.
      _ = try? mortal.log.write(.durable) { nil }
      _ = try other.log.write(.durable) { nil }
      _ = try? mortal.write(1)
      _ = try other.log.write(.durable) { nil }
      _ = try? mortal.write(2)
      try reader.log.refresh()
      for index in 3..<5 { try other.write(index) }
      try reader.log.refresh()
      #expect(reader.projection.commits == other.projection.commits, "killed after \(changesMax) changes")
      #expect(try store.read().commits == other.projection.commits)
    }
  }
}
