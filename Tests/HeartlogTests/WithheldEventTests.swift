import HeartlogTesting
import Testing

@testable import Heartlog
@testable import HeartlogFormat

@Suite("Events without their content")
struct WithheldEventTests {
  /// The run without the content of the only event of a commit.
  static func withholding(_ number: UInt64, in run: StreamRun) throws -> StreamRun {
    let block = try run.body.withUnsafeBytes { bytes in
      try BlockEncoding.decode(
        bytes, replica: run.replica, firstCommit: run.firstCommit, commitCount: run.commitCount)
    }
    var salts = Salts(block.secrets)
    var hasher = SHA256Hasher()
    let commit = block.commits[Int(number - run.firstCommit.rawValue)]
    let event = try #require(ErasedEvent(of: commit, at: 0, salts: &salts, hasher: &hasher))
    let redacted = try #require(WithheldEvents([event]).redacted(block))
    return StreamRun(
      replica: run.replica, name: run.name, firstCommit: run.firstCommit, commitCount: run.commitCount,
      body: try BlockEncoding.encode(redacted), root: run.root)
  }

  @Test("a store of which an event is withheld has the same history and less content, and says so")
  func lessContent() throws {
    let clock = ManualClock()
    let (whole, less) = (
      try FavoritesStore.inMemory(clock: clock, seed: 1), try FavoritesStore.inMemory(clock: clock, seed: 2)
    )
    for number in 0..<5 { _ = try whole.library("papers").add("\(number)") }
    let head = try #require(try whole.streamHeads().first)
    let run = try #require(try whole.streamRun(of: head.replica, after: 0, upTo: head.commit))
    #expect(
      try less.receive(Self.withholding(3, in: run)) == .appended(commits: 5, events: 5, changedItems: 4))
    // The history is the same, to the root; only what can be shown is not.
    #expect(try less.streamHeads().map(\.root) == whole.streamHeads().map(\.root))
    #expect(try less.receive(run) == .known)
    let (status, other) = (try whole.status(), try less.status())
    #expect(status.digest != other.digest && status.events == other.events && status.commits == other.commits)
    #expect(status.eventsWithoutContent == 0 && other.eventsWithoutContent == 1)
    #expect(less.read { $0.favoriteIDs(in: "papers").count } == 4)
    // Whoever gets it from there has the same, and the same digest.
    let third = try FavoritesStore.inMemory(clock: clock, seed: 3)
    try MergeTests.ship(less, to: third)
    #expect(third.digest == less.digest)
    #expect(try third.status().eventsWithoutContent == 1)
  }
}
