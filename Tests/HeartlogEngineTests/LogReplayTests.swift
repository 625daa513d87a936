import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import Testing

@testable import HeartlogEngine

@Suite("A log is replayed up to a moment")
struct LogReplayTests {
  private func replay(
    _ history: History, from positions: [StreamPosition] = [], upTo bound: ReplayBound? = nil,
    givesPositions: Bool = false
  ) throws -> (commits: [Commit], outcome: LogReplay.Outcome) {
    var commits: [Commit] = []
    let outcome = try LogReplay(at: "/store", on: history.files).run(
      from: positions, upTo: bound, givesPositions: givesPositions
    ) { piece in
      switch piece {
      case .rows(let rows): commits += rows.map { $0.commit() }
      case .block(let block): commits += block.commits()
      }
    }
    return (commits.sorted { ($0.replica, $0.number) < ($1.replica, $1.number) }, outcome)
  }

  private func moments(of history: History) -> [LogMoment] {
    let commits = history.commits
    return commits.enumerated().flatMap { index, commit -> [LogMoment] in
      guard index % 3 == 0 else { return [] }
      let event = commit.eventID(at: commit.records.count - 1)
      return [
        .milliseconds(commit.wallTime), .milliseconds(commit.wallTime - 1), .event(event),
        .commit(commit.replica, commit.number),
      ]
    }
  }

  private func commits(of history: History, upTo moment: LogMoment) throws -> [Commit] {
    switch moment {
    case .milliseconds(let milliseconds):
      var latest: [ReplicaID: Milliseconds] = [:]
      return history.commits.filter {
        latest[$0.replica] = max(latest[$0.replica] ?? 0, $0.wallTime)
        return (latest[$0.replica] ?? 0) <= milliseconds
      }
    case .event(let id):
      let last = try #require(
        history.commits.first {
          $0.replica == id.replica && $0.firstSequence <= id.sequence && id.sequence < $0.nextSequence
        })
      return try commits(of: history, upTo: .commit(last.replica, last.number))
    case .commit(let replica, let number):
      let last = try #require(history.commits.first { $0.replica == replica && $0.number == number })
      return history.commits.filter { $0.position <= last.position }
    }
  }

  @Test(
    "up to every moment it gives the commits up to then, from the start and from each position before it",
    arguments: [false, true])
  func everyMoment(clocksAreWrong: Bool) throws {
    let history = try History.long(clocksAreWrong: clocksAreWrong)
    for moment in moments(of: history) {
      let expected = try commits(of: history, upTo: moment)
      let bound = try #require(try LogReplay(at: "/store", on: history.files).bound(of: moment))
      let (found, outcome) = try replay(history, upTo: bound)
      #expect(found == expected, "\(moment)")
      #expect(outcome.eventCount == UInt64(expected.reduce(0) { $0 + $1.records.count }))
      #expect(outcome.findings.isEmpty && outcome.reachedBound && outcome.positions.isEmpty)
      var isFirst = true
      for (positions, heads) in history.positions.reversed() {
        guard positions.allSatisfy(bound.contains) else {
          let error = storageFailure { _ = try replay(history, from: positions, upTo: bound) }
          #expect(error?.code == .misuse)
          continue
        }
        // The nearest, and some others.
        guard isFirst || (positions.first?.commit.rawValue ?? 0) % 8 == 0 else { continue }
        isFirst = false
        let (rest, _) = try replay(history, from: positions, upTo: bound)
        #expect(rest == expected.filter { $0.number.rawValue > heads[$0.replica] ?? 0 }, "\(moment) \(heads)")
      }
    }
  }

  @Test("the merged log tells each commit's time: the latest wall time of its stream up to it")
  func mergedTimes() throws {
    let history = try History.long(clocksAreWrong: true)
    let log = try MergedLog(at: "/store", on: history.files)
    var latest: [ReplicaID: Milliseconds] = [:]
    var setBack = 0
    while let commit = try log.next() {
      latest[commit.replica] = max(latest[commit.replica] ?? 0, commit.wallTime)
      #expect(log.lastTime == latest[commit.replica], "\(commit.replica) \(commit.number)")
      if log.lastTime > commit.wallTime { setBack += 1 }
    }
    #expect(setBack > 5)
  }

  @Test("positions tell the stream's time however they are made, and keep it")
  func positionsTime() throws {
    let history = try History.long(clocksAreWrong: true)
    for (positions, heads) in history.positions {
      for position in positions {
        let wallTimes = history.commits.filter {
          $0.replica == position.replica && $0.number.rawValue <= heads[$0.replica] ?? 0
        }.map(\.wallTime)
        #expect(position.latestWallTime == wallTimes.max() && position.time.last == wallTimes.last)
      }
      let bytes = StreamPosition.encode(positions)
      let decoded = try bytes.withUnsafeBytes { bytes in Result { try StreamPosition.decode(bytes) } }.get()
      #expect(decoded == positions)
      // A log that was opened there knows it as well.
      let open = try history.open(at: positions)
      let streams = open.log.streams.filter { $0.lastWallTime != nil }
      #expect(
        streams.map(\.latestWallTime)
          == streams.map { stream in
            history.commits.filter { $0.replica == stream.replica }.map(\.wallTime).max()
          })
      open.log.close()
    }
  }

  @Test("without a bound it gives the whole log; the positions that it came to are those of the log")
  func wholeLog() throws {
    let history = try History.long(clocksAreWrong: true)
    let last = try #require(history.positions.last?.positions)
    let (found, outcome) = try replay(history, givesPositions: true)
    #expect(found == history.commits && outcome.positions == last)
    for (positions, heads) in history.positions {
      let (found, outcome) = try replay(history, from: positions, givesPositions: true)
      #expect(found == history.commits(behind: heads) && outcome.positions == last)
    }
  }

  @Test("the positions at a moment are good to start from")
  func positionsAtMoments() throws {
    let history = try History.long(clocksAreWrong: true)
    for moment in moments(of: history) {
      let bound = try #require(try LogReplay(at: "/store", on: history.files).bound(of: moment))
      let (found, outcome) = try replay(history, upTo: bound, givesPositions: true)
      let heads = found.reduce(into: [ReplicaID: UInt64]()) { $0[$1.replica, default: 0] += 1 }
      #expect(outcome.positions.reduce(into: [:]) { $0[$1.replica] = $1.commit.rawValue } == heads)
      let (rest, _) = try replay(history, from: outcome.positions)
      #expect(rest == history.commits(behind: heads))
    }
  }

  @Test("an event that the log does not have has no bound; one behind damage is not reached")
  func unknownEvents() throws {
    let history = try History()
    try history.write(40)
    func bound(_ replica: ReplicaID, _ sequence: UInt64) throws -> ReplayBound? {
      try LogReplay(at: "/store", on: history.files).bound(
        of: .event(EventID(replica: replica, sequence: SequenceNumber(rawValue: sequence))))
    }
    let events = UInt64(history.commits.reduce(0) { $0 + $1.records.count })
    #expect(try bound(history.replica, events) != nil && bound(history.replica, events + 1) == nil)
    #expect(try bound(history.replica, 0) == nil && bound(history.otherReplica, 1) == nil)
    #expect(try LogReplay(at: "/store", on: history.files).bound(of: .milliseconds(-1)) == nil)
    #expect(try LogReplay(at: "/store", on: history.files).bound(of: .milliseconds(.max)) != nil)

    let last = try #require(try bound(history.replica, events))
    let path = history.path("0000000000000001.open", of: history.replica)
    var bytes = try history.files.contents(of: path)
    bytes[4_500] ^= 1
    try history.files.replaceContents(of: path, with: bytes)
    let (found, outcome) = try replay(history, upTo: last)
    #expect(!outcome.reachedBound && outcome.findings.map(\.verdict) == [.corrupt])
    #expect(try found == history.store.read().commits)
  }

  @Test("what the visitor throws ends the replay")
  func throwingVisitor() throws {
    let history = try History.long()
    for limit in 0..<6 {
      var pieces = 0
      #expect(throws: HeartlogError.self) {
        try LogReplay(at: "/store", on: history.files).run { _ in
          if pieces == limit { throw MalformedError("enough") }
          pieces += 1
        }
      }
    }
  }
}
