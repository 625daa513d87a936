import Heartlog
import HeartlogFiles
import Testing

@testable import HeartlogSync

@Suite("A place for objects between stores, of each kind")
struct ObjectSyncTests {
  private func device(
    _ number: UInt64, _ commits: Int, eventsPerRun: Int = Limits.blockEventsMax
  ) throws -> FavoritesStore {
    let store = try FavoritesStore.device(number, "device \(number)", eventsPerRun: eventsPerRun)
    if commits > 0 { try store.write(commits, tag: "\(number)-") }
    return store
  }

  @Test(
    "stores that never meet know the same, and a second look does nothing",
    arguments: ObjectPlace.Kind.allCases)
  func exchange(kind: ObjectPlace.Kind) throws {
    let place = try ObjectPlace(kind)
    let stores = try [device(1, 40), device(2, 3), device(3, 700, eventsPerRun: 100)]
    for store in stores + stores { _ = try place.sync(store) }
    #expect(try Set(stores.map { try $0.streams }).count == 1)
    #expect(try stores[0].streams.count == 3)
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
      let stores = try [device(1, 12), device(2, 3), device(3, 0)]
      for round in 0..<30 {
        try stores[round % 3].write(2)
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
    let (one, other) = (try device(1, 5), try device(2, 5))
    _ = try Dialogue.between(one, other).report()
    let report = try place.sync(one)
    #expect(report.sent.commits == 10 && report.sent.events == 10)
    #expect(try place.names().filter({ $0.hasPrefix("\(one.replica)/\(other.replica)/") }).count == 1)
    let third = try device(3, 0)
    _ = try place.sync(third)
    #expect(try third.streams == one.streams)
  }

  @Test("a stream of which only copies are left is passed on", arguments: ObjectPlace.Kind.allCases)
  func onlyCopies(kind: ObjectPlace.Kind) throws {
    let place = try ObjectPlace(kind)
    let (one, other) = (try device(1, 5), try device(2, 5))
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
    let (one, other) = (try device(1, 5), try device(2, 7))
    _ = try place.sync(one)
    let before = try place.names()
    let report = try place.sync(other) { $0.isDryRun = true }
    #expect(report.received.commits == 5 && report.sent.commits == 7)
    #expect(try other.streams.count == 1)
    let pulled = try place.sync(other) { $0.isPull = true }
    #expect(pulled.received.commits == 5 && pulled.sent.commits == 0)
    #expect(try other.streams.count == 2)
    #expect(try place.names() == before)
  }

  @Test(
    "small files become larger ones: their number stays small, and no reader ever lacks a run",
    arguments: ObjectPlace.Kind.allCases)
  func merging(kind: ObjectPlace.Kind) throws {
    let place = try ObjectPlace(kind)
    let (one, other) = (try device(1, 0), try device(2, 0))
    var most = 0
    var removed = 0
    for round in 0..<120 {
      try one.write(1, tag: "x")
      removed += try place.sync(one).folder?.removed ?? 0
      most = max(most, try place.names().count)
      if round % 17 == 0 {
        _ = try place.sync(other)
        #expect(try other.streams[one.replica] == one.streams[one.replica])
      }
    }
    #expect(most <= 2 * SyncPass.neighboursMax && removed > 100)
    let fresh = try device(3, 0)
    _ = try place.sync(fresh)
    #expect(try fresh.streams[one.replica] == one.streams[one.replica])
  }

  @Test("a copy whose content is none is passed over", arguments: ObjectPlace.Kind.allCases)
  func badCopies(kind: ObjectPlace.Kind) throws {
    let place = try ObjectPlace(kind)
    let (one, other) = (try device(1, 10), try device(2, 0))
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
    let (one, other) = (try device(20, 10), try device(2, 1))
    _ = try place.sync(one)
    // Of a stream before and after the other ones, of one that is known in part, and of the own one.
    for stream in [ReplicaID.made(number), one.replica, other.replica] {
      let first: UInt64 = stream == one.replica ? 11 : stream == other.replica ? 2 : 1
      let file = RunFile(
        replica: stream, name: "nobody", firstCommit: first,
        runs: [
          StreamRun(
            replica: stream, name: "nobody", firstCommit: CommitNumber(rawValue: first), commitCount: 3,
            body: [1, 3, 3, 9, 9], root: Digest([UInt8](repeating: 7, count: 32)))
        ]
      ).encoded()
      try place.replace("\(ReplicaID.made(number))/\(stream)/\(file.name.text)", with: file.bytes)
    }
    let report = try place.sync(other)
    #expect(report.received.commits == 10 && report.sent.commits == 1 && report.folder?.damaged == 3)
    #expect(try other.streams[one.replica] == one.streams[one.replica] && other.streams.count == 2)
  }

  @Test(
    "a copied store is found through the folder: the stream ends at its last common commit for everybody",
    arguments: ObjectPlace.Kind.allCases, [(20, 5, 9), (0, 3, 4), (20, 1, 1)])
  func clones(kind: ObjectPlace.Kind, counts: (common: Int, own: Int, copied: Int)) throws {
    let (common, own, copied) = counts
    let place = try ObjectPlace(kind)
    let one = try device(1, common)
    if common > 0 { _ = try place.sync(one) }
    let copy = try one.copy()
    let forked = one.replica
    try one.write(own, tag: "b")
    try copy.write(copied, tag: "c")
    let third = try device(3, 2)
    var forks = 0
    for store in [one, copy, third, one, copy, third, one, copy, third, one, copy, third] {
      forks += try place.sync(store).forks.count
    }
    #expect(forks >= 2)
    let began = try one.streams.filter { $0.value.commit.rawValue > 0 }
    #expect(try one.streams == copy.streams && one.streams.count == 4)
    #expect(try third.streams.filter { $0.value.commit.rawValue > 0 } == began)
    #expect(try one.commitCount(of: forked) ?? 0 == UInt64(common) && one.streams[forked]?.isEnded == true)
    // Who comes later finds it ended, whatever files of before still lie there.
    let late = try device(4, 0)
    _ = try place.sync(late)
    // Of a stream that ended before its first commit there is no name to take over.
    #expect(try late.streams.filter { $0.value.commit.rawValue > 0 } == began)
    let quiet = try place.sync(one)
    #expect(quiet.folder?.written == 0 && quiet.forks.isEmpty)
  }

  @Test(
    "a file whose commits do not lead to its root is refused, and the others are taken",
    arguments: ObjectPlace.Kind.allCases)
  func refused(kind: ObjectPlace.Kind) throws {
    let place = try ObjectPlace(kind)
    let forger = try device(1, 9, eventsPerRun: 4)
    for store in [forger, try device(2, 3), try device(3, 5)] { _ = try place.sync(store) }
    let name = try #require(try place.names().first { $0.hasPrefix("\(forger.replica)") })
    let content = try RunFile(try place.bytes(name))
    let first = try #require(content.runs.first)
    let forged = StreamRun(
      replica: first.replica, name: first.name, firstCommit: first.firstCommit,
      commitCount: first.commitCount,
      body: try first.forged().body, root: first.root)
    let file = RunFile(
      replica: first.replica, name: first.name, firstCommit: 1, runs: [forged] + content.runs.dropFirst()
    ).encoded()
    try place.replace(name, with: nil)
    try place.replace("\(forger.replica)/\(forger.replica)/\(file.name.text)", with: file.bytes)
    let store = try device(9, 1)
    let report = try place.sync(store)
    #expect(try store.streams.count == 3 && store.streams[forger.replica] == nil)
    #expect(!report.isComplete && report.skipped.map(\.replica) == [forger.replica])
    #expect(report.skipped.first?.cause == .refused && report.skipped.first?.firstCommit.rawValue == 1)
  }

  @Test(
    "of a damaged stream what can be read is left, and of the others all",
    arguments: ObjectPlace.Kind.allCases, DamageNotice.allCases)
  func damaged(kind: ObjectPlace.Kind, notice: DamageNotice) throws {
    let place = try ObjectPlace(kind)
    let others = try [device(1, 9), device(2, 9)]
    for other in others { _ = try place.sync(other) }
    var hub = try device(3, 9, eventsPerRun: 4)
    _ = try place.sync(hub)
    try hub.write(2, tag: "3-")
    let end = try hub.endOfTail(of: hub.replica)
    try hub.write(2, tag: "3-")
    hub = try hub.damaged(hub.replica, at: end, notice)
    try others[0].write(2, tag: "1-")
    _ = try place.sync(others[0])
    let report = try place.sync(hub)
    #expect(try hub.commitCount(of: others[0].replica) == (notice == .whenOpening ? 9 : 11))
    #expect(
      !report.isComplete
        && report.skipped.contains { $0.cause == .damaged && $0.reason.contains("this store is damaged") })
    _ = try place.sync(others[1])
    // What is found only when it is read ends the file that was being made.
    #expect(try others[1].commitCount(of: hub.replica) == (notice == .whenReading ? 9 : 11))
    #expect(try others[1].commitCount(of: others[0].replica) == 11)
  }
}
