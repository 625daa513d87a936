import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import HeartlogEngine
import Testing

@Suite("The order of operations is what the goldens in fixtures/traces say")
struct TraceTests {
  @Test("a store is created")
  func creation() throws {
    let (_, files) = try TestStore.inMemory()
    try expectGolden("create", files)
  }

  @Test("the first commit, and the second")
  func commits() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    files.clearTrace()
    try open.write(0)
    try expectGolden("first-commit", files)
    files.clearTrace()
    try open.write(1)
    try expectGolden("second-commit", files)
  }

  @Test("the first commit of a process that finds the tail of another")
  func takeover() throws {
    let (store, files) = try TestStore.inMemory()
    let first = try store.open()
    try first.write(0)
    let second = try store.open()
    files.clearTrace()
    try second.write(1)
    // The page tells the second that all is durable; after a restart of the machine it may tell nothing.
    try expectGolden("takeover", files)
    first.log.close()
    second.log.close()
    let page = [UInt8](repeating: 0, count: lockPageBytes)
    try files.replaceContents(of: "/store/lock", with: page)
    let third = try store.open()
    files.clearTrace()
    try third.write(2)
    try expectGolden("takeover-silent-page", files)
  }

  @Test("several durable commits in one batch")
  func group() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    try open.write(0)
    files.clearTrace()
    _ = try open.writeTogether(1..<6)
    try expectGolden("group-commit", files)
  }

  @Test("buffered commits and their flush")
  func buffered() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    try open.write(0)
    files.clearTrace()
    try open.write(1, .buffered)
    try open.write(2, .buffered)
    try open.log.flush()
    try expectGolden("buffered", files)
  }

  @Test("a full segment rotates, durable before the next one is there")
  func rotation() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open(TestStore.options(segmentBytesMax: 4_200))
    try open.write(0)
    files.clearTrace()
    try open.write(1, .buffered)
    try open.write(2, .durable)
    try expectGolden("rotate", files)
  }

  @Test("the tail is sealed, and then joined with the next one")
  func sealing() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    try open.write(0)
    files.clearTrace()
    _ = try open.log.seal()
    try expectGolden("seal", files)
    try open.write(1)
    files.clearTrace()
    _ = try open.log.seal()
    try expectGolden("seal-join", files)
  }

  @Test("a torn tail is cut")
  func cut() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    try open.write(0)
    open.log.close()
    try files.tear("/store/replicas/\(open.replica)/0000000000000001.open")
    let second = try store.open()
    files.clearTrace()
    try second.write(1)
    try expectGolden("recovery-cut", files)
  }

  @Test("an fsync fails, and its segment is replaced at the next opening")
  func failedSync() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    try open.write(0)
    files.clearTrace()
    files.failNext(.synchronizeData, code: 5)
    #expect(storageFailure { try open.write(1) }?.code == .outcomeUnknown)
    try expectGolden("failed-fsync", files)
    let second = try store.open()
    files.clearTrace()
    try second.write(2)
    try expectGolden("replace-suspect", files)
  }

  @Test("a write fails half way, and is taken back")
  func failedWrite() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    try open.write(0)
    files.clearTrace()
    files.failNext(.write, code: 28, partialBytes: 50)
    #expect(storageFailure { try open.write(1) }?.code == .diskFull)
    try open.write(1)
    try expectGolden("failed-write", files)
  }

  @Test("a copied store becomes a new replica")
  func newReplica() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    try open.write(0)
    open.log.close()
    files.machineID = Array("another".utf8)
    let second = try store.open()
    files.clearTrace()
    try second.write(1)
    try expectGolden("new-replica", files)
  }

  /// Compares line by line; `HEARTLOG_UPDATE_GOLDENS=1` writes the file instead.
  private func expectGolden(
    _ name: String, _ files: MemoryFileSystem, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let golden = Golden(name: "traces/\(name).txt")
    let lines = TraceNames.normalized(files.trace)
    if Golden.updates { return try golden.write(lines) }
    #expect(lines == (try golden.lines()), "\(name)", sourceLocation: sourceLocation)
  }
}

extension MemoryFileSystem {
  /// Leaves bytes behind the frames of a tail as an unfinished batch does.
  func tear(_ path: String, bytes: Int = 100) throws {
    var contents = try contents(of: path)
    let end = ((contents.lastIndex { $0 != 0 } ?? 0) + 8) / 8 * 8
    if contents.count < end + bytes {
      contents += [UInt8](repeating: 0, count: end + bytes - contents.count)
    }
    for offset in end..<end + bytes { contents[offset] = UInt8(truncatingIfNeeded: offset) | 1 }
    try replaceContents(of: path, with: contents)
  }
}
