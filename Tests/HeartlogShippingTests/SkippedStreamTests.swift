import Heartlog
import Testing

@testable import HeartlogShipping

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
}
