import HeartlogFiles
import HeartlogStorage

/// Finds, makes and drops the snapshots of one store.
///
/// A snapshot is made from the log, by a reader of its own, and no writer waits for it. At close the store's own state is written, where it is
/// the state of the log.
final class SnapshotKeeper: Sendable {
  /// A snapshot that can be read on from.
  struct Found {
    let file: SnapshotFile
    let state: FavoritesState
    let positions: [StreamPosition]
    let byteCount: Int
    /// What it says of the log.
    let claim: SnapshotClaim
  }

  private struct Content {
    var dropped: [DroppedSnapshot] = []
    /// The names of those among them that say of the log what is not so: evidence of a loss or an edit.
    var evidence: Set<String> = []
    var failure: HeartlogError?
    var findings: [Finding] = []
    var rebuildFailure: HeartlogError?
    /// How many wait for a snapshot that is being made, or is to be.
    var waiting = 0
    /// What is to be done in the background, or is being done.
    var jobs: [Job] = []
  }

  /// Something that is done once: by a worker, or by whoever cannot wait for one.
  private final class Job: Sendable {
    private let isDone = Locked(false)
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    /// Returns when it is done.
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
  let policy: SnapshotPolicy
  private let content = Locked(Content())
  /// One is made at a time.
  private let making = Locked(())

  init(at path: String, on fileSystem: any FileSystem, options: StoreOptions) {
    self.path = path
    self.fileSystem = fileSystem
    folder = SnapshotFolder(at: path, on: fileSystem, options: options.storage)
    policy = options.access == .readWrite ? options.snapshots : .manual
  }

  var dropped: [DroppedSnapshot] { content.withLock { $0.dropped } }
  var failure: HeartlogError? { content.withLock { $0.failure } }
  /// What is damaged in the log, where it had to be read in the place of a damaged snapshot.
  var findings: [Finding] { content.withLock { $0.findings } }
  /// Why `replayed(upTo:)` did not come to the heads.
  var rebuildFailure: HeartlogError? { content.withLock { $0.rebuildFailure } }

  // MARK: - Finding

  /// The newest snapshot whose positions are wanted; nil where there is none. Those that cannot be read are dropped, and what was dropped
  /// is not looked at again: who only reads cannot remove it.
  func newest(where isWanted: ([StreamPosition]) -> Bool = { _ in true }) -> Found? {
    let dropped = Set(dropped.map(\.name))
    // A folder that cannot be listed is one without snapshots.
    for file in (try? folder.files()) ?? [] where !dropped.contains(file.name) {
      do {
        guard let mapping = try folder.map(file) else { continue }
        let (state, log) = try FavoritesState.snapshot(mapping.bytes, owner: mapping)
        let positions = places(of: file, try Self.positions(log))
        guard isWanted(positions) else { continue }
        return Found(
          file: file, state: state, positions: positions, byteCount: mapping.bytes.count,
          claim: SnapshotClaim(positions: positions, file: folder.path(of: file)))
      } catch let error as MalformedError {
        drop(file, because: error.reason)
      } catch {
        // Not to be read now; the log is.
        drop(file, because: "\(error)", removes: false)
      }
    }
    return nil
  }

  static func positions(_ bytes: [UInt8]) throws -> [StreamPosition] {
    try bytes.withUnsafeBytes { bytes in Result { try StreamPosition.decode(bytes) } }.get()
  }

  /// The positions of a snapshot, with where they were found last: sealing may have moved them since.
  private func places(of file: SnapshotFile, _ positions: [StreamPosition]) -> [StreamPosition] {
    // What is noted only saves time: it is compared with the log as everything else.
    guard let note = try? folder.note(of: file), let found = try? Self.positions(note),
      found.count == positions.count, zip(found, positions).allSatisfy({ $0.isSame(as: $1) })
    else { return positions }
    return found
  }

  /// Notes where some positions of a snapshot are now, in the background: who starts there next finds them at once.
  func note(_ moved: [StreamPosition], of found: Found) {
    guard !moved.isEmpty else { return }
    let places = found.positions.map { position in
      moved.first { $0.replica == position.replica } ?? position
    }
    run(on: .shared) {
      // Without the note the next one takes longer, and tries again.
      self.making.withLock { _ in try? self.folder.note(StreamPosition.encode(places), of: found.file) }
    }
  }

  /// Sees to it that all is done that was to be done in the background.
  func finish() { whileWaiting { for job in content.withLock({ $0.jobs }) { job.run() } } }

  private func run(on workers: WorkerPool, _ body: @escaping @Sendable () -> Void) {
    let job = Job(body)
    content.withLock { $0.jobs.append(job) }
    workers.run {
      job.run()
      self.content.withLock { $0.jobs.removeAll { $0 === job } }
    }
  }

  /// What is written while `body` waits is written without rests.
  private func whileWaiting<R>(_ body: () throws -> R) rethrows -> R {
    content.withLock { $0.waiting += 1 }
    defer { content.withLock { $0.waiting -= 1 } }
    return try body()
  }

  /// Notes that a snapshot is of no use, and removes it where the store may be written.
  func drop(_ file: SnapshotFile, because reason: String, removes: Bool = true) {
    content.withLock { $0.dropped.append(DroppedSnapshot(name: file.name, reason: reason)) }
    // One that stays is dropped again the next time.
    if removes { try? folder.remove(file) }
  }

  /// Notes that the log cannot be read on from a snapshot. One that knows of commits which the log does not have, or has otherwise, is left
  /// where it is: it is evidence.
  ///
  /// - Throws: the error, where it is about something else.
  func passOver(_ found: Found, because error: StorageError) throws(StorageError) {
    guard error.code == .otherLog || error.code == .otherHistory else { throw error }
    if error.code == .otherHistory { content.withLock { _ = $0.evidence.insert(found.file.name) } }
    drop(found.file, because: error.reason, removes: error.code == .otherLog)
  }

  // MARK: - Replaying

  /// The state up to a moment, from the newest snapshot before it.
  ///
  /// - Parameters:
  ///   - isWanted: which positions to start at.
  ///   - loadsState: whether all of the state is checked; else it is not to be looked at.
  ///   - body: reads on in the log from these positions, into that state.
  /// - Returns: the state, the snapshot that it started with, and what the replay came to.
  func replay(
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
      } catch let error as StorageError {
        try passOver(found, because: error)
      }
    }
    var state = FavoritesState()
    let outcome = try body(&state, [])
    return (state, nil, outcome)
  }

  static let damage = "a part of it is damaged"

  /// The state that the log's commits make up to these heads: for one whose snapshot turned out to be damaged.
  func replayed(upTo heads: [Head]) -> FavoritesState {
    var state = FavoritesState()
    do {
      let outcome = try LogReplay(at: path, on: fileSystem).run { state.apply($0, upTo: heads) }
      content.withLock {
        $0.findings = outcome.findings.damage.map(Finding.init)
        $0.rebuildFailure = $0.findings.first?.error
      }
    } catch {
      content.withLock { $0.rebuildFailure = HeartlogError(wrapping: error) }
    }
    return state
  }

  // MARK: - Making

  /// Writes a snapshot of all that the log has, and waits for it; nil where none may be written.
  ///
  /// - Parameters:
  ///   - anew: whether it is written where the newest one covers all that there is, too.
  ///   - current: a state that most likely is the log's, checked whole; nil where there is none to spare.
  func make(anew: Bool = false, of current: FavoritesState? = nil) throws -> SnapshotReport? {
    try whileWaiting { try makeUnhurried(anew: anew, of: current) }
  }

  /// As `make`, with rests that leave the disk to others for as long as nobody waits.
  private func makeUnhurried(anew: Bool = false, of current: FavoritesState? = nil) throws -> SnapshotReport?
  {
    try making.withLock { _ in
      guard try folder.isWritable() else { return nil }
      let log = try LogReplay(at: path, on: fileSystem)
      let (state, start, outcome) = try read(log, of: current)
      // A log that ends early must be found damaged at each opening.
      guard outcome.findings.damage.isEmpty else { return nil }
      // What it tells of must not be lost before it.
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
            byteCount += UInt64($0.count)
            try output($0)
          }
        }
      }
      content.withLock { $0.failure = nil }
      return file.map { _ in SnapshotReport(events: state.eventCount, bytes: byteCount, isNew: true) }
    }
  }

  /// Reads what the log has, from the newest snapshot on.
  ///
  /// Where `current` is the state of just that, nothing is applied: a second state would take as much memory as the first.
  private func read(
    _ log: LogReplay, of current: FavoritesState?
  ) throws -> (state: FavoritesState, start: Found?, outcome: LogReplay.Outcome) {
    if let current, !current.isDamaged {
      let (_, start, outcome) = try replay(where: { _ in true }, loadsState: false) { _, positions in
        try log.run(from: positions, givesPositions: true) { _ in }
      }
      if current.isOf(outcome.positions) { return (current, start, outcome) }
    }
    return try replay(where: { _ in true }) { state, positions in
      try log.run(from: positions, givesPositions: true) { state.apply($0) }
    }
  }

  /// Makes one in the background.
  ///
  /// - Parameter done: is told how many events are covered; nil where none was made.
  func makeInBackground(_ done: @escaping @Sendable (UInt64?) -> Void) {
    run(on: .unhurried) { done(self.orNoteFailure { try self.makeUnhurried() }?.events) }
  }

  /// Makes one; where that fails, the store is as good as before, and the reason is kept.
  @discardableResult
  func makeIfPossible(anew: Bool = false, of current: FavoritesState? = nil) -> SnapshotReport? {
    orNoteFailure { try make(anew: anew, of: current) }
  }

  private func orNoteFailure(_ make: () throws -> SnapshotReport?) -> SnapshotReport? {
    do { return try make() } catch {
      content.withLock { $0.failure = HeartlogError(wrapping: error) }
      return nil
    }
  }
}

extension FavoritesState {
  /// Whether these are the commits that were applied, and all of them.
  fileprivate func isOf(_ positions: [StreamPosition]) -> Bool {
    heads == positions.map { Head(replica: $0.replica, commit: $0.commit) }
      // Else there are some beyond a gap.
      && commitCount == positions.reduce(0) { $0 + $1.commit.rawValue }
      // Else another log has taken the place of the one that was read, with as many commits.
      && positions.allSatisfy { lastStamp(of: $0.replica) == $0.lastStamp }
  }

  /// Takes what a replay read, up to these heads.
  mutating func apply(_ piece: LogReplay.Piece, upTo heads: [Head]) {
    func last(of replica: ReplicaID) -> CommitNumber {
      heads.first { $0.replica == replica }?.commit ?? CommitNumber(rawValue: 0)
    }
    switch piece {
    case .commit(let commit): if commit.number <= last(of: commit.replica) { apply(commit) }
    case .rows(let rows): apply(rows.filter { $0.number <= last(of: $0.replica) })
    case .block(let block):
      let last = last(of: block.replica)
      if block.firstCommit <= last { apply(block.cut(to: block.firstCommit...last)) }
    }
  }

  /// Takes what a replay read.
  mutating func apply(_ piece: LogReplay.Piece) {
    switch piece {
    case .commit(let commit): apply(commit)
    case .rows(let rows): apply(rows)
    case .block(let block): apply(block)
    }
  }
}
