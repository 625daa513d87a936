import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import Testing

@testable import Heartlog
@testable import HeartlogEngine
@testable import HeartlogSync

@Suite("Mending damaged streams from another copy")
struct StreamRepairTests {
  private typealias Damage = DamagedDevices.Damage

  /// Checks that nothing that could be read is gone or different.
  private func expectNothingWorse(
    _ devices: DamagedDevices, than before: [ReplicaID: [UInt64: String]], _ comment: Comment
  ) throws {
    let after = try devices.readable()
    for (replica, commits) in before {
      for (number, content) in commits {
        #expect(after[replica]?[number] == content, "\(comment): commit \(number) of \(replica)")
        if after[replica]?[number] != content { return }
      }
    }
  }

  @Test("whatever happened to a segment, what the other device has is back, and nothing is worse")
  func everySegment() throws {
    let original = try DamagedDevices()
    let whole = try original.readable()
    let paths = try original.segments()
    #expect(paths.contains { $0.hasSuffix(".sealed") && $0.contains("\(original.phone)") })
    #expect(paths.contains { $0.hasSuffix(".sealed") && $0.contains("\(original.tablet.replica)") })
    #expect(paths.contains { $0.hasSuffix(".open") && $0.contains("\(original.tablet.replica)") })
    #expect(paths.filter { $0.hasSuffix(".open") && $0.contains("\(original.phone)") }.count >= 2)
    // Only the phone has the commits that it did not sign.
    let signed = try #require(original.tablet.signatures()[original.phone]?.checkpoint).checkpoint.size
    let own = try original.directory.segments(of: original.phone)
    let tails = Set(
      own.indices.filter { index in
        index + 1 == own.count || own[index + 1].firstCommit.rawValue > signed + 1
      }.map { original.directory.path(of: own[$0], in: original.phone) })
    var mended = 0
    for path in paths {
      for damage in Damage.allCases {
        let comment: Comment = "\(path), \(damage)"
        let devices = original.copy()
        try damage.apply(to: path, in: devices.files)
        let before = try devices.readable()
        let files = try devices.streamFiles()
        let isCorrupt = try devices.findings().contains { $0.verdict == .corrupt }
        let report = try devices.repair()
        try expectNothingWorse(devices, than: before, comment)
        let after = try devices.streamFiles()
        // Every segment that was changed is kept.
        for (path, bytes) in files where after[path] != bytes && Self.isSegment(path) {
          #expect(after.contains { $0.key.hasPrefix("\(path).damaged-") && $0.value == bytes }, comment)
        }
        guard isCorrupt else { continue }
        if !tails.contains(path) { #expect(report.isSound, "\(comment): \(report.entries)") }
        guard report.isSound else {
          #expect(after == files, comment)
          continue
        }
        mended += 1
        let findings = try devices.findings().map(\.error)
        #expect(findings.isEmpty, "\(comment): \(findings)")
        if !tails.contains(path) { #expect(try devices.readable() == whole, comment) }
        // It writes on, and no number is used twice.
        let store = try devices.open()
        try DamagedDevices.write("later", to: store)
        let carrier = StoreCarrier(try copy(of: original.tablet), description: "the tablet")
        let synced = try carrier.sync(store, options: SyncOptions())
        #expect(synced.forks.isEmpty && synced.isComplete, comment)
        #expect(try devices.findings().isEmpty, comment)
        #expect(try devices.repair().entries.isEmpty, comment)
      }
    }
    #expect(mended > paths.count * 5)
  }

  private static func isSegment(_ path: String) -> Bool {
    path.split(separator: "/").last.flatMap { SegmentFile(name: String($0)) } != nil
  }

  /// A store with everything that another one has, which is not changed.
  private func copy(of store: FavoritesStore) throws -> FavoritesStore {
    let files = try #require(store.fileSystem as? MemoryFileSystem)
    return try FavoritesStore(at: store.path, on: files.deepCopy(), options: DamagedDevices.options())
  }

  @Test("what a snapshot has of lost commits is written anew, after the other copy, under later edits")
  func lostUnderASnapshot() throws {
    let devices = try DamagedDevices()
    var store = try devices.open()
    try store.seal()
    try store.snapshot()
    try store.close()
    // The tablet has not seen what the phone wrote last, and writes to one of these items later.
    try devices.tablet.library("papers").set([Field(name: "by", value: .string("later"))], of: "tail-0")
    for segment in try devices.directory.segments(of: devices.phone) {
      try devices.files.remove(devices.directory.path(of: segment, in: devices.phone))
    }
    let alone = try FavoritesStore.repair(
      at: DamagedDevices.path, on: devices.files, options: DamagedDevices.options())
    #expect(!alone.isSound)
    #expect(try devices.open().library("papers").item("tail-1")?.value(of: "by") == .string("Anna's phone"))

    let report = try devices.repair()
    #expect(report.isSound, "\(report.entries)")
    #expect(report.entries.last?.outcome.contains("2 items") == true)
    store = try devices.open()
    _ = try StoreCarrier(devices.tablet, description: "the tablet").sync(store, options: SyncOptions())
    for papers in [try store.library("papers"), try devices.tablet.library("papers")] {
      #expect(papers.item("tail-0")?.value(of: "by") == .string("later"))
      #expect(papers.item("tail-0")?.value(of: "@note") != nil)
      #expect(papers.item("tail-1")?.value(of: "by") == .string("Anna's phone"))
    }
    #expect(store.digest == devices.tablet.digest)
    #expect(try devices.repair().entries.isEmpty)
  }

  @Test("the power goes at every moment: each stream is as before or mended, and a second repair ends it")
  func crash() throws {
    let original = try DamagedDevices()
    let own = try original.directory.segments(of: original.phone)
    let received = try original.directory.segments(of: original.tablet.replica)
    let paths =
      [own[0], own[1]].map { original.directory.path(of: $0, in: original.phone) }
      + [received[0], try #require(received.last)].map {
        original.directory.path(of: $0, in: original.tablet.replica)
      }
    for (path, damage) in zip(paths, [Damage.firstFrame, .gone, .middle, .bothHeaders]) {
      let devices = original.copy()
      try damage.apply(to: path, in: devices.files)
      let before = try devices.readable()
      devices.files.startJournal()
      #expect(try devices.repair().isSound, "\(path), \(damage)")
      let end = devices.files.crashPoints
      #expect(end > 3)
      for point in 0...end {
        for state in devices.files.crashStates(after: point, sectorBytes: 512, limit: 12, seed: 3) {
          let comment: Comment = "\(path), \(damage), after \(point) of \(end) operations"
          let crashed = original.with(state)
          try expectNothingWorse(crashed, than: before, comment)
          _ = try crashed.open()
          #expect(try crashed.repair().isSound, comment)
          try expectNothingWorse(crashed, than: before, comment)
          #expect(try crashed.findings().isEmpty, comment)
          try DamagedDevices.write("later", to: try crashed.open())
          #expect(try crashed.findings().isEmpty, comment)
        }
      }
    }
  }

  @Test("whoever has the store open is told that its files were replaced")
  func structure() throws {
    let devices = try DamagedDevices()
    let received = try #require(try devices.directory.segments(of: devices.tablet.replica).first)
    try Damage.firstFrame.apply(
      to: devices.directory.path(of: received, in: devices.tablet.replica), in: devices.files)
    let lock = try StoreLock(devices.directory)
    let (structure, generation) = (lock.structure, lock.generation)
    #expect(try devices.repair().isSound)
    #expect(lock.structure != structure && lock.generation > generation)
  }

  @Test("a store whose own tail was mended writes as a new replica, and what it wrote before is signed")
  func ownTail() throws {
    let devices = try DamagedDevices(tail: 0)
    let tail = try #require(try devices.directory.segments(of: devices.phone).last)
    try Damage.bothHeaders.apply(
      to: devices.directory.path(of: tail, in: devices.phone), in: devices.files)
    let report = try devices.repair()
    #expect(report.isSound && report.formerReplica == devices.phone && report.replica != devices.phone)
    let store = try devices.open()
    try DamagedDevices.write("later", to: store)
    #expect(store.replica != devices.phone)
    let carrier = StoreCarrier(devices.tablet, description: "the tablet")
    #expect(try carrier.sync(store, options: SyncOptions()).forks.isEmpty)
    #expect(store.digest == devices.tablet.digest)
  }

  @Test("a folder of run files mends as well, and is not written to")
  func folder() throws {
    let devices = try DamagedDevices(tail: 0)
    let cloud = MemoryFileSystem(root: "/", recording: true)
    try cloud.createDirectory("/cloud")
    let carrier = FolderCarrier("/cloud", on: cloud)
    _ = try carrier.sync(devices.tablet, options: SyncOptions())
    cloud.clearTrace()
    for path in try devices.segments() {
      let devices = devices.copy()
      try Damage.firstFrame.apply(to: path, in: devices.files)
      #expect(try devices.repair(from: carrier).isSound, "\(path)")
      #expect(try devices.findings().isEmpty)
    }
    #expect(cloud.trace.isEmpty)
  }

  @Test("all segments may be damaged at once")
  func everywhere() throws {
    let original = try DamagedDevices(tail: 0)
    let whole = try original.readable()
    let last = try original.directory.replicas().compactMap { replica in
      try original.directory.segments(of: replica).last.map { original.directory.path(of: $0, in: replica) }
    }
    for offset in 0..<4 {
      let devices = original.copy()
      for (index, path) in try devices.segments().enumerated() {
        let damages = [Damage.oneHeader, .firstFrame, .gone, .middle]
        // A stream without its end is shorter, not damaged.
        try (last.contains(path) ? .bothHeaders : damages[(index + offset) % 4])
          .apply(to: path, in: devices.files)
      }
      let report = try devices.repair()
      #expect(report.isSound, "\(offset): \(report.entries)")
      #expect(try devices.readable() == whole, "\(offset)")
      try DamagedDevices.write("later", to: try devices.open())
      #expect(try devices.findings().isEmpty, "\(offset)")
    }
  }

  @Test("two copies that are damaged at different places mend each other")
  func damagedSource() throws {
    let devices = try DamagedDevices(tail: 0)
    let other = devices.copy()
    let segments = try devices.segments()
    let (first, second) = (segments[0], try #require(segments.last))
    #expect(first != second)
    try Damage.firstFrame.apply(to: first, in: devices.files)
    try Damage.firstFrame.apply(to: second, in: other.files)
    var options = DamagedDevices.options()
    options.access = .readOnly
    let source = try FavoritesStore(at: DamagedDevices.path, on: other.files, options: options)
    let report = try devices.repair(from: StoreCarrier(source, description: "the copy"))
    #expect(report.isSound, "\(report.entries)")
    #expect(try devices.findings().isEmpty)
  }

  @Test(
    "a source with another history, without signatures, without these streams or with too little changes nothing"
  )
  func refusals() throws {
    let devices = try DamagedDevices(tail: 0)
    let fork = devices.copy()
    let segments = try devices.directory.segments(of: devices.phone)
    let path = devices.directory.path(of: try #require(segments.last), in: devices.phone)
    // The same device, with the same key, from a copy that nobody noticed.
    let forked = try FavoritesStore.inMemory(options: DamagedDevices.options("forked"))
    let heads = try fork.open().streamHeads()
    for head in heads {
      var after: UInt64 = 0
      while after < head.commit.rawValue {
        let run = try #require(
          try fork.open().streamRun(of: head.replica, after: after, upTo: head.commit))
        guard case .appended = try forked.log.restore(run) else { break }
        after = run.lastCommit.rawValue
      }
    }
    let unsigned = StoreCarrier(forked, description: "unsigned commits")
    let stranger = try FavoritesStore.inMemory(options: DamagedDevices.options("stranger"))
    try DamagedDevices.write("strange", to: stranger)
    let early = try DamagedDevices(tail: 0)
    try Damage.middle.apply(to: path, in: devices.files)
    let before = try devices.streamFiles()
    for source in [
      unsigned, StoreCarrier(stranger, description: "a stranger"),
      StoreCarrier(early.tablet, description: "another family"),
    ] {
      let report = try devices.repair(from: source)
      #expect(!report.isSound, "\(source.description)")
      #expect(try devices.streamFiles() == before, "\(source.description)")
      #expect(report.entries.contains { $0.outcome.contains(source.description) }, "\(report.entries)")
    }
    #expect(try devices.repair().isSound)
  }

  @Test("a source that wrote another history with the same key changes nothing")
  func fork() throws {
    let devices = try DamagedDevices(tail: 0)
    let fork = devices.copy()
    // The copy goes on in its own way, and signs that.
    let forked = try fork.open()
    for index in 0..<4 { try DamagedDevices.write("fork-\(index)", to: forked) }
    _ = try forked.makeCheckpoint()
    #expect(forked.replica == devices.phone)
    let store = try devices.open()
    for index in 0..<30 { try DamagedDevices.write("own-\(index)", to: store) }
    _ = try store.makeCheckpoint()
    try store.close()
    let segments = try devices.directory.segments(of: devices.phone)
    // The last segments have commits that the fork does not have, and the first of its commits are others.
    let path = devices.directory.path(of: segments[segments.count - 2], in: devices.phone)
    try Damage.gone.apply(to: path, in: devices.files)
    let before = try devices.streamFiles()
    let report = try devices.repair(from: StoreCarrier(forked, description: "the fork"))
    #expect(!report.isSound)
    #expect(try devices.streamFiles() == before)
  }

  @Test("what was erased does not come back from a source that has it")
  func erased() throws {
    let devices = try DamagedDevices(tail: 0)
    let store = try devices.open()
    try store.library("papers").set(
      [Field(name: "title", value: .string("regretted words"))], of: "regretted")
    _ = try StoreCarrier(devices.tablet, description: "the tablet").sync(store, options: SyncOptions())
    let tablet = try copy(of: devices.tablet)
    try store.erase("regretted", in: "papers")
    try store.close()
    #expect(try ErasingTests.traces(of: "regretted", in: devices.files, under: DamagedDevices.path).isEmpty)
    for path in try devices.segments() where path.contains("\(devices.phone)") {
      let damaged = devices.copy()
      try Damage.firstFrame.apply(to: path, in: damaged.files)
      _ = try damaged.repair(from: StoreCarrier(tablet, description: "the tablet"))
      #expect(
        try ErasingTests.traces(of: "regretted", in: damaged.files, under: DamagedDevices.path).isEmpty,
        "\(path)")
    }
  }

  @Test("a sound store is left as it is, a dry run changes nothing, and nobody repairs beside a writer")
  func leftAlone() throws {
    let devices = try DamagedDevices(tail: 0)
    devices.files.clearTrace()
    #expect(try devices.repair().entries.isEmpty)
    #expect(devices.files.trace.map(\.description) == ["lock phone/lock", "unlock phone/lock"])
    let path = try #require(try devices.segments().first)
    try Damage.firstFrame.apply(to: path, in: devices.files)
    devices.files.clearTrace()
    let planned = try devices.repair(isDryRun: true)
    #expect(devices.files.trace.isEmpty && planned.isSound && planned.entries.first?.keptAt == nil)
    let holder = try devices.files.openLock("\(DamagedDevices.path)/lock")
    #expect(try holder.tryLock())
    do {
      _ = try devices.repair()
      Issue.record("it was repaired beside a writer")
    } catch { #expect(error.code == .locked) }
    holder.unlock()
    let done = try devices.repair()
    #expect(planned.entries.map(\.outcome) == done.entries.map(\.outcome))
    #expect(done.entries.map(\.file) == [path] && done.entries.first?.keptAt == "\(path).damaged-1")
  }
}
