import HeartlogFiles
import HeartlogFormat

/// What other stores may receive from this one: durable commits, with the roots of their streams.
extension CommitLog {
  /// Returns the heads of all streams, counting only durable commits, sorted by replica.
  ///
  /// Hashes the commits since the last call; in the first call, those since the last sealed segment. A damaged stream ends at its
  /// first bad byte, and is omitted if that is before its first commit.
  ///
  /// - Parameters:
  ///   - replica: The only stream that is asked for; nil for all.
  ///   - includesUnsigned: Whether commits behind a stream's checkpoint count. They are not shipped, but backed up.
  /// - Throws: `corrupt` if they count and the stream is damaged.
  package func streamHeads(
    of replica: ReplicaID? = nil, includesUnsigned: Bool = false
  ) throws(HeartlogError) -> [StreamHead] {
    defer { noteFiles() }
    return try heartlogErrors {
      let known = try resolvedHeads(of: replica)
      return try streamSet.merkleCaches.monitor.withLock {
        try known.compactMap { head -> StreamHead? in
          if !includesUnsigned, let signed = head.signed, let commit = head.commit,
            signed.checkpoint.size <= commit.rawValue
          {
            // Of a signed stream, only what is signed is shipped.
            return StreamHead(
              replica: head.replica, name: head.name ?? head.fileName,
              commit: CommitNumber(rawValue: signed.checkpoint.size), root: signed.checkpoint.root,
              checkpoint: signed,
              holdsMore: signed.checkpoint.size < commit.rawValue)
          }
          guard let commit = head.commit else {
            return head.isEnded
              ? StreamHead(
                replica: head.replica, name: "", commit: CommitNumber(rawValue: 0), root: MerkleTree().root,
                isEnded: true) : nil
          }
          let sound = try streamSet.merkleCaches.soundCache(of: head.replica, at: commit.rawValue)
          guard !includesUnsigned || sound?.position == commit.rawValue else {
            throw HeartlogError.tooShort(head.replica, before: commit.rawValue, in: directory)
          }
          guard let merkleCache = sound else { return nil }
          merkleCache.mark()
          if streamSet.readers.count > OpenFileBudget.streamsMax { merkleCache.rest() }
          return StreamHead(
            replica: head.replica, name: head.name ?? merkleCache.name,
            commit: CommitNumber(rawValue: merkleCache.position), root: merkleCache.tree.root,
            isEnded: head.isEnded && merkleCache.position == commit.rawValue)
        }
      }
    }
  }

  /// Returns the root of a stream after a commit; nil if the stream is shorter.
  package func streamRoot(of replica: ReplicaID, at commit: CommitNumber) throws(HeartlogError) -> Digest? {
    try heartlogErrors {
      guard let head = head(of: replica), commit <= head else { return nil }
      return try streamSet.merkleCaches.monitor.withLock {
        try streamSet.merkleCaches.root(of: replica, at: commit.rawValue)
      }
    }
  }

  /// Returns what leads from a stream's tree over `size` commits to the one over `end` commits: the roots of
  /// `MerkleSubtree.covering` for the commits between them.
  ///
  /// Hashes the commits that no call has hashed before, in the first call from the nearest sealed segment on.
  ///
  /// - Throws: `corrupt` if the stream is shorter or damaged.
  package func treeExtension(
    of replica: ReplicaID, from size: UInt64, to end: UInt64
  ) throws(HeartlogError) -> [Digest] {
    precondition(size <= end && end <= Limits.numberMax, "a tree that shrinks")
    defer { noteFiles() }
    return try heartlogErrors { try roots(of: MerkleSubtree.covering(size..<end), in: replica, size: end) }
  }

  /// Returns the next run of a stream after `commit` (0: from the start), up to and including `last`; nil if there is none.
  ///
  /// A run is one block: a stored block as it is, a part of one, or as many commits as a block may contain.
  package func streamRun(
    of replica: ReplicaID, after commit: UInt64, upTo last: CommitNumber
  ) throws(HeartlogError) -> StreamRun? {
    defer { noteFiles() }
    return try heartlogErrors {
      let last = min(last, head(of: replica) ?? last)
      guard last.rawValue > commit, commit < Limits.numberMax else { return nil }
      let own = ownIdentity
      return try streamSet.merkleCaches.monitor.withLock {
        // A cache whose segment another process has sealed finds no commit behind it. A new one finds the sealed segment.
        for _ in 0..<16 {
          if let run = try nextRun(of: replica, own, after: commit, upTo: last) { return run }
        }
        return nil
      }
    }
  }

  /// Returns the next run of a stream; nil if the segments changed while they were read.
  private func nextRun(
    of replica: ReplicaID, _ own: StoreIdentity, after commit: UInt64, upTo last: CommitNumber
  ) throws -> StreamRun? {
    let merkleCache: MerkleCache
    if let shipped = streamSet.merkleCaches.shipped[replica], shipped.position == commit {
      merkleCache = shipped
    } else {
      merkleCache = try MerkleCache(
        directory, replica: replica, before: CommitNumber(rawValue: commit + 1))
      try merkleCache.advance(to: commit)
    }
    assert(merkleCache.position == commit, "a run follows the commit")
    // If reading fails, the next run starts with a new cache. Streams are shipped one after the other.
    streamSet.merkleCaches.shipped = [:]
    func run(from first: CommitNumber, _ count: Int, _ body: [UInt8]) -> StreamRun {
      assert(
        first.rawValue + UInt64(count) == merkleCache.position + 1,
        "the root of a run is that after its last commit")
      streamSet.merkleCaches.shipped[replica] = merkleCache
      return StreamRun(
        replica: replica, name: replica == own.replica ? own.name : merkleCache.name,
        firstCommit: first, commitCount: count, body: body, root: merkleCache.tree.root)
    }
    // Sealed commits are already a block. Decoding and encoding them again would cost the most time and memory of all.
    if let (block, body) = try merkleCache.passBlock(
      upTo: last, eventsMin: Self.storedRunEventsMin)
    {
      return run(from: block.firstCommit, block.commitCount, body)
    }
    var draft = BlockDraft()
    while merkleCache.position < last.rawValue, draft.events < options.runEventsMax,
      let (next, secrets) = try merkleCache.peek(),
      try draft.add(next, secrets: secrets, after: merkleCache.tail)
    {
      try merkleCache.pass()
    }
    guard let block = draft.takeBlock() else { return nil }
    return run(from: block.firstCommit, block.commits.count, try BlockEncoding.encode(block))
  }

  /// A stored block with fewer events is joined with what follows. At an eighth of a full block, a run costs its receiver less than a
  /// tenth more than a full one.
  private static let storedRunEventsMin = Limits.blockEventsMax / 8

  /// Checks whether commits of a stream can be read.
  ///
  /// What this log has read itself is sound. Commits before the position at which it was opened have not been read yet: only for
  /// these, files are read and their checksums compared.
  ///
  /// - Returns: nil if they can be read, otherwise what prevents it. The first commit of the finding is the first that cannot be
  ///   read.
  package func damage(
    of replica: ReplicaID, after commit: UInt64, upTo last: CommitNumber
  ) throws(HeartlogError) -> Finding? {
    let known = streamSet.merkleCaches.monitor.withLock {
      streamSet.merkleCaches.positions[replica]?.commit.rawValue ?? 0
    }
    let end = min(last.rawValue, known)
    guard commit < end else { return nil }
    return try heartlogErrors {
      let reader: StreamReader
      do {
        reader = try VerifiedReader(
          directory, replica: replica,
          to: SegmentFile(firstCommit: CommitNumber(rawValue: commit + 1), state: .open)
        ).reader
      } catch let error as HeartlogError where error.code == .corrupt || error.code == .invalid {
        // Reading from the start finds the damage and its position.
        reader = StreamReader(directory, replica: replica)
      }
      while reader.tail.next.rawValue <= end {
        switch try reader.next() {
        case .frame: break
        case .end(let finding):
          return finding
            ?? Finding(
              verdict: .corrupt, replica: replica,
              error: HeartlogError(
                .corrupt, "the stream ends before commit \(end)", file: directory.streamPath(replica),
                commits: reader.tail.next...CommitNumber(rawValue: end)))
        }
      }
      return nil
    }
  }

  private func head(of replica: ReplicaID) -> CommitNumber? {
    withStreams { streamSet.readers[replica]?.tail.head }
  }

  private struct KnownHead {
    let replica: ReplicaID
    /// The name of this store's replica; nil for others.
    let name: String?
    /// The replica's name in the segment that was read last.
    let fileName: String
    var commit: CommitNumber?
    let isEnded: Bool
    /// What was signed of the stream when it had come so far: another process may write and sign more at any other time.
    let signed: SignedCheckpoint?
  }

  /// Returns the head of each stream, with everything read and durable. If the store cannot be written, its own stream ends at what
  /// the lock page records as durable.
  private func resolvedHeads(of replica: ReplicaID?) throws -> [KnownHead] {
    func heads() throws(HeartlogError) -> [KnownHead] {
      let readers =
        replica.map { [$0] }?.compactMap { streamSet.readers[$0] } ?? Array(streamSet.readers.values)
      return try readers.sorted { $0.replica < $1.replica }.map { (reader) throws(HeartlogError) in
        KnownHead(
          replica: reader.replica,
          name: reader.replica == streamSet.identity.replica ? streamSet.identity.name : nil,
          fileName: reader.cursor?.header.replicaName ?? "",
          commit: reader.tail.head, isEnded: reader.isEnded,
          signed: reader.isEnded ? nil : try checkpoint(of: reader.replica))
      }
    }
    do { return try exclusively { _ in try heads() } } catch {
      guard error.code == .readOnly || error.code == .corrupt else { throw error }
      try refresh()
    }
    var known = try withStreams { try heads() }
    let page = lock.page()
    guard page.durableBytes > 0 else { return known }
    guard let own = known.firstIndex(where: { $0.replica == page.replica }), let head = known[own].commit
    else { return known }
    let merkleCache = try MerkleCache(
      directory, replica: page.replica, before: CommitNumber(rawValue: max(1, page.firstCommit)))
    while merkleCache.position < head.rawValue,
      !merkleCache.isAtEnd(durable: (page.segment, page.durableBytes)), try merkleCache.pass()
    {}
    // If the stream is damaged, the segment recorded in the page may be after the damage.
    let durable = min(merkleCache.position, head.rawValue)
    known[own].commit = durable == 0 ? nil : CommitNumber(rawValue: durable)
    return known
  }
}
