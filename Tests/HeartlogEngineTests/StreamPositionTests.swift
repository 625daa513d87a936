import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import Testing

@testable import HeartlogEngine

@Suite("A log is opened where it was left")
struct StreamPositionTests {
  @Test("from every position that a log had, it gives the commits behind it, and nothing else")
  func everyPosition() throws {
    let history = try History.long()
    #expect(history.positions.count > 50)
    var roots: [ReplicaID: Digest] = [:]
    for stream in try history.store.verify() { roots[stream.replica] = stream.root }
    for (positions, heads) in history.positions {
      #expect(positions.reduce(into: [:]) { $0[$1.replica] = $1.commit.rawValue } == heads)
      let open = try history.open(at: positions)
      #expect(open.projection.commits == history.commits(behind: heads), "behind \(heads)")
      #expect(open.log.findings.isEmpty)
      // It knows the log's trees, and where it stands now.
      let now = try open.log.positions {}
      #expect(now.positions.reduce(into: [:]) { $0[$1.replica] = $1.root } == roots)
      #expect(
        now.positions.map(\.eventCount) == history.positions.last?.positions.map(\.eventCount))
      #expect(now.positions.map(\.lastStamp) == history.positions.last?.positions.map(\.lastStamp))
      let names = try open.log.streamHeads().map { [$0.replica.description, $0.name] }
      let own = [history.replica.description, "Test"]
      let other = [history.otherReplica.description, "Other"]
      #expect(names == (own[0] < other[0] ? [own, other] : [other, own]))
      #expect(try history.open(at: now.positions).projection.commits.isEmpty)
      open.log.close()
    }
  }

  @Test("streams that no position names are read from their start")
  func someStreams() throws {
    let history = try History.long()
    for (positions, heads) in history.positions where positions.count == 2 {
      for position in positions {
        let open = try history.open(at: [position])
        #expect(
          open.projection.commits == history.commits(behind: [position.replica: heads[position.replica] ?? 0])
        )
      }
    }
  }

  @Test("a store that was opened at positions writes on, and others read what it wrote")
  func writing() throws {
    let history = try History.long()
    let all = history.commits
    for (index, (positions, heads)) in history.positions.enumerated() where index % 7 == 0 {
      let open = try history.open(at: positions)
      let before = open.projection.commits.count
      let written = try open.write(10_000 + index)
      #expect(written.number.rawValue > all.count / 2 && open.projection.commits.count == before + 1)
      let read = try history.store.read()
      #expect(read.commits.contains(written) && read.findings.isEmpty)
      #expect(read.commits.filter { $0.number.rawValue > heads[$0.replica] ?? 0 } == open.projection.commits)
      open.log.close()
    }
    #expect(try history.store.verify().allSatisfy { $0.finding == nil })
  }

  @Test("a position in the middle of a block is left with the rest of the block")
  func insideBlocks() throws {
    let history = try History()
    try history.receive(20)
    try history.write(30)
    for isSealed in [false, true] {
      if isSealed { try history.seal() }
      for (replica, count) in [(history.otherReplica, 20), (history.replica, 30)] {
        for commit in stride(from: UInt64(1), through: UInt64(count), by: 3) {
          let merkleCache = try MerkleCache(
            StoreDirectory(fileSystem: history.files, path: "/store"), replica: replica,
            before: CommitNumber(rawValue: 1))
          try merkleCache.advance(to: commit)
          // Where the stream is sealed, the Merkle cache began in the middle of it, and does not know the time.
          #expect((merkleCache.tail.time == nil) == isSealed)
          var time = StreamTime()
          for passed in history.commits where passed.replica == replica && passed.number.rawValue <= commit {
            time.pass(passed.wallTime)
          }
          let position = try #require(try merkleCache.streamPosition(at: time))
          let open = try history.open(at: [position])
          #expect(open.projection.commits == history.commits(behind: [replica: commit]))
          let now = try open.log.positions {}.positions
          #expect(now.map(\.root) == history.positions.last?.positions.map(\.root))
        }
      }
    }
  }

  @Test(
    "where a stream has other commits now, or none, the positions are refused before the projection hears of anything"
  )
  func refused() throws {
    let history = try History()
    try history.write(2)
    let early = history.files.deepCopy()
    try history.write(5)
    for _ in 0..<20 { try history.write() }
    let old = TestStore(files: early, path: "/store")
    func expectRefusal(_ positions: [StreamPosition], on files: any FileSystem, _ comment: Comment) throws {
      let directory = StoreDirectory(fileSystem: files, path: "/store")
      let streams = try directory.replicas() + [StoreIdentity.read(directory).replica]
      let isOfThisStore = positions.contains { streams.contains($0.replica) }
      let projection = RecordingProjection()
      let error = storageFailure {
        _ = try CommitLog(
          at: "/store", on: files, options: TestStore.options(access: .readOnly), projection: projection,
          from: positions)
      }
      #expect(error?.mismatch == (isOfThisStore ? .otherHistory : .otherLog), comment)
      #expect(projection.commits.isEmpty, comment)
    }
    let later = history.positions.dropFirst().map(\.positions)
    // An older copy of the folder came back.
    for positions in later { try expectRefusal(positions, on: early, "an older folder") }
    // And was written to.
    let other = try old.open(TestStore.options(seed: 50, segmentBytesMax: 5_000))
    for index in 0..<25 { try other.write(900 + index, bytes: 150) }
    for positions in later { try expectRefusal(positions, on: early, "another history") }
    _ = try other.log.seal()
    for positions in later { try expectRefusal(positions, on: early, "another history, sealed") }
    other.log.close()
    // The stream is gone.
    let empty = TestStore(files: MemoryFileSystem(recording: true), path: "/store")
    try empty.create(seed: 31)
    for positions in later { try expectRefusal(positions, on: empty.files, "an empty store") }
    let foreign = TestStore(files: MemoryFileSystem(recording: true), path: "/store")
    try foreign.create(seed: 51)
    for positions in later { try expectRefusal(positions, on: foreign.files, "another store") }
  }

  @Test(
    "a received stream that is shorter than its position has another history, and is no stream of another store"
  )
  func shorter() throws {
    let history = try History()
    try history.receive(3)
    let early = history.files.deepCopy()
    try history.receive(3)
    let position = try #require(
      history.positions.last?.positions.first { $0.replica == history.otherReplica })
    let error = storageFailure {
      _ = try CommitLog(
        at: "/store", on: early, options: TestStore.options(access: .readOnly),
        projection: RecordingProjection(),
        from: [position])
    }
    #expect(error?.mismatch == .otherHistory)
  }

  @Test(
    "where a stream was ended in front of a position, it is refused; behind it, the log is read up to the end"
  )
  func ended() throws {
    let history = try History()
    try history.receive(6)
    let inside = history.positions[0].positions
    try history.receive(6)
    let behind = history.positions[1].positions
    _ = try history.own.log.endStream(history.otherReplica, after: 8)
    #expect(storageFailure { _ = try history.open(at: behind) }?.mismatch == .otherLog)
    let start = StreamStart(directory: StoreDirectory(fileSystem: history.files, path: "/store"))
    let position = try #require(inside.first { $0.replica == history.otherReplica })
    #expect(try start.readerInSegment(at: position)?.endCommit == 8)
    let open = try history.open(at: inside)
    #expect(
      open.projection.commits
        == history.commits.filter { $0.replica != history.otherReplica || $0.number.rawValue > 6 })
    // The stream's end is a position like any other.
    try history.note()
    let last = try #require(history.positions.last?.positions)
    #expect(last.first { $0.replica == history.otherReplica }?.commit.rawValue == 8)
    #expect(try history.open(at: last).projection.commits.isEmpty)
    #expect(try history.open(at: last).log.positions {}.positions == last)
  }

  @Test("bad bytes behind a position are judged as they are from the start")
  func badTails() throws {
    let history = try History(segmentBytesMax: 1 << 20)
    for _ in 0..<6 { try history.write() }
    history.own.log.close()
    let path = history.path("0000000000000001.open", of: history.replica)
    let bytes = try history.files.contents(of: path)
    let ends = history.positions.map {
      Int($0.positions[0].location.frameOffset + $0.positions[0].location.frameBytes)
    }
    for (index, (positions, _)) in history.positions.enumerated() {
      for place in [ends[index] + 3, ends.last ?? 0, 4_100] {
        var changed = bytes
        changed[place] ^= 0x55
        try history.files.replaceContents(of: path, with: changed)
        let whole = try history.store.read()
        let projection = RecordingProjection()
        let result = Result {
          try CommitLog(
            at: "/store", on: history.files, options: TestStore.options(access: .readOnly),
            projection: projection,
            from: positions)
        }
        if place < ends[index], case .failure(let error) = result {
          // The last frame in front of the position was hit.
          #expect((error as? HeartlogError)?.mismatch == .otherHistory)
          continue
        }
        let log = try result.get()
        guard place >= ends[index] else {
          // What is in front of the position is not read, but by `verify`.
          #expect(log.findings.isEmpty && !whole.findings.isEmpty)
          continue
        }
        #expect(log.findings.map(\.verdict) == whole.findings.map(\.verdict))
        #expect(log.findings.map(\.error.offset) == whole.findings.map(\.error.offset))
        #expect(projection.commits == whole.commits.filter { $0.number > positions[0].commit })
      }
    }
  }
}

@Suite("Positions as bytes")
struct StreamPositionBytesTests {
  private func somePositions() throws -> [StreamPosition] {
    let history = try History()
    try history.write(3)
    try history.receive(5)
    try history.write(2)
    return try #require(history.positions.last?.positions)
  }

  @Test("what is encoded is decoded, in the order of the replicas")
  func roundTrip() throws {
    let positions = try somePositions()
    #expect(positions.count == 2 && positions.contains { !$0.tail.seen.isEmpty })
    let bytes = StreamPosition.encode(positions.reversed())
    #expect(try bytes.withUnsafeBytes { try StreamPosition.decode($0) } == positions)
    #expect(try StreamPosition.encode([]).withUnsafeBytes { try StreamPosition.decode($0) }.isEmpty)
  }

  @Test("bytes that are cut anywhere are refused, and changed ones are refused or make other positions")
  func hostile() throws {
    let positions = try somePositions()
    let bytes = StreamPosition.encode(positions)
    for count in bytes.indices {
      #expect(throws: MalformedError.self) {
        try Array(bytes[..<count]).withUnsafeBytes { try StreamPosition.decode($0) }
      }
    }
    #expect(throws: MalformedError.self) {
      try (bytes + [0]).withUnsafeBytes { try StreamPosition.decode($0) }
    }
    for place in bytes.indices {
      for change in [0x01, 0x80, 0xFF] as [UInt8] {
        var changed = bytes
        changed[place] ^= change
        let decoded = try? changed.withUnsafeBytes { try StreamPosition.decode($0) }
        #expect(decoded != positions, "byte \(place)")
      }
    }
  }

  @Test("a log takes no changed position without a look: it refuses it, or finds the same commits")
  func hostilePositions() throws {
    let history = try History()
    try history.write(3)
    try history.receive(5)
    let (positions, _) = history.positions[0]
    try history.write(2)
    let bytes = StreamPosition.encode(positions)
    for place in bytes.indices {
      var changed = bytes
      changed[place] ^= 0x04
      guard let decoded = try? changed.withUnsafeBytes({ try StreamPosition.decode($0) }) else { continue }
      let projection = RecordingProjection()
      // Whatever comes of it: no crash. The bytes of a snapshot have a checksum of their own.
      _ = try? CommitLog(
        at: "/store", on: history.files, options: TestStore.options(access: .readOnly),
        projection: projection,
        from: decoded)
    }
  }
}
