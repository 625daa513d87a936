import HeartlogEvents

/// Gathers commits into blocks, and blocks and records into the frames of a sealed segment.
struct BlockBuilder {
  private let id: SegmentID
  private(set) var bytes: [UInt8]
  private(set) var totals = SegmentHeader.Totals()

  private var commits: [Commit] = []
  private var secrets: [SegmentSecret] = []
  private var headsAtStart: [Head] = []
  private var events = 0
  private var rowBytes = 0

  init(id: SegmentID) {
    self.id = id
    // The header takes its place when all is known.
    bytes = [UInt8](repeating: 0, count: SegmentHeader.byteCount)
  }

  /// Takes the stream's next commit.
  ///
  /// - Parameter chain: the stream in front of `commit`.
  mutating func add(_ commit: Commit, secrets: [SegmentSecret], after chain: Chain) throws(MalformedError) {
    var row: [UInt8] = []
    try RowEncoding.append(commit, to: &row)
    if !commits.isEmpty,
      events + commit.records.count > Limits.blockEventsMax || rowBytes + row.count > Limits.blockRowBytesMax
    {
      try endBlock()
    }
    if commits.isEmpty { headsAtStart = chain.seenHeads }
    commits.append(commit)
    events += commit.records.count
    rowBytes += row.count
    if let last = self.secrets.last, secrets.last == last { return }
    self.secrets += secrets
  }

  /// Takes a record at its place among the commits.
  mutating func add(kind: UInt8, body: Frame.Body, next: CommitNumber) throws(MalformedError) {
    try endBlock()
    Frame.append(
      kind: kind, body: body, firstCommit: next, commitCount: 0, durableOffset: 0, at: UInt64(bytes.count),
      of: id,
      to: &bytes)
  }

  mutating func endBlock() throws(MalformedError) {
    guard let first = commits.first, let last = commits.last else { return }
    let block = Block(
      replica: first.replica, firstCommit: first.number, headsAtStart: headsAtStart,
      secrets: Salts(secrets).secrets(serving: first.number...last.number), commits: commits)
    let body = Frame.Body(stored: try BlockEncoding.encode(block))
    Frame.append(
      kind: FrameHeader.Kind.block, body: body, firstCommit: first.number, commitCount: UInt32(commits.count),
      durableOffset: 0, at: UInt64(bytes.count), of: id, to: &bytes)
    totals.commits += UInt64(commits.count)
    totals.events += UInt64(events)
    commits.removeAll(keepingCapacity: true)
    secrets.removeAll()
    events = 0
    rowBytes = 0
  }

  /// The whole file.
  mutating func finish(_ header: SegmentHeader) throws(MalformedError) -> [UInt8] {
    try endBlock()
    var header = header
    totals.fileBytes = UInt64(bytes.count)
    header.totals = totals
    bytes.replaceSubrange(0..<SegmentHeader.byteCount, with: header.encoded())
    return bytes
  }
}
