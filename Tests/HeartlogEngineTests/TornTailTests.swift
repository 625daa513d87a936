import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import Testing

@testable import HeartlogEngine

@Suite("A tail is cut short")
struct TornTailTests {
  private struct Tail {
    let files: MemoryFileSystem
    let replica: ReplicaID
    let commits: [Commit]
    /// Where the frames end, the first at 4,096.
    let ends: [Int]
    let bytes: [UInt8]

    var store: TestStore { TestStore(files: files, path: "/store") }
    var path: String { "/store/replicas/\(replica)/0000000000000001.open" }
  }

  /// Five commits, the last three one batch.
  private func tail() throws -> Tail {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    var commits = [try open.write(0), try open.write(1)]
    commits += try open.writeTogether(2..<5, bytes: 30)
    open.log.close()
    let path = "/store/replicas/\(open.replica)/0000000000000001.open"
    let bytes = try files.contents(of: path)
    let header = try StoreDirectory(fileSystem: files, path: "/store")
      .header(of: files.open(path, .read), path: path).header
    let cursor = SegmentCursor(file: try files.open(path, .read), path: path, header: header)
    var ends: [Int] = []
    while case .frame(let frame) = try cursor.look() {
      cursor.pass(frame)
      ends.append(Int(cursor.offset))
    }
    #expect(ends.count == 5)
    return Tail(files: files, replica: open.replica, commits: commits, ends: ends, bytes: bytes)
  }

  @Test("at every length, where the page is silent: the last whole commit, the rest kept aside")
  func everyLengthUnknown() throws {
    let tail = try tail()
    for length in 4_096...tail.ends[4] + 20 {
      let files = tail.files.deepCopy()
      let store = TestStore(files: files, path: "/store")
      try files.replaceContents(of: "/store/lock", with: [UInt8](repeating: 0, count: lockPageBytes))
      try files.replaceContents(of: tail.path, with: Array(tail.bytes[..<length]))
      let whole = tail.ends.count { $0 <= length }
      let sound = whole == 0 ? 4_096 : tail.ends[whole - 1]
      #expect(try store.read().commits == Array(tail.commits[..<whole]), "\(length)")
      let open = try store.open()
      // Nothing but zeros is no tear.
      let rest = tail.bytes[sound..<max(sound, length)]
      let isTorn = rest.contains { $0 != 0 }
      #expect(open.log.findings.map(\.verdict) == (isTorn ? [.torn] : []), "\(length)")
      let next = try open.write(100)
      #expect(next.number.rawValue == UInt64(whole + 1) && next.replica == tail.replica)
      let cutPath = "/store/replicas/\(tail.replica)/0000000000000001.cut-\(sound)"
      if isTorn {
        #expect(try files.contents(of: cutPath) == Array(rest), "\(length)")
      } else {
        #expect(try files.info(cutPath) == nil)
      }
      let again = try store.read()
      #expect(again.commits == Array(tail.commits[..<whole]) + [next] && again.findings.isEmpty)
      #expect(try store.verify().allSatisfy { $0.finding == nil })
    }
  }

  @Test("at every length, where the page knows what was durable: the loss is reported, under a new replica")
  func everyLengthKnown() throws {
    let tail = try tail()
    for length in stride(from: 4_096, through: tail.ends[4] + 20, by: 1) {
      let files = tail.files.deepCopy()
      let store = TestStore(files: files, path: "/store")
      try files.replaceContents(of: tail.path, with: Array(tail.bytes[..<length]))
      let whole = tail.ends.count { $0 <= length }
      let sound = whole == 0 ? 4_096 : tail.ends[whole - 1]
      let open = try store.open()
      #expect(open.log.findings.map(\.verdict) == (whole < 5 ? [.lost] : []), "\(length)")
      #expect(try store.verify().compactMap { $0.finding?.verdict } == (whole < 5 ? [.lost] : []))
      let next = try open.write(100)
      #expect((next.replica == tail.replica) == (whole == 5), "\(length)")
      if whole < 5 {
        let head =
          whole == 0 ? [] : [Head(replica: tail.replica, commit: CommitNumber(rawValue: UInt64(whole)))]
        #expect(next.number.rawValue == 1 && next.heads == head)
        #expect(open.log.findings.map(\.verdict) == [.lost])
        if length > sound {
          let cutPath = "/store/replicas/\(tail.replica)/0000000000000001.cut-\(sound)"
          #expect(try files.contents(of: cutPath) == Array(tail.bytes[sound..<length]))
        }
      }
      let again = try store.read()
      #expect(again.findings.isEmpty)
      #expect(again.commits.filter { $0.replica == tail.replica }.prefix(whole) == tail.commits[..<whole])
      #expect(
        try store.verify().compactMap { $0.finding?.verdict } == (whole < 5 ? [.lost] : []),
        "it is remembered")
    }
  }

  @Test("the segment itself is gone, and the page knows of it: lost")
  func missingSegment() throws {
    let tail = try tail()
    try tail.files.remove(tail.path)
    let open = try tail.store.open()
    #expect(open.log.findings.map(\.verdict) == [.lost])
    #expect(open.log.findings.map(\.error.file) == [tail.path])
    #expect(try open.write(1).replica != tail.replica)
    #expect(try tail.store.read().findings.isEmpty)
  }

  @Test("an error while a loss is mended does not make it forgotten")
  func failureWhileMending() throws {
    for kind in [FaultKind.createFile, .write, .synchronize, .rename, .synchronizeDirectory, .truncate] {
      for skip in 0..<3 {
        let tail = try tail()
        let files = tail.files.deepCopy()
        try files.replaceContents(of: tail.path, with: Array(tail.bytes[..<tail.ends[2]]) + [1, 2, 3])
        let store = TestStore(files: files, path: "/store")
        let open = try store.open()
        files.failNext(kind, after: skip, code: 5)
        let first = try? open.write(1)
        files.clearFaults()
        let next = try first ?? open.write(1)
        #expect(next.replica != tail.replica && next.number.rawValue == 1, "\(kind) \(skip)")
        #expect(open.log.findings.map(\.verdict) == [.lost], "\(kind) \(skip)")
        #expect(try store.read().findings.isEmpty)
      }
    }
  }

  @Test("a tail that grows while it is verified is read again until it stays as it is")
  func verifiedMeanwhile() throws {
    let tail = try tail()
    let intercepted = InterceptedFiles(tail.files)
    let lock = try StoreLock(StoreDirectory(fileSystem: tail.files, path: "/store"))
    // What each look finds: half of the second commit, half of the third, and all.
    let versions = [tail.ends[0] + 50, tail.ends[1] + 50, tail.bytes.count]
    let looks = Monitor(0)
    intercepted.change { hooks in
      hooks.beforeOpen = { path in
        guard path.hasSuffix("/checkpoint") else { return }
        let length = looks.withLock { looks in
          looks += 1
          // Each look opens the file twice.
          return versions[min((looks - 1) / 2, versions.count - 1)]
        }
        try? tail.files.replaceContents(of: tail.path, with: Array(tail.bytes[..<length]))
        lock.touch()
      }
    }
    let found = try Verification.run(at: "/store", on: intercepted)
    #expect(found.map(\.commits) == [5] && found[0].finding == nil)
    #expect(looks.withLock { $0 } == 2 * versions.count)
  }

  @Test("bytes that a reader finds half written are no reason to give up")
  func halfWritten() throws {
    let tail = try tail()
    let reader = try tail.store.open(TestStore.options(access: .readOnly))
    let (store, files) = try TestStore.inMemory()
    let follower = try store.open(TestStore.options(access: .readOnly))
    let writer = try store.open()
    let first = try writer.write(0)
    let path = "/store/replicas/\(writer.replica)/0000000000000001.open"
    let second = try writer.write(1)
    let whole = try files.contents(of: path)
    var half = whole
    for offset in 4_250..<whole.count { half[offset] = 0 }
    try files.replaceContents(of: path, with: half)
    try follower.log.refresh()
    #expect(follower.projection.commits == [first])
    #expect(follower.log.findings.count == 1)
    try files.replaceContents(of: path, with: whole)
    let third = try writer.write(2)
    try follower.log.refresh()
    #expect(follower.projection.commits == [first, second, third])
    #expect(follower.log.findings.isEmpty)
    #expect(reader.projection.commits == tail.commits)
  }
}
