import HeartlogFiles
import HeartlogFormat

/// The contents of the sealed file that replaces a run of segments, in large blocks.
struct SealedFile {
  let bytes: [UInt8]

  /// Reads a run and builds the file that replaces it.
  ///
  /// Segments that have been replaced can no longer be compared with other files, so they are compared here.
  ///
  /// - Parameters:
  ///   - end: The last commit that is kept; nil for all.
  ///   - withheld: The events whose content is left out.
  ///   - snapshots: What snapshots claim about the log. The claims of segments about each other are read from their headers.
  ///   - isStopped: Whether the file is no longer wanted.
  /// - Returns: nil if another process has sealed part of the run since, or if the file is no longer wanted.
  /// - Throws: `corrupt` if the run contradicts what another file claims about it.
  init?(
    of run: [SealableSegment], in directory: StoreDirectory, replicaName: String, options: StorageOptions,
    upTo end: CommitNumber? = nil, without withheld: WithheldEvents,
    snapshots: [SnapshotClaim], isStopped: () -> Bool = { false }
  ) throws {
    guard let first = run.first, let last = run.last else { preconditionFailure("a run has a segment") }
    var generator = options.generator
    let id = SegmentID.random(using: &generator)
    var builder = BlockBuilder(id: id, without: withheld)
    let verifiedReader = try VerifiedReader(directory, replica: first.header.replica, to: first.file)
    let reader = verifiedReader.reader
    let next = try directory.segments(of: first.header.replica).first {
      $0.firstCommit > last.header.firstCommit
    }
    let claims = try TreeClaims(
      of: first.header.replica, in: directory, snapshots: snapshots,
      upTo: next.map { $0.firstCommit.rawValue - 1 } ?? .max)
    // The tree before the run goes into the header. The leaves of the run itself are appended only to check claims.
    var tree = verifiedReader.tree
    var headerTree: MerkleTree?
    var hasher = SHA256Hasher()
    var tail = reader.tail
    reading: while true {
      if isStopped() { return nil }
      switch try reader.next() {
      case .end(let finding):
        if let finding, finding.isCorrupt { throw finding.error }
        break reading
      case .frame(let frame, let cursor):
        if cursor.header.firstCommit > last.header.firstCommit { break reading }
        let isInRun = cursor.header.firstCommit >= first.header.firstCommit
        // Another process has joined the rest of the run to a segment before it.
        if !isInRun, headerTree != nil { return nil }
        if isInRun, !run.contains(where: { $0.header.id == cursor.header.id }) { return nil }
        if case .record(let kind, let body) = frame, isInRun {
          try builder.add(kind: kind, body: body, next: tail.next)
        }
        if isInRun, headerTree == nil { headerTree = tree }
        if case .block(let block) = frame, !isInRun || builder.takesWhole(block),
          end.map({ block.lastCommit <= $0 }) ?? true, let body = isInRun ? cursor.passedBody : []
        {
          if isInRun { try builder.add(block, stored: body, after: tail) }
          // All leaves before the run lead to the tree in the header.
          let sizes = claims.sizes(upTo: block.lastCommit) + (isInRun ? [] : [block.lastCommit.rawValue])
          for size in sizes where size > tree.size {
            let commits = CommitNumber(rawValue: tree.size + 1)...CommitNumber(rawValue: size)
            try LeafHashing.append(block.cut(to: commits), to: &tree)
            try Self.check(tree, claims)
          }
          try tail.extend(by: block)
        } else if let (commits, secrets) = frame.commits {
          var salts = Salts(secrets)
          for commit in commits {
            if let end, commit.number > end { break reading }
            if isInRun { try builder.add(commit, secrets: secrets, after: tail) }
            if !isInRun || tree.size < claims.lastCommit {
              assert(tree.size + 1 == commit.number.rawValue, "the leaves of a tree are contiguous")
              tree.append(leaf: try commit.leafHash(salts: &salts, hasher: &hasher), hasher: &hasher)
              try Self.check(tree, claims)
            }
            try tail.extend(by: commit)
          }
        }
      }
    }
    guard let headerTree, headerTree.size == first.header.firstCommit.rawValue - 1,
      end.map({ tail.next > $0 })
        ?? (tail.nextSequence.rawValue == last.header.firstSequence.rawValue + last.events)
    else { return nil }
    let header = SegmentHeader(
      kind: .sealed, id: id, replica: first.header.replica, replicaName: replicaName,
      firstCommit: first.header.firstCommit, firstSequence: first.header.firstSequence,
      secret: SegmentHeader.noSecret, treeSize: headerTree.size, frontier: headerTree.frontier)
    bytes = try builder.finish(header)
    assert(
      builder.totals.commits == tail.next.rawValue - first.header.firstCommit.rawValue,
      "the totals count the commits of the run")
    assert(
      builder.totals.events == tail.nextSequence.rawValue - first.header.firstSequence.rawValue,
      "the totals count the events of the run")
  }

  /// - Throws: `corrupt` if a file claims another tree over the same commits.
  private static func check(_ tree: MerkleTree, _ claims: TreeClaims) throws(HeartlogError) {
    guard let claim = claims.contradicted(by: tree) else { return }
    throw HeartlogError(
      .corrupt, "nothing was sealed: \(claim.contradiction)", file: claim.file, offset: 0,
      commits: CommitNumber(rawValue: 1)...CommitNumber(rawValue: tree.size))
  }
}

/// Collects commits in blocks, and blocks and records in the frames of a sealed segment.
struct BlockBuilder {
  private let id: SegmentID
  private let withheld: WithheldEvents
  private(set) var bytes: [UInt8]
  private(set) var totals = SegmentHeader.Totals()

  private var draft = BlockDraft()

  /// - Parameter withheld: The events whose content is left out.
  init(id: SegmentID, without withheld: WithheldEvents) {
    self.id = id
    self.withheld = withheld
    // Reserved for the header, which is written when all its fields are known.
    bytes = [UInt8](repeating: 0, count: SegmentHeader.byteCount)
  }

  /// Adds the stream's next commit.
  ///
  /// - Parameter tail: The stream's tail before `commit`.
  mutating func add(_ commit: Commit, secrets: [SegmentSecret], after tail: StreamTail) throws(MalformedError)
  {
    if try draft.add(commit, secrets: secrets, after: tail) { return }
    try endBlock()
    let isAdded = try draft.add(commit, secrets: secrets, after: tail)
    assert(isAdded, "an empty block has room for any commit")
  }

  /// Whether a block is so large that it is not joined with others, and has nothing that is left out.
  func takesWhole(_ block: ColumnBlock) -> Bool {
    block.isWhole && block.eventCount >= Limits.blockEventsMax / 2 && !withheld.affects(block)
  }

  /// Adds a block of the stream's next commits as it is.
  ///
  /// - Parameters:
  ///   - body: The block, encoded.
  ///   - tail: The stream's tail before it.
  mutating func add(_ block: ColumnBlock, stored body: [UInt8], after tail: StreamTail) throws(MalformedError)
  {
    assert(
      block.firstCommit == tail.next && block.headsAtStart == tail.seenHeads,
      "the tail is the one before the block")
    try endBlock()
    append(body, of: block.firstCommit, commits: block.commitCount, events: block.eventCount)
  }

  /// Adds a record at its position among the commits.
  mutating func add(kind: UInt8, body: Frame.Body, next: CommitNumber) throws(MalformedError) {
    assert(
      totals.commits == 0 || next.rawValue > totals.commits, "a record is at its position among the commits")
    try endBlock()
    Frame.append(
      kind: kind, body: body, firstCommit: next, commitCount: 0, durableOffset: 0, at: UInt64(bytes.count),
      of: id,
      to: &bytes)
  }

  mutating func endBlock() throws(MalformedError) {
    let events = draft.events
    guard var block = draft.takeBlock() else { return }
    assert(
      block.commits.reduce(0) { $0 + $1.eventCount } == events,
      "the events of a draft are those of its commits")
    if !withheld.isEmpty, let redacted = withheld.redacted(block) { block = redacted }
    assert(block.commits.reduce(0) { $0 + $1.eventCount } == events, "withholding leaves no event out")
    append(
      try BlockEncoding.encode(block), of: block.firstCommit, commits: block.commits.count, events: events)
  }

  private mutating func append(_ body: [UInt8], of first: CommitNumber, commits: Int, events: Int) {
    Frame.append(
      kind: FrameHeader.Kind.block, body: Frame.Body(stored: body), firstCommit: first,
      commitCount: UInt32(commits), durableOffset: 0, at: UInt64(bytes.count), of: id, to: &bytes)
    totals.commits += UInt64(commits)
    totals.events += UInt64(events)
    assert(bytes.count % FrameHeader.alignment == 0, "frames are at multiples of 8")
  }

  /// Returns the complete file.
  mutating func finish(_ header: SegmentHeader) throws(MalformedError) -> [UInt8] {
    try endBlock()
    var header = header
    assert(draft.isEmpty && header.kind == .sealed, "a sealed file has all its blocks")
    totals.fileBytes = UInt64(bytes.count)
    header.totals = totals
    bytes.replaceSubrange(0..<SegmentHeader.byteCount, with: header.encoded())
    assert(
      bytes.withUnsafeBytes { (try? SegmentHeader.decode($0, file: ""))?.header } == header,
      "a header is read as it was written")
    return bytes
  }
}

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
    assert(
      commit.number == tail.next && commit.firstSequence == tail.nextSequence,
      "the tail is the one before the commit")
    assert(
      commits.last.map { $0.number.next == commit.number } ?? true, "the numbers of commits are contiguous")
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
    assert(
      last.number.rawValue - first.number.rawValue + 1 == UInt64(commits.count),
      "the numbers of commits are contiguous")
    let block = Block(
      replica: first.replica, firstCommit: first.number, headsAtStart: headsAtStart,
      secrets: Salts(secrets).secrets(serving: first.number...last.number), commits: commits)
    self = BlockDraft()
    return block
  }
}
