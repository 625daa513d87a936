import HeartlogFiles
import HeartlogFormat
import HeartlogState

/// Finds, writes and drops the snapshots of one store.
///
/// A snapshot is made from the log with a separate reader, and no writer waits for it. When the store closes, its own state is written,
/// provided that it matches the log.
package final class SnapshotKeeper: Sendable {
  /// A snapshot that the log can be read on from.
  package struct Found {
    let file: SnapshotFile
    package let state: FavoritesState
    package let positions: [StreamPosition]
    let byteCount: Int
    /// What the snapshot claims about the log.
    let claim: SnapshotClaim
  }

  private struct Content {
    var dropped: [DroppedSnapshot] = []
    /// The name of a dropped snapshot whose state is shown all the same.
    var shown: String?
    /// The names of the dropped snapshots that contradict the log: evidence of a loss or an edit.
    var evidence: Set<String> = []
    var failure: HeartlogError?
    var findings: [Finding] = []
    var rebuildFailure: HeartlogError?
    /// How many callers wait for a snapshot or a job.
    var waiting = 0
    /// How often background jobs were abandoned.
    var rests = 0
    /// Background jobs that are queued or running.
    var jobs: [Job] = []
  }

  /// A job that runs once: where the scheduler runs it, or on a thread that cannot wait for one.
  private final class Job: Sendable {
    private let isDone = Monitor(false)
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    /// Runs the job unless it already ran. Returns when it is done.
    func run() {
      isDone.withLock { isDone in
        if !isDone { body() }
        isDone = true
      }
    }
  }

  private let path: String
  private let fileSystem: any FileSystem
  private let folder: SnapshotFolder
  package let policy: SnapshotPolicy
  private let scheduler: any Scheduler
  private let trace: StoreTrace
  private let content = Monitor(Content())
  /// Held while a snapshot or a note is written: one at a time.
  private let making = Monitor(())

  package init(
    at path: String, on fileSystem: any FileSystem, options: StorageOptions, policy: SnapshotPolicy
  ) {
    self.path = path
    self.fileSystem = fileSystem
    folder = SnapshotFolder(at: path, on: fileSystem, options: options)
    scheduler = options.scheduler
    trace = options.trace
    self.policy = options.access == .readWrite ? policy : .manual
  }

  /// The snapshots that are not used.
  package var dropped: [DroppedSnapshot] {
    content.withLock { content in content.dropped.filter { $0.name != content.shown } }
  }
  package var failure: HeartlogError? { content.withLock { $0.failure } }
  /// The damage in the log, if it had to be read in place of a damaged snapshot.
  package var findings: [Finding] { content.withLock { $0.findings } }
  /// Why `replayed(upTo:)` did not reach the heads.
  package var rebuildFailure: HeartlogError? { content.withLock { $0.rebuildFailure } }

  // MARK: - Finding

  /// Returns the newest snapshot with suitable positions; nil if there is none. Snapshots that cannot be read are dropped. Dropped
  /// snapshots are not tried again, because a read-only store cannot delete them.
  package func newest(where isWanted: ([StreamPosition]) -> Bool = { _ in true }) -> Found? {
    let dropped = content.withLock { Set($0.dropped.map(\.name)) }
    // While events are being erased, all snapshots may contain them.
    guard let erased = try? folder.erasedGeneration() else { return nil }
    // If the folder cannot be listed, there are no snapshots.
    for file in (try? folder.files()) ?? [] where !dropped.contains(file.name) {
      do {
        guard let mapping = try folder.map(file) else { continue }
        let (state, log) = try FavoritesState.snapshot(mapping.bytes, owner: mapping)
        guard state.erasedGeneration == erased else {
          drop(file, because: Self.erasedSince)
          continue
        }
        let positions = currentPositions(of: file, try Self.positions(log))
        guard isWanted(positions) else { continue }
        return Found(
          file: file, state: state, positions: positions, byteCount: mapping.bytes.count,
          claim: SnapshotClaim(positions: positions, file: folder.path(of: file)))
      } catch let error as MalformedError {
        drop(file, because: error.reason)
      } catch {
        // Unreadable for now; the log is read instead.
        drop(file, because: "\(error)", removes: false)
      }
    }
    return nil
  }

  package static func positions(_ bytes: [UInt8]) throws -> [StreamPosition] {
    try bytes.withBytes { try StreamPosition.decode($0) }
  }

  /// Returns the positions of a snapshot, with the locations in the log where they were last found. Sealing may have moved them.
  private func currentPositions(of file: SnapshotFile, _ positions: [StreamPosition]) -> [StreamPosition] {
    // The note only saves time; its positions are checked against the log like any others.
    guard let note = try? folder.note(of: file), let found = try? Self.positions(note),
      found.count == positions.count, zip(found, positions).allSatisfy({ $0.isSame(as: $1) })
    else { return positions }
    return found
  }

  /// Notes the current locations of a snapshot's positions, in the background. The next opening finds them at once.
  package func note(_ moved: [StreamPosition], of found: Found) {
    guard !moved.isEmpty else { return }
    let positions = found.positions.map { position in
      moved.first { $0.replica == position.replica } ?? position
    }
    run {
      // Without the note the next opening takes longer, and tries to note again.
      self.making.withLock { _ in try? self.folder.note(StreamPosition.encode(positions), of: found.file) }
    }
  }

  /// Runs all background jobs to completion.
  package func finish() { whileWaiting { for job in content.withLock({ $0.jobs }) { job.run() } } }

  /// Abandons the background jobs, and waits until none is running. Snapshots that callers wait for are finished.
  package func rest() {
    content.withLock { $0.rests += 1 }
    whileWaiting {
      // Each of them ends soon, or does nothing.
      for job in content.withLock({ $0.jobs }) { job.run() }
      making.withLock { _ in }
    }
  }

  private func run(isLowPriority: Bool = false, _ body: @escaping @Sendable () -> Void) {
    let job = Job(body)
    content.withLock { $0.jobs.append(job) }
    let work = { @Sendable in
      job.run()
      self.content.withLock { $0.jobs.removeAll { $0 === job } }
    }
    if isLowPriority { scheduler.runAtLowPriority(work) } else { scheduler.run(work) }
  }

  /// Runs `body` while writers of snapshots do not pause.
  private func whileWaiting<R>(_ body: () throws -> R) rethrows -> R {
    content.withLock { $0.waiting += 1 }
    defer { content.withLock { $0.waiting -= 1 } }
    return try body()
  }

  /// Records that a snapshot is unusable, and deletes it if the store is writable.
  package func drop(_ file: SnapshotFile, because reason: String, removes: Bool = true) {
    trace.record(.snapshotDropped, "\(file.name): \(reason)")
    content.withLock { $0.dropped.append(DroppedSnapshot(name: file.name, reason: reason)) }
    // One that stays is dropped again next time.
    if removes { try? folder.remove(file) }
  }

  /// Records that the log cannot be read on from a snapshot. A snapshot with commits that the log lacks, or has with other content, is kept
  /// as evidence.
  ///
  /// - Throws: the error, if it has another cause.
  package func reject(_ found: Found, because error: HeartlogError) throws(HeartlogError) {
    guard error.mismatch == .otherLog || error.mismatch == .otherHistory else { throw error }
    if error.mismatch == .otherHistory { content.withLock { _ = $0.evidence.insert(found.file.name) } }
    drop(found.file, because: error.message, removes: error.mismatch == .otherLog)
  }

  /// The snapshots, also those that were set aside, that were made from commits which a log with these heads does not have; those of the most
  /// events first. Without those that are damaged, and those that may contain what was erased.
  package func snapshots(beyond heads: [Head]) throws(HeartlogError) -> [(
    path: String, state: FavoritesState
  )] {
    guard let erased = try folder.erasedGeneration() else { return [] }
    let last = Dictionary(uniqueKeysWithValues: heads.map { ($0.replica, $0.commit) })
    var found: [(path: String, state: FavoritesState)] = []
    for name in try folder.names().reversed() {
      let isSetAside = name.hasSuffix(SnapshotFile.lostEnding)
      guard
        SnapshotFile(name: isSetAside ? String(name.dropLast(SnapshotFile.lostEnding.count)) : name) != nil,
        let mapping = try folder.map(named: name),
        var state = try? FavoritesState.snapshot(mapping.bytes, owner: mapping).state,
        state.erasedGeneration == erased,
        state.heads.contains(where: { head in last[head.replica].map { $0 < head.commit } ?? true })
      else { continue }
      state.loadSnapshot()
      if !state.isDamaged { found.append((folder.path + "/" + name, state)) }
    }
    return found
  }

  /// Returns the state of the snapshot that goes beyond a log with these heads and has the most events, with the whole log applied to it; nil if
  /// there is none, or it cannot be made now: the loss is reported all the same.
  func stateWithLostCommits(_ heads: [Head]) -> FavoritesState? {
    guard let found = try? snapshots(beyond: heads).first else { return nil }
    var state = found.state
    guard (try? LogReplay(at: path, on: fileSystem).run { state.apply($0) }) != nil else { return nil }
    content.withLock { $0.shown = String(found.path.dropFirst(folder.path.count + 1)) }
    return state
  }

  // MARK: - Replaying

  /// Replays the log up to a moment, from the newest snapshot before it.
  ///
  /// - Parameters:
  ///   - isWanted: whether to start from given positions.
  ///   - loadsState: whether to load and check the whole state. If false, the returned state must not be used.
  ///   - body: reads the log from the positions on and applies it to the state.
  /// - Returns: the state, the snapshot that it started from, and the outcome of the replay.
  package func replay(
    where isWanted: ([StreamPosition]) -> Bool, loadsState: Bool = true,
    _ body: (inout FavoritesState, [StreamPosition]) throws -> LogReplay.Outcome
  ) throws -> (state: FavoritesState, start: Found?, outcome: LogReplay.Outcome) {
    while let found = newest(where: isWanted) {
      var state = found.state
      do {
        let outcome = try body(&state, found.positions)
        if loadsState { state.loadSnapshot() }
        if !state.isDamaged { return (state, found, outcome) }
        drop(found.file, because: Self.damage)
      } catch let error as HeartlogError {
        try reject(found, because: error)
      }
    }
    var state = FavoritesState(erasedGeneration: try folder.erasedGeneration() ?? 0)
    let outcome = try body(&state, [])
    return (state, nil, outcome)
  }

  package static let damage = "part of it is damaged"
  package static let erasedSince = "events were erased since it was made"

  /// Rebuilds the state from the log's commits up to these heads. Replaces a state whose snapshot turned out to be damaged.
  package func replayed(upTo heads: [Head]) -> FavoritesState {
    var state = FavoritesState()
    do {
      let outcome = try LogReplay(at: path, on: fileSystem).run { state.apply($0, upTo: heads) }
      content.withLock {
        $0.findings = outcome.findings.damage
        $0.rebuildFailure = $0.findings.first?.error
      }
    } catch {
      content.withLock { $0.rebuildFailure = HeartlogError(wrapping: error) }
    }
    return state
  }

  // MARK: - Making

  /// Writes a snapshot of the whole log and waits for it; nil if none can be written.
  ///
  /// - Parameters:
  ///   - anew: whether to write one even if the newest snapshot already covers everything.
  ///   - current: a fully checked state that probably matches the log; nil if there is none.
  package func make(anew: Bool = false, of current: FavoritesState? = nil) throws -> SnapshotReport? {
    try trace.span(.snapshot) { try whileWaiting { try makeWithPauses(anew: anew, of: current) } }
  }

  /// Like `make`, but pauses now and then to leave the disk to others, as long as no caller waits.
  ///
  /// - Parameter check: called now and then; what it throws ends the work.
  private func makeWithPauses(
    anew: Bool = false, of current: FavoritesState? = nil,
    check: @escaping () throws -> Void = {}
  ) throws -> SnapshotReport? {
    try making.withLock { _ in
      guard try folder.isWritable(), try folder.erasedGeneration() != nil else { return nil }
      let log = try LogReplay(at: path, on: fileSystem)
      try check()
      let (state, start, outcome) = try read(log, of: current, check)
      // A damaged log must be detected at each opening; a snapshot would hide the damage.
      guard outcome.findings.damage.isEmpty else { return nil }
      // The commits that the snapshot covers must be durable before it is.
      try log.makeDurable(outcome.positions)
      if let start, outcome.eventCount == 0, !anew {
        return SnapshotReport(
          events: start.state.eventCount, bytes: UInt64(start.byteCount), isNew: false)
      }
      let bytes = StreamPosition.encode(outcome.positions)
      var byteCount: UInt64 = 0
      let isHurried = { self.content.withLock { $0.waiting > 0 } }
      let evidence = content.withLock { $0.evidence }
      let file = try folder.write(eventCount: state.eventCount, keeping: evidence, isHurried: isHurried) {
        output in
        try withoutActuallyEscaping(output) { output in
          try state.writeSnapshot(log: bytes) {
            try check()
            byteCount += UInt64($0.count)
            try output($0)
          }
        }
      }
      content.withLock { $0.failure = nil }
      if let file, try folder.erasedGeneration() != state.erasedGeneration {
        // Events were erased while it was written.
        try folder.remove(file)
        return nil
      }
      return file.map { _ in SnapshotReport(events: state.eventCount, bytes: byteCount, isNew: true) }
    }
  }

  /// Reads the log from the newest snapshot on.
  ///
  /// If `current` matches the log, nothing is applied, because a second state would take as much memory as the first.
  private func read(
    _ log: LogReplay, of current: FavoritesState?, _ check: () throws -> Void
  ) throws -> (state: FavoritesState, start: Found?, outcome: LogReplay.Outcome) {
    if let current, !current.isDamaged {
      let (_, start, outcome) = try replay(where: { _ in true }, loadsState: false) { _, positions in
        try log.run(from: positions, givesPositions: true) { _ in }
      }
      if current.isOf(outcome.positions) { return (current, start, outcome) }
    }
    return try replay(where: { _ in true }) { state, positions in
      try log.run(from: positions, givesPositions: true) {
        try check()
        state.apply($0)
      }
    }
  }

  /// Writes a snapshot in the background.
  ///
  /// - Parameter done: receives the number of covered events; nil if no snapshot was written. `isAbandoned` says that it is still due.
  package func makeInBackground(_ done: @escaping @Sendable (_ covered: UInt64?, _ isAbandoned: Bool) -> Void)
  {
    let rests = content.withLock { $0.rests }
    run(isLowPriority: true) {
      let isStopped = { self.content.withLock { $0.rests != rests } }
      do {
        let report = try self.trace.span(.snapshot) {
          try self.makeWithPauses { if isStopped() { throw CancellationError() } }
        }
        done(report?.events, false)
      } catch {
        if isStopped() { return done(nil, true) }
        self.note(failure: error)
        done(nil, false)
      }
    }
  }

  /// Writes a snapshot. A failure does no harm to the store; its reason is kept.
  @discardableResult
  package func makeIfPossible(anew: Bool = false, of current: FavoritesState? = nil) -> SnapshotReport? {
    do { return try make(anew: anew, of: current) } catch {
      note(failure: error)
      return nil
    }
  }

  private func note(failure error: any Error) {
    let failure = HeartlogError(wrapping: error)
    trace.record(.snapshotFailed, failure.description)
    content.withLock { $0.failure = failure }
  }
}

extension FavoritesState {
  /// Whether exactly these commits were applied.
  fileprivate func isOf(_ positions: [StreamPosition]) -> Bool {
    heads == positions.map { Head(replica: $0.replica, commit: $0.commit) }
      // Otherwise there are commits beyond a gap.
      && commitCount == positions.reduce(0) { $0 + $1.commit.rawValue }
      // Otherwise the log was replaced by another with as many commits.
      && positions.allSatisfy { lastStamp(of: $0.replica) == $0.lastStamp }
  }

  /// Applies a piece of a replay, up to these heads.
  package mutating func apply(_ piece: LogReplay.Piece, upTo heads: [Head]) {
    func last(of replica: ReplicaID) -> CommitNumber {
      heads.first { $0.replica == replica }?.commit ?? CommitNumber(rawValue: 0)
    }
    switch piece {
    case .rows(let rows): apply(rows.filter { $0.header.number <= last(of: $0.header.replica) })
    case .block(let block):
      let last = last(of: block.replica)
      if block.firstCommit <= last { apply(block.cut(to: block.firstCommit...last)) }
    }
  }

  /// Applies a piece of a replay.
  package mutating func apply(_ piece: LogReplay.Piece) {
    switch piece {
    case .rows(let rows): apply(rows)
    case .block(let block): apply(block)
    }
  }
}

/// When a store writes snapshots automatically.
///
/// A store opens from a snapshot quickly, however many favorites it has, because the events it covers need not be replayed. A snapshot
/// takes about half as many bytes as the favorites take in memory, and may be deleted at any time.
public struct SnapshotPolicy: Hashable, Sendable {
  /// The number of events since the last snapshot after which the next one is written in the background.
  package var eventsMin: UInt64
  /// The number of events since the last snapshot after which one is written when the store is closed.
  package var eventsMinAtClose: UInt64
  /// The next snapshot also waits for this share of the events that the last one covers. While the store is open, that is as many events
  /// again. All snapshots of a growing store then cost as much as two of its size, and a process that dies without closing leaves no more
  /// events to replay than it found. At close, a 32nd is enough.
  package static let share: (open: UInt64, close: UInt64) = (1, 32)

  /// Creates a policy.
  ///
  /// - Parameters:
  ///   - eventsMin: the number of events since the last snapshot after which the next one is written in the background. It must also be at
  ///     least the number of events that the last one covers.
  ///   - eventsMinAtClose: the same when the store is closed, but with a 32nd of the covered events.
  public init(eventsMin: UInt64, eventsMinAtClose: UInt64) {
    self.eventsMin = eventsMin
    self.eventsMinAtClose = eventsMinAtClose
  }

  /// The policy for most stores. Small stores replay their log within a few milliseconds and write no snapshot.
  public static let automatic = SnapshotPolicy(eventsMin: 20_000, eventsMinAtClose: 5_000)
  /// Writes snapshots only when requested.
  public static let manual = SnapshotPolicy(eventsMin: .max, eventsMinAtClose: .max)

  /// The number of events at which the next snapshot is due.
  package func due(covered: UInt64, atClose: Bool = false) -> UInt64 {
    let wanted =
      atClose
      ? max(eventsMinAtClose, covered / Self.share.close) : max(eventsMin, covered / Self.share.open)
    let (due, overflow) = covered.addingReportingOverflow(wanted)
    return overflow ? .max : due
  }
}

/// Describes a snapshot of a store.
public struct SnapshotReport: Hashable, Sendable {
  /// The number of events that it covers. Opening the store replays only later ones.
  public let events: UInt64
  /// The size of its file in bytes.
  public let bytes: UInt64
  /// Whether it was written now; false if the last snapshot already covers the whole log.
  package let isNew: Bool
}

/// A snapshot that could not be used; the log was replayed instead. It is deleted if the store is writable.
package struct DroppedSnapshot: Hashable, Sendable, CustomStringConvertible {
  /// The name of its file, in the store's folder `snapshots`.
  package let name: String
  /// What was wrong with it.
  package let reason: String

  /// One sentence, without a full stop.
  package var description: String { "the snapshot \(name) was dropped, and the log replayed: \(reason)" }
}
