import HeartlogCrashModel
import HeartlogFiles
import HeartlogFormat
import HeartlogState
import Testing

@testable import HeartlogEngine

@Suite("What a draft sees")
struct ProjectionTests {
  private static let replica = ReplicaID(high: 1, low: 2)

  private static var empty: Projection {
    Projection(
      SnapshotKeeper(
        at: "/store", on: MemoryFileSystem(recording: true), options: StorageOptions(), policy: .manual))
  }

  private func pending(_ number: Int, _ event: Event) -> CommitLog.PendingCommit {
    let commit = Commit(
      replica: Self.replica, number: CommitNumber(rawValue: UInt64(number)),
      firstSequence: SequenceNumber(rawValue: UInt64(number)),
      stamp: HybridTimestamp(milliseconds: Int64(number)), wallTime: Int64(number), records: [.event(event)])
    return CommitLog.PendingCommit(commit, .durable)
  }

  private func queued(
    writing: [CommitLog.PendingCommit] = [], waiting: [CommitLog.PendingCommit] = []
  ) -> QueuedCommits? {
    writing.isEmpty && waiting.isEmpty ? nil : QueuedCommits(writing: writing, waiting: waiting)
  }

  @Test("a draft sees what is queued, however many items were written without the queue being empty once")
  func longLine() throws {
    let projection = Self.empty
    let items = 1_500
    var favorites = Set<String>()
    // One commit is published for each that is queued: the queue always has two.
    var queue: [CommitLog.PendingCommit] = []
    func plan(_ item: String) throws -> WritePlan {
      try projection.plan(
        .toggle(), on: item, in: LibraryKey("papers"),
        over: queued(waiting: queue),
        WriteOverlay(),
        wallTime: 1)
    }
    for number in 1...items * 3 {
      let item = "item \(number * 7 % items)"
      let event = try #require(try plan(item).event)
      #expect(event.action == .toggled(on: !favorites.contains(item)))
      favorites.formSymmetricDifference([item])
      queue.append(pending(number, event))
      if number > 2 { projection.publish([queue.removeFirst()]) }
      #expect(try !plan(item).result.isFavorite == favorites.contains(item))
      #expect(projection.content.withLock(\.overlay.itemCount) <= 1_026)
    }
    projection.publish(queue)
    queue = []
    #expect(try plan("another").result.isFavorite)
    #expect(projection.content.withLock(\.overlay.itemCount) == 0)
    #expect(Set(projection.read { $0.favoriteIDs(in: "papers") }) == favorites)
  }
  @Test("a draft does not see commits that failed, not even those with the numbers of new ones")
  func failed() throws {
    let projection = Self.empty
    func wasFavorite(_ item: String, over queue: [CommitLog.PendingCommit]) throws -> Bool {
      try !projection.plan(
        .toggle(), on: item, in: LibraryKey("papers"),
        over: queued(writing: queue),
        WriteOverlay(),
        wallTime: 1
      ).result.isFavorite
    }
    let lost = pending(1, Event(library: "papers", item: "lost", action: .added))
    #expect(try wasFavorite("lost", over: [lost]))
    let new = pending(1, Event(library: "papers", item: "new", action: .added))
    #expect(try !wasFavorite("lost", over: [new]))
    #expect(try wasFavorite("new", over: [new]))
    #expect(try !wasFavorite("new", over: []))
  }
  @Test("a long queue is laid over the state once, not for each draft")
  func longQueue() throws {
    let projection = Self.empty
    let queue = (1...2_000).map {
      pending($0, Event(library: "papers", item: "item \($0)", action: .added))
    }
    func isFavorite(_ item: String, over queue: [CommitLog.PendingCommit]) -> Bool {
      projection.isFavorite(
        item, in: "papers", over: queued(waiting: queue),
        WriteOverlay())
    }
    #expect(isFavorite("item 1", over: queue))
    // It would be gone if the overlay were made again.
    let mark = Event(library: "papers", item: "mark", action: .added)
    projection.content.withLock {
      $0.overlay.apply(
        mark,
        at: EventPosition(
          stamp: HybridTimestamp(milliseconds: 1), replica: Self.replica,
          sequence: SequenceNumber(rawValue: 9_999)), wallTime: 1)
    }
    #expect(isFavorite("item 2000", over: queue) && isFavorite("mark", over: queue))
    projection.publish(Array(queue.prefix(500)))
    #expect(isFavorite("item 2000", over: Array(queue.dropFirst(500))))
    #expect(!isFavorite("mark", over: Array(queue.dropFirst(500))))
    #expect(projection.content.withLock(\.overlay.itemCount) == 1_500)
  }
}
