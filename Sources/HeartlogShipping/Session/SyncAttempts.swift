import Heartlog
import Synchronization

/// The state shared by the dialogues of one sync: if a stream breaks off a dialogue, the next one skips that
/// stream.
final class SyncAttempts: Sendable {
  private struct State {
    var bounds: [ReplicaID: UInt64] = [:]
    var unwanted: Set<ReplicaID> = []
    var damage: HeartlogError?
    var signingFailure: HeartlogError?
    var version = Message.version
    /// What the current dialogue has reported so far.
    var begun = SyncReport()
    /// Bytes of the dialogues that broke off.
    var bytes: (read: UInt64, written: UInt64) = (0, 0)
    /// Streams that were newly left out in the current dialogue.
    var news = 0
  }

  /// The most dialogues in a sync: each one leaves out one more stream.
  private static let dialoguesMax = 8

  let tally: SessionTally
  private let state = Mutex(State())

  init(_ progress: (@Sendable (SyncProgress) -> Void)?) { tally = SessionTally(progress) }

  /// Repeats `dialogue` until it succeeds, or breaks off for a reason other than a stream that cannot be
  /// read.
  static func hold(
    _ options: SyncOptions, _ dialogue: (SyncAttempts) throws(HeartlogError) -> SyncReport
  ) throws(HeartlogError) -> SyncReport {
    let attempts = SyncAttempts(options.progress)
    attempts.state.withLock { $0.begun.isDryRun = options.isDryRun }
    for _ in 1..<dialoguesMax {
      attempts.state.withLock { $0.news = 0 }
      do throws(HeartlogError) { return try dialogue(attempts) } catch {
        guard attempts.state.withLock({ $0.news }) > 0, !options.isOver else { throw error }
      }
    }
    return try dialogue(attempts)
  }

  /// Records what is known since the two ends have greeted each other.
  func begin(_ report: SyncReport) { state.withLock { $0.begun = report } }

  /// The report of a sync that ended early.
  func reportSoFar() -> SyncReport {
    var (report, bytes) = state.withLock { ($0.begun, $0.bytes) }
    tally.complete(&report)
    tally.leave(&report)
    report.received.bytes = bytes.read
    report.sent.bytes = bytes.written
    return report
  }

  /// The bytes read and written by the dialogues that broke off.
  var bytes: (read: UInt64, written: UInt64) { state.withLock { $0.bytes } }

  /// Records that a dialogue broke off.
  func brokeOff(read: UInt64, written: UInt64) {
    state.withLock { state in
      state.bytes.read += read
      state.bytes.written += written
    }
  }

  /// By replica: the last readable commit of this end's stream, if that is not its head.
  var bounds: [ReplicaID: UInt64] { state.withLock { $0.bounds } }

  /// The first damage found in this end's streams.
  var damage: HeartlogError? { state.withLock { $0.damage } }

  /// Why this end could not sign its own stream.
  var signingFailure: HeartlogError? { state.withLock { $0.signingFailure } }

  /// Records why this end could not sign its own stream; nil if nothing hindered it.
  func note(signingFailure error: HeartlogError?) { state.withLock { $0.signingFailure = error } }

  /// The version of the dialogue that is held next.
  var version: UInt8 { state.withLock { $0.version } }

  /// Holds another dialogue when this one has broken off.
  func startAgain() { state.withLock { $0.news += 1 } }

  /// Speaks an older version in the next dialogue.
  func speak(_ version: UInt8) {
    state.withLock { state in
      state.version = version
      state.news += 1
    }
  }

  /// Whether nothing of a stream is asked for, because it is damaged here or broke off a dialogue.
  func passesOver(_ replica: ReplicaID) -> Bool {
    state.withLock { $0.bounds[replica] != nil || $0.unwanted.contains(replica) }
  }

  /// Records that a stream of this end cannot be read after a commit.
  func bound(_ replica: ReplicaID, _ name: String, at commit: UInt64, because error: HeartlogError) {
    state.withLock { state in
      state.bounds[replica] = min(commit, state.bounds[replica] ?? .max)
      state.damage = state.damage ?? error
      state.news += 1
    }
    tally.skipped(
      SyncReport.SkippedStream(
        replica: replica, name: name, firstCommit: CommitNumber(rawValue: commit + 1), cause: .damaged,
        reason: SyncReport.SkippedStream.reason(error)))
  }

  /// Records that the other end broke off when it was to send a commit of a stream.
  func passOver(_ replica: ReplicaID, name: String, from commit: UInt64, because reason: String) {
    state.withLock { state in
      state.unwanted.insert(replica)
      state.news += 1
    }
    tally.skipped(
      SyncReport.SkippedStream(
        replica: replica, name: name, firstCommit: CommitNumber(rawValue: commit), cause: .peerDamaged,
        reason: reason))
  }
}
