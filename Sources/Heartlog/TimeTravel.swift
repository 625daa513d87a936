import HeartlogStorage

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A moment in the history of a store.
public enum LogMoment: Hashable, Sendable {
  /// Every commit whose time is at most these milliseconds since 1970: its wall time, or an earlier one's of its device where that is
  /// later. Whatever a device had heard of has no part in it.
  case milliseconds(Milliseconds)
  /// The commit of this event, and all before it in the total order.
  case event(EventID)

  var inStorage: ReplayMoment {
    switch self {
    case .milliseconds(let milliseconds): .milliseconds(milliseconds)
    case .event(let id): .event(id)
    }
  }

  /// Every commit up to a date.
  public static func time(_ date: Date) -> LogMoment { .milliseconds(date.milliseconds) }
}

extension FavoritesStore {
  /// The state as it was: the log is replayed up to that moment, from the newest snapshot before it.
  ///
  /// The state that the log makes, not the one that this store holds: with no moment the whole log is replayed, which is the way to check
  /// the one by the other.
  ///
  /// - Parameters:
  ///   - moment: the last to be replayed; the end of the log where nil.
  ///   - progress: told now and then how many bytes of how many were read, on the calling thread.
  /// - Throws: `notFound` for an event that the log does not have; `corrupt` where the log cannot be read to its end.
  public func state(
    at moment: LogMoment? = nil, progress: LogProgress? = nil
  ) throws(HeartlogError) -> FavoritesState {
    let replay = try replay(upTo: moment, progress: progress)
    if let finding = replay.findings.first { throw finding.error }
    return replay.state
  }

  /// As `state(at:)`, but goes on where the log is damaged: the state is then that of its sound part, and the findings say what is missing.
  ///
  /// - Throws: `notFound` for an event that the log does not have; `inputOutput` where a file cannot be read.
  public func replay(
    upTo moment: LogMoment? = nil, progress: LogProgress? = nil
  ) throws(HeartlogError) -> (state: FavoritesState, findings: [Finding]) {
    try heartlogErrors {
      let log = try LogReplay(at: path, on: fileSystem, progress: progress)
      guard let moment else {
        var state = FavoritesState()
        let outcome = try log.run { state.apply($0) }
        return (state, outcome.findings.damage.map(Finding.init))
      }
      guard let bound = try log.bound(of: moment.inStorage) else {
        guard case .event(let id) = moment else { return (FavoritesState(), []) }
        throw HeartlogError(.notFound, "the log has no event \(id)")
      }
      let (state, start, outcome) = try snapshots.replay(where: { $0.allSatisfy(bound.contains) }) {
        state, positions in
        try log.run(from: positions, upTo: bound) { state.apply($0) }
      }
      if let start { snapshots.note(outcome.movedPositions, of: start) }
      if case .event(let id) = moment, !outcome.reachedBound {
        throw HeartlogError(.notFound, "the log has no event \(id)")
      }
      return (state, outcome.findings.damage.map(Finding.init))
    }
  }

  /// Reads the log, oldest commit first in the total order, all streams merged. What it reads is what was written by then, not what waits.
  ///
  /// - Throws: `inputOutput` where a file cannot be read.
  public func readLog(progress: LogProgress? = nil) throws(HeartlogError) -> LogReader {
    try heartlogErrors { LogReader(try MergedLog(at: path, on: fileSystem, progress: progress)) }
  }
}

extension [HeartlogStorage.Finding] {
  /// An unfinished batch at the tail was never acknowledged: a reader just does not see it.
  var damage: [HeartlogStorage.Finding] { filter { $0.verdict != .torn } }
}

extension Commit {
  /// Whether the event of that identity is part of this commit.
  public func contains(_ id: EventID) -> Bool {
    id.replica == replica && id.sequence >= firstSequence && id.sequence < nextSequence
  }
}
