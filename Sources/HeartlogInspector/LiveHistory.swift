internal import Heartlog
import HeartlogFiles
import HeartlogFormat

/// The history of a store that is written to, by this process and by others.
final class LiveHistory: Sendable {
  private struct State {
    var history = History()
    var findings: [Finding] = []
    /// Sides of open conflicts.
    var conflicts: [EventID] = []
    /// Whether the log was read to its end once.
    var isRead = false
    /// The error that ended reading.
    var failure: HeartlogError?
    var isEnding = false
    var changes = 0
    var thread: WorkerThread?
  }

  private let store: InspectedStore
  private let state = Monitor(State())
  private let didChange: @Sendable (Int) -> Void

  private static let pauseMilliseconds = 40

  /// - Parameter didChange: Called after the log has grown, with how often it has.
  init(_ store: InspectedStore, didChange: @escaping @Sendable (Int) -> Void) throws(HeartlogError) {
    self.store = store
    self.didChange = didChange
    let thread = try WorkerThread { [weak self] in
      var reader: LogReader?
      while let self, self.turn(&reader) {}
    }
    state.withLock { $0.thread = thread }
  }

  func stop() {
    let thread = state.withLock { state in
      state.isEnding = true
      state.failure = state.failure ?? HeartlogError(.cancelled, "the inspector ends")
      self.state.notifyAll()
      defer { state.thread = nil }
      return state.thread
    }
    thread?.join()
  }

  /// Reads what is new, and waits. Returns false at the end.
  private func turn(_ reader: inout LogReader?) -> Bool {
    do {
      if try !readNew(&reader) {
        // A commit of another device that came late belongs before others: all is read again.
        reader = nil
        return true
      }
    } catch {
      state.withLock { state in
        state.failure = HeartlogError(wrapping: error)
        state.isRead = true
        self.state.notifyAll()
      }
      return false
    }
    return state.withLock { state in
      if !state.isEnding { self.state.wait(&state, milliseconds: Self.pauseMilliseconds) }
      return !state.isEnding
    }
  }

  /// How many commits are appended at a time, so that whoever reads the history waits for no more.
  private static let batchMax = 4_096

  /// Returns false if a commit belongs before others.
  private func readNew(_ reader: inout LogReader?) throws -> Bool {
    let log = try reader ?? LogReader(at: store.path)
    if reader == nil {
      state.withLock { state in
        state.history = History()
        state.isRead = false
      }
    }
    reader = log
    var batch: [Commit] = []
    var isInOrder = true
    var isNew = state.withLock { !$0.isRead }
    func append() {
      isNew = isNew || !batch.isEmpty
      isInOrder =
        isInOrder
        && state.withLock { state in
          batch.allSatisfy { state.history.append($0, isPlayback: store.isPlayback) }
        }
      batch.removeAll(keepingCapacity: true)
    }
    try log.forEachCommit(where: { _, _ in isInOrder }) { commit in
      batch.append(commit)
      if batch.count == Self.batchMax { append() }
    }
    append()
    guard isInOrder, isNew else { return isInOrder }
    let conflicts = try store.conflicts()
    let changes = state.withLock { state in
      state.changes += 1
      state.findings = log.findings
      for replica in log.replicas { state.history.names[replica] = log.name(of: replica) }
      state.conflicts = conflicts
      state.isRead = true
      self.state.notifyAll()
      return state.changes
    }
    didChange(changes)
    return true
  }

  /// Reads the history, once the log was read to its end.
  func read<R>(_ body: (inout History, _ marked: [(kind: History.Mark, commit: Int)]) throws -> R) throws -> R
  {
    try state.withLock { state in
      while !state.isRead { self.state.wait(&state, milliseconds: 1_000) }
      if let failure = state.failure { throw failure }
      let history = state.history
      let marked =
        state.conflicts.compactMap { history.commit(of: $0) }.map { (History.Mark.conflict, $0) }
        + state.findings.compactMap { history.commit(before: $0) }.map { (History.Mark.loss, $0) }
      return try body(&state.history, marked.map { (kind: $0.0, commit: $0.1) })
    }
  }
}
