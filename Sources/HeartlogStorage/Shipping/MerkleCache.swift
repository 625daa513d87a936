import HeartlogEvents
import HeartlogFiles

/// Goes along a stream commit by commit, and knows the stream's tree at where it stands.
final class MerkleCache {
  private var reader: StreamReader
  private(set) var tree: MerkleTree
  /// The stream in front of the next commit that is handed out.
  private(set) var tail: StreamTail
  private(set) var name = ""
  /// Commits that were read and not yet handed out, the next one last, and their secrets.
  private var ahead: [Commit] = []
  private var secrets: [SegmentSecret] = []
  private var salts = Salts([])
  private var hasher = SHA256Hasher()

  /// The tree at places that were asked for before, the newest last.
  private var marks: [MerkleTree] = []
  private static let marksMax = 16

  /// The frame that was appended last, which the reader did not pass.
  private var appendedFrame: (offset: UInt64, end: UInt64)?

  /// - Parameters:
  ///   - commit: starts in front of a segment that lies as near before it as can be.
  ///   - position: starts there instead where that is nearer.
  init(
    _ directory: StoreDirectory, replica: ReplicaID, before commit: CommitNumber,
    from position: StreamPosition? = nil
  ) throws {
    if let position, let reader = try Self.reader(at: position, before: commit, in: directory) {
      self.reader = reader
      tree = position.tree
      tail = position.tail
      name = reader.cursor?.header.replicaName ?? ""
      return
    }
    let verifiedReader = try VerifiedReader(
      directory, replica: replica, to: SegmentFile(firstCommit: commit, state: .open))
    reader = verifiedReader.reader
    tree = verifiedReader.tree
    tail = verifiedReader.reader.tail
  }

  /// A reader at a position, where that still stands in its segment, and no sealed one starts between it and `commit`.
  private static func reader(
    at position: StreamPosition, before commit: CommitNumber, in directory: StoreDirectory
  ) throws -> StreamReader? {
    guard position.commit < commit else { return nil }
    let isPassed = try directory.segments(of: position.replica).contains {
      $0.state == .sealed && $0.firstCommit > position.commit && $0.firstCommit <= commit
    }
    guard !isPassed else { return nil }
    return try StreamStart(directory: directory).readerInSegment(at: position)
  }

  /// The number of the last commit that was handed out; 0 before the first.
  var position: UInt64 { tail.next.rawValue - 1 }

  /// The next commit, and the secrets that serve it; nil at the stream's end. Stays in front of it.
  func peek() throws -> (commit: Commit, secrets: [SegmentSecret])? {
    while ahead.isEmpty {
      guard let frame = try nextFrame() else { return nil }
      putAhead(frame)
    }
    return ahead.last.map { ($0, secrets) }
  }

  /// Goes behind the next commit; false at the stream's end.
  @discardableResult
  func pass() throws -> Bool {
    guard let (commit, _) = try peek() else { return false }
    ahead.removeLast()
    tree.append(leaf: try commit.leafHash(salts: &salts, hasher: &hasher), hasher: &hasher)
    try tail.extend(by: commit)
    return true
  }

  /// Goes on to a commit that is there.
  func advance(to commit: UInt64) throws {
    while position < commit {
      let isThere =
        if ahead.isEmpty, let frame = try nextFrame() {
          try pass(frame, upTo: CommitNumber(rawValue: commit))
        } else {
          try pass()
        }
      guard isThere else {
        throw StorageError(
          .corrupt, "the stream ends before commit \(commit)",
          file: reader.directory.streamPath(reader.replica))
      }
    }
  }

  /// Goes behind the commits of a frame, a block at once, and stays in front of those behind `last`.
  private func pass(_ frame: StoredFrame, upTo last: CommitNumber) throws -> Bool {
    guard case .block(let block) = frame else {
      putAhead(frame)
      return try ahead.isEmpty || pass()
    }
    let part = block.lastCommit > last ? block.cut(to: block.firstCommit...last) : block
    try LeafHashing.append(part, to: &tree)
    try tail.extend(by: part)
    if block.lastCommit > last { putAhead(.block(block.cut(to: last.next...block.lastCommit))) }
    return true
  }

  /// Goes behind the block that the log has next, and gives it as it is stored.
  ///
  /// - Parameter eventsMin: what has fewer is better joined with what follows.
  /// - Returns: nil where something else comes next, or where the block goes beyond `last`; it is ahead then.
  func passStoredBlock(
    upTo last: CommitNumber, eventsMin: Int
  ) throws -> (block: ColumnBlock, body: [UInt8])? {
    guard ahead.isEmpty, let frame = try nextFrame() else { return nil }
    guard case .block(let block) = frame, block.isWhole, block.lastCommit <= last,
      block.eventCount >= eventsMin, let body = reader.cursor?.passedBody
    else {
      putAhead(frame)
      return nil
    }
    _ = try pass(frame, upTo: last)
    return (block, body)
  }

  private func nextFrame() throws -> StoredFrame? {
    var looksAgain = true
    while true {
      if case .frame(let frame, let cursor) = try reader.next() {
        name = cursor.header.replicaName
        return frame
      }
      // The reader may have looked at what it had read before more was appended; now it has forgotten that.
      guard looksAgain else { return nil }
      looksAgain = false
    }
  }

  private func putAhead(_ frame: StoredFrame) {
    guard let (commits, secrets) = frame.commits else { return }
    ahead = commits.reversed()
    if self.secrets != secrets { salts = Salts(secrets) }
    self.secrets = secrets
  }

  /// Whether all is handed out that is durable in a segment that is so only up to an offset.
  func isAtEnd(durable: (segment: SegmentID, bytes: UInt64)) -> Bool {
    guard ahead.isEmpty, let cursor = reader.cursor, cursor.header.id == durable.segment else { return false }
    return cursor.offset >= durable.bytes
  }

  /// Gives the open file back until the next reading.
  func rest() { reader.rest() }

  /// Where the Merkle cache stands, as a position to start from; nil where the file that it read last has been replaced.
  ///
  /// - Parameter time: the stream's there, which a Merkle cache that began at a sealed segment does not know.
  /// - Precondition: it stands behind a commit.
  func streamPosition(at time: StreamTime) throws -> StreamPosition? {
    guard let cursor = reader.cursor, let file = cursor.file, let place = try place(cursor),
      try reader.directory.fileSystem.info(cursor.path)?.inode == file.inode()
    else { return nil }
    return StreamPosition(tail: tail, at: time, tree: tree, place: place)
  }

  /// A commit of a stream as a position to start from.
  ///
  /// - Parameters:
  ///   - time: the stream's at that commit.
  ///   - start: a position in front of it, where one is known: only what lies between them is hashed then.
  static func position(
    behind commit: UInt64, at time: StreamTime, of replica: ReplicaID, in directory: StoreDirectory,
    from start: StreamPosition?
  ) throws -> StreamPosition {
    if let start, start.commit.rawValue == commit,
      try StreamStart(directory: directory).readerInSegment(at: start) != nil
    {
      return start
    }
    for start in [start, nil] {
      let merkleCache = try MerkleCache(
        directory, replica: replica, before: CommitNumber(rawValue: commit), from: start)
      try merkleCache.advance(to: commit)
      if let position = try merkleCache.streamPosition(at: time) { return position }
    }
    throw StorageError(.inputOutput, "the segments keep changing", file: directory.streamPath(replica))
  }

  /// The frame that the last commit stands in; nil where the reader has not passed it.
  private func place(_ cursor: SegmentCursor) throws -> StreamPosition.Place? {
    var last = cursor.passedCommits
    if let appendedFrame, appendedFrame.end == cursor.offset {
      last = try cursor.header(at: appendedFrame.offset).map { ($0, appendedFrame.offset) }
    }
    guard let (frame, offset) = last,
      frame.firstCommit.rawValue <= position,
      frame.firstCommit.rawValue + UInt64(frame.commitCount) > position
    else { return nil }
    return StreamPosition.Place(frame, at: offset, in: cursor.header)
  }

  /// The tree after a commit, if it was marked.
  func markedTree(at commit: UInt64) -> MerkleTree? {
    commit == position ? tree : marks.last { $0.size == commit }
  }

  /// Remembers the tree at where the Merkle cache stands.
  func mark() {
    guard marks.last?.size != tree.size else { return }
    if marks.count == Self.marksMax { marks.removeFirst() }
    marks.append(tree)
  }

  /// Notes that commits were appended behind the last one, at which the Merkle cache stands.
  ///
  /// - Parameters:
  ///   - tail: the stream behind them.
  ///   - frameOffset: where their frame starts.
  func didAppend(
    upTo tail: StreamTail, tree: MerkleTree, name: String, to writer: SegmentWriter, frameOffset: UInt64
  ) {
    precondition(ahead.isEmpty, "the cache stands at the stream's end")
    reader.didAppend(upTo: tail)
    self.tail = tail
    reader.didWrite(to: writer.file, path: writer.path, header: writer.header, offset: writer.offset)
    self.tree = tree
    self.name = name
    appendedFrame = (frameOffset, writer.offset)
  }
}
