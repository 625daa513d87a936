import HeartlogEvents
import Synchronization

/// Commits that stand in line to be written, with their frames.
struct CommitLine {
  private(set) var turns: [CommitLog.Turn] = []
  private(set) var frames = CommitFrames()
  private(set) var durableCount = 0

  var isEmpty: Bool { turns.isEmpty }
  var count: Int { turns.count }

  /// Puts a commit at the end.
  ///
  /// - Parameter recordsAreChecked: whoever drafted them has held them against the rules.
  mutating func append(_ turn: CommitLog.Turn, recordsAreChecked: Bool) throws(MalformedError) {
    turn.frameBytes = try frames.append(turn.commit, recordsAreChecked: recordsAreChecked)
    turns.append(turn)
    if turn.durability == .durable { durableCount += 1 }
  }

  /// Takes the last ones out that do not fit into `bytesMax`; the first one fits always.
  mutating func split(at bytesMax: Int, batch: Int) -> CommitLine {
    var rest = CommitLine()
    guard frames.byteCount > bytesMax else { return rest }
    var bytes = 0
    let place = turns.dropFirst().firstIndex { turn in
      bytes += turn.frameBytes
      return bytes > bytesMax
    }
    guard let place else { return rest }
    rest.turns = Array(turns[place...])
    rest.durableCount = rest.turns.count { $0.durability == .durable }
    for turn in rest.turns { turn.batch = batch }
    rest.frames = frames.split(at: frames.byteCount - rest.turns.reduce(0) { $0 + $1.frameBytes })
    turns.removeLast(rest.turns.count)
    durableCount -= rest.durableCount
    return rest
  }

  /// Writes the frames to a segment.
  mutating func write(to segment: SegmentWriter) throws(StorageError) { try segment.append(&frames) }

  /// Tells those whose commits they are what came of them. Changes nothing, but of what may be changed no copy is made for the call.
  mutating func endTurns(_ failure: StorageError? = nil) {
    for place in turns.indices { turns[place].end(failure) }
  }

  /// Forgets all, and keeps the memory, unless it is much.
  mutating func removeAll() {
    // A lone writer's is alone: to take it out costs less than to ask for all.
    if turns.count == 1 { turns.removeLast() } else { turns.removeAll(keepingCapacity: true) }
    frames.removeAll()
    durableCount = 0
  }
}

extension CommitLog {
  /// One commit on its way, which is passed on by its turn: a copy of it is many references to count.
  public final class Turn: Sendable {
    public let commit: Commit
    let durability: Durability
    /// How long its frame is, once it stands in line. Touched in the monitor alone.
    nonisolated(unsafe) fileprivate(set) var frameBytes = 0
    /// The batch that it will be part of: tells which bell is rung for it. Touched in the monitor alone.
    nonisolated(unsafe) var batch: Int
    // Written before `isOver`, and read after it.
    private nonisolated(unsafe) var failure: StorageError?
    private let over = Atomic(false)

    init(_ commit: Commit, _ durability: Durability, batch: Int) {
      self.commit = commit
      self.durability = durability
      self.batch = batch
    }

    /// Lends the commit.
    public func withCommit(_ body: (Commit) -> Void) { body(commit) }

    /// It was written, or will not be.
    var isOver: Bool { over.load(ordering: .acquiring) }

    func end(_ failure: StorageError? = nil) {
      self.failure = failure
      over.store(true, ordering: .releasing)
    }

    /// Throws where it was not written.
    func checkOutcome() throws(StorageError) {
      if let failure { throw failure }
    }
  }
}
