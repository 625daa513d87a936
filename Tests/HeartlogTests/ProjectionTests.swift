import HeartlogFiles
import HeartlogState
import Testing

@testable import Heartlog
@testable import HeartlogStorage

@Suite("What a draft sees")
struct ProjectionTests {
  private static let replica = ReplicaID(high: 1, low: 2)

  private func pending(_ number: Int, _ event: Event) -> CommitLog.PendingCommit {
    let commit = Commit(
      replica: Self.replica, number: CommitNumber(rawValue: UInt64(number)),
      firstSequence: SequenceNumber(rawValue: UInt64(number)),
      stamp: HybridTimestamp(milliseconds: Int64(number)), wallTime: Int64(number), records: [.event(event)])
    return CommitLog.PendingCommit(commit, .durable)
  }

  @Test("a draft sees what is queued, however many items were written without the queue being empty once")
  func longLine() throws {
    let options = StoreOptions()
    let projection = Projection(SnapshotKeeper(at: "/store", on: MemoryFileSystem(), options: options))
    let items = 1_500
    var favorites = Set<String>()
    // One commit is published for each that joins: two stand in line all the time.
    for number in 1...items * 3 {
      let item = "item \(number * 7 % items)"
      let plan = try projection.plan(.toggle(), on: item, in: "papers", under: WriteOverlay(), wallTime: 1)
        .plan
      let event = try #require(plan.event)
      #expect(event.action == .toggled(on: !favorites.contains(item)))
      favorites.formSymmetricDifference([item])
      projection.stage(pending(number, event))
      if number > 2 { projection.publish(1) }
      let last = try projection.plan(.toggle(), on: item, in: "papers", under: WriteOverlay(), wallTime: 1)
      #expect(last.wasFavorite == favorites.contains(item))
      #expect(projection.content.withLock(\.pending.itemCount) <= 1_026)
    }
    projection.publish(2)
    #expect(projection.content.withLock(\.pending.itemCount) == 0)
    #expect(Set(projection.read { $0.favoriteIDs(in: "papers") }) == favorites)
  }
}
