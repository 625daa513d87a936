import Heartlog
import Synchronization

/// Counts what a session has done so far. Both its threads add to it.
final class SessionTally: Sendable {
  private struct State {
    var progress = SyncProgress()
    /// What the current dialogue has left to do.
    var left = SyncReport.Unfinished()
    var receivedEvents: UInt64 = 0
    var appendedCommits: UInt64 = 0
    var changedItems: UInt64 = 0
    var forks: [SyncReport.Fork] = []
    var skipped: [SyncReport.SkippedStream] = []
  }

  private let state = Mutex(State())
  private let tell: (@Sendable (SyncProgress) -> Void)?

  init(_ tell: (@Sendable (SyncProgress) -> Void)?) { self.tell = tell }

  func expect(toReceive: UInt64, toSend: UInt64) {
    change {
      $0.progress.commitsToReceive = toReceive
      $0.progress.commitsToSend = toSend
      $0.left.commitsToReceive = toReceive
      $0.left.commitsToSend = toSend
    }
  }

  func sent(commits: Int) {
    change { state in
      state.progress.sentCommits += UInt64(commits)
      Self.take(commits, from: &state.left.commitsToSend)
    }
  }

  func received(commits: Int, _ outcome: ReceivedRun) {
    switch outcome {
    // Not received, or not yet.
    case .waiting, .refused, .unsigned, .full: return
    case .appended, .known, .gap, .diverged: break
    }
    change { state in
      state.progress.receivedCommits += UInt64(commits)
      Self.take(commits, from: &state.left.commitsToReceive)
      guard case .appended(let commits, let events, let changedItems) = outcome else { return }
      state.appendedCommits += UInt64(commits)
      state.receivedEvents += UInt64(events)
      state.changedItems += UInt64(changedItems)
    }
  }

  func found(_ fork: SyncReport.Fork) {
    change { state in
      state.forks.removeAll { $0.replica == fork.replica }
      state.forks.append(fork)
    }
  }

  /// Reports that a stream is skipped from `run` on.
  func skipped(_ run: StreamRun, _ cause: SyncReport.SkippedStream.Cause, _ reason: String) {
    skipped(
      SyncReport.SkippedStream(
        replica: run.replica, name: run.name, firstCommit: run.firstCommit, cause: cause, reason: reason))
  }

  /// Reports a stream as skipped. The last reason is kept.
  func skipped(_ stream: SyncReport.SkippedStream) {
    change { state in
      state.skipped.removeAll { $0.replica == stream.replica }
      state.skipped.append(stream)
    }
  }

  /// Records that a stream is not skipped after all.
  func resumed(_ replica: ReplicaID) {
    change { $0.skipped.removeAll { $0.replica == replica } }
  }

  /// The first stream of which this end refused commits because of their root.
  var refused: SyncReport.SkippedStream? {
    state.withLock { $0.skipped.first { $0.cause == .refused } }
  }

  /// New commits and events that were received.
  var appended: (commits: UInt64, events: UInt64) {
    state.withLock { ($0.appendedCommits, $0.receivedEvents) }
  }

  /// Copies what was sent, and what is left, into the report of a sync that ended early.
  func leave(_ report: inout SyncReport) {
    state.withLock { state in
      report.sent.commits = state.progress.sentCommits
      report.unfinished = state.left
    }
  }

  /// Copies the counts into a report.
  func complete(_ report: inout SyncReport) {
    state.withLock { state in
      report.received.commits = state.appendedCommits
      report.received.events = state.receivedEvents
      report.changedItems = state.changedItems
      report.forks = state.forks
      report.skipped = state.skipped
    }
  }

  /// What a peer announces may be more than a sum can hold.
  private static func take(_ commits: Int, from left: inout UInt64?) {
    left = left.map { $0 - min($0, UInt64(commits)) }
  }

  private func change(_ body: (inout State) -> Void) {
    let progress = state.withLock { state in
      body(&state)
      return state.progress
    }
    tell?(progress)
  }
}
