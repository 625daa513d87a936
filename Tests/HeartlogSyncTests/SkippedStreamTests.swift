import Heartlog
import Testing

@testable import HeartlogSync

/// A stream that cannot be taken stands in no other's way, and is told.
@Suite("Streams that are passed over")
struct SkippedStreamTests {
  /// Knows three streams of nine commits, in runs of four, and writes the one with the highest replica itself.
  private func hub() -> (store: FakeStreams, streams: [ReplicaID]) {
    let others = (1...3).map { FakeStreams($0, name: "device \($0)") }.sorted { $0.replica < $1.replica }
    for other in others { other.write(9) }
    let hub = others[2].copy()
    for other in others { hub.hold(other.streams[other.replica]?.commits ?? []) }
    for other in others { hub.state.withLock { $0.streams[other.replica] = other.streams[other.replica] } }
    hub.state.withLock { $0.eventsPerRun = 4 }
    return (hub, others.map(\.replica))
  }

  @Test("a stream that waits is passed over, and those behind it arrive", arguments: [true, false])
  func waiting(isCalling: Bool) throws {
    let (hub, streams) = hub()
    let store = FakeStreams(9, name: "phone")
    store.state.withLock { $0.waiting = [streams[0]] }
    let dialogue = try isCalling ? Dialogue.between(store, hub) : Dialogue.between(hub, store)
    let report = try (isCalling ? dialogue.calling : dialogue.serving).get()
    _ = try (isCalling ? dialogue.serving : dialogue.calling).get()
    #expect(Set(store.streams.keys) == Set(streams[1...]) && report.received.commits == 18)
    #expect(
      report.skipped == [
        .init(
          replica: streams[0], name: hub.streams[streams[0]]?.name ?? "",
          firstCommit: CommitNumber(rawValue: 1),
          cause: .waiting, reason: "not yet")
      ])
    store.state.withLock { $0.waiting = [] }
    _ = try Dialogue.between(store, hub).report()
    #expect(store.streams == hub.streams)
  }

  @Test(
    "commits that do not lead to their root are refused, the rest arrives, and both ends fail",
    arguments: [true, false])
  func refused(isCalling: Bool) throws {
    let (hub, streams) = hub()
    hub.state.withLock { $0.forged = [streams[1]] }
    let store = FakeStreams(9, name: "phone")
    let dialogue = try isCalling ? Dialogue.between(store, hub) : Dialogue.between(hub, store)
    let report = try (isCalling ? dialogue.calling : dialogue.serving).get()
    #expect(Set(store.streams.keys) == [streams[0], streams[2]] && report.forks.isEmpty)
    #expect(
      report.skipped.map(\.replica) == [streams[1]] && report.skipped[0].cause == .refused
        && report.skipped[0].firstCommit.rawValue == 1)
    guard case .failure(let told) = isCalling ? dialogue.serving : dialogue.calling else {
      Issue.record("the end that sent them is not told")
      return
    }
    #expect(told.code == .peer && told.message.contains("do not lead to the root"), "\(told)")
  }

  /// The stream in the middle cannot be read behind commit 5.
  private func damagedHub(_ notice: FakeStreams.Notice) -> (store: FakeStreams, streams: [ReplicaID]) {
    let (hub, streams) = hub()
    hub.state.withLock { state in
      state.damaged = [streams[1]: 5]
      state.noticesDamage = notice
    }
    return (hub, streams)
  }

  @Test(
    "a damaged peer gives all that can be read, and the message says that it is damaged, where, and what to run",
    arguments: FakeStreams.Notice.allCases)
  func damagedPeer(notice: FakeStreams.Notice) throws {
    let (hub, streams) = damagedHub(notice)
    let store = FakeStreams(9, name: "phone")
    store.write(3)
    let report = try StoreCarrier(hub, description: "/hub").sync(store, options: SyncOptions())
    #expect(Set(store.streams.keys) == Set(streams + [store.replica]))
    #expect(streams.map { store.streams[$0]?.commits.count } == [9, 5, 9])
    #expect(!report.isComplete && report.received.commits == 23)
    let told = try #require(report.peerDamage ?? report.skipped.first?.reason)
    for word in [
      "its store is damaged", "replicas/\(streams[1])/1.sealed", "offset 4096", "commit 6", "verify",
      "repair",
    ] {
      #expect(told.contains(word), "\(told)")
    }
    #expect(!told.contains("/home/anna"), "\(told)")
    // What is known to be damaged before the dialogue takes nothing; else the rest of the store goes on.
    #expect((hub.streams[store.replica] == nil) == (notice == .whenOpening))
    let again = try StoreCarrier(hub, description: "/hub").sync(store, options: SyncOptions())
    #expect(!again.isComplete && again.received.commits == 0)
  }

  @Test(
    "a damaged store gives a peer all that can be read, and says that it is damaged itself",
    arguments: FakeStreams.Notice.allCases)
  func damagedCaller(notice: FakeStreams.Notice) throws {
    let (hub, streams) = damagedHub(notice)
    let store = FakeStreams(9, name: "phone")
    store.write(3)
    let report = try StoreCarrier(store, description: "/phone").sync(hub, options: SyncOptions())
    #expect(streams.map { store.streams[$0]?.commits.count } == [9, 5, 9])
    #expect(!report.isComplete && report.peerDamage == nil)
    let skipped = try #require(report.skipped.first)
    #expect(skipped.cause == .damaged && skipped.reason.contains("this store is damaged"))
    #expect(skipped.replica == (notice == .whenOpening ? store.replica : streams[1]))
    #expect((hub.streams[store.replica] == nil) == (notice == .whenOpening))
  }

  @Test(
    "a pull, a dry run and a stream of which nothing can be read are no obstacle either",
    arguments: [true, false])
  func damagedOtherwise(isDryRun: Bool) throws {
    let (hub, streams) = damagedHub(.whenLooking)
    hub.state.withLock { $0.damaged = [streams[1]: 0] }
    let store = FakeStreams(9, name: "phone")
    store.hold(hub.streams[streams[1]]?.commits.prefix(2) ?? [])
    store.state.withLock { $0.streams[streams[1]]?.name = "" }
    var options = SyncOptions()
    options.isPull = true
    options.isDryRun = isDryRun
    let report = try StoreCarrier(hub, description: "/hub").sync(store, options: options)
    #expect(report.received.commits == 18 && !report.isComplete)
    #expect(streams.map { store.streams[$0]?.commits.count ?? 0 } == (isDryRun ? [0, 2, 0] : [9, 2, 9]))
  }
}
