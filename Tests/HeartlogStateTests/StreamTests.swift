import HeartlogFormat
import Testing

@testable import HeartlogState

@Suite("Streams")
struct StreamTests {
  @Test("a head stops at a gap and moves over it once it is filled")
  func gaps() {
    var a = StreamWriter(7)
    let commits = (1...5).map { a.commit(at: Milliseconds($0), .paper("x", .added), .paper("y", .added)) }
    var state = FavoritesState()
    #expect(state.head(of: a.replica) == nil)
    func apply(_ numbers: Int...) -> [Bool] { numbers.map { state.apply(commits[$0 - 1]) } }
    var new = apply(3)
    #expect(new == [true])
    #expect(state.heads.isEmpty)
    new = apply(1, 5)
    #expect(new == [true, true])
    #expect(state.head(of: a.replica)?.rawValue == 1)
    #expect(!state.isApplied(a.replica, CommitNumber(rawValue: 2)))
    #expect(state.isApplied(a.replica, CommitNumber(rawValue: 3)))
    new = apply(3, 2)
    #expect(new == [false, true])
    #expect(state.head(of: a.replica)?.rawValue == 3)
    new = apply(4, 5)
    #expect(new == [true, false])
    #expect(state.heads == [Head(replica: a.replica, commit: CommitNumber(rawValue: 5))])
    #expect(state.eventCount(of: a.replica) == 10)
    #expect(state.commitCount == 5)
  }

  @Test("heads are sorted by replica, stamps are the highest seen")
  func headsAndStamps() {
    var writers = [StreamWriter(9), StreamWriter(3), StreamWriter(5)]
    var state = FavoritesState()
    for index in writers.indices {
      state.apply(writers[index].commit(at: 1000 * Milliseconds(3 - index), .paper("x", .added)))
    }
    #expect(state.heads.map(\.replica.low) == [3, 5, 9])
    #expect(state.lastStamp == HybridTimestamp(milliseconds: 3000))
    #expect(state.lastStamp(of: writers[2].replica) == HybridTimestamp(milliseconds: 1000))
    #expect(state.lastStamp(of: ReplicaID(high: 1, low: 1)) == nil)
    #expect(state.eventCount(of: ReplicaID(high: 1, low: 1)) == 0)
    #expect(!state.isApplied(ReplicaID(high: 1, low: 1), CommitNumber(rawValue: 1)))
  }
}

extension FavoritesState {
  /// Whether a commit of a replica is part of this state.
  func isApplied(_ replica: ReplicaID, _ number: CommitNumber) -> Bool {
    guard let progress = replicas.progress(of: replica) else { return false }
    return number.rawValue <= progress.head || progress.beyond[number.rawValue] != nil
  }
}
