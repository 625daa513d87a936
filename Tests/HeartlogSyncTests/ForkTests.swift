import Heartlog
import Testing

@testable import HeartlogSync

@Suite("Forks in a dialogue")
struct ForkTests {
  /// A store and its copy with the same identity, both of which wrote on.
  private func clones(common: Int, _ own: Int, _ copied: Int) throws -> (FavoritesStore, FavoritesStore) {
    let one = try FavoritesStore.device(1, "phone")
    if common > 0 { try one.write(common, tag: "a") }
    let copy = try one.copy()
    try one.write(own, tag: "b")
    try copy.write(copied, tag: "c")
    return (one, copy)
  }

  @Test(
    "a forked stream ends at its last common commit, and both branches reach both stores",
    arguments: [(100, 5, 9), (100, 9, 5), (100, 7, 7), (0, 3, 4), (1, 1, 1), (255, 1, 300)])
  func fork(common: Int, own: Int, copied: Int) throws {
    let (one, copy) = try clones(common: common, own, copied)
    let forked = one.replica
    let report = try Dialogue.between(one, copy).report()
    #expect(try one.streams == copy.streams && one.streams.count == 3)
    let stream = try #require(try one.streams[forked])
    #expect(stream.isEnded && stream.commit.rawValue == UInt64(common))
    #expect(
      report.forks == [
        SyncReport.Fork(
          replica: forked, name: "phone", lastCommon: CommitNumber(rawValue: UInt64(common)), isEnded: true)
      ])
    #expect(one.replica != forked && copy.replica != forked && one.replica != copy.replica)
    let again = try Dialogue.between(one, copy).report()
    #expect(again.forks.isEmpty && again.received.commits == 0 && again.sent.commits == 0)
  }

  @Test("a store that was merely set back is no fork: it gets its own commits again")
  func restored() throws {
    let one = try FavoritesStore.device(1, "phone")
    try one.write(10)
    let old = try one.copy()
    try one.write(5)
    let other = try FavoritesStore.device(2, "tablet")
    _ = try Dialogue.between(one, other).report()
    let report = try Dialogue.between(old, other).report()
    #expect(report.forks.isEmpty && report.received.commits == 5)
    #expect(try old.streams == other.streams)
  }

  @Test("a third store that holds either branch learns of the fork, whoever it meets first")
  func third() throws {
    let (one, copy) = try clones(common: 20, 5, 9)
    let third = try FavoritesStore.device(3, "laptop")
    try third.write(2)
    _ = try Dialogue.between(third, one).report()
    _ = try Dialogue.between(copy, third).report()
    _ = try Dialogue.between(one, third).report()
    _ = try Dialogue.between(one, copy).report()
    #expect(try one.streams == copy.streams && one.streams == third.streams && one.streams.count == 4)
  }

  @Test("a store that has less of an ended stream receives it up to its end")
  func ended() throws {
    let (one, copy) = try clones(common: 20, 5, 9)
    let forked = one.replica
    _ = try Dialogue.between(one, copy).report()
    let third = try FavoritesStore.device(3, "laptop")
    _ = try Dialogue.between(third, one).report()
    #expect(try third.streams == one.streams && third.streams[forked]?.isEnded == true)
  }

  @Test("where nothing may be written, a fork is told and passed over", arguments: [true, false])
  func passedOver(isDryRun: Bool) throws {
    let (one, copy) = try clones(common: 20, 5, 9)
    let other = try FavoritesStore.device(2, "tablet")
    try other.write(4)
    _ = try Dialogue.between(copy, other).report()
    let before = (try one.streams[one.replica], try copy.streams)
    var options = SyncOptions()
    options.isPull = !isDryRun
    options.isDryRun = isDryRun
    let report = try Dialogue.between(one, copy, options: options).report()
    #expect(report.forks.count == 1 && report.forks.first?.isEnded == false && report.received.commits == 4)
    #expect(try one.streams[one.replica] == before.0 && copy.streams == before.1)
  }
}
