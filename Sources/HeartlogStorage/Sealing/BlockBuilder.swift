import HeartlogFormat

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
    _ = try draft.add(commit, secrets: secrets, after: tail)
  }

  /// Adds a record at its position among the commits.
  mutating func add(kind: UInt8, body: Frame.Body, next: CommitNumber) throws(MalformedError) {
    try endBlock()
    Frame.append(
      kind: kind, body: body, firstCommit: next, commitCount: 0, durableOffset: 0, at: UInt64(bytes.count),
      of: id,
      to: &bytes)
  }

  mutating func endBlock() throws(MalformedError) {
    let events = draft.events
    guard var block = draft.takeBlock() else { return }
    if !withheld.isEmpty, let redacted = withheld.redacted(block) { block = redacted }
    let body = Frame.Body(stored: try BlockEncoding.encode(block))
    Frame.append(
      kind: FrameHeader.Kind.block, body: body, firstCommit: block.firstCommit,
      commitCount: UInt32(block.commits.count), durableOffset: 0, at: UInt64(bytes.count), of: id, to: &bytes)
    totals.commits += UInt64(block.commits.count)
    totals.events += UInt64(events)
  }

  /// Returns the complete file.
  mutating func finish(_ header: SegmentHeader) throws(MalformedError) -> [UInt8] {
    try endBlock()
    var header = header
    totals.fileBytes = UInt64(bytes.count)
    header.totals = totals
    bytes.replaceSubrange(0..<SegmentHeader.byteCount, with: header.encoded())
    return bytes
  }
}
