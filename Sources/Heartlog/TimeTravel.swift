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
  package func replay(
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
  package func readLog(progress: LogProgress? = nil) throws(HeartlogError) -> LogReader {
    try heartlogErrors { LogReader(try MergedLog(at: path, on: fileSystem, progress: progress)) }
  }
}
