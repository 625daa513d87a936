import Foundation
import Heartlog
import HeartlogCrashModel
import HeartlogFiles
import Synchronization
import TestSupport
import Testing

@testable import HeartlogSync

@Suite("Sync sessions")
struct SyncSessionTests {
  @Test("two stores that wrote apart know the same afterwards")
  func bothWays() throws {
    let (one, other) = try FavoritesStore.phoneAndTablet(eventsPerRun: 64)
    try one.write(700, tag: "a")
    try other.write(300, tag: "b")
    let report = try Dialogue.between(one, other).report()
    #expect(try one.streams == other.streams && one.streams.count == 2)
    #expect(report.received.commits == 300 && report.received.events == 300 && report.changedItems == 300)
    #expect(report.sent.commits == 700 && report.sent.events == 700)
    #expect(report.streams == 2 && report.forks.isEmpty)
    #expect(report.peer == other.replica && report.peerName == "tablet")
    let again = try Dialogue.between(other, one).report()
    #expect(again.received.commits == 0 && again.sent.commits == 0)
    #expect(one.digest == other.digest)
  }

  @Test("two empty stores have nothing to say, and say so")
  func empty() throws {
    let report = try Dialogue.between(.device(1), .device(2)).report()
    #expect(report.streams == 0 && report.peer == nil)
  }

  @Test("one new event between stores of two streams moves at most 400 bytes", arguments: [true, false])
  func budget(isSent: Bool) throws {
    let (one, other) = (
      try FavoritesStore.device(1, "Anna's phone"), try FavoritesStore.device(2, "Anna's tablet")
    )
    try one.write(3_000, tag: "a")
    try other.write(2_000, tag: "b")
    _ = try Dialogue.between(one, other).report()
    try one.write(1, tag: "a", title: "An Empirical Study of Flaky Tests")
    let report =
      try isSent ? Dialogue.between(one, other).report() : Dialogue.between(other, one).report()
    #expect((isSent ? report.sent : report.received).commits == 1)
    let bytes = report.received.bytes + report.sent.bytes
    print("one new event: \(bytes) bytes")
    #expect(bytes <= 400, "\(bytes) bytes")
  }

  @Test("a first sync of 100,000 events takes at most 16 bytes an event")
  func firstSync() throws {
    let (one, other) = try FavoritesStore.phoneAndTablet()
    var stream = MadeUpStream(1)
    for number in 1...100_000 { try stream.append("\(number * 7919 % 1_000_003)") }
    try one.hold(stream, 1...50_000)
    try one.hold(stream, 50_001...100_000)
    let report = try Dialogue.between(other, one).report()
    let bytes = Double(report.received.bytes + report.sent.bytes) / 100_000
    print("a first sync: \(bytes) bytes an event")
    #expect(report.received.events == 100_000 && bytes <= 16)
  }

  @Test("a pull receives, and writes nothing at the peer's")
  func pull() throws {
    let (one, other) = try FavoritesStore.phoneAndTablet()
    try one.write(5, tag: "a")
    try other.write(7, tag: "b")
    var options = SyncOptions()
    options.isPull = true
    let before = try other.streams
    let report = try Dialogue.between(one, other, options: options).report()
    #expect(report.received.commits == 7 && report.sent.commits == 0)
    #expect(try other.streams == before && one.streams.count == 2)
  }

  @Test("an end that cannot be written is only pulled from")
  func readOnly() throws {
    let (one, other) = try FavoritesStore.phoneAndTablet()
    try one.write(5, tag: "a")
    try other.write(7, tag: "b")
    var serving = SyncOptions()
    serving.isReadOnly = true
    let before = try other.streams
    let report = try Dialogue.between(one, other, serving: serving).report()
    #expect(report.received.commits == 7 && report.sent.commits == 0)
    #expect(try other.streams == before)
  }

  @Test("a dry run tells what would go each way, and writes nothing")
  func dryRun() throws {
    let (one, other) = try FavoritesStore.phoneAndTablet()
    try one.write(5, tag: "a")
    try other.write(7, tag: "b")
    let before = (try one.streams, try other.streams)
    var options = SyncOptions()
    options.isDryRun = true
    let report = try Dialogue.between(one, other, options: options).report()
    #expect(report.isDryRun && report.received.commits == 7 && report.sent.commits == 5)
    #expect(report.received.events == nil && report.sent.events == nil)
    #expect(try one.streams == before.0 && other.streams == before.1)
  }

  @Test("progress is told, and reaches what was expected")
  func progress() throws {
    let (one, other) = try FavoritesStore.phoneAndTablet(eventsPerRun: 10)
    try one.write(50, tag: "a")
    try other.write(70, tag: "b")
    let told = Mutex<[SyncProgress]>([])
    var options = SyncOptions()
    options.progress = { progress in told.withLock { $0.append(progress) } }
    _ = try Dialogue.between(one, other, options: options).report()
    let last = try #require(
      told.withLock { $0.max { $0.receivedCommits + $0.sentCommits < $1.receivedCommits + $1.sentCommits } })
    #expect(last.receivedCommits == 70 && last.commitsToReceive == 70)
    #expect(last.sentCommits == 50 && last.commitsToSend == 50)
    #expect(told.withLock { $0.count } >= 9)
  }

  @Test("megabytes go both ways at once, over sockets and over pipes", arguments: [true, false])
  func large(overPipes: Bool) throws {
    let (one, other) = try FavoritesStore.phoneAndTablet(eventsPerRun: 100)
    for (store, tag) in [(one, "a"), (other, "b")] {
      // Texts that hardly compress.
      var random = SeededGenerator(seed: UInt64(tag.utf8.first ?? 0))
      for _ in 0..<300 { try store.write(1, tag: tag, title: random.text(4_000)) }
    }
    let channels = overPipes ? try Pipes.channels() : nil
    let report = try Dialogue.between(one, other, channels: channels).report()
    #expect(try one.streams == other.streams && one.streams.count == 2)
    #expect(report.received.bytes > 1 << 20 && report.sent.bytes > 1 << 20)
  }

  @Test("a session that breaks off keeps what came, and the next one goes on there")
  func resumes() throws {
    let files = MemoryFileSystem(recording: true)
    let one = try FavoritesStore.device(1, "phone", on: files)
    let other = try FavoritesStore.device(2, "tablet", eventsPerRun: 10)
    try other.write(100, tag: "b")
    // The disk is full after three runs.
    files.failNext(.write, onPathSuffix: "\(other.replica)/0000000000000001.open", after: 3, code: ENOSPC)
    let broken = try Dialogue.between(one, other)
    guard case .failure(let error) = broken.calling, case .failure(let told) = broken.serving else {
      Issue.record("the failure was swallowed")
      return
    }
    #expect(error.code == .diskFull && told.message.contains("the peer gave up"))
    #expect(try one.commitCount(of: other.replica) == 30)
    let report = try Dialogue.between(one, other).report()
    #expect(report.received.commits == 70)
    #expect(try one.streams == other.streams)
  }
  @Test("a third store in between passes on what it received")
  func between() throws {
    let stores = try (1...3).map { try FavoritesStore.device($0, "device \($0)") }
    for (index, store) in stores.enumerated() { try store.write(10 * (index + 1), tag: "\(index)-") }
    _ = try Dialogue.between(stores[0], stores[1]).report()
    _ = try Dialogue.between(stores[2], stores[1]).report()
    _ = try Dialogue.between(stores[0], stores[2]).report()
    #expect(try stores[0].streams == stores[2].streams && stores[0].streams.count == 3)
    #expect(try stores[1].streams.count == 3)
  }
}
