import HeartlogEvents

/// Subscribing to some libraries, and completing the content of streams of which only some was taken.
extension CommitLog {
  /// The libraries whose content the store takes from others.
  ///
  /// - Throws: `corrupt` if the list is damaged.
  package func subscribedLibraries() throws(StorageError) -> LibrarySelection {
    try Subscription.read(directory).libraries
  }

  /// What is here of each partial stream's content.
  ///
  /// - Throws: `corrupt` if the list is damaged.
  package func coverages() throws(StorageError) -> [ReplicaID: Coverage] {
    try Subscription.read(directory).partial
  }

  /// Takes the content of these libraries from now on. What is here stays.
  package func subscribe(to libraries: LibrarySelection) throws(StorageError) {
    try storageErrors {
      try withQuietLog {
        let subscription: Subscription
        do throws(StorageError) {
          var changed = try Subscription.read(directory)
          guard changed.libraries != libraries else { return }
          changed.libraries = libraries
          subscription = changed
        } catch {
          guard error.code == .corrupt else { throw error }
          let others = try directory.replicas().filter { $0 != streamSet.identity.replica }
          subscription = Subscription(to: libraries, withoutContentOf: others)
        }
        try subscription.write(in: directory, options)
      }
    }
  }

  /// A run without the content that a subscriber of these libraries does not take; nil if it contains none of it.
  package func redacted(
    _ run: StreamRun, to libraries: LibrarySelection
  ) throws(StorageError) -> StreamRun? {
    try storageErrors {
      guard let rest = libraries.redacted(try RunReceiver.block(of: run)) else { return nil }
      return try run.with(rest)
    }
  }

  /// Takes content that is withheld here from a run of commits that are here. No commit changes, and no hash.
  ///
  /// The state is behind the log until the next `erase` has finished: that makes every process read the log anew.
  ///
  /// - Returns: The number of events whose content arrived; nil if the commits are not those of the stream here.
  package func complete(with run: StreamRun) throws(StorageError) -> Int? {
    try storageErrors {
      let found = try RunReceiver.block(of: run)
      guard let head = withStreams({ streamSet.readers[run.replica]?.tail.head }), run.firstCommit <= head
      else { return nil }
      let block = found.cut(to: run.firstCommit...min(run.lastCommit, head))
      guard try isOwn(block) else { return nil }
      var content = Block(block).withoutWithheldSecrets
      content = try subscribedLibraries().redacted(content) ?? content
      content = withStreams { streamSet.erased.withheld }.redacted(content) ?? content
      return try completeSegments(with: content)
    }
  }

  /// Whether the commits of a block, and all secrets that events with content confirm, are those of the stream here.
  private func isOwn(_ block: ColumnBlock) throws -> Bool {
    try streamSet.merkleCaches.monitor.withLock {
      let merkleCache = try MerkleCache(directory, replica: block.replica, before: block.firstCommit)
      try merkleCache.advance(to: block.firstCommit.rawValue - 1)
      var tree = merkleCache.tree
      try LeafHashing.append(block, to: &tree)
      try merkleCache.advance(to: block.lastCommit.rawValue)
      return merkleCache.tree.root == tree.root
    }
  }

  private func completeSegments(with content: Block) throws -> Int {
    var completed = 0
    let commits = content.firstCommit...content.lastCommit
    let segments = try directory.servingSegments(of: content.replica).serving
    for (index, segment) in segments.enumerated() where segment.firstCommit <= commits.upperBound {
      if index + 1 < segments.count, segments[index + 1].firstCommit <= commits.lowerBound { continue }
      try withQuietLog {
        // No snapshot may be made of a state that is behind the log.
        try markContentAsChanging()
        if let end = try StreamEnd.read(of: content.replica, in: directory) {
          try removeSegments(behind: end, of: content.replica)
        }
        completed += try rewriteSegment(from: segment.firstCommit, of: content.replica, completing: content)
      }
    }
    return completed
  }

  /// Records that content of a stream has arrived: see `Coverage.completed`.
  package func didComplete(
    _ commits: ClosedRange<CommitNumber>, of replica: ReplicaID, with libraries: LibrarySelection
  ) throws(StorageError) {
    try storageErrors {
      try withQuietLog {
        guard let head = streamSet.readers[replica]?.tail.head else { return }
        var subscription = try Subscription.read(directory)
        let libraries = libraries.intersection(subscription.libraries)
        // Who says that it was everything must have left nothing out.
        guard try libraries != .all || isExplained(commits, of: replica) else { return }
        subscription[replica] = subscription[replica].completed(commits, with: libraries, head: head)
        try subscription.write(in: directory, options)
      }
    }
  }

  /// Takes partial streams for whole of which nothing is missing but what was erased. The log is quiet.
  func noteExplained() throws {
    let subscription: Subscription
    do throws(StorageError) { subscription = try Subscription.read(directory) } catch {
      // Until somebody subscribes again, everything counts as missing.
      guard error.code == .corrupt else { throw error }
      return
    }
    var changed = subscription
    for (replica, coverage) in subscription.partial {
      guard let head = streamSet.readers[replica]?.tail.head,
        try coverage.start > head || isExplained(coverage.start...head, of: replica)
      else { continue }
      changed[replica] = .whole
    }
    if changed != subscription { try changed.write(in: directory, options) }
  }

  /// Whether no event of some commits is withheld but those that were erased.
  private func isExplained(_ commits: ClosedRange<CommitNumber>, of replica: ReplicaID) throws -> Bool {
    let erased = streamSet.erased.withheld
    let reader = StreamReader(directory, replica: replica)
    while reader.tail.next <= commits.upperBound, case .frame(let frame, _) = try reader.next() {
      guard case .block(let block) = frame, block.lastCommit >= commits.lowerBound,
        block.firstCommit <= commits.upperBound
      else { continue }
      if !erased.explains(block.cut(to: commits)) { return false }
    }
    return reader.tail.next > commits.upperBound
  }
}
