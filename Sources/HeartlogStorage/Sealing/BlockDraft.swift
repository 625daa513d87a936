import HeartlogEvents

/// Commits on their way into one block, as many as fit.
struct BlockDraft {
  private(set) var commits: [Commit] = []
  private var secrets: [SegmentSecret] = []
  private var headsAtStart: [Head] = []
  private(set) var events = 0
  private var rowBytes = 0

  var isEmpty: Bool { commits.isEmpty }

  /// Takes the stream's next commit.
  ///
  /// - Parameter tail: the stream in front of `commit`.
  /// - Returns: false where it does not fit any more, and was not taken.
  mutating func add(
    _ commit: Commit, secrets: [SegmentSecret], after tail: StreamTail
  ) throws(MalformedError) -> Bool {
    // It was held against the rules when it was read.
    let rowByteCount = try RowEncoding.byteCount(checking: commit, recordsAreChecked: true)
    if !commits.isEmpty,
      events + commit.eventCount > Limits.blockEventsMax
        || rowBytes + rowByteCount > Limits.blockRowBytesMax
    {
      return false
    }
    if commits.isEmpty { headsAtStart = tail.seenHeads }
    commits.append(commit)
    events += commit.eventCount
    rowBytes += rowByteCount
    if self.secrets.last == nil || secrets.last != self.secrets.last { self.secrets += secrets }
    return true
  }

  /// The block of what was taken; the draft is empty then. Nil where nothing was taken.
  mutating func takeBlock() -> Block? {
    guard let first = commits.first, let last = commits.last else { return nil }
    let block = Block(
      replica: first.replica, firstCommit: first.number, headsAtStart: headsAtStart,
      secrets: Salts(secrets).secrets(serving: first.number...last.number), commits: commits)
    self = BlockDraft()
    return block
  }
}
