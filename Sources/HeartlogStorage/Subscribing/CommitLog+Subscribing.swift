import HeartlogEvents
import HeartlogFiles

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

  /// What is here of the content of partial streams of the store in a folder.
  package static func coverages(
    at path: String, on fileSystem: any FileSystem
  ) throws(StorageError) -> [ReplicaID: Coverage] {
    try Subscription.read(StoreDirectory(fileSystem: fileSystem, path: path)).partial
  }

  /// Records streams as partial if events are withheld in them for no known reason: the list of partial streams was lost.
  package func noteUnexplained() throws(StorageError) {
    let path = Subscription.path(in: directory)
    guard try onFiles({ () throws(FileError) in try directory.fileSystem.info(path) }) == nil else { return }
    try storageErrors {
      try withQuietLog {
        var subscription = try Subscription.read(directory)
        for reader in streamSet.readers.values where reader.replica != streamSet.identity.replica {
          guard let head = reader.tail.head else { continue }
          let all = CommitNumber(rawValue: 1)...head
          guard try !isExplained(all, of: reader.replica) else { continue }
          subscription[reader.replica] = Coverage(.only([]), from: all.lowerBound)
        }
        // Written in any case: nothing has to be looked for again.
        try subscription.write(in: directory, options)
      }
    }
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

  /// The number of events that a run has without content.
  package func withheldCount(in run: StreamRun) throws(StorageError) -> Int {
    try storageErrors {
      let block = try RunReceiver.block(of: run)
      return block.columns.hasWithheldEvents ? Block(block).withheldCount : 0
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
      let content = Block(block).reduced(
        to: try subscribedLibraries(), without: withStreams { streamSet.erased.withheld })
      let completed = try completeSegments(with: content)
      try withQuietLog {
        guard let head = streamSet.readers[run.replica]?.tail.head, head >= block.lastCommit else { return }
        var subscription = try Subscription.read(directory)
        let arrived = run.libraries(of: block, explainedBy: streamSet.erased.withheld)
          .intersection(subscription.libraries)
        let coverage = subscription[run.replica]
        subscription[run.replica] = coverage.completed(
          block.firstCommit...block.lastCommit, with: arrived, head: head)
        if subscription[run.replica] != coverage { try subscription.write(in: directory, options) }
      }
      return completed
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

  /// Rewrites the segments that lack content of some commits. Others may join segments in between: each is looked up by the commits.
  private func completeSegments(with content: Block) throws -> Int {
    var completed = 0
    var next = content.firstCommit
    while next <= content.lastCommit {
      let after = try withQuietLog { () -> CommitNumber? in
        if let end = try StreamEnd.read(of: content.replica, in: directory) {
          try removeSegments(behind: end, of: content.replica)
        }
        let segments = try directory.servingSegments(of: content.replica).serving
        guard let index = segments.lastIndex(where: { $0.firstCommit <= next }) else { return nil }
        completed += try rewriteSegment(
          from: segments[index].firstCommit, of: content.replica, completing: content)
        return index + 1 < segments.count ? segments[index + 1].firstCommit : nil
      }
      guard let after else { break }
      next = after
    }
    return completed
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
      guard let head = streamSet.readers[replica]?.tail.head else { continue }
      let rest = coverage.cut(after: head)
      if let first = rest.regions.first, try !isExplained(first.start...head, of: replica) { continue }
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
