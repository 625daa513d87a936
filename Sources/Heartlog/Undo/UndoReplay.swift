import HeartlogStorage

/// The log, split into the events that are undone and the state without them.
struct UndoReplay {
  /// The last undone write of each register.
  private(set) var undone = WriteOverlay()
  /// See `UndoPlan.unreadable`.
  private(set) var unreadable: [EventID] = []
  /// Those of them that erased content.
  private(set) var erasures: [EventID] = []
  /// The state that all other events produce.
  private(set) var rest = FavoritesState()
  /// Why one of several selected events cannot be undone.
  private var refusal: HeartlogError?

  /// - Throws: `corrupt` if the log cannot be read to its end; `notFound` or `newerFormat` for a selected single event without content.
  init(
    without selection: UndoSelection, of store: FavoritesStore, progress: LogProgress?
  ) throws {
    let log = try LogReplay(at: store.path, on: store.fileSystem, progress: progress)
    let first = CommitNumber(rawValue: 1)
    let (state, start, outcome) = try store.snapshots.replay(
      where: { $0.allSatisfy { !selection.mayTake(first...$0.commit, of: $0.replica) } }
    ) { state, positions in
      // A snapshot that proves to be damaged is read again without it.
      undone.removeAll()
      unreadable.removeAll()
      erasures.removeAll()
      refusal = nil
      return try log.run(from: positions) { take($0, selection, &state) }
    }
    if let start { store.snapshots.note(outcome.movedPositions, of: start) }
    if let finding = outcome.findings.damage.first { throw finding.error }
    if let refusal { throw refusal }
    rest = state
  }

  private mutating func take(
    _ piece: LogReplay.Piece, _ selection: UndoSelection, _ state: inout FavoritesState
  ) {
    switch piece {
    case .commit(let commit): take(commit, selection, &state)
    case .rows(let rows):
      guard let first = rows.first?.header, let last = rows.last?.header,
        selection.mayTake(first.number...last.number, of: first.replica)
      else {
        state.apply(piece)
        return
      }
      for row in rows { take(row.commit(), selection, &state) }
    case .block(let block):
      guard selection.mayTake(block.firstCommit...block.lastCommit, of: block.replica) else {
        state.apply(piece)
        return
      }
      for commit in block.commits() { take(commit, selection, &state) }
    }
  }

  /// Applies a commit to the state without its undone events: they count, and change nothing.
  private mutating func take(
    _ commit: Commit, _ selection: UndoSelection, _ state: inout FavoritesState
  ) {
    guard selection.mayTake(commit.number...commit.number, of: commit.replica) else {
      state.apply(commit)
      return
    }
    var records = commit.records
    for (index, record) in commit.records.enumerated() {
      let id = commit.eventID(at: index)
      guard selection.takes(id, record) else { continue }
      if let reason = Self.reasonNotToUndo(record) {
        if selection.events != nil { refusal = refusal ?? reason.error(about: id) }
        unreadable.append(id)
        if case .erasure = reason { erasures.append(id) }
      }
      guard let event = record.event else { continue }
      undone.apply(
        event, at: EventPosition(stamp: commit.stamp, replica: id.replica, sequence: id.sequence),
        wallTime: commit.wallTime)
      records[index] = .withheld(Self.anyHash)
    }
    state.apply(
      Commit(
        replica: commit.replica, number: commit.number, firstSequence: commit.firstSequence,
        stamp: commit.stamp, wallTime: commit.wallTime, heads: commit.heads, records: records))
  }

  /// States do not look at the hash of a withheld event.
  private static let anyHash = Digest([UInt8](repeating: 0, count: 32))

  private enum ReasonNotToUndo {
    case withheld
    case erasure
    case laterVersion

    func error(about event: EventID) -> HeartlogError {
      switch self {
      case .withheld:
        HeartlogError(.notFound, "the content of the event \(event) is withheld here, so it cannot be undone")
      case .erasure:
        HeartlogError(.notFound, "the event \(event) erased content, and an erasure cannot be undone")
      case .laterVersion:
        HeartlogError(
          .newerFormat, "the event \(event) was written by a later version, so it cannot be undone")
      }
    }
  }

  private static func reasonNotToUndo(_ record: EventRecord) -> ReasonNotToUndo? {
    switch record {
    case .withheld: .withheld
    case .unknown: record.erasedEvents == nil ? .laterVersion : .erasure
    case .event(let event): event.unknownMembers.isEmpty ? nil : .laterVersion
    }
  }
}
