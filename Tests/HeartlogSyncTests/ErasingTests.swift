import Foundation
import HeartlogCrashModel
import HeartlogFiles
import HeartlogEngine
import Testing

@testable import Heartlog
@testable import HeartlogFormat
@testable import HeartlogSync

@Suite("Erased events")
struct ErasingTests {
  /// Devices whose files a test can search.
  private struct Device {
    let files = MemoryFileSystem()
    let store: FavoritesStore

    init(_ name: String, signs: Bool = true, _ change: (inout StoreOptions) -> Void = { _ in }) throws {
      var options = StoreOptions()
      options.name = name
      if !signs { options.deviceKey = .none }
      change(&options)
      store = try FavoritesStore(at: "/store", on: files, options: options)
    }

    func open() throws -> FavoritesStore {
      try FavoritesStore(at: "/store", on: files, options: StoreOptions())
    }

    /// Writes commits that erase, whoever wrote what they name.
    func writeErasure(naming events: [ErasedEvent]) throws {
      let staged = try store.log.stage(.durable) {
        (CommitDraft(wallTime: 1, origin: nil, records: Erasure.naming(events).map(\.record)), ())
      }
      _ = try store.log.finish(#require(staged.pending))
    }

    func sync(_ peer: Device) throws -> SyncReport {
      try StoreCarrier(peer.store, description: "peer").sync(store, options: SyncOptions())
    }
  }

  /// The files under a path whose bytes contain a text, as stored or in the content that can be read from them.
  static func traces(of text: String, in files: MemoryFileSystem, under path: String) throws -> [String] {
    var found: [String] = []
    for name in try files.entries(of: path) {
      let entry = "\(path)/\(name)"
      if try files.info(entry)?.kind == .directory {
        found += try traces(of: text, in: files, under: entry)
      } else if try files.contents(of: entry).contains(text) {
        found.append(entry)
      }
    }
    return found
  }

  /// Whether any event in the log names the text.
  private func logNames(_ text: String, in store: FavoritesStore) throws -> Bool {
    let log = try store.readLog()
    while let commit = try log.next() {
      if "\(commit.records)".contains(text) { return true }
    }
    return false
  }

  private func check(_ text: String, isGoneFrom device: Device) throws {
    #expect(try !logNames(text, in: device.store))
    #expect(try Self.traces(of: text, in: device.files, under: "/store") == [])
    let again = try device.open()
    #expect(again.findings.isEmpty)
    #expect(again.digest == device.store.digest)
    let verified = try FavoritesStore.verify(at: "/store", on: device.files, progress: nil)
    #expect(
      verified.streams.allSatisfy { $0.finding == nil } && verified.snapshots.allSatisfy { $0.problem == nil }
    )
    try again.close()
  }

  private func write(_ device: Device, _ count: Int) throws {
    let papers = try device.store.library("papers")
    for number in 0..<count {
      try papers.add(
        "\(device.store.name)-\(number)", fields: [.init(name: "title", value: .string("of \(number)"))])
    }
  }

  @Test("what was written of an item is in no file of three devices any more, and every proof stays valid")
  func everywhere() throws {
    let devices = try ["phone", "tablet", "laptop"].map { try Device($0) }
    let (phone, tablet, laptop) = (devices[0], devices[1], devices[2])
    for device in devices { try write(device, 300) }
    let papers = try phone.store.library("papers")
    try phone.store.write {
      try papers.add("before")
      try papers.add("regretted-id", fields: [.init(name: "@note", value: .string("regretted words"))])
      try papers.add("behind")
    }
    _ = try phone.sync(tablet)
    try tablet.store.library("papers").set(
      [.init(name: "title", value: .string("regretted title"))], of: "regretted-id")
    try tablet.store.seal()
    _ = try tablet.sync(laptop)
    _ = try phone.sync(tablet)
    try phone.store.snapshot()
    try laptop.store.snapshot()
    let events = try phone.store.allEvents { $0.item == "before" || $0.item == "behind" }
    let proofs = try events.map { try phone.store.eventProof(of: $0) }
    let regretted = try phone.store.eventProof(
      of: try #require(try phone.store.allEvents { $0.item == "regretted-id" }.first))
    let roots = try phone.store.roots()

    let dry = try phone.store.erase("regretted-id", in: "papers", isDryRun: true)
    #expect(dry.eventCount == 2)
    #expect(try logNames("regretted", in: phone.store))
    let report = try phone.store.erase("regretted-id", in: "papers")
    #expect(report.eventCount == 2 && report.remainingItems.isEmpty)
    for text in ["regretted"] { try check(text, isGoneFrom: phone) }
    #expect(try phone.store.library("papers").item("regretted-id") == nil)
    for (replica, root) in try phone.store.roots() where replica != phone.store.replica {
      #expect(roots[replica] == root)
    }
    // Offline devices still have it, and what they ship of it is not taken again.
    #expect(try logNames("regretted", in: laptop.store))
    let first = try laptop.sync(phone)
    #expect(first.erasure.eventCount == 2 && first.erasure.remainingItems.isEmpty)
    let second = try tablet.sync(laptop)
    #expect(second.erasure.eventCount == 2)
    for device in devices {
      try check("regretted", isGoneFrom: device)
      #expect(device.store.digest == phone.store.digest)
    }
    #expect(try tablet.sync(phone).erasure.eventCount == 0)
    for proof in proofs { #expect(try ProofFile(ProofFile.event(proof).bytes) == .event(proof)) }
    for event in events { _ = try laptop.store.eventProof(of: event) }
    // A proof that was given away shows what it showed.
    #expect(try ProofFile(ProofFile.event(regretted).bytes) == .event(regretted))
    #expect(throws: HeartlogError.self) { try phone.store.erase("regretted-id", in: "papers") }
  }

  @Test("a device that did not know of it keeps what it wrote later, and is told")
  func laterWrites() throws {
    let (phone, tablet) = (try Device("phone"), try Device("tablet"))
    try phone.store.library("papers").add(
      "regretted", fields: [.init(name: "@note", value: .string("words"))])
    _ = try phone.sync(tablet)
    try phone.store.erase("regretted", in: "papers")
    try tablet.store.library("papers").set([.init(name: "title", value: .string("later"))], of: "regretted")
    let report = try tablet.sync(phone)
    #expect(report.erasure.eventCount == 1)
    #expect(report.erasure.remainingItems.map(\.id) == ["regretted"])
    for device in [phone, tablet] {
      let item = try device.store.library("papers").item("regretted")
      #expect(item?.isFavorite == false)
      #expect(item?.fields.map(\.name) == ["title"])
      #expect(try Self.traces(of: "words", in: device.files, under: "/store") == [])
    }
    #expect(phone.store.digest == tablet.store.digest)
  }

  @Test("an event that nobody signed erases nothing")
  func unsigned() throws {
    let (phone, tablet) = (try Device("phone", signs: false), try Device("tablet"))
    try phone.store.library("papers").add("a")
    #expect(throws: HeartlogError.self) { try phone.store.erase("a", in: "papers") }
    try tablet.store.library("papers").add("kept")
    _ = try phone.sync(tablet)
    let named = try tablet.store.log.events(in: .item("kept", library: "papers")).map(\.event)
    try phone.writeErasure(naming: named)
    let report = try tablet.sync(phone)
    #expect(report.received.commits == 1 && report.erasure.eventCount == 0)
    #expect(try tablet.store.library("papers").contains("kept"))
    #expect(try phone.store.library("papers").contains("kept"))
  }

  @Test("content that arrives after the erasure is not stored, nor are secrets that lead to it")
  func lateContent() throws {
    let (phone, tablet, laptop) = (try Device("phone"), try Device("tablet"), try Device("laptop"))
    try write(phone, 20)
    try phone.store.library("papers").add("regretted")
    try write(phone, 40)
    _ = try phone.sync(tablet)
    try phone.store.erase("regretted", in: "papers")
    // The laptop hears of the erasure before it has any of the stream.
    let erasing = try #require(phone.store.read { $0.erasingCommits }.first)
    _ = try laptop.store.library("papers").add("own")
    try laptop.writeErasure(naming: erasing.events)
    _ = try laptop.store.makeCheckpoint()
    #expect(try laptop.store.applyErasures().eventCount == 0)
    func run(from device: Device) throws -> StreamRun {
      let last = CommitNumber(rawValue: 41)
      return try #require(try device.store.streamRun(of: phone.store.replica, after: 0, upTo: last))
    }
    let whole = try run(from: tablet)
    #expect(try laptop.store.redacted(whole) != nil)
    let report = try laptop.sync(tablet)
    #expect(report.received.events == 41)
    try check("regretted", isGoneFrom: laptop)
    let kept = try run(from: laptop)
    #expect(kept.root == whole.root)
    #expect(try laptop.store.redacted(kept) == nil)
    // The tablet obeyed in the same dialogue.
    try check("regretted", isGoneFrom: tablet)
  }

  @Test("files in a folder are written again by whoever wrote them")
  func folder() throws {
    let folder = MemoryFileSystem()
    try folder.createDirectory("/cloud")
    func sync(_ device: Device) throws -> SyncReport {
      try FolderCarrier("/cloud", on: folder).sync(device.store, options: SyncOptions())
    }
    let devices = try ["phone", "tablet", "laptop"].map { try Device($0) }
    for device in devices {
      try write(device, 20)
      try device.store.library("papers").add(
        "regretted", fields: [.init(name: "title", value: .string("by \(device.store.name)"))])
    }
    for _ in 0..<2 { for device in devices { _ = try sync(device) } }
    #expect(try !Self.traces(of: "regretted", in: folder, under: "/cloud").isEmpty)
    #expect(try devices[0].store.erase("regretted", in: "papers").eventCount == 3)
    for _ in 0..<2 {
      for device in devices {
        let report = try sync(device)
        #expect(report.isComplete && report.folder?.damaged == 0)
      }
    }
    #expect(try Self.traces(of: "regretted", in: folder, under: "/cloud") == [])
    for device in devices {
      try check("regretted", isGoneFrom: device)
      #expect(device.store.digest == devices[0].store.digest)
    }
    let last = try sync(devices[1])
    #expect(last.folder?.written == 0 && last.folder?.removed == 0)
    // A device that comes later reads the rest.
    let late = try Device("late")
    #expect(try sync(late).isComplete)
    #expect(late.store.digest == devices[0].store.digest)
  }

  @Test(
    "a file without what was erased is proven also where the old one has no proof",
    arguments: ObjectPlace.Kind.allCases)
  func unprovenFile(kind: ObjectPlace.Kind) throws {
    let place = try ObjectPlace(kind)
    let phone = try Device("phone")
    try write(phone, 20)
    try phone.store.library("papers").add("regretted")
    _ = try place.sync(phone.store)
    let runs = try place.names().filter { $0.hasSuffix(".run") }
    #expect(!runs.isEmpty)
    for run in runs {
      let file = try RunFile(try place.bytes(run))
      #expect(file.checkpoint != nil)
      let bare = file.withoutProof.encoded()
      try place.replace(run, with: nil)
      try place.replace("\(PathParts.parent(of: run))/\(bare.name.text)", with: bare.bytes)
    }
    let bare = try place.names().filter { $0.hasSuffix(".run") }
    try phone.store.erase("regretted", in: "papers")
    // The app starts again.
    #expect(try PlaceCarrier(place.objects).sync(phone.store, options: SyncOptions()).isComplete)
    #expect(try place.names().allSatisfy { !bare.contains($0) })
    let late = try Device("late")
    #expect(try place.sync(late.store).isComplete)
    #expect(late.store.digest == phone.store.digest)
  }

  @Test("what an unfinished backup left is not used if something of it was erased since")
  func unfinishedBackup() throws {
    let phone = try Device("phone")
    try write(phone, 5)
    try phone.store.library("papers").add("regretted")
    let copies = MemoryFileSystem()
    _ = try phone.store.backup(to: "/copy", on: copies)
    try copies.remove("/copy/manifest")
    try phone.store.erase("regretted", in: "papers")
    let report = try phone.store.backup(to: "/copy", on: copies)
    #expect(report.digest == phone.store.digest)
    #expect(try Self.traces(of: "regretted", in: copies, under: "/copy") == [])
  }

  @Test("a backup folder is cleaned of what was erased since, and until then the last backup is whole")
  func backupFolder() throws {
    let phone = try Device("phone")
    try write(phone, 5)
    try phone.store.library("papers").add("regretted")
    let copies = MemoryFileSystem()
    let last = try phone.store.backup(to: "/copy", on: copies).digest
    #expect(try !Self.traces(of: "regretted", in: copies, under: "/copy").isEmpty)
    try phone.store.erase("regretted", in: "papers")
    // The first run file, the second one, and the manifest.
    for renames in [0, 1, 1] {
      copies.failNext(.rename, after: renames, code: ENOSPC)
      #expect(throws: HeartlogError.self) { try phone.store.backup(to: "/copy", on: copies) }
      copies.clearFaults()
      #expect(try FavoritesStore.checkBackup(at: "/copy", on: copies).digest == last)
    }
    let report = try phone.store.backup(to: "/copy", on: copies)
    #expect(report.digest == phone.store.digest && report.newCommits == 1)
    #expect(try Self.traces(of: "regretted", in: copies, under: "/copy") == [])
    #expect(try FavoritesStore.checkBackup(at: "/copy", on: copies).digest == phone.store.digest)
  }

  @Test("a backup in one file that has other streams before the one with the erased event is whole")
  func severalStreams() throws {
    let devices = try (0..<3).map { try Device("device-\($0)") }
    for device in devices { try write(device, 4) }
    for device in devices[1...] { _ = try devices[0].sync(device) }
    let copies = MemoryFileSystem()
    // One of them has the event; of the others, some are before it in the order of replicas.
    for (index, device) in devices.enumerated() {
      try devices[0].store.erase("\(device.store.name)-1", in: "papers")
      for _ in 0..<2 {
        let report = try devices[0].store.backup(to: "/\(index).backup", on: copies)
        #expect(report.digest == devices[0].store.digest)
      }
      #expect(try devices[0].store.backup(to: "/all.backup", on: copies).digest == devices[0].store.digest)
    }
    #expect(try Self.traces(of: "device-0-1\"", in: copies, under: "/") == [])
  }

  @Test("whoever follows the store is told to reload, and compacting keeps the snapshot")
  func following() async throws {
    let phone = try Device("phone")
    try write(phone, 30)
    try phone.store.library("papers").add("regretted")
    try phone.store.snapshot()
    let changes = phone.store.changes.makeAsyncIterator()
    try phone.store.erase("regretted", in: "papers")
    var changed = changes
    guard case .missed? = await changed.next() else {
      Issue.record("no notice")
      return
    }
    for _ in 0..<2 {
      try phone.store.compact()
      #expect(try phone.files.entries(of: "/store/snapshots").count == 1)
    }
    let again = try phone.open()
    #expect(again.digest == phone.store.digest)
  }

  @Test("another process with the store sees it at once, and cannot bring it back with a snapshot")
  func otherProcess() throws {
    let phone = try Device("phone")
    try write(phone, 50)
    try phone.store.library("papers").add("regretted")
    let other = try phone.open()
    #expect(try other.library("papers").contains("regretted"))
    try phone.store.erase("regretted", in: "papers")
    try other.refresh()
    #expect(try other.library("papers").item("regretted") == nil)
    try other.snapshot()
    try other.library("papers").add("after")
    try other.close()
    try phone.store.refresh()
    try check("regretted", isGoneFrom: phone)
    #expect(try phone.store.library("papers").contains("after"))
  }

  @Test("single events are erased: what was written before shows again")
  func events() throws {
    let phone = try Device("phone")
    let papers = try phone.store.library("papers")
    try papers.add("a", fields: [.init(name: "@note", value: .string("first"))])
    try papers.set([.init(name: "@note", value: .string("regretted"))], of: "a")
    let event = try #require(try phone.store.allEvents { "\($0.fields)".contains("regretted") }.first)
    #expect(try phone.store.erase([event]).remainingItems.map(\.id) == ["a"])
    #expect(papers.item("a")?.value(of: "@note") == .string("first"))
    try check("regretted", isGoneFrom: phone)
    let error = #expect(throws: HeartlogError.self) { try phone.store.erase([event]) }
    #expect(error?.code == .notFound)
  }
}

extension FavoritesStore {
  /// The ids of events of the log.
  fileprivate func allEvents(where isWanted: (Event) -> Bool) throws -> [EventID] {
    var found: [EventID] = []
    let log = try readLog()
    while let commit = try log.next() {
      for (index, record) in commit.records.enumerated() {
        if let event = record.event, isWanted(event) { found.append(commit.eventID(at: index)) }
      }
    }
    return found
  }
}

extension [UInt8] {
  func contains(_ text: String) -> Bool {
    let text = Array(text.utf8)
    return count >= text.count && indices.dropLast(text.count - 1).contains { self[$0...].starts(with: text) }
  }
}
