import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import Testing

@testable import HeartlogEngine

@Suite("Sealing changes bytes, never commits")
struct SealingTests {
  @Test("the header of a sealed segment names no commit past the last number")
  func lastNumber() throws {
    func decode(commits: UInt64) throws -> SegmentHeader {
      let header = SegmentHeader(
        kind: .sealed, id: SegmentID(words: (1, 2)), replica: ReplicaID(high: 1, low: 1), replicaName: "",
        firstCommit: CommitNumber(rawValue: 1), firstSequence: SequenceNumber(rawValue: 1),
        totals: SegmentHeader.Totals(commits: commits), secret: SegmentHeader.noSecret)
      return try header.encoded().withUnsafeBytes { try SegmentHeader.decode($0, file: "1.sealed").header }
    }
    #expect(try decode(commits: Limits.numberMax).lastCommit?.rawValue == Limits.numberMax)
    #expect(storageFailure { _ = try decode(commits: Limits.numberMax + 1) }?.code == .corrupt)
    #expect(storageFailure { _ = try decode(commits: 0) }?.code == .corrupt)
  }

  @Test("commits and roots are the same before and after, over several segments and their secrets")
  func roots() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open(TestStore.options(segmentBytesMax: 5_000))
    for index in 0..<40 { try open.write(index, events: 1 + index % 3, bytes: 120) }
    let before = try store.verify()
    let names = try store.names(of: open.replica)
    #expect(names.count > 4)
    let bytes = try names.reduce(0) {
      try $0 + files.contents(of: "/store/replicas/\(open.replica)/\($1)").count
    }
    let report = try open.log.seal()
    #expect(report.replacedFiles == names.count && report.sealedFiles == 1)
    #expect(report.events == before[0].events && report.bytesBefore == UInt64(bytes))
    #expect(try store.names(of: open.replica) == ["0000000000000001.sealed"])
    let sealed = try files.contents(of: "/store/replicas/\(open.replica)/0000000000000001.sealed")
    #expect(report.bytesAfter == UInt64(sealed.count) && sealed.count < bytes / 2)
    let after = try store.verify()
    #expect(after[0].root == before[0].root && after[0].commits == 40 && after[0].finding == nil)
    #expect(try store.read().commits == open.projection.commits)
    // Nothing to do is nothing done.
    #expect(try open.log.seal().sealedFiles == 0)
    // One block holds the secrets of all the segments.
    let blocks = try frames(store, files, open.replica, "0000000000000001.sealed")
    #expect(blocks.count == 1)
    guard case .block(let block) = blocks[0].1 else { throw HeartlogError(.corrupt, "no block") }
    let secrets = block.secrets
    #expect(secrets.count == names.count)

    // The next segments start from this one's frontier, sealed in turn alone or joined.
    for index in 40..<60 { try open.write(index, bytes: 200) }
    let root = try store.verify()[0].root
    _ = try open.log.seal(joining: false)
    #expect(try store.verify()[0].root == root && store.names(of: open.replica).count > 2)
    _ = try open.log.seal()
    #expect(try store.verify()[0].root == root && store.names(of: open.replica).count == 1)
    #expect(try store.verify()[0].finding == nil)
    // Again one block, although one of the joined ones had several secrets.
    #expect(try frames(store, files, open.replica, "0000000000000001.sealed").count == 1)
  }

  @Test(
    "a reader at the end of a sealed segment goes on in the one that took its place",
    arguments: [true, false])
  func replaced(knowsPage: Bool) throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    for index in 0..<3 { try open.write(index) }
    _ = try open.log.seal()
    let directory = StoreDirectory(fileSystem: files, path: store.path)
    let reader = StreamReader(directory, replica: open.replica)
    guard case .frame = try reader.next() else { throw HeartlogError(.corrupt, "no frame") }
    for index in 3..<5 { try open.write(index) }
    // What another process reads before it reads the stream.
    let page = knowsPage ? try StoreLock(directory).page() : StoreLock.Page()
    _ = try open.log.seal()
    var commits: [Commit] = []
    while case .frame(let frame, _) = try reader.next(page: page) { commits += frame.commits?.commits ?? [] }
    #expect(commits == Array(open.projection.commits[3...]))
    guard case .end(nil) = try reader.next(page: page) else {
      Issue.record("more than there is")
      return
    }
  }

  @Test("a process that has the store open goes on in a segment that another one joined with the tail")
  func replacedBesideWriter() throws {
    let (store, _) = try TestStore.inMemory()
    let (first, second) = (try store.open(), try store.open())
    for index in 0..<3 { try first.write(index) }
    _ = try first.log.seal()
    try second.log.refresh()
    for index in 3..<5 { try first.write(index) }
    _ = try first.log.seal()
    try second.write(5)
    #expect(second.replica == first.replica && second.log.findings.isEmpty)
    #expect(second.projection.commits.map(\.number.rawValue) == [1, 2, 3, 4, 5, 6])
  }

  @Test(
    "sealing leaves to another process what that one seals meanwhile, whatever it is about to do")
  func sealedElsewhereMeanwhile() throws {
    let sealedMeanwhile = Monitor(0)
    /// - Returns: how many places there were.
    func run(meanwhileAt place: Int) throws -> Int {
      let (store, files) = try TestStore.inMemory()
      let options = TestStore.options(segmentBytesMax: 4_500)
      let writer = try store.open(options)
      for index in 0..<10 { try writer.write(index, bytes: 300) }
      let intercepted = InterceptedFiles(files)
      let sealer = try TestStore(files: intercepted, path: store.path).open(options)
      try sealer.log.refresh()
      // A process that has to wait gives up, because the other one stands still.
      writer.log.close()
      var impatient = options
      impatient.lockMillisecondsMax = 0
      let other = try store.open(impatient)
      let count = intercepted.doAtCall(place) {
        for joining in [false, true] {
          do throws(HeartlogError) {
            let sealed = try other.log.seal(joining: joining).sealedFiles
            sealedMeanwhile.withLock { $0 += sealed }
          } catch { #expect(error.code == .locked, "at \(place)") }
        }
      }
      _ = try sealer.log.seal(joining: false)
      intercepted.change { $0.beforeOpen = { _ in } }
      #expect(try store.verify().allSatisfy { $0.finding == nil }, "at \(place)")
      let isWhole = try store.read().commits == writer.projection.commits
      #expect(isWhole, "at \(place)")
      return count.withLock(\.self)
    }
    let places = try run(meanwhileAt: 0)
    #expect(places > 10)
    for place in 1...places { _ = try run(meanwhileAt: place) }
    #expect(sealedMeanwhile.withLock(\.self) > 0)
  }

  @Test("leftovers of a crash are passed over, and the next writer removes them")
  func leftovers() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open(TestStore.options(segmentBytesMax: 4_500))
    for index in 0..<4 { try open.write(index, bytes: 300) }
    _ = try open.log.seal(joining: false)
    for index in 4..<8 { try open.write(index, bytes: 300) }
    let folder = "/store/replicas/\(open.replica)"
    let old = try store.names(of: open.replica).map { ($0, try files.contents(of: "\(folder)/\($0)")) }
    #expect(old.count > 3)
    _ = try open.log.seal()
    open.log.close()
    for (name, bytes) in old where name != "0000000000000001.sealed" {
      try files.open("\(folder)/\(name)", .createNew).write(bytes, at: 0)
    }
    try files.open("\(folder)/0000000000000009.open.tmp-12", .createNew).write([1, 2, 3], at: 0)
    try files.open("\(folder)/0000000000000001.open", .createNew).write(old[0].1, at: 0)
    #expect(try store.read().commits == open.projection.commits)
    #expect(try store.verify()[0].finding == nil)
    let second = try store.open()
    try second.write(8)
    #expect(try store.names(of: open.replica) == ["0000000000000001.sealed", "0000000000000009.open"])
    #expect(try store.read().commits == second.projection.commits)
  }

  @Test("a segment that is half a leftover is damage: it is named, and not removed")
  func overlap() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open(TestStore.options(segmentBytesMax: 4_600))
    for index in 0..<3 { try open.write(index, bytes: 300) }
    let folder = "/store/replicas/\(open.replica)"
    #expect(try store.names(of: open.replica) == ["0000000000000001.open", "0000000000000003.open"])
    // A copy seals three commits; the original writes a fourth to its second segment.
    let copy = files.deepCopy()
    _ = try TestStore(files: copy, path: "/store").open().log.seal()
    try open.write(3)
    open.log.close()
    try files.remove("\(folder)/0000000000000001.open")
    let sealed = try files.open("\(folder)/0000000000000001.sealed", .createNew)
    try sealed.write(try copy.contents(of: "\(folder)/0000000000000001.sealed"), at: 0)

    let finding = try #require(try store.verify()[0].finding)
    #expect(finding.verdict == .corrupt && finding.error.file == "\(folder)/0000000000000003.open")
    #expect(finding.error.commits?.lowerBound.rawValue == 4)
    let reopened = try store.open()
    #expect(reopened.projection.commits.count == 3)
    #expect(throws: HeartlogError.self) { try reopened.write(4) }
    #expect(try store.names(of: open.replica).contains("0000000000000003.open"))
  }

  @Test(
    "a reader follows when the segment that it stands in is sealed and removed",
    arguments: FileSystemKind.allCases)
  func readerInRemovedSegment(_ kind: FileSystemKind) throws {
    let place = try TestPlace(kind)
    let store = try place.store()
    let writer = try store.open(TestStore.options(segmentBytesMax: 5_000))
    for stop in [1, 3, 4, 9] {
      let readers = try (0..<2).map { _ in try store.open(TestStore.options(access: .readOnly)) }
      for index in 0..<stop { try writer.write(stop * 100 + index, bytes: 250) }
      try readers[0].log.refresh()
      for index in stop..<10 { try writer.write(stop * 100 + index, bytes: 250) }
      if stop % 2 == 1 { _ = try writer.log.seal() }
      try writer.write(stop * 100 + 99)
      for reader in readers {
        try reader.log.refresh()
        #expect(reader.projection.commits == writer.projection.commits)
        #expect(reader.projection.now.applied.values.allSatisfy { $0 == 1 })
        #expect(reader.log.findings.isEmpty)
      }
    }
    #expect(try store.verify()[0].finding == nil)
  }

  @Test("records of later kinds stay at their places among the commits")
  func laterRecords() throws {
    let (store, files) = try TestStore.inMemory()
    var places: [(UInt8, UInt64)] = []
    func addRecord(_ kind: UInt8, flags: UInt8 = 0, before number: UInt64) throws {
      let open = try store.open()
      let name = try #require(try store.names(of: open.replica).last { $0.hasSuffix(".open") })
      open.log.close()
      try files.appendRecord(
        "/store/replicas/\(open.replica)/\(name)", kind: kind, flags: flags, before: number)
      places.append((kind, number))
    }
    let first = try store.open(TestStore.options(segmentBytesMax: 4_250))
    try first.write(0, bytes: 20)
    first.log.close()
    try addRecord(3, before: 2)
    let second = try store.open(TestStore.options(seed: 5, segmentBytesMax: 4_400))
    try second.write(1, bytes: 20)
    second.log.close()
    // At the end of a segment that is full, and at the start of the next one.
    try addRecord(200, flags: 0xA5, before: 3)
    let third = try store.open(TestStore.options(seed: 6, segmentBytesMax: 4_250))
    try third.write(2, bytes: 20)
    let replica = third.replica
    third.log.close()
    #expect(try store.names(of: replica).count == 2)
    try addRecord(5, before: 4)
    let before = try store.verify()
    #expect(before[0].finding == nil && before[0].commits == 3)

    func found(_ names: [String]) throws -> [String] {
      try names.flatMap { name in
        try frames(store, files, replica, name).compactMap { header, frame -> String? in
          guard case .record(let kind, let body) = frame else { return nil }
          #expect(body.bytes == Array("record \(kind)".utf8) && body.flags == (kind == 200 ? 0xA5 : 0))
          return "\(kind) before \(header.firstCommit)"
        }
      }
    }
    let all = places.map { "\($0.0) before \($0.1)" }
    #expect(try found(store.names(of: replica)) == all)
    let open = try store.open(TestStore.options(seed: 7))
    _ = try open.log.seal(joining: false)
    #expect(try store.names(of: replica).allSatisfy { $0.hasSuffix(".sealed") })
    #expect(try found(store.names(of: replica)) == all)
    _ = try open.log.seal()
    #expect(try store.names(of: replica) == ["0000000000000001.sealed"])
    #expect(try found(["0000000000000001.sealed"]) == all)
    #expect(try store.verify()[0].root == before[0].root && store.verify()[0].finding == nil)
  }

  @Test("a block takes as many commits as fit, and large segments are not joined")
  func limits() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    for index in 0..<3 { try open.write(index, .buffered, events: 20_000, bytes: 0) }
    let report = try open.log.seal()
    #expect(report.sealedFiles == 1 && report.events == 60_000)
    let blocks = try frames(store, files, open.replica, "0000000000000001.sealed")
    #expect(blocks.map(\.0.commitCount) == [2, 1])
    try open.write(3)
    #expect(try open.log.seal().replacedFiles == 1)
    #expect(try store.names(of: open.replica).count == 2)
    #expect(try store.read().commits == open.projection.commits)
  }

  @Test("a large block of a received stream stays as it is, between small ones that are joined")
  func largeBlocks() throws {
    let (source, _) = try TestStore.inMemory(seed: 1)
    let (store, files) = try TestStore.inMemory(seed: 2)
    let (writer, receiver) = (try source.open(), try store.open())
    for events in [1, 1, 20_000, 20_000, 1, 1] {
      try writer.write(events, .buffered, events: events, bytes: 0)
    }
    try writer.log.flush()
    var bodies: [[UInt8]] = []
    for (after, last) in [(0, 1), (1, 2), (2, 4), (4, 5), (5, 6)] as [(UInt64, UInt64)] {
      let run = try #require(
        try writer.log.streamRun(of: writer.replica, after: after, upTo: CommitNumber(rawValue: last)))
      bodies.append(run.body)
      _ = try receiver.log.receive(run)
    }
    let root = try receiver.log.streamHeads().first { $0.replica == writer.replica }?.root
    _ = try receiver.log.seal()
    let name = try #require(try store.names(of: writer.replica).first)
    #expect(try frames(store, files, writer.replica, name).map(\.0.commitCount) == [2, 2, 2])
    let sealed = try files.contents(of: "\(store.path)/replicas/\(writer.replica)/\(name)")
    #expect(sealed.firstRange(of: bodies[2]) != nil && sealed.firstRange(of: bodies[0]) == nil)
    #expect(try store.verify().allSatisfy { $0.finding == nil })
    let reopened = try store.open()
    #expect(reopened.projection.commits(of: writer.replica) == writer.projection.commits)
    #expect(try reopened.log.streamHeads().first { $0.replica == writer.replica }?.root == root)
  }

  @Test("a large block is compared with what is claimed of the commits in it", arguments: [2, 3, 4, 5])
  func largeBlockClaims(size: UInt64) throws {
    let (source, _) = try TestStore.inMemory(seed: 1)
    let (store, files) = try TestStore.inMemory(seed: 2)
    let (writer, receiver) = (try source.open(), try store.open())
    for index in 0..<5 { try writer.write(index, .buffered, events: 10_000, bytes: 0) }
    try writer.log.flush()
    let run = try #require(
      try writer.log.streamRun(of: writer.replica, after: 0, upTo: CommitNumber(rawValue: 5)))
    #expect(run.commitCount == 5)
    _ = try receiver.log.receive(run)
    func seal(_ claimed: MerkleTree) throws -> SealedFile? {
      let directory = StoreDirectory(fileSystem: files, path: store.path)
      let segment = try #require(try directory.segments(of: writer.replica).first)
      let path = directory.path(of: segment, in: writer.replica)
      let file = try directory.fileSystem.open(path, .read)
      let part = SealableSegment(
        file: segment, header: try directory.header(of: file, path: path).header, bytes: try file.size(),
        events: 50_000, isTail: false)
      var tail = StreamTail(replica: writer.replica)
      for commit in writer.projection.commits.prefix(Int(size)) { try tail.extend(by: commit) }
      let location = StreamPosition.Location(
        segment: part.header.id, firstCommit: CommitNumber(rawValue: 1),
        frameOffset: UInt64(SegmentHeader.byteCount), frameBytes: 1_024, frameChecksum: 0)
      let position = StreamPosition(tail: tail, at: StreamTime(), tree: claimed, location: location)
      return try SealedFile(
        of: [part], in: directory, replicaName: "a", options: TestStore.options(), without: WithheldEvents(),
        snapshots: [SnapshotClaim(positions: [position], file: "snapshot")])
    }
    var tree = MerkleTree()
    var hasher = SHA256Hasher()
    var salts = Salts(try RunReceiver.block(of: run).secrets)
    for commit in writer.projection.commits.prefix(Int(size)) {
      tree.append(leaf: try commit.leafHash(salts: &salts, hasher: &hasher), hasher: &hasher)
    }
    #expect(try seal(tree) != nil)
    var other = MerkleTree()
    for byte in 0..<UInt8(size) { other.append(leaf: SHA256Hasher.digest(of: [byte])) }
    let error = #expect(throws: HeartlogError.self) { try seal(other) }
    #expect(error?.code == .corrupt && error?.file == "snapshot")
    #expect(error?.commits?.upperBound.rawValue == size)
  }

  @Test("a block holds at most 16 MiB of rows")
  func blockBytes() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    let value = FieldValue.string(String(repeating: "a", count: 1 << 20))
    let fields = (0..<6).map { Field(name: "f\($0)", value: value) }
    for index in 0..<3 {
      _ = try open.log.write(.buffered) {
        CommitDraft(
          wallTime: Int64(index), origin: nil,
          records: [.event(Event(library: "papers", item: "x", action: .added, fields: fields))])
      }
    }
    _ = try open.log.seal()
    let blocks = try frames(store, files, open.replica, "0000000000000001.sealed")
    #expect(blocks.map(\.0.commitCount) == [2, 1])
    #expect(try store.read().commits == open.projection.commits)
  }

  @Test("which runs are joined")
  func plan() {
    func sealed(_ events: [UInt64]) -> [SealableSegment] {
      events.enumerated().map { segment($0, $1, .sealed) }
    }
    func sizes(_ runs: [[SealableSegment]]) -> [[UInt64]] { runs.map { $0.map(\.events) } }

    #expect(sizes(SealingPlan.all(sealed([10, 20, 30]))) == [[10, 20, 30]])
    #expect(
      sizes(SealingPlan.all(sealed([30_000, 20_000, 1, 50_000, 2, 3]))) == [[30_000, 20_000], [2, 3]])
    #expect(SealingPlan.all(sealed([60_000])).isEmpty)
    let mixed = sealed([49_000]) + [segment(1, 2_000, .open), segment(2, 10, .open)]
    #expect(sizes(SealingPlan.all(mixed)) == [[2_000, 10]])
    #expect(sizes(SealingPlan.all(mixed, joining: false)) == [[2_000], [10]])

    // In the background: the first full segment, then neighbours that are many or can grow no more.
    #expect(SealingPlan.next(mixed)?.map(\.events) == [2_000])
    #expect(SealingPlan.next([segment(0, 5, .open, isTail: true)]) == nil)
    #expect(SealingPlan.next(sealed([10, 20, 30])) == nil)
    #expect(SealingPlan.next(sealed([10, 20, 30, 40]))?.count == 4)
    #expect(SealingPlan.next(sealed([17_000, 17_000])) == nil)
    #expect(SealingPlan.next(sealed([17_000, 17_000, 17_000]))?.count == 2)
    #expect(SealingPlan.next(sealed([34_000, 17_000])) == nil)
  }

  private func segment(
    _ index: Int, _ events: UInt64, _ state: SegmentFile.State, isTail: Bool = false
  ) -> SealableSegment {
    let first = CommitNumber(rawValue: UInt64(index + 1))
    let header = SegmentHeader(
      kind: .open, id: SegmentID(words: (1, UInt64(index))), replica: ReplicaID(high: 1, low: 1),
      replicaName: "",
      firstCommit: first, firstSequence: SequenceNumber(rawValue: 1), secret: SegmentHeader.noSecret)
    return SealableSegment(
      file: SegmentFile(firstCommit: first, state: state), header: header, bytes: 1,
      events: events, isTail: isTail)
  }

  private func frames(
    _ store: TestStore, _ files: MemoryFileSystem, _ replica: ReplicaID, _ name: String
  ) throws -> [(FrameHeader, StoredFrame)] {
    let path = "\(store.path)/replicas/\(replica)/\(name)"
    let file = try files.open(path, .read)
    let header = try StoreDirectory(fileSystem: files, path: store.path).header(of: file, path: path).header
    let cursor = SegmentCursor(file: file, path: path, header: header)
    var frames: [(FrameHeader, StoredFrame)] = []
    while case .frame(let frame) = try cursor.look() {
      frames.append((frame, try StoredFrame.decode(frame, at: cursor, headsBefore: nil)))
      cursor.pass(frame)
    }
    return frames
  }
}

extension MemoryFileSystem {
  /// Puts a record that this version does not know behind the frames of an open segment.
  func appendRecord(_ path: String, kind: UInt8, flags: UInt8 = 0, before number: UInt64) throws {
    let file = try open(path, .readWrite)
    let found = try StoreDirectory(fileSystem: self, path: "/").header(of: file, path: path).header
    let cursor = SegmentCursor(file: file, path: path, header: found)
    while case .frame(let frame) = try cursor.look() { cursor.pass(frame) }
    var bytes: [UInt8] = []
    Frame.append(
      kind: kind, body: Frame.Body(stored: Array("record \(kind)".utf8), flags: flags),
      firstCommit: CommitNumber(rawValue: number), commitCount: 0, durableOffset: UInt32(cursor.offset),
      at: cursor.offset, of: found.id, to: &bytes)
    try file.write(bytes, at: cursor.offset)
    try file.synchronize()
  }
}
