import HeartlogFiles
import HeartlogFormat

/// What the lock holder does with the tails that it finds, before it writes. Source of the verdicts: docs/format.md, "Recovery".
///
/// - Every change of a stream raises the generation first. If this process dies before it is done, the next lock holder checks the files,
///   regardless of what it knew.
/// - What is cut or replaced is durable under another name first.
/// - The identity of a new replica is durable before the lock page forgets what the old one lost.
///
/// Called by the lock holder, in the log's monitor or while the log is quiet.
final class TailRecovery {
  private let directory: StoreDirectory
  private let options: StorageOptions
  private let keys: DeviceKeys
  private let lease: StoreLease
  private var lock: StoreLock { lease.lock }
  private let appender: SegmentAppender
  private let streamSet: StreamSet

  /// What recovery did since the store was opened.
  private(set) var reports: [Finding] = []
  /// A writer of this process removed permissions that other users had for the store.
  private(set) var tookPermissions = false

  init(
    _ directory: StoreDirectory, _ options: StorageOptions, _ lease: StoreLease, _ appender: SegmentAppender,
    _ streamSet: StreamSet
  ) {
    self.directory = directory
    self.options = options
    keys = streamSet.checkpoints.keys
    self.lease = lease
    self.appender = appender
    self.streamSet = streamSet
  }

  /// Prepares the own tail for writing: it is checked and repaired, and everything in it is durable. Its numbers are used by no other
  /// store, as far as this one can tell.
  ///
  /// - Throws: `corrupt` if a stream is damaged. Nothing is changed then.
  func recover() throws(HeartlogError) {
    assert(lease.isHeld, "tails are changed with the lock held")
    if let corrupt = streamSet.damage {
      let cause = corrupt.error.isNotDownloaded ? "part of it is missing" : "it is damaged"
      throw HeartlogError(
        .corrupt, "the store is read-only because \(cause): \(corrupt.error.message)",
        file: corrupt.error.file, offset: corrupt.error.offset, commits: corrupt.error.commits)
    }
    let own = streamSet.own
    let finding = streamSet.ends[streamSet.identity.replica]
    if let finding { try cutTail(finding, of: own) }
    let isResolved = own.resolvedStructure == lock.page().structure
    let missing = isResolved ? [] : streamSet.missing
    // Heads from other replicas may have arrived without a change to any file name.
    var isOver = finding?.verdict == .lost || streamSet.othersHaveSeenMoreOfOwn
    if !isOver, !isResolved {
      isOver = try self.isOver(own, missing: missing.map(\.finding) + streamSet.missingSigned)
    }
    try remember([finding].compactMap { $0?.verdict == .lost ? $0 : nil } + missing.map(\.finding))
    if !isResolved {
      if try directory.closeToOthers() { tookPermissions = true }
      // The folder may have been copied or restored before it was opened, but not while it is open.
      let location = try StoreIdentity.Location.of(directory)
      let isMoved = !location.isSame(as: streamSet.identity.location)
      if isOver || isMoved {
        try signFormer()
        try becomeNewReplica(at: location)
      } else if try lacksKey() {
        try becomeNewReplica(at: location)
      } else {
        try resolve(own)
      }
    } else if isOver {
      try signFormer()
      try becomeNewReplica(at: streamSet.identity.location)
    }
    if let finding {
      streamSet.ends[finding.replica] = nil
      reports.append(finding)
    }
    try setAside(missing, reportedOf: finding?.verdict == .lost ? own.replica : nil)
    try makeReceivedDurable()
    try recoverOwnTail(of: streamSet.own)
    assert(
      appender.writer.map { $0.durableOffset == $0.offset && $0.header.replica == streamSet.identity.replica }
        ?? true, "the own tail is durable before commits build on it")
    streamSet.own.resolvedStructure = lock.page().structure
  }

  /// Whether the store must stop writing its own stream, because its numbers were already used or nothing would read them.
  private func isOver(_ own: StreamReader, missing: [Finding]) throws(HeartlogError) -> Bool {
    if own.isEnded || missing.contains(where: { $0.replica == own.replica }) { return true }
    // A segment that begins with a block was received. In that case `store` belongs to another folder, or is older than this one.
    guard let cursor = own.cursor, own.segment?.state == .open, try cursor.wake(in: directory) else {
      return false
    }
    return try cursor.header(at: UInt64(SegmentHeader.byteCount))?.kind == FrameHeader.Kind.block
  }

  /// Reports, once, the commits that snapshots know of and the log has lost. The snapshot files are then kept under another name: nothing
  /// is read from them, and nothing that they prove is discarded.
  ///
  /// - Parameter replica: the replica whose loss is already reported.
  private func setAside(
    _ missing: [(claim: SnapshotClaim, finding: Finding)], reportedOf replica: ReplicaID?
  ) throws(HeartlogError) {
    guard !missing.isEmpty else { return }
    for file in Set(missing.map(\.claim.file)).sorted() {
      do throws(HeartlogError) {
        try directory.fileSystem.rename(file, to: file + SnapshotFile.lostEnding)
      } catch {
        // The file was removed. Snapshots may be removed at any time.
        guard error.isNotFound else { throw error }
      }
    }
    reports += missing.map(\.finding).filter { $0.replica != replica }
    streamSet.snapshots.removeAll { claim in missing.contains { $0.claim.file == claim.file } }
  }

  /// Writes down what was lost: from here on, neither the page nor a snapshot tells.
  private func remember(_ losses: [Finding]) throws(HeartlogError) {
    guard !losses.isEmpty else { return }
    let known = try LostCommits.read(directory)
    var list = known
    for loss in losses {
      if let commits = loss.error.commits { list.add(commits, of: loss.replica) }
    }
    if list != known { try list.write(in: directory, options) }
  }

  /// Ensures that data appended to a stream's tail will be read. Switches away from a segment whose commits another process has sealed and
  /// may not have removed before it died, and removes what such a process left behind. Checks again only if files of the store have
  /// changed.
  func resolve(_ reader: StreamReader) throws(HeartlogError) {
    guard reader.resolvedStructure != lock.page().structure else { return }
    let serving = try directory.servingSegments(of: reader.replica).serving
    if let segment = reader.segment, !serving.contains(segment) {
      reader.leaveSegment()
      var meter = ProgressMeter(nil, total: 0)
      try streamSet.readOn(reader.replica, lock.page(), &meter)
      guard streamSet.ends[reader.replica] == nil else {
        throw HeartlogError(
          .inputOutput, "the segments keep changing", file: directory.streamPath(reader.replica))
      }
    }
    try removeLeftovers(of: reader.replica, besides: serving)
    reader.resolvedStructure = lock.page().structure
  }

  /// Cuts the bad data from the tail of a stream, and keeps a copy of it.
  func cutTail(_ finding: Finding, of own: StreamReader) throws(HeartlogError) {
    if own.replica == streamSet.identity.replica { appender.writer = nil }
    // A finding at the start of a file is about a segment that is missing, even if another one has its name.
    guard let cursor = own.cursor, let segment = own.segment, let offset = finding.error.offset, offset > 0,
      finding.error.file == cursor.path
    else { return }
    lock.update { _ in }
    try heartlogErrors {
      // A suspect is copied up to its last whole frame, and is not written to.
      let isSuspect = segment.state == .suspect
      let file = try directory.fileSystem.open(cursor.path, isSuspect ? .read : .readWrite)
      let size = try file.size()
      guard size > offset else { return }
      try keepAside(
        try file.bytes(Int(size - offset), at: offset), as: segment.cutName(offset), in: own.replica)
      guard !isSuspect else { return }
      precondition(
        offset >= UInt64(SegmentHeader.byteCount) && offset % 8 == 0, "a tail is cut behind a whole frame")
      try file.truncate(to: offset)
      try file.synchronize()
    }
    cursor.forget()
  }

  private func keepAside(_ bytes: [UInt8], as name: String, in replica: ReplicaID) throws(HeartlogError) {
    let folder = directory.streamPath(replica)
    var path = "\(folder)/\(name)"
    var copies = 1
    while try directory.fileSystem.info(path) != nil {
      copies += 1
      path = "\(folder)/\(name).\(copies)"
    }
    try directory.fileSystem.prepareFile(path, with: bytes)
    try directory.fileSystem.synchronizeDirectory(folder)
  }

  /// Opens the tail for writing, unless this process already has it open in its current state.
  private func recoverOwnTail(of own: StreamReader) throws(HeartlogError) {
    guard let cursor = own.cursor, let segment = own.segment, segment.state != .sealed else {
      appender.writer = nil
      return
    }
    if let writer = appender.writer, writer.file === cursor.file, writer.offset == cursor.offset { return }
    let isSuspect = segment.state == .suspect
    let taken = try isSuspect ? copyOfTail(cursor) : openTail(at: cursor)
    appender.writer = taken
    own.didWrite(to: taken.file, path: taken.path, header: taken.header, offset: taken.offset)
    appender.announce(taken, isStructural: isSuspect)
  }

  /// Opens the segment of the own tail, and makes everything in it durable.
  private func openTail(at cursor: SegmentCursor) throws(HeartlogError) -> SegmentWriter {
    let page = lock.page()
    let isRecorded = page.replica == streamSet.identity.replica && page.segment == cursor.header.id
    if !isRecorded {
      // The process that created the segment may have died before its names were durable.
      try synchronizeNames(startingWith: cursor.header.firstCommit)
    }
    let file: any OpenFile =
      if let writer = appender.writer, writer.file === cursor.file {
        writer.file
      } else {
        try directory.fileSystem.open(cursor.path, .readWrite)
      }
    let writer = SegmentWriter(
      file: file, path: cursor.path, header: cursor.header, offset: cursor.offset,
      durableOffset: isRecorded ? min(page.durableBytes, cursor.offset) : UInt64(SegmentHeader.byteCount),
      fileBytes: try file.size())
    if writer.durableOffset < writer.offset {
      // Data from another process may be in memory only. No frame may declare it durable before it is.
      do { try writer.synchronize() } catch { throw appender.suspend(writer, because: error.description) }
    }
    assert(writer.durableOffset == writer.offset, "everything in a tail is durable before commits follow")
    return writer
  }

  /// Makes the directory entries on the path to a segment of the own stream durable.
  private func synchronizeNames(startingWith firstCommit: CommitNumber) throws(HeartlogError) {
    try directory.fileSystem.synchronizeDirectory(directory.streamPath(streamSet.identity.replica))
    guard firstCommit.rawValue == 1 else { return }
    try directory.fileSystem.synchronizeDirectory(directory.replicasPath)
    // A new replica's stream must not outlive the file that identifies its writer.
    try directory.fileSystem.synchronizeDirectory(directory.path)
  }

  /// Creates a file with the whole frames of a tail, which replaces it, because data that the system has cached for a file whose fsync
  /// failed may never reach the disk.
  private func copyOfTail(_ cursor: SegmentCursor) throws(HeartlogError) -> SegmentWriter {
    let folder = directory.streamPath(cursor.header.replica)
    assert(
      cursor.offset >= UInt64(SegmentHeader.byteCount) && cursor.offset % 8 == 0,
      "a tail is copied up to a whole frame")
    let offset = cursor.offset
    let bytes = try directory.fileSystem.open(cursor.path, .read).bytes(Int(offset), at: 0)
    guard bytes.count == Int(offset) else {
      throw HeartlogError(
        .inputOutput, "the segment became shorter while it was copied", file: cursor.path)
    }
    lock.update { $0.structure &+= 1 }
    let segment = SegmentFile(firstCommit: cursor.header.firstCommit, state: .open)
    let path = "\(folder)/\(segment.name)"
    try directory.replaceFile(path, with: bytes, suffix: options.random())
    if cursor.path != path {
      try directory.fileSystem.remove(cursor.path)
      try directory.fileSystem.synchronizeDirectory(folder)
    }
    let file = try directory.fileSystem.open(path, .readWrite)
    return SegmentWriter(
      file: file, path: path, header: cursor.header, offset: offset, durableOffset: offset, fileBytes: offset)
  }

  /// Removes a stream's unfinished files, and the segments whose commits are all in the previous segment.
  private func removeLeftovers(of replica: ReplicaID, besides serving: [SegmentFile]) throws(HeartlogError) {
    let folder = directory.streamPath(replica)
    let serving = Set(serving.map(\.name))
    let names = (try ifPresent(directory.fileSystem.entries(of: folder)) ?? []).filter { name in
      name.contains(".tmp-") || (SegmentFile(name: name) != nil && !serving.contains(name))
    }
    guard !names.isEmpty else { return }
    lock.update { $0.structure &+= 1 }
    // The replacement must be durable first, because the process that sealed it may have died before that.
    try directory.fileSystem.synchronizeDirectory(folder)
    for name in names { try directory.fileSystem.remove("\(folder)/\(name)") }
    try directory.fileSystem.synchronizeDirectory(folder)
  }

  // MARK: - Received streams

  /// Opens the tail of a received stream for writing, with everything in it durable; nil if the stream has none.
  ///
  /// What reached the page cache only may be read, but not named: what names it could outlive it.
  func openReceivedTail(of reader: StreamReader) throws(HeartlogError) -> SegmentWriter? {
    if let finding = streamSet.ends[reader.replica], finding.verdict != .corrupt {
      try cutTail(finding, of: reader)
      streamSet.ends[reader.replica] = nil
    }
    guard let cursor = reader.cursor, let segment = reader.segment, segment.state != .sealed else {
      return nil
    }
    if segment.state == .suspect || lock.isReceiving(reader.replica) { return try copyOfTail(cursor) }
    let file = try directory.fileSystem.open(cursor.path, .readWrite)
    let writer = SegmentWriter(
      file: file, path: cursor.path, header: cursor.header, offset: cursor.offset,
      durableOffset: UInt64(SegmentHeader.byteCount), fileBytes: try file.size())
    // The process that received the last run may have died before the run or the file's name was durable.
    do { try writer.synchronize() } catch { throw appender.suspend(writer, because: error.description) }
    assert(writer.durableOffset == writer.offset, "what a run follows is durable")
    try directory.fileSystem.synchronizeDirectory(directory.streamPath(reader.replica))
    return writer
  }

  /// Makes the last run of a stream durable if its receiver was killed, or could not do so, and cuts off a run that was not written whole.
  private func makeReceivedDurable() throws(HeartlogError) {
    guard lock.isReceiving || !streamSet.ends.isEmpty else { return }
    for reader in streamSet.readers.values where reader.replica != streamSet.identity.replica {
      guard lock.isReceiving(reader.replica) || streamSet.ends[reader.replica]?.verdict == .torn,
        let tail = try openReceivedTail(of: reader)
      else { continue }
      reader.didWrite(to: tail.file, path: tail.path, header: tail.header, offset: tail.offset)
    }
    lock.endReceiving()
  }

  // MARK: - Identity

  /// Signs what this store wrote as the replica that it is about to give up, while it still has the key. Nobody could do it later, and
  /// what nobody signs is not shipped. What contradicts a checkpoint is not signed, nor what may, because it or the stream is damaged.
  private func signFormer() throws(HeartlogError) {
    let replica = streamSet.identity.replica
    let last: SignedCheckpoint?
    let signed: SignedCheckpoint?
    // What was hashed before may not be what is in the folder now.
    streamSet.merkleCaches.monitor.withLock { streamSet.merkleCaches.forget(replica) }
    do throws(HeartlogError) {
      last = try streamSet.checkpoints.last(of: replica)
      signed = try heartlogErrors {
        try streamSet.checkpoints.sign(
          streamSet.identity, upTo: streamSet.own.tail.head, after: last, streamSet.merkleCaches)
      }
    } catch {
      guard error.code == .corrupt else { throw error }
      return
    }
    guard let signed, signed != last else { return }
    if let tail = streamSet.own.cursor, streamSet.own.segment?.state == .open {
      // What is signed must not be lost after the signature.
      try directory.fileSystem.open(tail.path, .readWrite).synchronizeData()
      try directory.fileSystem.synchronizeDirectory(directory.streamPath(replica))
    }
    try streamSet.checkpoints.write(signed)
  }

  /// Whether the store signs its stream but does not have the key: it was made before there were keys, or the key was lost.
  private func lacksKey() throws(HeartlogError) -> Bool {
    guard keys.isSigning else { return false }
    return try keys.key(of: streamSet.identity.replica) == nil
  }

  /// The folder was copied or restored, or lost acknowledged commits. Its numbers may be in use elsewhere.
  func becomeNewReplica(at location: StoreIdentity.Location) throws(HeartlogError) {
    var generator = options.generator
    var changed = streamSet.identity
    // The old key is replaced before the file `store` names the new replica. If this process dies in between, the next writer makes
    // another key.
    let key = try keys.makeKey()
    changed.replica = key?.publicKey.replica ?? .random(using: &generator)
    changed.location = location
    if key != nil, changed.vault == nil { changed.vault = VaultMembership(.random(using: &generator)) }
    lock.update { $0.structure &+= 1 }
    if let tail = streamSet.own.cursor, streamSet.own.segment?.state == .open {
      // The new stream names the last commit of the old one, so that commit must not be lost after it.
      try directory.fileSystem.open(tail.path, .readWrite).synchronizeData()
    }
    try directory.replaceFile(directory.identityPath, with: changed.encoded(), suffix: generator.next())
    streamSet.identity = changed
    appender.writer = nil
    // Until this point, the page records what was lost.
    lock.update { page in
      page = StoreLock.Page(generation: page.generation, structure: page.structure)
    }
  }
}
