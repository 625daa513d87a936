import HeartlogCrashModel
import Foundation
import HeartlogFiles
import HeartlogFormat
import HeartlogTesting
import Synchronization
import TestSupport
import Testing

@testable import Heartlog
@testable import HeartlogSync

@Suite("Backups")
struct BackupTests {
  private let files = MemoryFileSystem()

  private static func store(_ name: String, signs: Bool = true) throws -> FavoritesStore {
    var options = StoreOptions()
    options.name = name
    options.snapshots = .manual
    if !signs { options.deviceKey = .none }
    return try FavoritesStore.inMemory(options: options)
  }

  private static func write(_ count: Int, to store: FavoritesStore, tag: String = "") throws {
    let papers = try store.library("papers")
    for index in 0..<count { try papers.add("\(store.name)-\(tag)\(index)") }
  }

  /// A store with signed, unsigned and partly signed streams, sealed and open.
  private static func filled() throws -> FavoritesStore {
    let (phone, tablet) = (try store("phone"), try store("tablet"))
    let old = try store("old", signs: false)
    try write(30, to: phone)
    try write(20, to: tablet)
    try write(10, to: old)
    for other in [tablet, old] {
      _ = try StoreCarrier(other, description: "peer").sync(phone, options: SyncOptions())
    }
    try phone.seal()
    try write(5, to: phone, tag: "later")
    return phone
  }

  private func restored(
    _ path: String, as folder: String, on files: MemoryFileSystem? = nil
  ) throws -> FavoritesStore {
    let files = files ?? self.files
    var options = StoreOptions()
    options.name = "restored"
    _ = try FavoritesStore.restoreBackup(at: path, to: folder, on: files, options: options)
    return try FavoritesStore(at: folder, on: files, options: options)
  }

  /// The paths of all files under a folder, without locks.
  private func tree(_ folder: String) throws -> [String] {
    try files.entries(of: folder).filter { $0 != "lock" }.flatMap { name in
      let path = "\(folder)/\(name)"
      return try files.info(path)?.kind == .directory ? try tree(path) : [path]
    }
  }

  private func bytes(_ path: String) throws -> [UInt8] {
    let file = try files.open(path, .read)
    return try file.bytes(Int(try file.size()), at: 0)
  }

  private func put(_ bytes: [UInt8], _ path: String) throws {
    if try files.info(path) != nil { try files.remove(path) }
    try files.open(path, .createNew).write(bytes, at: 0)
  }

  private func heads(_ store: FavoritesStore) throws -> [ReplicaID: StreamHead] {
    Dictionary(uniqueKeysWithValues: try store.durableHeads().map { ($0.replica, $0) })
  }

  @Test(
    "a restored store is a new device in the same vault, with every commit and checkpoint",
    arguments: ["/folder", "/one.backup"])
  func restore(path: String) throws {
    let phone = try Self.filled()
    let before = try heads(phone)
    let checkpoints = try phone.signatures().mapValues(\.checkpoint)
    #expect(before.count == 3 && checkpoints.count == 2)
    #expect(before[phone.replica]?.commit.rawValue == 35 && checkpoints[phone.replica]?.checkpoint.size == 30)
    let report = try phone.backup(to: path, on: files)
    #expect(report.commits == 65 && report.newCommits == 65 && report.digest == phone.digest)
    #expect(try phone.signatures().mapValues(\.checkpoint) == checkpoints, "a backup signs nothing")
    #expect(try FavoritesStore.checkBackup(at: path, on: files).events == report.events)

    let store = try restored(path, as: "/restored")
    #expect(store.digest == phone.digest && store.vault == phone.vault && store.name == "restored")
    #expect(store.replica != phone.replica && before[store.replica] == nil)
    #expect(try heads(store).mapValues(\.root) == before.mapValues(\.root))
    #expect(try store.signatures().mapValues(\.checkpoint) == checkpoints)
    let verification = try store.verify()
    #expect(verification.streams.count == 3 && verification.streams.allSatisfy { $0.finding == nil })
    // It writes as itself, and syncs with the device that was backed up.
    try Self.write(2, to: store)
    _ = try StoreCarrier(store, description: "peer").sync(phone, options: SyncOptions())
    #expect(try heads(phone).count == 4 && store.digest == phone.digest)
  }

  @Test("no key is in a backup", arguments: ["/folder", "/one.backup"])
  func keys(path: String) throws {
    let phone = try Self.filled()
    let source = try #require(phone.fileSystem as? MemoryFileSystem)
    let key = try source.open("\(phone.path)/keys/device", .read)
    let text = String(decoding: try key.bytes(Int(try key.size()), at: 0), as: UTF8.self)
    let seed = try #require(text.split(separator: "\n").first { $0.hasPrefix("seed ") }?.dropFirst(5))
    let secret = try #require(Hexadecimal.bytes(seed))
    _ = try phone.backup(to: path, on: files)
    let written = try (files.info(path)?.kind == .directory ? tree(path) : [path]).map { Data(try bytes($0)) }
    #expect(!written.isEmpty)
    for content in written {
      #expect(content.range(of: Data(secret)) == nil && content.range(of: Data(seed.utf8)) == nil)
    }
  }

  @Test("a second backup adds what is new, and nothing if nothing is")
  func incremental() throws {
    let phone = try Self.filled()
    try Self.write(3_000, to: phone, tag: "many")
    let first = try phone.backup(to: "/folder", on: files)
    let before = try tree("/folder")
    let again = try phone.backup(to: "/folder", on: files)
    #expect(again.writtenBytes == 0 && again.newCommits == 0)
    #expect(try tree("/folder") == before)
    try phone.seal()
    #expect(try phone.backup(to: "/folder", on: files).writtenBytes == 0, "sealing changes no commit")
    try Self.write(1, to: phone, tag: "one")
    let one = try phone.backup(to: "/folder", on: files)
    #expect(one.newCommits == 1 && one.writtenBytes < 2_000 && one.writtenBytes < first.writtenBytes)
    #expect(try Set(tree("/folder")).subtracting(before).count == 1)
    #expect(try restored("/folder", as: "/restored").digest == phone.digest)

    _ = try phone.backup(to: "/one.backup", on: files)
    #expect(try phone.backup(to: "/one.backup", on: files).writtenBytes == 0)
    try Self.write(1, to: phone, tag: "another")
    #expect(try phone.backup(to: "/one.backup", on: files).newCommits == 1)
    #expect(try restored("/one.backup", as: "/other").digest == phone.digest)
  }

  @Test("a stream that was forked stays ended")
  func ended() throws {
    let phone = try Self.filled()
    let forked = phone.replica
    try phone.endStream(forked, after: CommitNumber(rawValue: 12))
    try phone.endStream(ReplicaID(high: 7, low: 7), after: CommitNumber(rawValue: 0))
    let before = try heads(phone)
    _ = try phone.backup(to: "/folder", on: files)
    let store = try restored("/folder", as: "/restored")
    #expect(store.digest == phone.digest)
    #expect(
      try heads(store).filter(\.value.isEnded).keys.sorted() == before.filter(\.value.isEnded).keys.sorted())
    #expect(try heads(store).mapValues(\.root) == before.mapValues(\.root))
    #expect(try store.verify().streams.allSatisfy { $0.finding == nil })
  }

  @Test("200 faults of the copy are all found", arguments: ["/folder", "/one.backup"])
  func faults(path: String) throws {
    let phone = try Self.filled()
    _ = try phone.backup(to: path, on: files)
    try Self.write(40, to: phone, tag: "second")
    _ = try phone.backup(to: path, on: files)
    let seed = SeededRandom.testSeed()
    var random = SeededGenerator(seed: seed)
    let isFolder = path == "/folder"
    let paths = try isFolder ? tree(path) : [path]
    let sound = try Dictionary(uniqueKeysWithValues: paths.map { ($0, try bytes($0)) })
    #expect(!isFolder || paths.count == 5)
    for number in 0..<100 {
      let path = try #require(paths.randomElement(using: &random))
      var content = try #require(sound[path])
      let fault: String
      switch number % (isFolder ? 4 : 2) {
      case 0:
        let offset = Int.random(in: 0..<content.count, using: &random)
        content[offset] ^= UInt8(1 << Int.random(in: 0..<8, using: &random))
        fault = "bit of byte \(offset)"
        try put(content, path)
      case 1:
        let count = Int.random(in: 0..<content.count, using: &random)
        fault = "cut to \(count)"
        try put(Array(content.prefix(count)), path)
      case 2:
        fault = "removed"
        try files.remove(path)
      default:
        let other = try #require(paths.filter { $0 != path }.randomElement(using: &random))
        fault = "swapped with \(other)"
        try put(try #require(sound[other]), path)
        try put(content, other)
      }
      #expect(throws: HeartlogError.self, "seed \(seed): \(path), \(fault)") {
        try FavoritesStore.checkBackup(at: self.backup(of: paths), on: files)
      }
      #expect(throws: HeartlogError.self, "seed \(seed): \(path), \(fault)") {
        try restored(self.backup(of: paths), as: "/restored")
      }
      #expect(try files.info("/restored") == nil, "a damaged backup makes no store")
      for (path, content) in sound { try put(content, path) }
    }
    #expect(try FavoritesStore.checkBackup(at: path, on: files).digest == phone.digest)
  }

  private func backup(of paths: [String]) -> String { paths.count == 1 ? paths[0] : "/folder" }

  @Test("a damaged or missing run file is written again once it is removed")
  func mended() throws {
    let phone = try Self.filled()
    _ = try phone.backup(to: "/folder", on: files)
    for path in try tree("/folder") where path.hasSuffix(".run") {
      var content = try bytes(path)
      content[content.count / 2] ^= 1
      try put(content, path)
      #expect(throws: HeartlogError.self) { try phone.backup(to: "/folder", on: files) }
      try files.remove(path)
      #expect(try phone.backup(to: "/folder", on: files).newCommits > 0)
      #expect(try FavoritesStore.checkBackup(at: "/folder", on: files).digest == phone.digest)
    }
  }

  @Test("what is missing before other run files is written again")
  func missingBefore() throws {
    let phone = try Self.store("phone")
    for round in 0..<2 {
      try Self.write(6, to: phone, tag: "\(round)-")
      _ = try phone.backup(to: "/folder", on: files)
    }
    let paths = try tree("/folder").filter { $0.hasSuffix(".run") }.sorted()
    #expect(paths.count == 2)
    try files.remove(paths[0])
    #expect(try phone.backup(to: "/folder", on: files).newCommits == 6)
    #expect(try tree("/folder").filter { $0.hasSuffix(".run") }.sorted() == paths)
    #expect(try FavoritesStore.checkBackup(at: "/folder", on: files).digest == phone.digest)
  }

  @Test("a manifest begins with the bytes that its format names")
  func magic() throws {
    let phone = try Self.store("phone")
    _ = try phone.backup(to: "/folder", on: files)
    #expect(try bytes("/folder/manifest").starts(with: [0x89] + Array("HLBAK\r\n".utf8) + [1]))
  }

  @Test(
    "an interrupted backup leaves the one before, and is continued", arguments: ["/folder", "/one.backup"])
  func interrupted(path: String) throws {
    let phone = try Self.filled()
    let seed = SeededRandom.testSeed()
    var random = SeededGenerator(seed: seed)
    var last: Digest?
    for round in 0..<60 {
      try Self.write(Int.random(in: 1...5, using: &random), to: phone, tag: "\(round)-")
      let kind = try #require(
        [FaultKind.write, .synchronize, .rename, .createFile, .synchronizeDirectory].randomElement(
          using: &random))
      files.failNext(
        kind, after: Int.random(in: 0..<5, using: &random), code: ENOSPC,
        partialBytes: kind == .write ? Int.random(in: 0..<50, using: &random) : nil)
      do {
        last = try phone.backup(to: path, on: files).digest
        #expect(last == phone.digest)
      } catch {
        #expect(error.code == .diskFull, "seed \(seed), round \(round): \(error)")
      }
      files.clearFaults()
      if let expected = last {
        let found = try FavoritesStore.checkBackup(at: path, on: files).digest
        // The manifest may have been renamed before its folder could not be made durable.
        #expect(found == expected || found == phone.digest, "seed \(seed), round \(round)")
        last = found
      }
    }
    #expect(try phone.backup(to: path, on: files).digest == phone.digest)
    #expect(try !files.entries(of: "/").contains { $0.contains(".tmp-") })
    if path == "/folder" { #expect(try !tree(path).contains { $0.contains(".tmp-") }) }
  }

  @Test(
    "a finished backup outlasts a power failure, whatever interrupted one left before",
    arguments: ["/folder", "/one.backup"])
  func powerFailure(path: String) throws {
    let phone = try Self.filled()
    for call in 0..<8 {
      let files = MemoryFileSystem(recording: true)
      files.failNext(.synchronizeDirectory, after: call, code: EIO)
      var isInterrupted = false
      do { _ = try phone.backup(to: path, on: files) } catch { isInterrupted = true }
      files.clearFaults()
      // Once as the one that continues, and once as one that finds nothing new.
      for _ in 0..<(isInterrupted ? 2 : 1) {
        _ = try phone.backup(to: path, on: files)
        for seed in 0..<20 as Range<UInt64> {
          let found = try FavoritesStore.checkBackup(at: path, on: files.crashState(seed: seed))
          #expect(found.digest == phone.digest, "call \(call), seed \(seed)")
        }
      }
    }
  }

  @Test("what is no backup of this store is refused, and left as it is")
  func refusals() throws {
    let (phone, other) = (try Self.filled(), try Self.store("other"))
    try Self.write(3, to: other)
    _ = try phone.backup(to: "/folder", on: files)
    _ = try restored("/folder", as: "/store")
    try files.createDirectory("/photos")
    try put([1, 2, 3], "/photos/1.jpg")
    try put([1, 2, 3], "/text.backup")
    for path in ["/store", "/photos", "/text.backup"] {
      let before = try path.hasSuffix("p") ? bytes(path) : []
      #expect(throws: HeartlogError.self) { try phone.backup(to: path, on: files) }
      #expect(throws: HeartlogError.self) { try FavoritesStore.checkBackup(at: path, on: files) }
      #expect(throws: HeartlogError.self) { try restored(path, as: "/nothing") }
      if path.hasSuffix("p") { #expect(try bytes(path) == before) }
    }
    #expect(try tree("/photos") == ["/photos/1.jpg"])
    let before = try tree("/folder")
    let error = #expect(throws: HeartlogError.self) { try other.backup(to: "/folder", on: files) }
    #expect(error?.code == .invalid && error?.message.contains("another store") == true)
    #expect(try tree("/folder") == before)
    let taken = #expect(throws: HeartlogError.self) { try restored("/folder", as: "/store") }
    #expect(taken?.code == .exists)
    let missing = #expect(throws: HeartlogError.self) { try restored("/nowhere", as: "/nothing") }
    #expect(missing?.code == .notFound)
    let lock = try files.openLock("/folder/lock")
    #expect(try lock.tryLock())
    let locked = #expect(throws: HeartlogError.self) { try phone.backup(to: "/folder", on: files) }
    #expect(locked?.code == .locked)
  }

  @Test(
    "a backup inside a store or inside another backup is refused",
    arguments: ["/store/backup", "/store/new/one.backup", "/whole/runs/inner", "/whole/one.backup"])
  func nested(path: String) throws {
    var options = StoreOptions()
    options.name = "phone"
    let store = try FavoritesStore(at: "/store", on: files, options: options)
    try Self.write(2, to: store)
    _ = try store.backup(to: "/whole", on: files)
    let before = try tree("/")
    let error = #expect(throws: HeartlogError.self) { try store.backup(to: path, on: files) }
    #expect(error?.code == .invalid && error?.message.contains("is inside") == true)
    #expect(try tree("/") == before)
    for folder in ["/store/restored", "/whole/restored"] {
      let error = #expect(throws: HeartlogError.self) { try restored("/whole", as: folder) }
      #expect(error?.code == .invalid)
    }
    #expect(try tree("/") == before)
    _ = try store.backup(to: "/beside", on: files)
    _ = try store.backup(to: "/whole", on: files)
  }

  @Test(
    "a restoration that fails leaves nothing, and the next one removes what a process that ended left",
    arguments: [0, 3_000, 6_000])
  func failedRestoration(freeBytes: Int) throws {
    let store = try Self.filled()
    _ = try store.backup(to: "/folder", on: files)
    let left = "/restored.tmp-\(files.processID)-1"
    try files.createDirectory(left)
    try files.open("\(left)/plain", .createNew).write([1], at: 0)
    files.setFreeBytes(freeBytes)
    let error = #expect(throws: HeartlogError.self) { try restored("/folder", as: "/restored") }
    #expect(error?.code == .diskFull)
    // Only the lock of the backup may be new.
    for name in try files.entries(of: "/") where name.hasPrefix("restored") {
      #expect(try tree("/\(name)").isEmpty, "\(name)")
    }
    files.setFreeBytes(nil)
    #expect(try restored("/folder", as: "/restored").digest == store.digest)
  }

  @Test("a store without commits can be backed up and restored")
  func empty() throws {
    let phone = try Self.store("phone")
    _ = try phone.backup(to: "/folder", on: files)
    let store = try restored("/folder", as: "/restored")
    #expect(store.digest == phone.digest && store.vault == phone.vault)
  }

  // MARK: - Beside writers

  /// One of the writers of a store: how many of its items were begun, and how many acknowledged.
  private final class Writer: Sendable {
    let begun = Atomic<Int>(0)
    let acknowledged = Atomic<Int>(0)
    /// The items that may be written.
    let permits = DispatchSemaphore(value: 0)
  }

  @Test("50 copies made beside 4 writers each open, and are a prefix of what was acknowledged")
  func besideWriters() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "favorites.heartlog").path
    try FavoritesStore.create(at: path)
    let writers = (0..<4).map { _ in Writer() }
    let group = DispatchGroup()
    let control = Control()
    for (number, writer) in writers.enumerated() {
      group.enter()
      Thread.detachNewThread {
        defer { group.leave() }
        do {
          // Each has the store open by itself, as another process has.
          let store = try FavoritesStore(at: path)
          let papers = try store.library("papers")
          // Segments become full, are rotated and sealed.
          let text = String((0..<1_000).map { _ in "0123456789abcdef".randomElement() ?? "0" })
          while true {
            writer.permits.wait()
            if control.isStopped { break }
            let index = writer.begun.add(1, ordering: .sequentiallyConsistent).oldValue
            _ = try papers.add(
              "\(number)-\(index)", fields: [Field(name: "text", value: .string(text))])
            writer.acknowledged.add(1, ordering: .sequentiallyConsistent)
            if index % 100 == 99 { _ = try? store.seal() }
          }
          try store.close()
        } catch {
          control.note("\(error)")
        }
      }
    }
    defer {
      control.stop()
      for writer in writers { writer.permits.signal() }
      group.wait()
    }
    for number in 0..<50 {
      // More than can be written before the copy is begun.
      for writer in writers { for _ in 0..<30 { writer.permits.signal() } }
      let acknowledged = writers.map { $0.acknowledged.load(ordering: .sequentiallyConsistent) }
      var reading = StoreOptions()
      reading.access = number % 2 == 0 ? .readOnly : .readWrite
      let source = try FavoritesStore(at: path, options: reading)
      let target = number % 3 == 0 ? "/one.backup" : "/folder"
      let report = try source.backup(to: target, on: files)
      let begun = writers.map { $0.begun.load(ordering: .sequentiallyConsistent) }
      let files = MemoryFileSystem()
      try copy(target, to: files)
      let store = try restored(target, as: "/restored", on: files)
      #expect(store.digest == report.digest)
      for head in try store.durableHeads() {
        #expect(try source.streamRoot(of: head.replica, at: head.commit) == head.root)
      }
      let items = Set(try store.library("papers").favorites().map(\.id))
      for writer in writers.indices {
        let count = items.count { $0.hasPrefix("\(writer)-") }
        #expect((acknowledged[writer]...begun[writer]).contains(count))
        #expect((0..<count).allSatisfy { items.contains("\(writer)-\($0)") })
      }
    }
    control.stop()
    for writer in writers { writer.permits.signal() }
    group.wait()
    #expect(control.failures == [])
    #expect(writers.allSatisfy { $0.acknowledged.load(ordering: .sequentiallyConsistent) > 0 })
  }

  private final class Control: Sendable {
    private let stopped = Atomic<Bool>(false)
    private let noted = Mutex<[String]>([])
    var isStopped: Bool { stopped.load(ordering: .sequentiallyConsistent) }
    var failures: [String] { noted.withLock { $0 } }
    func stop() { stopped.store(true, ordering: .sequentiallyConsistent) }
    func note(_ failure: String) { noted.withLock { $0.append(failure) } }
  }

  private func copy(_ path: String, to other: MemoryFileSystem) throws {
    if try files.info(path)?.kind != .directory {
      return try other.open(path, .createNew).write(try bytes(path), at: 0)
    }
    try other.createDirectory(path)
    for name in try files.entries(of: path) where name != "lock" { try copy("\(path)/\(name)", to: other) }
  }
}
