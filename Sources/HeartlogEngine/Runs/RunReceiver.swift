import HeartlogFiles
import HeartlogFormat

/// Takes runs of other replicas' commits into their streams.
///
/// - A run is taken as a whole or not at all. Everything is checked before the first byte is written.
/// - A run is durable before the reader of its stream, its Merkle tree, the clock or the projection have it.
/// - A tail is used only where the reader of its stream stands. Otherwise its file is opened again, and made durable first.
///
/// Only `ExclusiveLog` has it take a run.
final class RunReceiver {
  private let directory: StoreDirectory
  private let options: StorageOptions
  private let lease: StoreLease
  private var lock: StoreLock { lease.lock }
  private let appender: SegmentAppender
  private let streamSet: StreamSet
  private let recovery: TailRecovery

  /// The tails of received streams, as far as this process wrote them.
  private var tails: [ReplicaID: SegmentWriter] = [:]

  init(
    _ directory: StoreDirectory, _ options: StorageOptions, _ lease: StoreLease, _ appender: SegmentAppender,
    _ streamSet: StreamSet, _ recovery: TailRecovery
  ) {
    self.directory = directory
    self.options = options
    self.lease = lease
    self.appender = appender
    self.streamSet = streamSet
    self.recovery = recovery
  }

  /// Returns the runs that have to wait even if all runs are considered together, by index.
  func runsOutOfReach(_ runs: [StreamRun]) -> [Int: ReceivedRun] {
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

  static func block(of run: StreamRun) throws -> ColumnBlock {
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
  private func rejection(_ block: ColumnBlock, admitting admission: Admission) -> ReceivedRun? {
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

  /// Returns why a run cannot begin a stream; nil if it can, or continues one. A peer can make up any number of devices, and the own
  /// stream could not name more of them. So a quarter of the room is kept for members of an encrypted vault. What has been taken before, as
  /// a part of another stream or into a backup, is taken again.
  private func reasonForNoMoreStreams(than run: StreamRun, _ admission: Admission) -> String? {
    let (own, members, removed) = (streamSet.identity.replica, streamSet.members, streamSet.removed)
    let isMember = members.contains(run.replica)
    let kept = members.isEmpty ? 0 : options.streamsMax / 4
    let most = isMember ? kept : options.streamsMax - 1 - kept
    guard admission != .ownLog, run.replica != own, !removed.contains(run.replica),
      streamSet.readers[run.replica] == nil, streamSet.otherCount >= most
    else { return nil }
    let count = streamSet.readers.keys.count {
      $0 != own && !removed.contains($0) && members.contains($0) == isMember
    }
    guard count >= most else { return nil }
    return members.isEmpty
      ? "the store has \(count + 1) streams, and takes at most \(options.streamsMax)"
      : "the store has \(count) streams of devices that are \(isMember ? "" : "no ")members of the vault, and takes at most \(most)"
  }

  /// Returns why a run does not count as written by its stream's owner; nil if it does, or if the owner is not known to have a key.
  private func reasonForUnsigned(_ run: StreamRun, _ tree: MerkleTree) throws(HeartlogError) -> String? {
    if let proof = run.proof {
      return proof.covers(tree)
        ? nil : "commits \(run.firstCommit) to \(run.lastCommit) are not what the device signed"
    }
    return try streamSet.checkpoints.isSigned(run.replica)
      ? "the device signs its commits, and has not signed commit \(run.firstCommit)" : nil
  }

  /// Takes a run.
  ///
  /// - Throws: `MalformedError` if the run breaks a rule. `outcomeUnknown` if it could not be made durable: whether it is part of the
  ///   stream shows when the stream is read again.
  func take(_ run: StreamRun, admitting admission: Admission = .checked) throws -> ReceivedRun {
    guard StoreIdentity.isName(run.name) else { throw MalformedError("an invalid replica name") }
    let block = try Self.block(of: run)
    let reader = streamSet.readers[run.replica] ?? StreamReader(directory, replica: run.replica)
    if reader.isEnded || streamSet.dropped.contains(run.replica) { return .known }
    if let full = reasonForNoMoreStreams(than: run, admission) { return .full(full) }
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

    return try streamSet.merkleCaches.monitor.withLock {
      let merkleCache = try streamSet.merkleCaches.cache(of: run.replica, at: reader.tail.next.rawValue - 1)
      assert(
        merkleCache.tree.size + 1 == reader.tail.next.rawValue, "the tree is over the commits that are here")
      var tree = merkleCache.tree
      try LeafHashing.append(new, to: &tree)
      assert(tree.size + 1 == tail.next.rawValue, "the tree is over the commits before the tail")
      guard tree.root == run.root else { return .diverged }
      if admission != .ownLog, let unsigned = try reasonForUnsigned(run, tree) { return .unsigned(unsigned) }
      if let left = rejection(new, admitting: admission) { return left }

      if run.replica == streamSet.identity.replica {
        try recovery.becomeNewReplica(at: try StoreIdentity.Location.of(directory))
      }
      let kept = try content(of: new, in: run, block.secrets, behind: reader.tail)
      assert(
        kept.block.commitCount == new.commitCount && kept.block.eventCount == new.eventCount,
        "what is withheld is still counted")
      let writer = try receivingSegment(of: run, reader: reader, tree: merkleCache.tree)
      assert(
        writer.header.replica == run.replica && writer.durableOffset == writer.offset,
        "a run follows what is durable of its stream")
      let written = writer.offset
      try append(kept.body, new, to: writer)
      assert(
        writer.durableOffset == writer.offset && writer.offset > written,
        "a run is durable before anything else has it")

      reader.didAppend(upTo: tail)
      reader.didWrite(to: writer.file, path: writer.path, header: writer.header, offset: writer.offset)
      streamSet.readers[run.replica] = reader
      if tails.count >= OpenFileBudget.streamsMax { restTails(but: run.replica) }
      tails[run.replica] = writer
      assert(tails.count <= OpenFileBudget.streamsMax, "few files are kept open")
      merkleCache.didAppend(upTo: tail, tree: tree, name: run.name, to: writer)
      merkleCache.mark()
      let changedItems = streamSet.receive(kept.block)
      return .appended(
        commits: new.commitCount, events: new.eventCount, changedItems: changedItems)
    }
  }

  /// The new commits of a run as they are written: without what was erased, and without secrets that no event with content confirms.
  private func content(
    of new: ColumnBlock, in run: StreamRun, _ secrets: [SegmentSecret], behind tail: StreamTail
  ) throws -> (body: [UInt8], block: ColumnBlock) {
    let erased = streamSet.erased.withheld
    guard erased.affects(new) || new.columns.hasWithheldEvents else {
      return (new.isWhole ? run.body : try BlockEncoding.encode(new, after: tail.seenHeads), new)
    }
    let part = Block(
      replica: run.replica, firstCommit: new.firstCommit, headsAtStart: tail.seenHeads,
      secrets: Salts(secrets).secrets(serving: new.firstCommit...new.lastCommit), commits: new.commits())
    // Listed, so that secrets that lead to their salts are left out of later runs, too.
    let places = erased.contents(of: part.commits, secrets: part.secrets).map(\.place)
    if !places.isEmpty { try streamSet.erased.add(places) }
    let rest = part.reduced(without: erased)
    let body = try BlockEncoding.encode(rest)
    let kept = try body.withUnsafeBytes {
      try BlockEncoding.decodeColumns(
        $0, replica: run.replica, firstCommit: rest.firstCommit, commitCount: rest.commits.count)
    }
    return (body, kept)
  }

  /// Whether the segment that the last run of a stream was appended to is full.
  func isTailFull(of replica: ReplicaID) -> Bool {
    tails[replica].map { $0.offset >= options.segmentBytesMax } ?? false
  }

  /// Closes the tail of a stream, which is about to be replaced.
  func forgetTail(of replica: ReplicaID) { tails[replica] = nil }

  /// Closes all tails.
  func forgetTails() { tails = [:] }

  /// Closes the files of other received streams.
  private func restTails(but replica: ReplicaID) {
    for (other, _) in tails where other != replica {
      tails[other] = nil
      streamSet.readers[other]?.rest()
      streamSet.merkleCaches.atHead[other]?.rest()
    }
  }

  /// Whether all commits of a run are here and identical.
  private func isPast(_ run: StreamRun) throws -> Bool {
    try streamSet.merkleCaches.monitor.withLock {
      try streamSet.merkleCaches.root(of: run.replica, at: run.lastCommit.rawValue) == run.root
    }
  }

  /// Returns the open segment of a received stream, or a new one if there is none or it is full.
  private func receivingSegment(
    of run: StreamRun, reader: StreamReader, tree: MerkleTree
  ) throws -> SegmentWriter {
    var tail = tails[run.replica]
    if tail == nil || tail?.file !== reader.cursor?.file || tail?.offset != reader.cursor?.offset
      || streamSet.ends[run.replica] != nil
    {
      tail = try recovery.openReceivedTail(of: reader)
    }
    if let tail, tail.offset < options.segmentBytesMax { return tail }
    if reader.tail.next.rawValue == 1 { try directory.makeStreamFolder(of: run.replica) }
    let created = try SegmentWriter.create(
      in: directory, of: run.replica, named: run.name, firstCommit: reader.tail.next,
      firstSequence: reader.tail.nextSequence, behind: (tree.size, tree.frontier), options, aheadBytes: 0)
    lock.update { $0.structure &+= 1 }
    return created
  }

  private func append(_ body: [UInt8], _ block: ColumnBlock, to writer: SegmentWriter) throws(HeartlogError) {
    lock.update { _ in }
    lock.beginReceiving(writer.header.replica)
    do {
      try writer.append(
        block: Frame.Body(stored: body), firstCommit: block.firstCommit,
        commitCount: UInt32(block.commitCount))
    } catch {
      // Any other failed write was taken back, durably.
      if error.code != .outcomeUnknown { lock.endReceiving() }
      throw error
    }
    do { try writer.synchronize() } catch {
      tails[writer.header.replica] = nil
      throw appender.suspend(writer, because: error.description)
    }
    lock.endReceiving()
    lock.update { _ in }
  }
}

/// Commits of other replicas, received from other stores.
extension CommitLog {
  /// Takes a run of another replica's commits: all of it, durable and part of the state, or nothing.
  ///
  /// It must continue the stream: numbers, sequences, stamps, heads, limits, and the root after it are checked before a byte is
  /// written. If the first commits of a run are already here, the rest is taken. A sound run may have to wait, or be refused. The
  /// store never shares its replica: if a run continues the store's own stream, which a restored copy does not know, the store writes
  /// as another replica from then on.
  package func receive(_ run: StreamRun) throws(HeartlogError) -> ReceivedRun {
    try exclusively { try $0.take(run) }
  }

  /// Takes runs that wait for each other. Their stamps are checked as if the store had all of them, as far as each stamp is within
  /// reach of the ones before it.
  ///
  /// - Parameter runs: Runs of any streams; those of one stream in order.
  /// - Returns: The result for each run.
  package func receive(together runs: [StreamRun]) throws(HeartlogError) -> [ReceivedRun] {
    try exclusively { log in
      let waiting = receiver.runsOutOfReach(runs)
      return try runs.enumerated().map { index, run in
        if let outcome = waiting[index] { return outcome }
        do { return try log.take(run, admitting: .reachableStamps) } catch let error as MalformedError {
          // The other runs can still be taken.
          return .waiting("it breaks a rule: \(error.reason)")
        }
      }
    }
  }

  /// Takes a run of a backup. Whatever the store had accepted is accepted again: its stamps, and commits that their device has not signed.
  package func restore(_ run: StreamRun) throws(HeartlogError) -> ReceivedRun {
    try exclusively { try $0.take(run, admitting: .ownLog) }
  }

  /// Makes durable what a receiver left that was killed, or whose fsync failed, if the log may be written. Nothing can name it before.
  package func makeReceivedDurable() throws(HeartlogError) {
    guard lock.isReceiving, access.isWritable else { return }
    try exclusively { _ in }
  }
}

extension ExclusiveLog {
  /// Takes a run.
  func take(_ run: StreamRun, admitting admission: RunReceiver.Admission = .checked) throws -> ReceivedRun {
    let outcome = try receiver.take(run, admitting: admission)
    if case .appended = outcome {
      queue.looksForHeads = true
      if receiver.isTailFull(of: run.replica) { log.didRotate() }
      if admission != .ownLog { try keepFirstCheckpoint(of: run) }
    }
    return outcome
  }

  /// Keeps the checkpoint that a run leads to, if it is the first of the stream: another sync would take the stream for that of a device
  /// without a key. Whoever received the run takes the checkpoint next, and is told then if it cannot be kept; the run was taken already.
  ///
  private func keepFirstCheckpoint(of run: StreamRun) throws {
    guard let signed = run.proof?.checkpoint, signed.checkpoint.size == run.lastCommit.rawValue,
      try !streamSet.checkpoints.isSigned(run.replica)
    else { return }
    try? streamSet.checkpoints.write(signed)
  }
}
