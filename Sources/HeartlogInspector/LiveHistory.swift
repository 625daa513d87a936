internal import Heartlog
import HeartlogFiles
import HeartlogFormat
import Synchronization

/// The history of a store that is written to, by this process and by others.
final class LiveHistory: Sendable {
  private struct State {
    var history = History()
    var findings: [Finding] = []
    /// Sides of open conflicts.
    var conflicts: [EventID] = []
    /// Whether the log was read to its end once.
    var isRead = false
    /// Why the log could not be read the last time.
    var failure: HeartlogError?
    var changes = 0
    var thread: WorkerThread?
  }

  private let store: InspectedStore
  private let state = Monitor(State())
  private let ending = Atomic(false)
  private let didChange: @Sendable (Int) -> Void

  private static let pauseMilliseconds = 20
  private static let failurePauseMilliseconds = 1_000

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
    ending.store(true, ordering: .relaxed)
    let thread = state.withLock { state in
      self.state.notifyAll()
      defer { state.thread = nil }
      return state.thread
    }
    thread?.join()
  }

  /// Reads what is new, and waits. Returns false at the end.
  private func turn(_ reader: inout LogReader?) -> Bool {
    var pause = Self.pauseMilliseconds
    do {
      if let log = reader {
        // A commit of another device that came late belongs before others: all is read again.
        if try !append(newOf: log) { reader = nil }
      } else {
        reader = try readAll()
      }
      state.withLock { $0.failure = nil }
    } catch {
      reader = nil
      pause = Self.failurePauseMilliseconds
      state.withLock { state in
        state.failure = HeartlogError(wrapping: error)
        self.state.notifyAll()
      }
    }
    return state.withLock { state in
      if !isEnding, reader != nil || state.failure != nil { self.state.wait(&state, milliseconds: pause) }
      return !isEnding
    }
  }

  private var isEnding: Bool { ending.load(ordering: .relaxed) }

  /// Reads the whole log, while the history that there is goes on being served.
  private func readAll() throws -> LogReader? {
    let log = try LogReader(at: store.path)
    var history = History()
    var isInOrder = true
    try log.forEachCommit(where: { _, _ in isInOrder && !isEnding }) { commit in
      isInOrder = history.append(commit, isPlayback: store.isPlayback)
    }
    guard isInOrder, !isEnding else { return nil }
    state.withLock { $0.history = history }
    try publish(log)
    return log
  }

  /// How many commits are appended at a time, so that whoever reads the history waits for no more.
  private static let batchMax = 4_096

  /// Returns false if a commit belongs before others.
  private func append(newOf log: LogReader) throws -> Bool {
    var batch: [Commit] = []
    var isInOrder = true
    var isNew = false
    func append() {
      isNew = isNew || !batch.isEmpty
      state.withLock { state in
        for commit in batch where isInOrder {
          isInOrder = state.history.append(commit, isPlayback: store.isPlayback)
        }
      }
      batch.removeAll(keepingCapacity: true)
    }
    try log.forEachCommit(where: { _, _ in isInOrder && !isEnding }) { commit in
      batch.append(commit)
      if batch.count == Self.batchMax { append() }
    }
    append()
    if isInOrder, isNew { try publish(log) }
    return isInOrder
  }

  private func publish(_ log: LogReader) throws {
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
  }

  /// Reads the history, once the log was read to its end.
  func read<R>(_ body: (inout History, _ marked: [(kind: History.Mark, commit: Int)]) throws -> R) throws -> R
  {
    try state.withLock { state in
      while !state.isRead, state.failure == nil, !isEnding { self.state.wait(&state, milliseconds: 1_000) }
      if isEnding { throw HeartlogError(.cancelled, "the inspector ends") }
      if let failure = state.failure { throw failure }
      let history = state.history
      let marked =
        state.conflicts.compactMap { history.commit(of: $0) }.map { (History.Mark.conflict, $0) }
        + state.findings.compactMap { history.commit(before: $0) }.map { (History.Mark.loss, $0) }
      return try body(&state.history, marked.map { (kind: $0.0, commit: $0.1) })
    }
  }
}
