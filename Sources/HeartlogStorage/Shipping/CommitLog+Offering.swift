import HeartlogEvents
import HeartlogFiles

/// What other stores may have of this one: durable commits, with the roots of their streams.
extension CommitLog {
  /// The Merkle caches of the streams, and who may touch them: the thread that is in `monitor`.
  final class MerkleCaches: @unchecked Sendable {
    let monitor = Monitor()
    /// By replica: the Merkle cache that goes along with the stream's head.
    var atHead: [ReplicaID: MerkleCache] = [:]
    /// By replica: the Merkle cache that stands where the last run ended that was shipped.
    var shipped: [ReplicaID: MerkleCache] = [:]
    /// By replica: where the log was opened. They start there where that is nearer than a sealed segment.
    var positions: [ReplicaID: StreamPosition] = [:]

    func forget(_ replica: ReplicaID) {
      atHead[replica] = nil
      shipped[replica] = nil
      positions[replica] = nil
    }
  }

  /// The streams and how far they go, durable commits alone, sorted by replica.
  ///
  /// Costs the hashing of what has come since the last call, the first time since the last sealed segment. A damaged stream goes up to
  /// its first bad byte, and is left out where that is in front of its first commit.
  package func streamHeads() throws(StorageError) -> [StreamHead] {
    try storageErrors {
      let known = try resolvedHeads()
      return try merkleCaches.monitor.withLock {
        try known.compactMap { head -> StreamHead? in
          guard let commit = head.commit else {
            return head.isEnded
              ? StreamHead(
                replica: head.replica, name: "", commit: CommitNumber(rawValue: 0), root: MerkleTree().root,
                isEnded: true) : nil
          }
          guard let merkleCache = try soundMerkleCache(of: head.replica, at: commit.rawValue) else {
            return nil
          }
          merkleCache.mark()
          if known.count > OpenFileBudget.streamsMax { merkleCache.rest() }
          return StreamHead(
            replica: head.replica, name: head.name ?? merkleCache.name,
            commit: CommitNumber(rawValue: merkleCache.position), root: merkleCache.tree.root,
            isEnded: head.isEnded && merkleCache.position == commit.rawValue)
        }
      }
    }
  }

  /// The root of a stream after a commit; nil where the stream is shorter.
  package func streamRoot(of replica: ReplicaID, at commit: CommitNumber) throws(StorageError) -> Digest? {
    try storageErrors {
      guard let head = head(of: replica), commit <= head else { return nil }
      return try merkleCaches.monitor.withLock {
        if let marked = merkleCaches.atHead[replica]?.markedTree(at: commit.rawValue) { return marked.root }
        let merkleCache = try MerkleCache(
          directory, replica: replica, before: CommitNumber(rawValue: commit.rawValue + 1))
        try merkleCache.advance(to: commit.rawValue)
        return merkleCache.tree.root
      }
    }
  }

  /// The next run of a stream behind `commit` (0: from the start), up to `last` at most; nil where there is none.
  ///
  /// A run is one block: a stored one as it is, or as many commits as one may hold.
  package func streamRun(
    of replica: ReplicaID, after commit: UInt64, upTo last: CommitNumber
  ) throws(StorageError) -> StreamRun? {
    try storageErrors {
      let last = min(last, head(of: replica) ?? last)
      guard last.rawValue > commit, commit < Limits.numberMax else { return nil }
      let own = ownIdentity
      return try merkleCaches.monitor.withLock {
        let merkleCache: MerkleCache
        if let shipped = merkleCaches.shipped[replica], shipped.position == commit {
          merkleCache = shipped
        } else {
          merkleCache = try MerkleCache(
            directory, replica: replica, before: CommitNumber(rawValue: commit + 1))
          try merkleCache.advance(to: commit)
        }
        // Should reading fail half-way, the next run starts anew. Streams are shipped one after the other.
        merkleCaches.shipped = [:]
        func run(from first: CommitNumber, _ count: Int, _ body: [UInt8]) -> StreamRun {
          merkleCaches.shipped[replica] = merkleCache
          return StreamRun(
            replica: replica, name: replica == own.replica ? own.name : merkleCache.name,
            firstCommit: first, commitCount: count, body: body, root: merkleCache.tree.root)
        }
        // What is sealed is a block already: to make its commits and encode them again takes the most time and memory of all.
        if let (block, body) = try merkleCache.passStoredBlock(
          upTo: last, eventsMin: Self.storedRunEventsMin)
        {
          return run(from: block.firstCommit, block.commitCount, body)
        }
        var draft = BlockDraft()
        while merkleCache.position < last.rawValue, let (next, secrets) = try merkleCache.peek(),
          try draft.add(next, secrets: secrets, after: merkleCache.tail)
        {
          try merkleCache.pass()
        }
        guard let block = draft.takeBlock() else { return nil }
        return run(from: block.firstCommit, block.commits.count, try BlockEncoding.encode(block))
      }
    }
  }

  /// A stored block of fewer events is joined with what follows: at an eighth, a run costs its receiver less than a tenth more than a full one.
  private static let storedRunEventsMin = Limits.blockEventsMax / 8

  /// Looks whether commits of a stream can be read.
  ///
  /// What this log has read itself is sound. In front of the position at which it was opened it has read nothing yet: only there files
  /// are read, and their checksums compared.
  ///
  /// - Returns: nil where they can; else what is in the way. The first of the commits that it names is the first that cannot be read.
  package func damage(
    of replica: ReplicaID, after commit: UInt64, upTo last: CommitNumber
  ) throws(StorageError) -> Finding? {
    let known = merkleCaches.monitor.withLock { merkleCaches.positions[replica]?.commit.rawValue ?? 0 }
    let end = min(last.rawValue, known)
    guard commit < end else { return nil }
    return try storageErrors {
      let reader: StreamReader
      do {
        reader = try VerifiedReader(
          directory, replica: replica,
          to: SegmentFile(firstCommit: CommitNumber(rawValue: commit + 1), state: .open)
        ).reader
      } catch let error as StorageError where error.code == .corrupt || error.code == .malformed {
        // Reading from the start tells what is in the way, and where.
        reader = StreamReader(directory, replica: replica)
      }
      while reader.tail.next.rawValue <= end {
        switch try reader.next() {
        case .frame: break
        case .end(.corrupt(let finding)), .end(.unfinished(let finding)): return finding
        case .end(.whole):
          let next = reader.tail.next
          return Finding(
            verdict: .corrupt, replica: replica,
            error: StorageError(
              .corrupt, "the stream ends before commit \(end)", file: directory.streamPath(replica),
              commits: next...CommitNumber(rawValue: end)))
        }
      }
      return nil
    }
  }

  /// The Merkle cache of a stream at its head, or behind the last commit that can be read; nil where there is none.
  private func soundMerkleCache(of replica: ReplicaID, at commit: UInt64) throws -> MerkleCache? {
    do { return try merkleCache(of: replica, at: commit) } catch let error as StorageError
      where error.code == .corrupt
    {
      merkleCaches.atHead[replica] = nil
      let merkleCache = try MerkleCache(directory, replica: replica, before: CommitNumber(rawValue: 1))
      while merkleCache.position < commit, try merkleCache.pass() {}
      return merkleCache.position == 0 ? nil : merkleCache
    }
  }

  /// The Merkle cache of a stream, at its head or wherever it was asked to be last.
  func merkleCache(of replica: ReplicaID, at commit: UInt64) throws -> MerkleCache {
    if let merkleCache = merkleCaches.atHead[replica], merkleCache.position <= commit {
      try merkleCache.advance(to: commit)
      return merkleCache
    }
    let merkleCache = try MerkleCache(
      directory, replica: replica, before: CommitNumber(rawValue: commit + 1),
      from: merkleCaches.positions[replica])
    try merkleCache.advance(to: commit)
    merkleCaches.atHead[replica] = merkleCache
    return merkleCache
  }

  /// Where all streams stand, with everything that was ever written taken in and durable.
  ///
  /// Takes the store's lock, and lets go of it before the streams' trees are brought up to date, which costs the hashing of what has come
  /// since the last call; the first time since the last sealed segment, or since the positions at which the log was opened.
  ///
  /// - Parameter body: called in between, when the sink has exactly the commits in front of the positions. It must not call the log.
  /// - Returns: a position for each stream that has a commit, sorted by replica, and what `body` returned.
  /// - Throws: `corrupt` where a stream is damaged; `readOnly`, `locked` and others as writing does.
  package func positions<R>(_ body: () throws -> R) throws(StorageError) -> (
    positions: [StreamPosition], result: R
  ) {
    try storageErrors {
      let (tails, result) = try withQuietLog {
        (streamSet.readers.mapValues(\.tail).filter { $0.value.head != nil }, try body())
      }
      let positions = try merkleCaches.monitor.withLock {
        try tails.sorted { $0.key < $1.key }.map { replica, tail in
          let commit = tail.next.rawValue - 1
          guard let time = tail.time else { preconditionFailure("the log reads streams from their start") }
          if let position = try merkleCache(of: replica, at: commit).streamPosition(at: time) {
            return position
          }
          // What it stood in was sealed meanwhile; or it has not read the last commit, but starts behind it.
          return try MerkleCache.position(behind: commit, at: time, of: replica, in: directory, from: nil)
        }
      }
      return (positions, result)
    }
  }

  private func head(of replica: ReplicaID) -> CommitNumber? {
    monitor.withLock { streamSet.readers[replica]?.tail.head }
  }

  private struct KnownHead {
    let replica: ReplicaID
    /// What the store itself is called; nil for others.
    let name: String?
    var commit: CommitNumber?
    let isEnded: Bool
  }

  /// How far each stream goes with everything taken in and durable; of a store that cannot be written, as far as its lock's page calls
  /// its own commits durable.
  private func resolvedHeads() throws -> [KnownHead] {
    func heads() -> [KnownHead] {
      streamSet.readers.values.sorted { $0.replica < $1.replica }.map { reader in
        KnownHead(
          replica: reader.replica,
          name: reader.replica == streamSet.identity.replica ? streamSet.identity.name : nil,
          commit: reader.tail.head, isEnded: reader.isEnded)
      }
    }
    do {
      return try withQuietLog { heads() }
    } catch let error as StorageError where error.code == .readOnly || error.code == .corrupt {
      try refresh()
    }
    var known = monitor.withLock { heads() }
    let page = lease.lock.page()
    guard page.durableBytes > 0 else { return known }
    guard let own = known.firstIndex(where: { $0.replica == page.replica }), let head = known[own].commit
    else { return known }
    let merkleCache = try MerkleCache(
      directory, replica: page.replica, before: CommitNumber(rawValue: max(1, page.firstCommit)))
    while merkleCache.position < head.rawValue,
      !merkleCache.isAtEnd(durable: (page.segment, page.durableBytes))
    {
      try merkleCache.pass()
    }
    // Where the stream is damaged, the segment that the page speaks of may lie behind the damage.
    let durable = min(merkleCache.position, head.rawValue)
    known[own].commit = durable == 0 ? nil : CommitNumber(rawValue: durable)
    return known
  }
}
