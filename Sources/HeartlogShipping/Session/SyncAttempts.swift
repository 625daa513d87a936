import Heartlog
import Synchronization

/// What the dialogues of one sync share: where one stream breaks a dialogue off, the next one goes without it.
final class SyncAttempts: Sendable {
  private struct State {
    var bounds: [ReplicaID: UInt64] = [:]
    var unwanted: Set<ReplicaID> = []
    var damage: HeartlogError?
    /// Of the dialogues that broke off.
    var bytes: (read: UInt64, written: UInt64) = (0, 0)
    /// Streams that were left out since the last dialogue began.
    var news = 0
  }

  /// How often a dialogue is held: each one leaves out one stream more.
  private static let dialoguesMax = 8

  let tally: SessionTally
  private let state = Mutex(State())

  init(_ progress: (@Sendable (SyncProgress) -> Void)?) { tally = SessionTally(progress) }

  /// Holds dialogues until one is held to its end, or breaks off for another reason than a stream that cannot be read.
  static func hold(
    _ options: SyncOptions, _ dialogue: (SyncAttempts) throws(HeartlogError) -> SyncReport
  ) throws(HeartlogError) -> SyncReport {
    let attempts = SyncAttempts(options.progress)
    for _ in 1..<dialoguesMax {
      attempts.state.withLock { $0.news = 0 }
      do throws(HeartlogError) { return try dialogue(attempts) } catch {
        guard attempts.state.withLock({ $0.news }) > 0, !options.isCancelled() else { throw error }
      }
    }
    return try dialogue(attempts)
  }

  /// What the dialogues that broke off had read and written.
  var bytes: (read: UInt64, written: UInt64) { state.withLock { $0.bytes } }

  /// Notes that a dialogue broke off.
  func brokeOff(read: UInt64, written: UInt64) {
    state.withLock { state in
      state.bytes.read += read
      state.bytes.written += written
    }
  }

  /// By replica: the last commit of this end's stream that can be read, where that is not its head.
  var bounds: [ReplicaID: UInt64] { state.withLock { $0.bounds } }

  /// What of this end's streams was found not to be readable, first.
  var damage: HeartlogError? { state.withLock { $0.damage } }

  /// Whether nothing of a stream is asked for: it is damaged here, or broke a dialogue off.
  func passesOver(_ replica: ReplicaID) -> Bool {
    state.withLock { $0.bounds[replica] != nil || $0.unwanted.contains(replica) }
  }

  /// Notes that a stream of this end cannot be read behind a commit.
  func bound(_ replica: ReplicaID, _ name: String, at commit: UInt64, because error: HeartlogError) {
    state.withLock { state in
      state.bounds[replica] = min(commit, state.bounds[replica] ?? .max)
      state.damage = state.damage ?? error
      state.news += 1
    }
    tally.skipped(
      SyncReport.SkippedStream(
        replica: replica, name: name, firstCommit: CommitNumber(rawValue: commit + 1), cause: .damaged,
        reason: "this store is damaged: \(error.description)"))
  }

  /// Notes that the other end broke off where it was to send a commit of a stream.
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
