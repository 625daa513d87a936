import HeartlogFormat
import Synchronization

/// Commits that are written together, and their frames.
struct CommitBatch {
  private(set) var commits: [CommitLog.PendingCommit] = []
  var frames = CommitFrames()
  private(set) var durableCount = 0

  var isEmpty: Bool { commits.isEmpty }
  var count: Int { commits.count }

  /// Appends a commit.
  ///
  /// - Parameter recordsAreChecked: true if the records were validated when they were drafted.
  mutating func append(
    _ pending: CommitLog.PendingCommit, batch: Int, recordsAreChecked: Bool
  ) throws(MalformedError) {
    pending.frameBytes = try frames.append(pending.commit, recordsAreChecked: recordsAreChecked)
    pending.batch = batch
    commits.append(pending)
    if pending.durability == .durable { durableCount += 1 }
  }

  /// Removes the commit that was appended last.
  mutating func removeLast() {
    let pending = commits.removeLast()
    if pending.durability == .durable { durableCount -= 1 }
    frames.removeLast(pending.frameBytes)
  }

  /// Removes and returns the commits that do not fit into `bytesMax`. The first commit always fits.
  mutating func split(at bytesMax: Int, batch: Int) -> CommitBatch {
    var rest = CommitBatch()
    guard frames.byteCount > bytesMax else { return rest }
    var bytes = 0
    let index = commits.dropFirst().firstIndex { pending in
      bytes += pending.frameBytes
      return bytes > bytesMax
    }
    guard let index else { return rest }
    rest.commits = Array(commits[index...])
    rest.durableCount = rest.commits.count { $0.durability == .durable }
    for pending in rest.commits { pending.batch = batch }
    rest.frames = frames.split(at: frames.byteCount - rest.commits.reduce(0) { $0 + $1.frameBytes })
    commits.removeLast(rest.commits.count)
    durableCount -= rest.durableCount
    return rest
  }

  /// Passes the outcome to each writer. Mutating only to avoid a copy of the array for the call.
  mutating func endAll(_ failure: HeartlogError? = nil) {
    for index in commits.indices { commits[index].end(failure) }
  }

  /// Removes all commits and keeps the capacity.
  mutating func removeAll() {
    // The batch of a lone writer has one commit. `removeLast` is cheaper.
    if commits.count == 1 { commits.removeLast() } else { commits.removeAll(keepingCapacity: true) }
    frames.removeAll()
    durableCount = 0
  }
}

extension CommitLog {
  /// A commit between drafting and acknowledgement. A class, because a copy of a commit counts many references.
  package final class PendingCommit: Sendable {
    package let commit: Commit
    let durability: Durability
    /// The size of its frame in bytes, set when it is queued. Guarded by `monitor`.
    fileprivate(set) nonisolated(unsafe) var frameBytes = 0
    /// The number of its batch, which determines the event count to wait on. Guarded by `monitor`.
    fileprivate(set) nonisolated(unsafe) var batch = 0
    // Written before `isOver` is set, and read after it.
    private nonisolated(unsafe) var failure: HeartlogError?
    private let over = Atomic(false)

    init(_ commit: Commit, _ durability: Durability) {
      self.commit = commit
      self.durability = durability
    }

    /// Whether it was written or has failed.
    var isOver: Bool { over.load(ordering: .acquiring) }

    func end(_ failure: HeartlogError? = nil) {
      if let failure { self.failure = failure }
      over.store(true, ordering: .releasing)
    }

    /// Throws the error that prevented it from being written, if any.
    func checkOutcome() throws(HeartlogError) {
      if let failure { throw failure }
    }
  }
}

/// The commits that are drafted and not yet published, in order. The next draft builds on them.
package struct QueuedCommits {
  private let writing: [CommitLog.PendingCommit]
  private let waiting: [CommitLog.PendingCommit]

  package static let none = QueuedCommits(writing: [], waiting: [])

  package init(writing: [CommitLog.PendingCommit], waiting: [CommitLog.PendingCommit]) {
    self.writing = writing
    self.waiting = waiting
  }

  package var isEmpty: Bool { writing.isEmpty && waiting.isEmpty }
  package var count: Int { writing.count + waiting.count }

  package subscript(index: Int) -> CommitLog.PendingCommit {
    index < writing.count ? writing[index] : waiting[index - writing.count]
  }
}
