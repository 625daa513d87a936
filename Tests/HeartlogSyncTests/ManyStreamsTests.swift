import Heartlog
import HeartlogFiles
import Testing

@testable import HeartlogSync

/// A peer or a folder can contain streams of any number of devices that somebody made up.
@Suite("Too many streams")
struct ManyStreamsTests {
  /// A store that takes at most eight streams.
  private func store() throws -> FavoritesStore {
    var options = StoreOptions()
    options.deviceKey = .none
    options.changeStorage = { $0.streamsMax = 8 }
    let store = try FavoritesStore.inMemory(options: options)
    try store.library("papers").add("own")
    return store
  }

  /// Streams of one commit each.
  private func made(_ numbers: ClosedRange<UInt64>) throws -> [MadeUpStream] {
    try numbers.map { number in
      var stream = MadeUpStream(number, "device \(number)")
      try stream.append("of \(number)")
      return stream
    }
  }

  /// Checks that a store has eight streams, that the report names the others, and that the store goes on.
  private func check(_ report: SyncReport, _ store: FavoritesStore, offered: Int) throws {
    #expect(report.received.commits == 7 && report.skipped.count == offered - 7 && !report.isComplete)
    for stream in report.skipped {
      #expect(stream.cause == .full && stream.firstCommit.rawValue == 1)
      #expect(stream.reason == "the store has 8 streams, and takes at most 8")
    }
    #expect(try store.streamHeads().count == 8)
    try store.library("papers").add("another")
    #expect(try store.replay().state.digest == store.digest)
  }

  @Test("in a dialogue the first streams are taken, the others are named, and the next sync goes on")
  func dialogue() throws {
    let store = try store()
    let peer = try FavoritesStore.device(100, "peer")
    var offered = try made(1...20)
    for stream in offered { try peer.hold(stream) }
    let carrier = StoreCarrier(peer, description: "peer")
    var pull = SyncOptions()
    pull.isPull = true
    try check(try carrier.sync(store, options: pull), store, offered: 20)
    let again = try carrier.sync(store, options: pull)
    #expect(again.received.commits == 0 && again.skipped.count == 13)
    // A stream that is here goes on.
    let known = try store.streams
    let index = try #require(offered.firstIndex { known[$0.replica] != nil })
    for number in 2...3 { try offered[index].append("more \(number)") }
    try peer.hold(offered[index], 2...3)
    let more = try carrier.sync(store, options: pull)
    #expect(more.received.commits == 2)
  }

  @Test("in a folder the first streams are taken, the others are named, and the next sync goes on")
  func folder() throws {
    let store = try store()
    let files = MemoryFileSystem()
    try files.createDirectory("/cloud")
    for number in 1...20 as ClosedRange<UInt64> {
      let device = try FavoritesStore.device(number, "device \(number)")
      try device.write(1)
      _ = try FolderCarrier("/cloud", on: files).sync(device, options: SyncOptions())
    }
    try check(
      try FolderCarrier("/cloud", on: files).sync(store, options: SyncOptions()), store, offered: 20)
    // What was said of streams that are not here is not kept either.
    let again = try FolderCarrier("/cloud", on: files).sync(store, options: SyncOptions())
    #expect(again.skipped.count == 13 && again.received.commits == 0)
    #expect(try store.streamHeads().count == 8)
  }

  @Test("of more streams than a dialogue may name, it names as many, and the report the others")
  func beyond() throws {
    let one = try FavoritesStore.device(1, "one")
    try one.write(1)
    for stream in try made(1...11) { try one.hold(stream) }
    var options = SyncOptions()
    options.streamsMax = 8
    let report = try Dialogue.between(one, try one.copy(), options: options).report()
    #expect(report.skipped.count == 4 && report.skipped.allSatisfy { $0.cause == .full })
    #expect(report.skipped.first?.reason == "the store has 12 streams, and a sync takes at most 8")
    #expect(!report.skipped.contains { $0.replica == one.replica })
  }

  /// A folder in which somebody never stops to put files.
  private final class EndlessFolder: FileSystem {
    func entries(of directory: String) throws(HeartlogError) -> [String] {
      switch directory.split(separator: "/").count {
      case 1: [String(repeating: "a", count: 32)]
      case 2: (0..<3_000).map { "00000000000000000000000000\(100_000 + $0)" }
      default: (0..<100).map { "letter \($0)" }
      }
    }

    func info(_ path: String) throws(HeartlogError) -> FileInfo? {
      path == "/cloud" ? FileInfo(kind: .directory, size: 0, inode: 1, birthTimeNanoseconds: 0) : nil
    }

    private func refusal(_ path: String) -> HeartlogError {
      HeartlogError(operation: "open", path: path, code: 2)
    }
    func open(_ path: String, _ mode: OpenMode) throws(HeartlogError) -> any OpenFile { throw refusal(path) }
    func rename(_ path: String, to newPath: String) throws(HeartlogError) { throw refusal(path) }
    func remove(_ path: String) throws(HeartlogError) { throw refusal(path) }
    func createDirectory(_ path: String) throws(HeartlogError) { throw refusal(path) }
    func synchronizeDirectory(_ path: String) throws(HeartlogError) { throw refusal(path) }
    func openLock(_ path: String) throws(HeartlogError) -> any LockFile { throw refusal(path) }
    func isOnNetwork(_ path: String) throws(HeartlogError) -> Bool { false }
    var machineID: [UInt8] { [] }
    var processID: Int32 { 1 }
  }

  @Test("a folder with more files than are read is refused, whatever they are")
  func endlessFolder() throws {
    let store = try store()
    let digest = store.digest
    let error = #expect(throws: HeartlogError.self) {
      _ = try FolderCarrier("/cloud", on: EndlessFolder()).sync(store, options: SyncOptions())
    }
    #expect(
      error?.code == .inputOutput && error?.message.hasSuffix("more than 262144 files are there") == true)
    #expect(store.digest == digest)
  }
}
