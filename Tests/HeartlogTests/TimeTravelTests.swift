import Foundation
import Testing

@testable import Heartlog

@Suite("The state as it was")
struct TimeTravelTests {
  private let test = TestStore()

  @Test("at each time and at each event the replay is the state as it was then, sealed or not")
  func everyMoment() throws {
    let store = try test.open()
    let library = try store.library("papers")
    var digests: [(time: Milliseconds, event: EventID, commit: LogMoment, digest: Digest)] = []
    for round in 0..<60 {
      test.clock.now += 10
      let commit = try #require(
        try store.commit {
          try library.toggle("\(round % 7)")
          try library.set([Field(name: "n", value: .int64(Int64(round)))], of: "\(round % 5)")
        }.commit)
      digests.append(
        (test.clock.now, commit.eventID(at: 1), .commit(commit.replica, commit.number), store.digest))
    }
    for pass in 0..<2 {
      for (time, event, commit, digest) in digests {
        #expect(try store.state(at: .milliseconds(time)).digest == digest, "pass \(pass)")
        #expect(try store.state(at: .milliseconds(time + 9)).digest == digest)
        #expect(try store.state(at: .event(event)).digest == digest)
        #expect(try store.state(at: commit).digest == digest)
        let date = Date(timeIntervalSince1970: Double(time) / 1_000)
        #expect(try store.state(at: .time(date)).digest == digest)
      }
      try store.seal()
    }
    #expect(try store.state(at: .milliseconds(0)).eventCount == 0)
  }

  @Test("an event or a commit that the log does not have is an error")
  func unknown() throws {
    let store = try test.open()
    try store.library("papers").add("a")
    let event = EventID(replica: store.replica, sequence: SequenceNumber(rawValue: 2))
    for moment: LogMoment in [
      .event(event), .commit(store.replica, CommitNumber(rawValue: 2)),
      .commit(ReplicaID(high: 1, low: 1), CommitNumber(rawValue: 1)),
    ] {
      let error = #expect(throws: HeartlogError.self) { try store.state(at: moment) }
      #expect(error?.code == .notFound)
    }
  }
}
