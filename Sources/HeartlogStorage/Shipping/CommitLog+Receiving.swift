import HeartlogEvents
import HeartlogFiles

/// Commits of other replicas, received from other stores.
extension CommitLog {
  /// Takes a run of another replica's commits: all of it, durable and part of the state, or nothing.
  ///
  /// It must continue the stream: numbers, sequences, stamps, heads, limits, and the root after it are checked before a byte is
  /// written. If the first commits of a run are already here, the rest is taken. A sound run may have to wait, or be refused. The
  /// store never shares its replica: if a run continues the store's own stream, which a restored copy does not know, the store writes
  /// as another replica from then on.
  package func receive(_ run: StreamRun) throws(StorageError) -> ReceivedRun {
    try storageErrors {
      try withQuietLog { try takeRun(run) }
    }
  }

  /// Takes runs that wait for each other. Their stamps are checked as if the store had all of them, as far as each stamp is within
  /// reach of the ones before it.
  ///
  /// - Parameter runs: Runs of any streams; those of one stream in order.
  /// - Returns: The result for each run.
  package func receive(together runs: [StreamRun]) throws(StorageError) -> [ReceivedRun] {
    try storageErrors {
      try withQuietLog {
        let waiting = try runsOutOfReach(runs)
        var outcomes: [ReceivedRun] = []
        for (index, run) in runs.enumerated() {
          outcomes.append(
            try waiting[index] ?? Self.orBroken { try takeRun(run, admitting: .reachableStamps) })
        }
        return outcomes
      }
    }
  }

  /// Converts a broken rule to a result, so that the other runs can still be taken.
  private static func orBroken(_ take: () throws -> ReceivedRun) throws -> ReceivedRun {
    do { return try take() } catch let error as MalformedError {
      return .waiting("it breaks a rule: \(error.reason)")
    }
  }

  /// Returns the runs that have to wait even if all runs are considered together, by index.
  private func runsOutOfReach(_ runs: [StreamRun]) throws -> [Int: ReceivedRun] {
    var rising: [(stamp: HybridTimestamp, run: Int, commit: CommitNumber)] = []
    var refused: Set<ReplicaID> = []
    for (index, run) in runs.enumerated() {
      // A run that cannot be decoded is refused when it is taken.
      guard let block = try? Self.block(of: run) else {
        refused.insert(run.replica)
        continue
      }
      // The stamps of a refused run do not count for others, nor do those of later runs in its stream.
      if block.latestWallTime > Limits.clockMillisecondsMax { refused.insert(run.replica) }
      guard !refused.contains(run.replica) else { continue }
      let stamps = block.columns.commits.stamps
      rising += block.commitIndices.map { (stamps[$0], index, block.number(at: $0)) }
    }
    rising.sort { $0.stamp < $1.stamp }
    var waiting: [Int: ReceivedRun] = [:]
    while true {
      var reach = streamSet.clock
      guard let index = rising.firstIndex(where: { !reach.receive(ifReached: $0.stamp) }) else {
        return waiting
      }
      for (stamp, run, commit) in rising[index...] where waiting[run] == nil {
        waiting[run] = Self.waiting(for: stamp, of: commit)
      }
      // A run waits as a whole, so runs that depend on its earlier commits wait too.
      rising.removeAll { waiting[$0.run] != nil }
    }
  }

  private static func waiting(for stamp: HybridTimestamp, of commit: CommitNumber) -> ReceivedRun {
    .waiting(
      "commit \(commit) has a stamp of \(RFC3339.text(stamp.milliseconds)), and nothing in this store leads up to it"
    )
  }

  private static func block(of run: StreamRun) throws -> ColumnBlock {
    try run.body.withUnsafeBytes { bytes in
      try BlockEncoding.decodeColumns(
        bytes, replica: run.replica, firstCommit: run.firstCommit, commitCount: run.commitCount)
    }
  }

  /// Which checks a run does not need, because they were already made.
  enum Admission {
    /// The run comes from a peer.
    case checked
    /// The run comes from a peer, and its stamps are known to be within reach.
    case reachableStamps
    /// The run consists of commits of this log.
    case ownLog
  }

  /// Returns why a sound run is not taken; nil if it can be taken. Source: docs/format.md, "Received streams".
  private func reasonToLeave(_ block: ColumnBlock, admitting admission: Admission) -> ReceivedRun? {
    guard admission != .ownLog else { return nil }
    let commits = block.columns.commits
    if let index = block.commitIndices.first(where: { commits.wallTimes[$0] > Limits.clockMillisecondsMax }) {
      return .refused(
        "commit \(block.number(at: index)) was written when a clock said \(RFC3339.text(commits.wallTimes[index])); "
          + "no clock is trusted beyond the year 2199")
    }
    guard admission == .checked,
      let index = streamSet.clock.firstOutOfReach(of: commits.stamps[block.commitIndices])
    else { return nil }
    return Self.waiting(for: commits.stamps[index], of: block.number(at: index))
  }

  /// Takes a run. The log is quiet.
  func takeRun(_ run: StreamRun, admitting admission: Admission = .checked) throws -> ReceivedRun {
    guard StoreIdentity.isName(run.name) else { throw MalformedError("an invalid replica name") }
    let block = try Self.block(of: run)
    let reader = streamSet.readers[run.replica] ?? StreamReader(directory, replica: run.replica)
    if reader.isEnded { return .known }
    try recovery.resolve(reader)
    if run.lastCommit.rawValue < reader.tail.next.rawValue {
      return try isPast(run) ? .known : .diverged
    }
    guard run.firstCommit <= reader.tail.next else { return .gap }
    let isContinued = run.firstCommit == reader.tail.next
    guard !isContinued || block.headsAtStart == reader.tail.seenHeads else {
      throw MalformedError("a run whose heads are not those of the commits before it")
    }
    let new = isContinued ? block : block.cut(to: reader.tail.next...run.lastCommit)
    var tail = reader.tail
    try tail.extend(by: new)

    return try streamSet.trees.monitor.withLock {
      let merkleCache = try streamSet.trees.cache(of: run.replica, at: reader.tail.next.rawValue - 1)
      var tree = merkleCache.tree
      try LeafHashing.append(new, to: &tree)
      guard tree.root == run.root else { return .diverged }
      if let left = reasonToLeave(new, admitting: admission) { return left }

      if run.replica == streamSet.identity.replica {
        try recovery.becomeNewReplica(at: try StoreIdentity.Location.of(directory))
      }
      var body = run.body
      if !isContinued {
        body = try BlockEncoding.encode(
          Block(
            replica: run.replica, firstCommit: new.firstCommit, headsAtStart: reader.tail.seenHeads,
            secrets: Salts(block.secrets).secrets(serving: new.firstCommit...run.lastCommit),
            commits: new.commits()))
      }
      let before = (tree: merkleCache.tree, tail: reader.tail)
      let writer = try receivingSegment(of: run, reader: reader, tree: before.tree, tail: before.tail)
      let frameOffset = writer.offset
      try append(body, new, to: writer)

      reader.didAppend(upTo: tail)
      reader.didWrite(to: writer.file, path: writer.path, header: writer.header, offset: writer.offset)
      streamSet.readers[run.replica] = reader
      queue.looksForHeads = true
      if streamSet.receivedTails.count >= OpenFileBudget.streamsMax { restReceivedTails(but: run.replica) }
      streamSet.receivedTails[run.replica] = writer
      merkleCache.didAppend(upTo: tail, tree: tree, name: run.name, to: writer, frameOffset: frameOffset)
      merkleCache.mark()
      let changedItems = streamSet.receive(new)
      if writer.offset >= options.segmentBytesMax { didRotate() }
      return .appended(
        commits: new.commitCount, events: new.eventCount, changedItems: changedItems)
    }
  }

  /// Closes the files of other received streams.
  private func restReceivedTails(but replica: ReplicaID) {
    for (other, _) in streamSet.receivedTails where other != replica {
      streamSet.receivedTails[other] = nil
      streamSet.readers[other]?.rest()
      streamSet.trees.atHead[other]?.rest()
    }
  }

  /// Whether all commits of a run are here and identical.
  private func isPast(_ run: StreamRun) throws -> Bool {
    try streamSet.trees.monitor.withLock {
      if let marked = streamSet.trees.atHead[run.replica]?.markedTree(at: run.lastCommit.rawValue) {
        return marked.root == run.root
      }
      let merkleCache = try MerkleCache(directory, replica: run.replica, before: run.lastCommit)
      try merkleCache.advance(to: run.lastCommit.rawValue)
      return merkleCache.tree.root == run.root
    }
  }

  /// Returns the open segment of a received stream, or a new one if there is none or it is full.
  private func receivingSegment(
    of run: StreamRun, reader: StreamReader, tree: MerkleTree, tail: StreamTail
  ) throws -> SegmentWriter {
    if let finding = streamSet.ends[run.replica], finding.verdict != .corrupt {
      try recovery.cutTail(finding, of: reader)
      streamSet.ends[run.replica] = nil
    }
    if let cursor = reader.cursor, let segment = reader.segment, segment.state != .sealed,
      cursor.offset < options.segmentBytesMax
    {
      if segment.state == .suspect { return try recovery.copyOfSuspect(cursor) }
      if let known = streamSet.receivedTails[run.replica], known.file === cursor.file,
        known.offset == cursor.offset
      {
        return known
      }
      let file = try directory.fileSystem.open(cursor.path, .readWrite)
      // The process that received the last run may have died before the run or the file's name was durable.
      try file.synchronizeData()
      try directory.fileSystem.synchronizeDirectory(directory.streamPath(run.replica))
      return SegmentWriter(
        file: file, path: cursor.path, header: cursor.header, offset: cursor.offset,
        durableOffset: cursor.offset, fileBytes: try file.size())
    }
    if tail.next.rawValue == 1 { try directory.makeStreamFolder(of: run.replica) }
    var generator = options.generator
    let header = SegmentHeader(
      newFor: run.replica, named: run.name, from: tail.next, tail.nextSequence,
      behind: (tree.size, tree.frontier), using: &generator)
    let created = try SegmentWriter.create(header, in: directory, suffix: generator.next(), aheadBytes: 0)
    lease.lock.update { $0.structure &+= 1 }
    return created
  }

  private func append(_ body: [UInt8], _ block: ColumnBlock, to writer: SegmentWriter) throws(StorageError) {
    lease.lock.update { _ in }
    try writer.append(
      block: Frame.Body(stored: body), firstCommit: block.firstCommit, commitCount: UInt32(block.commitCount))
    do { try writer.synchronize() } catch {
      streamSet.receivedTails[writer.header.replica] = nil
      throw appender.suspend(writer, because: error.description)
    }
    lease.lock.update { _ in }
  }
}
