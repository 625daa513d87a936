import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import Testing

@testable import HeartlogEngine

@Suite("Repairing the file that says who writes")
struct RepairTests {
  private static let path = "/store/store"

  /// A store with three own commits, closed.
  private func threeCommits() throws -> (store: TestStore, files: MemoryFileSystem, commits: [Commit]) {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    let commits = try (0..<3).map { try open.write($0) }
    open.log.close()
    return (store, files, commits)
  }

  /// Repairs the store, and checks that nothing is lost, that it goes on, and that no number is used twice.
  ///
  /// - Returns: what the repair says.
  @discardableResult
  private func mend(_ store: TestStore, _ commits: [Commit], _ comment: Comment? = nil) throws -> RepairReport
  {
    let error = storageFailure { _ = try store.open() }
    #expect(error?.code == .corrupt && error?.isRepairable == true, comment)
    let report = try store.repair()
    #expect(report.isSound && report.entries.map(\.file) == [Self.path], comment)
    #expect(try store.read().commits == commits, comment)
    let open = try store.open(TestStore.options(seed: 70))
    #expect(open.replica == report.replica && open.log.ownIdentity.name == report.name, comment)
    let next = try open.write(100)
    let head = commits.filter { $0.replica == open.replica }.map(\.number.rawValue).max() ?? 0
    #expect(next.number.rawValue == head + 1, comment)
    open.log.close()
    #expect(try store.verify().allSatisfy { $0.finding == nil }, comment)
    #expect(try store.repair(seed: 71).entries.isEmpty, comment)
    return report
  }

  @Test("wherever it was cut: all commits are there, and it is kept aside")
  func truncated() throws {
    let (_, original, commits) = try threeCommits()
    let good = try original.contents(of: Self.path)
    let locationEnds = good.count - "\nchecksum 0123456789abcdef\n".utf8.count
    for count in 0..<good.count {
      let files = original.deepCopy()
      try files.replaceContents(of: Self.path, with: Array(good[..<count]))
      let report = try mend(TestStore(files: files, path: "/store"), commits, "cut to \(count) bytes")
      #expect(report.name == "Test", "cut to \(count) bytes")
      // With its location and its replica it proves who wrote.
      #expect((report.replica == commits[0].replica) == (count >= locationEnds), "cut to \(count) bytes")
      #expect(report.formerReplica == (count >= locationEnds ? nil : commits[0].replica))
      let kept = try #require(report.entries.first?.keptAt)
      #expect(kept == "\(Self.path).damaged-1")
      #expect(try files.contents(of: kept) == Array(good[..<count]))
    }
  }

  @Test("whatever byte changed: it goes on as whom it was, or as somebody new, and never as a third")
  func changed() throws {
    let (_, original, commits) = try threeCommits()
    let good = try original.contents(of: Self.path)
    var kept = 0
    for offset in good.indices {
      for change: UInt8 in [0x01, 0x80] {
        let files = original.deepCopy()
        var bytes = good
        bytes[offset] ^= change
        try files.replaceContents(of: Self.path, with: bytes)
        let store = TestStore(files: files, path: "/store")
        if String(decoding: bytes, as: UTF8.self).hasPrefix("heartlog 0") { continue }
        let report = try mend(store, commits, "offset \(offset), xor \(change)")
        if report.replica == commits[0].replica { kept += 1 }
        #expect(report.replica == commits[0].replica || report.formerReplica == commits[0].replica)
      }
    }
    #expect(kept > 40, "a changed name or checksum is no reason to become somebody else")
  }

  @Test("zeroed, half zeroed, somebody else's, or gone", arguments: [0, 1, 2, 3])
  func lost(_ kind: Int) throws {
    let (store, files, commits) = try threeCommits()
    let good = try files.contents(of: Self.path)
    switch kind {
    case 0: try files.replaceContents(of: Self.path, with: good.map { _ in 0 })
    case 1: try files.replaceContents(of: Self.path, with: good[..<90] + good[90...].map { _ in 0 })
    case 2: try files.replaceContents(of: Self.path, with: Array("groceries: milk\n".utf8))
    default: try files.remove(Self.path)
    }
    #expect(storageFailure { try store.create(seed: 9) } != nil, "no other store is made in its place")
    let report = try mend(store, commits)
    #expect(report.replica != commits[0].replica && report.formerReplica == commits[0].replica)
    #expect(report.name == "Test" && (report.entries.first?.keptAt == nil) == (kind == 3))
  }

  @Test("where the file system records no birth times, nothing proves that the folder is no copy")
  func noBirthTime() throws {
    var hooks = InterceptedFiles.Hooks()
    hooks.describe = { $0.birthTimeNanoseconds = 0 }
    let memory = MemoryFileSystem(root: "/store", recording: true)
    let store = TestStore(files: InterceptedFiles(memory, hooks), path: "/store")
    try store.create()
    let open = try store.open()
    let commits = try (0..<3).map { try open.write($0) }
    open.log.close()
    try memory.replaceContents(of: Self.path, with: Array(try memory.contents(of: Self.path).dropLast(10)))
    let report = try mend(store, commits)
    #expect(report.replica != commits[0].replica && report.formerReplica == commits[0].replica)
  }

  @Test("a store that signs is in a vault afterwards, another one is in none", arguments: [true, false])
  func vault(signs: Bool) throws {
    let files = MemoryFileSystem(root: "/store", recording: true)
    let store = TestStore(files: files, path: "/store")
    var options = TestStore.options(seed: 1)
    options.keys = signs ? .folder : .none
    try CommitLog.create(at: store.path, on: files, name: "Test", options: options)
    try files.replaceContents(of: Self.path, with: [])
    #expect(try store.repair().isSound)
    let identity = try StoreIdentity.read(StoreDirectory(fileSystem: files, path: store.path))
    #expect((identity.vault != nil) == signs)
    #expect(identity.vault?.isEstablished != true)
  }

  @Test("a copy whose file is damaged never writes as the original")
  func copy() throws {
    let place = try TestPlace(.memory)
    let store = try place.store()
    let files = try #require(place.files as? MemoryFileSystem)
    let open = try store.open()
    let commits = try (0..<3).map { try open.write($0) }
    open.log.close()
    let copy = TestStore(files: files, path: place.path("copy"))
    try files.copyTree(store.path, to: copy.path)
    var bytes = try files.contents(of: "\(copy.path)/store")
    bytes[bytes.count - 2] ^= 1
    try files.replaceContents(of: "\(copy.path)/store", with: bytes)
    let report = try copy.repair()
    #expect(report.replica != open.replica && report.formerReplica == open.replica)
    let writer = try copy.open()
    #expect(try writer.write(4).heads == [Head(replica: open.replica, commit: commits[2].number)])
  }

  @Test("the name is that of the stream that was written here, not of one that was received")
  func nameAmongStreams() throws {
    for isPageSilent in [false, true] {
      let history = try History()
      try history.write(2)
      try history.receive(3)
      history.own.log.close()
      try history.files.remove(Self.path)
      if isPageSilent {
        try history.files.replaceContents(
          of: "/store/lock", with: [UInt8](repeating: 0, count: lockPageBytes))
      }
      let report = try history.store.repair()
      #expect(report.formerReplica == history.replica && report.name == "Test")
    }
  }

  @Test("where nothing tells the name, it is what was given, or empty", arguments: [nil, "Anna's phone"])
  func givenName(_ name: String?) throws {
    let (store, files) = try TestStore.inMemory()
    try files.replaceContents(of: Self.path, with: [])
    let report = try store.repair(name: name)
    #expect(report.name == name ?? "" && report.formerReplica == nil)
    #expect(try store.open().log.ownIdentity.name == name ?? "")
    #expect(storageFailure { _ = try store.repair(name: "a\nb") }?.code == .invalid)
  }

  @Test("a dry run says the same, and changes nothing")
  func dryRun() throws {
    let (store, files, _) = try threeCommits()
    try files.replaceContents(of: Self.path, with: Array("heartlog 1\n".utf8))
    files.clearTrace()
    let planned = try store.repair(isDryRun: true)
    #expect(files.trace.isEmpty)
    let done = try store.repair()
    #expect(planned.entries.map(\.outcome) == done.entries.map(\.outcome))
    #expect(planned.isDryRun && planned.replica == nil && planned.entries.first?.keptAt == nil)
  }

  @Test("a sound store is left as it is, a place without one is told, and a later version is left alone")
  func refused() throws {
    let (store, files, _) = try threeCommits()
    files.clearTrace()
    #expect(try store.repair().entries.isEmpty)
    #expect(files.trace.map(\.description) == ["lock lock", "unlock lock"])
    let good = try files.contents(of: Self.path)
    for line in ["heartlog 2", "heartlog 12"] {
      let lines = String(decoding: good, as: UTF8.self).split(separator: "\n").dropFirst()
      // Its checksum does not hold: whoever names a later version is believed all the same.
      let bytes = Array(([line] + lines.map(String.init)).joined(separator: "\n").utf8)
      try files.replaceContents(of: Self.path, with: bytes)
      #expect(storageFailure { _ = try store.repair() }?.code == .newerFormat)
      #expect(try files.contents(of: Self.path) == bytes)
    }
    let none = TestStore(files: files, path: "/none")
    #expect(storageFailure { _ = try none.repair() }?.code == .notAStore)
    try files.createDirectory("/none")
    #expect(storageFailure { _ = try none.repair() }?.code == .notAStore)
    try files.open("/none/store", .createNew).write(Array("groceries".utf8), at: 0)
    #expect(storageFailure { _ = try none.repair() }?.code == .notAStore)
    #expect(try files.entries(of: "/none") == ["store"])
  }

  @Test("what may not be written is looked at, and left as it is")
  func readOnly() throws {
    let (store, files, _) = try threeCommits()
    try files.remove(Self.path)
    files.isReadOnly = true
    #expect(try store.repair(isDryRun: true).entries.map(\.file) == [Self.path])
    #expect(storageFailure { _ = try store.repair() }?.code == .readOnly)
    files.isReadOnly = false
    files.onNetwork = true
    #expect(storageFailure { _ = try store.repair() }?.code == .readOnly)
    #expect(try files.info(Self.path) == nil)
  }

  @Test("nobody repairs while another process writes")
  func locked() throws {
    let (store, files, _) = try threeCommits()
    try files.remove(Self.path)
    let holder = try files.openLock("/store/lock")
    #expect(try holder.tryLock())
    #expect(storageFailure { _ = try store.repair(lockMillisecondsMax: 2) }?.code == .locked)
    holder.unlock()
    #expect(try store.repair().isSound)
  }

  @Test("a process that has the store open writes as the new replica from then on")
  func openMeanwhile() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    let first = try open.write(0)
    try files.replaceContents(of: Self.path, with: [])
    let report = try store.repair()
    let second = try open.write(1)
    #expect(second.replica == report.replica && second.replica != first.replica)
    #expect(second.heads == [Head(replica: first.replica, commit: first.number)])
    #expect(try store.verify().allSatisfy { $0.finding == nil })
  }

  @Test("damaged segments are named, and left alone")
  func damagedSegment() throws {
    let (store, files, commits) = try threeCommits()
    let path = "\(store.path)/replicas/\(commits[0].replica)/0000000000000001.open"
    var bytes = try files.contents(of: path)
    bytes[4_096 + 60] ^= 1
    try files.replaceContents(of: path, with: bytes)
    try files.remove(Self.path)
    let report = try store.repair()
    #expect(
      report.entries.map(\.file) == [Self.path, path] && report.entries.map(\.isRepaired) == [true, false])
    #expect(!report.isSound)
    #expect(try files.contents(of: path) == bytes)
    #expect(try store.read().findings.map(\.verdict) == [.corrupt])
  }

  @Test("the power goes at every moment: the store is as before, or mended")
  func crash() throws {
    let (store, files, commits) = try threeCommits()
    try files.replaceContents(of: Self.path, with: Array("heartlog 1\nrep".utf8))
    files.startJournal()
    try store.repair()
    let written = try store.open(TestStore.options(seed: 72)).write(7)
    let end = files.crashPoints
    for point in 0...end {
      for state in files.crashStates(after: point, sectorBytes: 512, limit: 60, seed: 5) {
        let copy = TestStore(files: state, path: "/store")
        let failure = storageFailure { _ = try copy.open() }
        if let failure {
          #expect(failure.code == .corrupt && failure.isRepairable && point < end)
          #expect(try copy.repair(seed: 73).isSound)
        }
        let read = try copy.read()
        #expect(read.commits.filter { $0.replica == commits[0].replica } == commits)
        #expect(point < end || read.commits.contains(written))
        let last = try copy.open(TestStore.options(seed: 74)).write(8)
        #expect(last.replica != commits[0].replica)
        #expect(try copy.verify().allSatisfy { $0.finding == nil })
        // What was kept aside has its bytes, and is not kept twice.
        let aside = try state.entries(of: "/store").filter { $0.contains("damaged") && !$0.contains(".tmp-") }
        #expect(aside.count <= 1 && (failure == nil || aside.count == 1))
      }
    }
  }
}

@Suite("Repairing the end of a forked stream")
struct EndRepairTests {
  /// A store that holds a stream of six commits, ended behind some, and its own of two; closed.
  private struct Forked {
    let store: TestStore
    let files = MemoryFileSystem(root: "/store", recording: true)
    let stream: ReplicaID
    let own: ReplicaID
    let commits: [Commit]
    var path: String { "/store/replicas/\(stream)/ended" }

    init(endedBehind commit: UInt64, isSealed: Bool = false) throws {
      let (source, _) = try TestStore.inMemory(seed: 11)
      let writer = try source.open()
      for index in 0..<6 { try writer.write(index, events: 2) }
      stream = writer.replica
      store = TestStore(files: files, path: "/store")
      try store.create(seed: 12)
      let open = try store.open(TestStore.options(seed: 22))
      _ = try writer.log.streamHeads()
      let run = try #require(
        try writer.log.streamRun(of: stream, after: 0, upTo: CommitNumber(rawValue: 6)))
      _ = try open.log.receive(run)
      for index in 20..<22 { try open.write(index) }
      _ = try open.log.endStream(stream, after: commit)
      if isSealed { _ = try open.log.seal() }
      own = open.replica
      open.log.close()
      commits = try store.read().commits
    }

    func damage(_ bytes: [UInt8]) throws { try files.replaceContents(of: path, with: bytes) }
    func contents() throws -> [UInt8] { try files.contents(of: path) }
  }

  @Test("a damaged end is a finding of its stream alone: the others are read, and nothing is written")
  func finding() throws {
    let forked = try Forked(endedBehind: 3)
    let good = try forked.contents()
    let open = try forked.store.open()
    for bytes in [[], good.map { _ in 0 }, Array(good.dropLast(4))] {
      try forked.damage(bytes)
      let read = try forked.store.read()
      #expect(read.commits == forked.commits.filter { $0.replica != forked.stream })
      #expect(read.findings.map(\.replica) == [forked.stream])
      #expect(
        read.findings.first?.error.file == forked.path && read.findings.first?.error.isRepairable == true)
      #expect(try forked.store.verify().filter { $0.finding != nil }.map(\.replica) == [forked.stream])
      let writer = try forked.store.open()
      #expect(storageFailure { try writer.write(50) }?.isRepairable == true)
    }
    // Who has the store open forgets the stream when he looks again, and has it back when the file is good.
    let (before, after) = (try forked.contents(), forked.commits)
    let holder = try StoreLock(StoreDirectory(fileSystem: forked.files, path: "/store"))
    holder.update { $0.structure &+= 1 }
    try open.log.refresh()
    #expect(open.projection.commits == after.filter { $0.replica != forked.stream })
    try forked.damage(good)
    holder.update { $0.structure &+= 1 }
    try open.log.refresh()
    #expect(open.projection.commits == after && before != good)
  }

  @Test("the branch that is here tells where the stream ended", arguments: [0, 1, 3, 5], [false, true])
  func byBranch(_ end: UInt64, isSealed: Bool) throws {
    let forked = try Forked(endedBehind: end, isSealed: isSealed)
    let good = try forked.contents()
    for bytes in [[], good.map { _ in 0 }, Array(good.prefix(15))] {
      try forked.damage(bytes)
      let report = try forked.store.repair()
      #expect(report.isSound && report.entries.map(\.file) == [forked.path])
      #expect(try forked.contents() == good)
      #expect(try forked.store.read().commits == forked.commits)
      let kept = try #require(report.entries.first?.keptAt)
      #expect(try forked.files.contents(of: kept) == bytes)
    }
    #expect(try forked.store.repair().entries.isEmpty)
    try forked.store.open(TestStore.options(seed: 80)).write(51)
    #expect(try forked.store.verify().allSatisfy { $0.finding == nil })
  }

  @Test("a whole checksum line tells the number, whatever the rest holds")
  func byChecksum() throws {
    // Ended behind what is here: no branch tells, and the number is beyond all commits, or among them.
    for end: UInt64 in [6, 9] {
      let forked = try Forked(endedBehind: 6)
      let good = StreamEnd(commit: end).encoded()
      var bytes = good
      bytes[2] ^= 0x20
      try forked.damage(bytes)
      #expect(try forked.store.repair().isSound)
      #expect(try forked.contents() == good, "the number is legible, and the checksum is its own")
    }
    let forked = try Forked(endedBehind: 6)
    let good = try forked.contents()
    try forked.damage([UInt8](repeating: 0, count: 19) + good[19...])
    #expect(try forked.store.repair().isSound)
    #expect(try forked.contents() == good)
  }

  @Test("where nothing behind its end is here, the stream goes on until somebody knows its end")
  func allCommon() throws {
    let forked = try Forked(endedBehind: 6)
    try forked.damage([])
    let report = try forked.store.repair()
    #expect(report.isSound && report.entries.first?.keptAt == "\(forked.path).damaged-1")
    #expect(try forked.files.info(forked.path) == nil)
    #expect(try forked.store.read().commits == forked.commits)
    let open = try forked.store.open(TestStore.options(seed: 81))
    try open.write(52)
    _ = try open.log.endStream(forked.stream, after: 6)
    #expect(try forked.store.verify().allSatisfy { $0.finding == nil })
  }

  @Test("an end is left alone where the stream is damaged before anything tells; the other streams are read")
  func unknown() throws {
    let forked = try Forked(endedBehind: 6)
    let segment = "/store/replicas/\(forked.stream)/0000000000000001.open"
    var bytes = try forked.files.contents(of: segment)
    bytes[4_096 + 100] ^= 1
    bytes += [UInt8](repeating: 7, count: 64)
    try forked.files.replaceContents(of: segment, with: bytes)
    try forked.files.open(
      "/store/replicas/\(forked.stream)/0000000000000007.open", .createNew
    ).write([1], at: 0)
    try forked.damage([])
    let report = try forked.store.repair()
    #expect(!report.isSound && report.entries.map(\.isRepaired) == [false])
    #expect(try forked.contents().isEmpty)
    #expect(try forked.store.read().commits == forked.commits.filter { $0.replica != forked.stream })
  }

  @Test("a store whose own stream was ended leaves it with the repair")
  func ownStream() throws {
    let forked = try Forked(endedBehind: 3)
    let location = try StoreIdentity.Location.of(StoreDirectory(fileSystem: forked.files, path: "/store"))
    let old = StoreIdentity(replica: forked.stream, name: "Old", location: location)
    try forked.files.replaceContents(of: "/store/store", with: old.encoded())
    try forked.damage([])
    let report = try forked.store.repair()
    #expect(report.isSound && report.entries.map(\.file) == ["/store/store", forked.path])
    #expect(report.formerReplica == forked.stream && report.replica != forked.stream)
    let open = try forked.store.open(TestStore.options(seed: 82))
    #expect(open.replica == report.replica && open.log.ownIdentity.name == "Old")
    #expect(try open.write(53).number.rawValue == 1)
    #expect(try forked.store.verify().allSatisfy { $0.finding == nil })
  }

  @Test("an end of a later version is newer, not damaged")
  func laterVersion() throws {
    let forked = try Forked(endedBehind: 3)
    var later = "heartlog 2\nended 3\nbecause of a clone\n"
    let checksum = Array(later.utf8).withUnsafeBytes { XXH3.hash($0, seed: 0) }
    later += "checksum \(HybridTimestamp(rawValue: checksum))\n"
    try forked.damage(Array(later.utf8))
    #expect(storageFailure { _ = try forked.store.read() }?.code == .newerFormat)
    #expect(storageFailure { _ = try forked.store.verify() }?.code == .newerFormat)
    #expect(storageFailure { _ = try forked.store.repair() }?.code == .newerFormat)
    #expect(try forked.contents() == Array(later.utf8))
  }

  @Test("the power goes at every moment: the end is as before, or mended", arguments: [3, 6])
  func crash(_ end: UInt64) throws {
    let forked = try Forked(endedBehind: end)
    let good = try forked.contents()
    try forked.damage(Array(good.prefix(5)))
    forked.files.startJournal()
    try forked.store.repair()
    for point in 0...forked.files.crashPoints {
      for state in forked.files.crashStates(after: point, sectorBytes: 512, limit: 60, seed: 5) {
        let copy = TestStore(files: state, path: "/store")
        let read = try copy.read()
        if !read.findings.isEmpty {
          #expect(point < forked.files.crashPoints)
          #expect(try copy.repair(seed: 83).isSound)
        }
        #expect(try copy.read().commits == forked.commits)
        try copy.open(TestStore.options(seed: 84)).write(54)
        #expect(try copy.verify().allSatisfy { $0.finding == nil })
      }
    }
  }

  @Test("a fork that is cut off half way is met again: nothing is lost, and no number is used twice")
  func crashWhileForking() throws {
    let (store, files) = try TestStore.inMemory()
    let open = try store.open()
    let commits = try (0..<6).map { try open.write($0, events: 2) }
    files.startJournal()
    let branch = try #require(try open.log.endStream(commits[0].replica, after: 3))
    var seen = Set<String>()
    for point in 0...files.crashPoints {
      for state in files.crashStates(after: point, sectorBytes: 512, limit: 40, seed: 6) {
        let copy = TestStore(files: state, path: "/store")
        let found = try copy.open(TestStore.options(seed: 85))
        #expect(found.log.findings.isEmpty)
        let isRenewed = found.replica != commits[0].replica
        let hasBranch = !found.projection.commits(of: branch).isEmpty
        let isEnded = try !copy.names(of: commits[0].replica).contains("ended") ? false : true
        // In this order, and no other: `store`, the branch, `ended`.
        #expect((!isEnded || hasBranch) && (!hasBranch || isRenewed))
        seen.insert("\(isRenewed) \(hasBranch) \(isEnded)")
        let stream = found.projection.commits(of: commits[0].replica)
        #expect(stream == (isEnded ? Array(commits[..<3]) : commits))
        #expect(try found.write(60).number.rawValue == (isRenewed ? 1 : 7))
        _ = try found.log.endStream(commits[0].replica, after: 3)
        #expect(found.projection.commits(of: commits[0].replica) == Array(commits[..<3]))
        #expect(found.projection.commits(of: branch).count == (isRenewed ? 3 : 4))
        #expect(try copy.verify().allSatisfy { $0.finding == nil })
      }
    }
    #expect(seen == ["false false false", "true false false", "true true false", "true true true"])
  }
}

extension TestStore {
  @discardableResult
  func repair(
    seed: UInt64 = 60, name: String? = nil, isDryRun: Bool = false, lockMillisecondsMax: Int = 60_000
  ) throws -> RepairReport {
    var options = Self.options(seed: seed)
    options.lockMillisecondsMax = lockMillisecondsMax
    return try StoreRepair.run(at: path, on: files, options: options, name: name, isDryRun: isDryRun)
  }
}
