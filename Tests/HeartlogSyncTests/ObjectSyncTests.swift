import Heartlog
import HeartlogFiles
import Testing

@testable import HeartlogSync

@Suite("A place for objects between stores, of each kind")
struct ObjectSyncTests {
  private func device(_ number: UInt64, _ commits: Int) -> FakeStreams {
    let store = FakeStreams(number, name: "device \(number)")
    if commits > 0 { store.write(commits, tag: "\(number)-") }
    return store
  }

  @Test(
    "stores that never meet know the same, and a second look does nothing",
    arguments: ObjectPlace.Kind.allCases)
  func exchange(kind: ObjectPlace.Kind) throws {
    let place = try ObjectPlace(kind)
    let stores = [device(1, 40), device(2, 3), device(3, 700)]
    stores[2].state.withLock { $0.eventsPerRun = 100 }
    for store in stores + stores { _ = try place.sync(store) }
    #expect(stores[0].streams == stores[1].streams && stores[0].streams == stores[2].streams)
    #expect(stores[0].streams.count == 3)
    let before = try place.names()
    let report = try place.sync(stores[0])
    #expect(report.received.commits == 0 && report.sent.commits == 0 && report.folder?.written == 0)
    #expect(try place.names() == before && before.count == 3)
    // Each file lies in its writer's folder, and nobody passed on what its writer left.
    #expect(before.allSatisfy { $0.split(separator: "/")[0] == $0.split(separator: "/")[1] })
  }

  @Test("each kind of place has the same names and bytes after the same syncs")
  func sameBytes() throws {
    var found: [[String: [UInt8]]] = []
    for kind in ObjectPlace.Kind.allCases {
      let place = try ObjectPlace(kind)
      let stores = [device(1, 12), device(2, 3), device(3, 0)]
      for round in 0..<30 {
        stores[round % 3].write(2)
        for store in stores { _ = try place.sync(store) }
      }
      let names = try place.names()
      found.append(Dictionary(uniqueKeysWithValues: try names.map { ($0, try place.bytes($0)) }))
    }
    #expect(found[0].count > 6 && found.allSatisfy { $0 == found[0] })
  }

  @Test("what nobody else left is passed on", arguments: ObjectPlace.Kind.allCases)
  func passedOn(kind: ObjectPlace.Kind) throws {
    let place = try ObjectPlace(kind)
    let (one, other) = (device(1, 5), device(2, 5))
    _ = try Dialogue.between(one, other).report()
    let report = try place.sync(one)
    #expect(report.sent.commits == 10 && report.sent.events == 10)
    #expect(try place.names().filter({ $0.hasPrefix("\(one.replica)/\(other.replica)/") }).count == 1)
    let third = device(3, 0)
    _ = try place.sync(third)
    #expect(third.streams == one.streams)
  }

  @Test("a stream of which only copies are left is passed on", arguments: ObjectPlace.Kind.allCases)
  func onlyCopies(kind: ObjectPlace.Kind) throws {
    let place = try ObjectPlace(kind)
    let (one, other) = (device(1, 5), device(2, 5))
    _ = try place.sync(one)
    _ = try Dialogue.between(one, other).report()
    let path = try #require(try place.names().first)
    let content = try place.bytes(path)
    try place.replace(path, with: nil)
    try place.replace("\(path.dropLast(4)) 2.run", with: content)
    let report = try place.sync(other)
    #expect(report.folder?.copies == 1 && report.sent.commits == 10)
    #expect(try place.names().filter({ $0.hasPrefix("\(other.replica)/\(one.replica)/") }).count == 1)
  }

  @Test("a dry run and a pull leave the folder as it is", arguments: ObjectPlace.Kind.allCases)
  func dryRun(kind: ObjectPlace.Kind) throws {
    let place = try ObjectPlace(kind)
    let (one, other) = (device(1, 5), device(2, 7))
    _ = try place.sync(one)
    let before = try place.names()
    let report = try place.sync(other) { $0.isDryRun = true }
    #expect(report.received.commits == 5 && report.sent.commits == 7 && other.streams.count == 1)
    let pulled = try place.sync(other) { $0.isPull = true }
    #expect(pulled.received.commits == 5 && pulled.sent.commits == 0 && other.streams.count == 2)
    #expect(try place.names() == before)
  }

  @Test(
    "small files become larger ones: their number stays small, and no reader ever lacks a run",
    arguments: ObjectPlace.Kind.allCases)
  func merging(kind: ObjectPlace.Kind) throws {
    let place = try ObjectPlace(kind)
    let (one, other) = (device(1, 0), device(2, 0))
    var most = 0
    var removed = 0
    for round in 0..<120 {
      one.write(1, tag: "x")
      removed += try place.sync(one).folder?.removed ?? 0
      most = max(most, try place.names().count)
      if round % 17 == 0 {
        _ = try place.sync(other)
        #expect(other.streams[one.replica] == one.streams[one.replica])
      }
    }
    #expect(most <= 2 * SyncPass.neighboursMax && removed > 100)
    let fresh = device(3, 0)
    _ = try place.sync(fresh)
    #expect(fresh.streams[one.replica] == one.streams[one.replica])
  }

  @Test("a copy whose content is none is passed over", arguments: ObjectPlace.Kind.allCases)
  func badCopies(kind: ObjectPlace.Kind) throws {
    let place = try ObjectPlace(kind)
    let (one, other) = (device(1, 10), device(2, 0))
    _ = try place.sync(one)
    let path = try place.names()[0]
    let content = try place.bytes(path)
    try place.replace("\(path.dropLast(4)) 2.run", with: Array(content.dropLast(3)))
    try place.replace("\(path.dropLast(4)) 3.run", with: content)
    let report = try place.sync(other)
    #expect(report.received.commits == 10 && report.folder?.copies == 2)
  }

  @Test(
    "a file with the right hash and no commits in it is damaged, and stops nothing else",
    arguments: ObjectPlace.Kind.allCases, [1, 40])
  func nonsense(kind: ObjectPlace.Kind, number: UInt64) throws {
    let place = try ObjectPlace(kind)
    let (one, other) = (device(20, 10), device(2, 1))
    _ = try place.sync(one)
    // Of a stream before and after the other ones, of one that is known in part, and of the own one.
    for stream in [FakeStreams.replica(number), one.replica, other.replica] {
      let first: UInt64 = stream == one.replica ? 11 : stream == other.replica ? 2 : 1
      let file = RunFile(
        replica: stream, name: "nobody", firstCommit: first,
        runs: [
          StreamRun(
            replica: stream, name: "nobody", firstCommit: CommitNumber(rawValue: first), commitCount: 3,
            body: [1, 3, 3, 9, 9], root: Digest([UInt8](repeating: 7, count: 32)))
        ]
      ).encoded()
      try place.replace("\(FakeStreams.replica(number))/\(stream)/\(file.name.text)", with: file.bytes)
    }
    let report = try place.sync(other)
    #expect(report.received.commits == 10 && report.sent.commits == 1 && report.folder?.damaged == 3)
    #expect(other.streams[one.replica] == one.streams[one.replica] && other.streams.count == 2)
  }

  @Test(
    "a copied store is found through the folder: the stream ends at its last common commit for everybody",
    arguments: ObjectPlace.Kind.allCases, [(20, 5, 9), (0, 3, 4), (20, 1, 1)])
  func clones(kind: ObjectPlace.Kind, counts: (common: Int, own: Int, copied: Int)) throws {
    let (common, own, copied) = counts
    let place = try ObjectPlace(kind)
    let one = device(1, common)
    if common > 0 { _ = try place.sync(one) }
    let copy = one.copy()
    let forked = one.replica
    one.write(own, tag: "b")
    copy.write(copied, tag: "c")
    let third = device(3, 2)
    var forks = 0
    for store in [one, copy, third, one, copy, third, one, copy, third, one, copy, third] {
      forks += try place.sync(store).forks.count
    }
    #expect(forks >= 2)
    #expect(one.streams == copy.streams && one.streams.count == 4)
    #expect(
      third.streams.filter { !$0.value.commits.isEmpty } == one.streams.filter { !$0.value.commits.isEmpty })
    #expect(one.streams[forked]?.commits.count == common && one.streams[forked]?.isEnded == true)
    // Who comes later finds it ended, whatever files of before still lie there.
    let late = device(4, 0)
    _ = try place.sync(late)
    // Of a stream that ended before its first commit there is no name to take over.
    #expect(
      late.streams.filter { !$0.value.commits.isEmpty } == one.streams.filter { !$0.value.commits.isEmpty })
    let quiet = try place.sync(one)
    #expect(quiet.folder?.written == 0 && quiet.forks.isEmpty)
  }

  @Test(
    "a file whose commits do not lead to its root is refused, and the others are taken",
    arguments: ObjectPlace.Kind.allCases)
  func refused(kind: ObjectPlace.Kind) throws {
    let place = try ObjectPlace(kind)
    let forger = device(1, 9)
    forger.state.withLock { state in
      state.forged = [state.replica]
      state.eventsPerRun = 4
    }
    for store in [forger, device(2, 3), device(3, 5)] { _ = try place.sync(store) }
    let store = device(9, 1)
    let report = try place.sync(store)
    #expect(store.streams.count == 3 && store.streams[forger.replica] == nil)
    #expect(!report.isComplete && report.skipped.map(\.replica) == [forger.replica])
    #expect(report.skipped.first?.cause == .refused && report.skipped.first?.firstCommit.rawValue == 1)
  }

  @Test(
    "of a damaged stream what can be read is left, and of the others all",
    arguments: ObjectPlace.Kind.allCases, FakeStreams.Notice.allCases)
  func damaged(kind: ObjectPlace.Kind, notice: FakeStreams.Notice) throws {
    let place = try ObjectPlace(kind)
    let others = [device(1, 9), device(2, 9)]
    for other in others { _ = try place.sync(other) }
    let hub = device(3, 9)
    _ = try place.sync(hub)
    hub.write(4)
    hub.state.withLock { state in
      state.noticesDamage = notice
      state.eventsPerRun = 4
      state.damaged = [state.replica: 11]
    }
    others[0].write(2)
    _ = try place.sync(others[0])
    let report = try place.sync(hub)
    #expect(hub.streams[others[0].replica]?.commits.count == (notice == .whenOpening ? 9 : 11))
    #expect(
      !report.isComplete
        && report.skipped.contains { $0.cause == .damaged && $0.reason.contains("this store is damaged") })
    _ = try place.sync(others[1])
    // What is found only when it is read ends the file that was being made.
    #expect(others[1].streams[hub.replica]?.commits.count == (notice == .whenReading ? 9 : 11))
    #expect(others[1].streams[others[0].replica]?.commits.count == 11)
  }
}
