import HeartlogFormat

/// Collects commits for one block, as many as fit.
struct BlockDraft {
  private(set) var commits: [Commit] = []
  private var secrets: [SegmentSecret] = []
  private var headsAtStart: [Head] = []
  private(set) var events = 0
  private var rowBytes = 0

  var isEmpty: Bool { commits.isEmpty }

  /// Adds the stream's next commit.
  ///
  /// - Parameter tail: The stream's tail before `commit`.
  /// - Returns: false if it does not fit and was not added.
  mutating func add(
    _ commit: Commit, secrets: [SegmentSecret], after tail: StreamTail
  ) throws(MalformedError) -> Bool {
    // The records were checked when the commit was decoded.
    try commit.validateParts(recordsAreChecked: true)
    let rowByteCount = RowEncoding.limitedByteCount(of: commit)
    try Commit.checkByteCount(rowByteCount)
    if !commits.isEmpty,
      events + commit.eventCount > Limits.blockEventsMax
        || rowBytes + rowByteCount > Limits.blockRowBytesMax || !canJoin(secrets)
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

  /// Whether each secret still covers the same commits if these are listed, too. A segment begins once: where a run says otherwise, it lies,
  /// and although its own salts are right, those of the commits after it would not be found.
  private func canJoin(_ secrets: [SegmentSecret]) -> Bool {
    guard let last = self.secrets.last, let first = secrets.first, secrets.last != last else { return true }
    return first.firstCommit >= last.firstCommit
  }

  /// Returns a block of the commits added so far and empties the draft; nil if it is empty.
  mutating func takeBlock() -> Block? {
    guard let first = commits.first, let last = commits.last else { return nil }
    let block = Block(
      replica: first.replica, firstCommit: first.number, headsAtStart: headsAtStart,
      secrets: Salts(secrets).secrets(serving: first.number...last.number), commits: commits)
    self = BlockDraft()
    return block
  }
}
