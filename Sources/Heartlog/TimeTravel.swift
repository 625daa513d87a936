import HeartlogEngine

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension LogMoment {
  /// The error if the log does not have the commit that this moment names; nil for a time.
  package var absence: HeartlogError? {
    switch self {
    case .milliseconds: nil
    case .event(let id): HeartlogError(.notFound, "the log has no event \(id)")
    case .commit(let replica, let number):
      HeartlogError(.notFound, "the log has no commit \(number) of \(replica)")
    }
  }

  /// All commits up to a date.
  public static func time(_ date: Date) -> LogMoment { .milliseconds(date.milliseconds) }
}

extension FavoritesStore {
  /// Returns the state at a moment. Replays the log up to that moment, from the newest snapshot before it.
  ///
  /// The result is built from the log, not taken from this store's state. Without a moment, the whole log is replayed; use that to check
  /// the state against the log.
  ///
  /// - Parameters:
  ///   - moment: the last moment to replay; the end of the log if nil.
  ///   - progress: called from time to time on the calling thread, with the bytes read so far and in total.
  /// - Throws: `notFound` if the log does not contain the event or the commit; `corrupt` if the log cannot be read to its end.
  public func state(
    at moment: LogMoment? = nil, progress: LogProgress? = nil
  ) throws(HeartlogError) -> FavoritesState {
    let replay = try replay(upTo: moment, progress: progress)
    if let finding = replay.findings.first { throw finding.error }
    return replay.state
  }

  /// Like `state(at:)`, but continues past damage. The state then contains the undamaged commits, and the findings say what is missing.
  ///
  /// - Parameters:
  ///   - moment: the last moment to replay; the end of the log if nil.
  ///   - progress: called from time to time on the calling thread, with the bytes read so far and in total.
  /// - Throws: `notFound` if the log does not contain the event or the commit; `inputOutput` if a file cannot be read.
  public func replay(
    upTo moment: LogMoment? = nil, progress: LogProgress? = nil
  ) throws(HeartlogError) -> (state: FavoritesState, findings: [Finding]) {
    try heartlogErrors {
      let log = try LogReplay(at: path, on: fileSystem, progress: progress)
      guard let moment else {
        var state = FavoritesState()
        let outcome = try log.run { state.apply($0) }
        return (state, outcome.findings.damage)
      }
      guard let bound = try log.bound(of: moment) else {
        if let absence = moment.absence { throw absence }
        return (FavoritesState(), [])
      }
      let (state, start, outcome) = try snapshots.replay(where: { $0.allSatisfy(bound.contains) }) {
        state, positions in
        try log.run(from: positions, upTo: bound) { state.apply($0) }
      }
      if let start { snapshots.note(outcome.movedPositions, of: start) }
      if !outcome.reachedBound, let absence = moment.absence { throw absence }
      return (state, outcome.findings.damage)
    }
  }

  /// Reads the log with all streams merged, in the total order, oldest commit first. The reader sees written commits, not those still
  /// queued.
  ///
  /// - Parameter progress: called from time to time on the calling thread, with the bytes read so far and in total.
  /// - Throws: `inputOutput` if a file cannot be read.
  public func readLog(progress: LogProgress? = nil) throws(HeartlogError) -> LogReader {
    try heartlogErrors { LogReader(try MergedLog(at: path, on: fileSystem, progress: progress)) }
  }
}

/// The commits of a log in the total order, as it was when they were listed.
package struct Timeline: Sendable {
  /// Commits of one stream that follow each other in the total order.
  private struct Run {
    /// The index of the first one.
    let start: Int
    let replica: ReplicaID
    let first: CommitNumber
    var count: Int
  }

  private var runs: [Run] = []
  /// The number of commits.
  package private(set) var count = 0

  /// Lists the commits of a log, from its current position to its end.
  ///
  /// - Parameter visit: receives the index of each commit, its position, and its time as `lastTime` of the log would report it.
  package init(
    of log: LogReader, visit: (_ index: Int, CommitPosition, Milliseconds) -> Void = { _, _, _ in }
  ) throws(HeartlogError) {
    while let run = try log.nextRun() {
      switch run.commits {
      case .one(let commit):
        visit(count, commit.position, log.lastTime)
        add(commit.number, of: commit.replica)
      case .several(let block, let indices):
        let content = block.content
        var time = run.timeBefore
        for index in indices {
          time = max(time, content.columns.commits.wallTimes[index])
          visit(count, content.position(at: index), time)
          add(content.number(at: index), of: content.replica)
        }
      }
    }
  }

  private mutating func add(_ number: CommitNumber, of replica: ReplicaID) {
    if let last = runs.last, last.replica == replica,
      last.first.rawValue + UInt64(last.count) == number.rawValue
    {
      runs[runs.count - 1].count += 1
    } else {
      runs.append(Run(start: count, replica: replica, first: number, count: 1))
    }
    count += 1
  }

  /// Returns the commit at an index. O(log n).
  package subscript(index: Int) -> (replica: ReplicaID, number: CommitNumber) {
    precondition((0..<count).contains(index), "a commit that is not there")
    let run = runs[runs.partitionPoint { $0.start > index } - 1]
    return (run.replica, CommitNumber(rawValue: run.first.rawValue + UInt64(index - run.start)))
  }
}

/// A state after the first commits of a timeline, from which a replay can continue.
package struct PastState: Sendable {
  /// The number of commits of the timeline that it contains.
  package let count: Int
  /// The state itself.
  package let state: FavoritesState
  fileprivate let positions: [StreamPosition]

  /// The state before the first commit.
  package static let empty = PastState(count: 0, state: FavoritesState(), positions: [])
}

extension FavoritesStore {
  /// Returns the state after the first commits of a timeline. Replays only what follows an earlier state, or the newest snapshot if there is
  /// none.
  ///
  /// - Parameters:
  ///   - count: the number of commits.
  ///   - timeline: a timeline of this store's log.
  ///   - earlier: a state of that timeline with at most as many commits.
  /// - Throws: `notFound` if the log no longer has the last of these commits; `inputOutput` if a file cannot be read.
  package func state(
    after count: Int, of timeline: Timeline, from earlier: PastState? = nil
  ) throws(HeartlogError) -> PastState {
    guard count > 0 else { return .empty }
    let (replica, number) = timeline[count - 1]
    return try heartlogErrors {
      let log = try LogReplay(at: path, on: fileSystem)
      let moment = LogMoment.commit(replica, number)
      guard let bound = try log.bound(of: moment) else {
        throw HeartlogError(.notFound, "the log no longer has commit \(number) of \(replica)")
      }
      func read(_ state: inout FavoritesState, _ positions: [StreamPosition]) throws -> LogReplay.Outcome {
        try log.run(from: positions, upTo: bound, givesPositions: true) { state.apply($0) }
      }
      var state = FavoritesState()
      let outcome: LogReplay.Outcome
      if let earlier {
        state = earlier.state
        outcome = try read(&state, earlier.positions)
      } else {
        (state, _, outcome) = try snapshots.replay(where: { $0.allSatisfy(bound.contains) }, read)
      }
      return PastState(count: count, state: state, positions: outcome.positions)
    }
  }
}
