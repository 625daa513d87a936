import HeartlogFiles
import HeartlogFormat

/// The Merkle trees of the streams, as shipping uses them. Guarded by `monitor`, which is entered after the log's.
final class MerkleCaches: @unchecked Sendable {
  private let directory: StoreDirectory
  let monitor = Monitor()
  /// By replica: the cache that follows the stream's head.
  private(set) var atHead: [ReplicaID: MerkleCache] = [:]
  /// By replica: the cache at the end of the last run that was shipped.
  var shipped: [ReplicaID: MerkleCache] = [:]
  /// By replica: a cache that keeps the nodes of the tree from some commit on.
  private var withNodes: [ReplicaID: MerkleCache] = [:]
  /// By replica: the position at which the log was opened. A cache starts there if that is nearer than a sealed segment.
  var positions: [ReplicaID: StreamPosition] = [:]

  init(_ directory: StoreDirectory) { self.directory = directory }

  /// Forgets a stream, which is read again from its start.
  func forget(_ replica: ReplicaID) {
    monitor.assertHeld()
    atHead[replica] = nil
    shipped[replica] = nil
    withNodes[replica] = nil
    positions[replica] = nil
  }

  /// The files that the caches keep open; nil while a thread uses a cache.
  var openFiles: Set<ObjectIdentifier>? {
    guard monitor.tryEnter() else { return nil }
    defer { monitor.leave() }
    var files: Set<ObjectIdentifier> = []
    for merkleCache in all {
      if let file = merkleCache.openFile { files.insert(ObjectIdentifier(file)) }
    }
    return files
  }

  /// Closes the files until the next read, unless a thread uses a cache.
  func rest() {
    guard monitor.tryEnter() else { return }
    defer { monitor.leave() }
    for merkleCache in all { merkleCache.rest() }
  }

  private var all: [MerkleCache] { Array(atHead.values) + shipped.values + withNodes.values }

  /// Returns the Merkle cache of a stream at its head, or after the last readable commit; nil if there is none.
  func soundCache(of replica: ReplicaID, at commit: UInt64) throws -> MerkleCache? {
    monitor.assertHeld()
    do { return try cache(of: replica, at: commit) } catch let error as HeartlogError
      where error.code == .corrupt
    {
      atHead[replica] = nil
      let merkleCache = try MerkleCache(directory, replica: replica, before: CommitNumber(rawValue: 1))
      while merkleCache.position < commit, try merkleCache.pass() {}
      return merkleCache.position == 0 ? nil : merkleCache
    }
  }

  /// Returns the Merkle cache of a stream at a commit, continuing the existing one if possible.
  func cache(of replica: ReplicaID, at commit: UInt64) throws -> MerkleCache {
    monitor.assertHeld()
    if let merkleCache = atHead[replica], merkleCache.position <= commit {
      try merkleCache.advance(to: commit)
      assert(merkleCache.position == commit, "the tree is over the commits up to that one")
      return merkleCache
    }
    let merkleCache = try MerkleCache(
      directory, replica: replica, before: CommitNumber(rawValue: commit + 1), from: positions[replica])
    try merkleCache.advance(to: commit)
    assert(merkleCache.position == commit, "the tree is over the commits up to that one")
    atHead[replica] = merkleCache
    return merkleCache
  }

  /// Returns the root of a stream's tree at a commit, and marks it: what is signed next is compared with it.
  func markedRoot(of replica: ReplicaID, at commit: UInt64) throws -> Digest {
    monitor.assertHeld()
    if let marked = atHead[replica]?.markedTree(at: commit) { return marked.root }
    let merkleCache = try cache(of: replica, at: commit)
    merkleCache.mark()
    return merkleCache.tree.root
  }

  /// Returns the root of a stream's tree at an earlier commit.
  func root(of replica: ReplicaID, at commit: UInt64) throws -> Digest {
    monitor.assertHeld()
    if let marked = atHead[replica]?.markedTree(at: commit) { return marked.root }
    let merkleCache = try MerkleCache(
      directory, replica: replica, before: CommitNumber(rawValue: commit + 1))
    try merkleCache.advance(to: commit)
    return merkleCache.tree.root
  }

  /// Returns the roots of full subtrees of a stream's tree.
  ///
  /// Hashes the commits that no call has hashed before, from the first that is needed on, and those of the groups in which the
  /// smallest subtrees lie.
  ///
  /// - Parameters:
  ///   - subtrees: Within the first `size` leaves.
  ///   - size: A size of the tree up to which the stream is durable.
  ///   - head: The stream's last commit that is not going to be cut off.
  ///   - groups: Leaves that were already hashed, by the number of their group.
  func roots(
    of subtrees: [MerkleSubtree], in replica: ReplicaID, size: UInt64, head: UInt64,
    groups: [UInt64: [Digest]] = [:]
  ) throws -> [Digest] {
    monitor.assertHeld()
    assert(subtrees.allSatisfy { $0.leaves.upperBound <= size }, "the subtrees are in the tree")
    guard let start = subtrees.map(\.leaves.lowerBound).min() else { return [] }
    let merkleCache = try cacheWithNodes(of: replica, from: start, size: size, head: head)
    let end = merkleCache.markedTree(at: size) ?? atHead[replica]?.markedTree(at: size)
    let frontier = end.map {
      Dictionary(uniqueKeysWithValues: zip(MerkleSubtree.covering(0..<size), $0.frontier))
    }
    var groups = groups
    return try subtrees.map { subtree in
      if let root = merkleCache.nodes?.root(of: subtree) ?? frontier?[subtree] { return root }
      precondition(subtree.height < MerkleNodes.heightMin, "a node that was not kept")
      let group = MerkleNodes.group(of: subtree.leaves.lowerBound, size: size)
      let number = group.lowerBound / MerkleNodes.groupLeaves
      let leaves =
        try groups[number] ?? LeafReader(directory: directory).leaves(group, of: replica).hashes
      groups[number] = leaves
      var tree = MerkleTree()
      for index in subtree.leaves { tree.append(leaf: leaves[Int(index - group.lowerBound)]) }
      return tree.root
    }
  }

  private func cacheWithNodes(
    of replica: ReplicaID, from start: UInt64, size: UInt64, head: UInt64
  ) throws -> MerkleCache {
    var known = withNodes[replica]
    if let nodes = known?.nodes, nodes.start > start { known = nil }
    let merkleCache =
      try known ?? MerkleCache(directory, replica: replica, before: CommitNumber(rawValue: start + 1))
    if known == nil { merkleCache.keepNodes() }
    assert(
      merkleCache.nodes.map { $0.start <= start } ?? false,
      "the nodes begin at the first leaf that is needed, or before")
    withNodes[replica] = nil
    try merkleCache.advance(to: size, head: head)
    withNodes[replica] = merkleCache
    return merkleCache
  }
}

/// Follows a stream commit by commit, and maintains the stream's Merkle tree at its position.
final class MerkleCache {
  private var reader: StreamReader
  private(set) var tree: MerkleTree
  /// The nodes that were added to the tree, if they are kept.
  private(set) var nodes: MerkleNodes?
  /// The stream's tail before the next commit to be returned.
  private(set) var tail: StreamTail
  private(set) var name = ""
  /// The rest of the frame that was read last.
  private var ahead: CommitsAhead?
  private var salts = Salts([])
  private var hasher = SHA256Hasher()

  /// The tree at positions marked earlier, the newest last.
  private var marks: [MerkleTree] = []
  private static let marksMax = 16

  /// Creates a cache that starts before a commit.
  ///
  /// - Parameters:
  ///   - commit: The cache starts before the last sealed segment that begins at or before this commit, or at the start
  ///     of the stream.
  ///   - position: A position to start from instead, if it is nearer.
  init(
    _ directory: StoreDirectory, replica: ReplicaID, before commit: CommitNumber,
    from position: StreamPosition? = nil
  ) throws {
    if let position, let reader = try Self.reader(at: position, before: commit, in: directory) {
      self.reader = reader
      tree = position.tree
      tail = position.tail
      assert(tree.size + 1 == tail.next.rawValue, "the tree is over the commits before the tail")
      name = reader.cursor?.header.replicaName ?? ""
      return
    }
    let verifiedReader = try VerifiedReader(
      directory, replica: replica, to: SegmentFile(firstCommit: commit, state: .open))
    reader = verifiedReader.reader
    tree = verifiedReader.tree
    tail = verifiedReader.reader.tail
    assert(tree.size + 1 == tail.next.rawValue, "the tree is over the commits before the tail")
  }

  /// Returns a reader at a position, if the position is still in its segment and no sealed segment starts between it and
  /// `commit`.
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

  /// The number of the last commit passed; 0 before the first.
  var position: UInt64 { tail.next.rawValue - 1 }

  /// Returns the next commit and the secrets for its salts, without passing it; nil at the end of the stream.
  func peek() throws -> (commit: Commit, secrets: [SegmentSecret])? {
    while ahead == nil {
      guard let frame = try nextFrame() else { return nil }
      putAhead(frame)
    }
    return ahead.map { ($0.next, $0.secrets) }
  }

  /// Passes the next commit; returns false at the end of the stream.
  @discardableResult
  func pass() throws -> Bool {
    guard let (commit, _) = try peek() else { return false }
    if ahead?.pass() != true { ahead = nil }
    tree.append(leaf: try commit.leafHash(salts: &salts, hasher: &hasher), hasher: &hasher) {
      nodes?.add($0, height: $1)
    }
    try tail.extend(by: commit)
    assert(tree.size == position, "the tree is over the commits before the tail")
    return true
  }

  /// Keeps the nodes that are added to the tree from here on.
  func keepNodes() { nodes = MerkleNodes(after: tree.size) }

  /// Advances to a commit that must exist, or beyond it to the end of its block, but not beyond `head`.
  func advance(to commit: UInt64, head: UInt64 = 0) throws {
    while position < commit {
      let isThere =
        if ahead == nil, let frame = try nextFrame() {
          try pass(frame, upTo: CommitNumber(rawValue: commit), head: CommitNumber(rawValue: head))
        } else {
          try pass()
        }
      guard isThere else {
        throw HeartlogError.tooShort(reader.replica, before: commit, in: reader.directory)
      }
    }
  }

  /// Passes the commits of a frame up to `last`, a block at once, and those of a block up to `head`.
  private func pass(
    _ frame: StoredFrame, upTo last: CommitNumber, head: CommitNumber = CommitNumber(rawValue: 0)
  ) throws -> Bool {
    guard case .block(let block) = frame else {
      putAhead(frame)
      return try ahead == nil || pass()
    }
    let last = max(last, min(block.lastCommit, head))
    let part = block.lastCommit > last ? block.cut(to: block.firstCommit...last) : block
    try LeafHashing.append(part, to: &tree) { nodes?.add($0, height: $1) }
    try tail.extend(by: part)
    assert(tree.size == position, "the tree is over the commits before the tail")
    if block.lastCommit > last { putAhead(.block(block.cut(to: last.next...block.lastCommit))) }
    return true
  }

  /// Passes the next block of the log, or the rest of one, and returns it as it is stored if it is whole.
  ///
  /// - Parameters:
  ///   - last: Commits of the block after this one are not passed.
  ///   - eventsMin: A block with fewer events is not returned, because it should be joined with what follows.
  /// - Returns: nil if what follows is not such a block. Its commits are returned by `peek` then.
  func passBlock(
    upTo last: CommitNumber, eventsMin: Int
  ) throws -> (block: ColumnBlock, body: [UInt8])? {
    if ahead == nil, let frame = try nextFrame() { putAhead(frame) }
    guard let block = ahead?.block else { return nil }
    let part = block.lastCommit > last ? block.cut(to: block.firstCommit...last) : block
    guard part.eventCount >= eventsMin else { return nil }
    let stored = part.isWhole ? reader.cursor?.passedBody : nil
    let body = try stored ?? BlockEncoding.encode(part, after: tail.seenHeads)
    ahead = nil
    _ = try pass(.block(block), upTo: last)
    return (part, body)
  }

  private func nextFrame() throws -> StoredFrame? {
    var looksAgain = true
    while true {
      if case .frame(let frame, let cursor) = try reader.next() {
        name = cursor.header.replicaName
        return frame
      }
      // The reader may have used bytes that it had read before more was appended; it has discarded them now.
      guard looksAgain else { return nil }
      looksAgain = false
    }
  }

  private func putAhead(_ frame: StoredFrame) {
    ahead = CommitsAhead(frame)
    if let secrets = ahead?.secrets, secrets != salts.secrets { salts = Salts(secrets) }
  }

  /// Whether all durable commits were passed, given the durable end of a segment.
  func isAtEnd(durable: (segment: SegmentID, bytes: UInt64)) -> Bool {
    guard ahead == nil, let cursor = reader.cursor, cursor.header.id == durable.segment else { return false }
    return cursor.offset >= durable.bytes
  }

  /// The file that it keeps open.
  var openFile: (any OpenFile)? { reader.cursor?.file }

  /// Closes the file until the next read.
  func rest() { reader.rest() }

  /// Returns the cache's position as one to start from; nil if the file that it last read has been replaced.
  ///
  /// - Parameter time: The stream's time there, which a cache that started at a sealed segment does not know.
  /// - Precondition: The cache is after a commit.
  func streamPosition(at time: StreamTime) throws -> StreamPosition? {
    guard let cursor = reader.cursor, try cursor.wake(in: reader.directory), let file = cursor.file,
      let location = location(cursor),
      try reader.directory.fileSystem.info(cursor.path)?.inode == file.inode()
    else { return nil }
    return StreamPosition(tail: tail, at: time, tree: tree, location: location)
  }

  /// Returns a position after a commit of a stream.
  ///
  /// - Parameters:
  ///   - time: The stream's time at that commit.
  ///   - start: An earlier position, if one is known: then only the commits between them are hashed.
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
    throw HeartlogError(.inputOutput, "the segments keep changing", file: directory.streamPath(replica))
  }

  /// Returns the frame that contains the last commit; nil if the reader has not passed it.
  private func location(_ cursor: SegmentCursor) -> StreamPosition.Location? {
    guard let (frame, offset) = cursor.passedCommits,
      frame.firstCommit.rawValue <= position,
      frame.firstCommit.rawValue + UInt64(frame.commitCount) > position
    else { return nil }
    return StreamPosition.Location(frame, at: offset, in: cursor.header)
  }

  /// Returns the tree after a commit, if it was marked.
  func markedTree(at commit: UInt64) -> MerkleTree? {
    commit == position ? tree : marks.last { $0.size == commit }
  }

  /// Remembers the tree at the present position.
  func mark() {
    guard marks.last?.size != tree.size else { return }
    assert(marks.last.map { $0.size < tree.size } ?? true, "the marks rise")
    if marks.count == Self.marksMax { marks.removeFirst() }
    marks.append(tree)
  }

  /// Records that commits were appended after the last one, which must be the cache's position.
  ///
  /// - Parameter tail: The stream's tail after them.
  func didAppend(upTo tail: StreamTail, tree: MerkleTree, name: String, to writer: SegmentWriter) {
    precondition(ahead == nil, "the cache stands at the stream's end")
    assert(
      tree.size + 1 == tail.next.rawValue && tree.size >= position,
      "the tree is over the commits before the tail")
    reader.didAppend(upTo: tail)
    self.tail = tail
    reader.didWrite(to: writer.file, path: writer.path, header: writer.header, offset: writer.offset)
    self.tree = tree
    self.name = name
  }
}

/// The commits of a frame that were not passed yet. Those of a block are assembled one at a time: together they need several times its
/// memory.
private struct CommitsAhead {
  let secrets: [SegmentSecret]
  private(set) var next: Commit
  /// The commits after it, if they are not of a block, in reverse order.
  private var rows: [Commit] = []
  private var wholeBlock: ColumnBlock?
  private var assembly: CommitAssembly?

  /// Returns nil for a frame without commits.
  init?(_ frame: StoredFrame) {
    if case .block(let block) = frame {
      var assembly = CommitAssembly(block)
      guard let first = assembly.next() else { return nil }
      (next, secrets) = (first, block.secrets)
      (wholeBlock, self.assembly) = (block, assembly)
    } else {
      guard let (commits, secrets) = frame.commits, let first = commits.first else { return nil }
      (next, self.secrets) = (first, secrets)
      rows = commits.dropFirst().reversed()
    }
  }

  /// All of them, if they are of a block.
  var block: ColumnBlock? { wholeBlock.map { $0.cut(to: next.number...$0.lastCommit) } }

  /// Passes the next commit; returns false if it was the last.
  mutating func pass() -> Bool {
    guard let commit = rows.popLast() ?? assembly?.next() else { return false }
    next = commit
    return true
  }
}

/// Hashes the leaves of a block's commits, on several threads if there are many. This is most of the cost of receiving commits.
final class LeafHashing: Sendable {
  private struct State {
    var next = 0
    var underWay = 0
    var results: [Result<BlockLeafHasher.Hashes, MalformedError>?]
  }

  private let parts: BlockLeafHasher
  private let monitor: Monitor<State>

  private static let helpersMax = 3

  private init(_ block: ColumnBlock) {
    parts = BlockLeafHasher(block)
    monitor = Monitor(State(results: Array(repeating: nil, count: parts.count)))
  }

  /// Appends the leaves of a block's commits to the tree before them.
  ///
  /// - Parameter completing: As for `MerkleTree.append`.
  /// - Throws: `MalformedError` if the block lacks the salt of an event that is not withheld.
  static func append(
    _ block: ColumnBlock, to tree: inout MerkleTree, completing: (Digest, Int) -> Void = { _, _ in }
  ) throws(MalformedError) {
    let hashing = LeafHashing(block)
    let sizeBefore = tree.size
    // A helper that starts when no parts are left returns at once. No thread waits for a helper that has not started.
    let helpers = min(helpersMax, hashing.parts.count - 1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))) - 1)
    if let pool = WorkerPool.helping { for _ in 0..<max(0, helpers) { pool.run { hashing.work() } } }
    hashing.work()
    let results = hashing.monitor.withLock { state in
      while state.underWay > 0 { hashing.monitor.wait(&state) }
      return state.results
    }
    var hasher = SHA256Hasher()
    assert(results.allSatisfy { $0 != nil }, "every part of the block was hashed")
    for result in results {
      if let result { tree.append(try result.get(), hasher: &hasher, completing: completing) }
    }
    assert(tree.size == sizeBefore + UInt64(block.commitCount), "each commit is one leaf")
  }

  /// Hashes parts until none is left.
  private func work() {
    while let part = takePart() {
      let result = Result { () throws(MalformedError) in try parts.hashes(of: part) }
      monitor.withLock { state in
        assert(state.results[part] == nil && state.underWay > 0, "one thread hashes a part")
        state.results[part] = result
        state.underWay -= 1
        monitor.notifyAll()
      }
    }
  }

  private func takePart() -> Int? {
    monitor.withLock { state in
      guard state.next < parts.count else { return nil }
      state.next += 1
      state.underWay += 1
      return state.next - 1
    }
  }
}
