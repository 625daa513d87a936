import Dispatch
import HeartlogEvents
import HeartlogFiles

/// What the holder of the lock does before it writes. Source of the verdicts: docs/format.md, "Recovery".
extension CommitLog {
  /// Makes the tail ready to be written to: judged, mended, and its durable length known.
  ///
  /// Whatever changes a file raises the generation first: should this process die in the middle, the next
  /// holder looks at the files, whatever it knew.
  func recoverTail() throws(StorageError) {
    if let corrupt = streamSet.damage {
      throw StorageError(
        .corrupt, "the store is read-only because it is damaged: \(corrupt.error.reason)",
        file: corrupt.error.file, offset: corrupt.error.offset, commits: corrupt.error.commits)
    }
    let own = streamSet.own
    let finding = streamSet.ends[streamSet.identity.replica]
    if let finding { try cutTail(finding, of: own) }
    let isResolved = own.resolvedStructure == lease.lock.page().structure
    let missing = isResolved ? [] : streamSet.missing
    // The heads of others may have come without any name of a file changing.
    var isOver = finding?.verdict == .lost || streamSet.othersHaveSeenMoreOfOwn
    if !isOver, !isResolved { isOver = try self.isOver(own, missing: missing.map(\.finding)) }
    if !isResolved {
      if try directory.closeToOthers() { tookPermissions = true }
      // The folder may have been copied or restored before it was opened, not while it is open.
      let location = try StoreIdentity.Location.of(directory)
      if isOver || !location.isSame(as: streamSet.identity.location) {
        try becomeNewReplica(at: location)
      } else {
        try resolve(own)
      }
    } else if isOver {
      try becomeNewReplica(at: streamSet.identity.location)
    }
    if let finding {
      streamSet.ends[finding.replica] = nil
      streamSet.reports.append(finding)
    }
    try setAside(missing, reportedOf: finding?.verdict == .lost ? own.replica : nil)
    try recoverOwnTail(of: streamSet.own)
    streamSet.own.resolvedStructure = lease.lock.page().structure
  }

  /// Whether the store must not write its own stream any more: its numbers were given out before, or nobody would read them.
  private func isOver(_ own: StreamReader, missing: [Finding]) throws(StorageError) -> Bool {
    if own.isEnded || missing.contains(where: { $0.replica == own.replica }) { return true }
    // A segment that begins with a block was received: `store` is of another folder, or older than this one.
    guard let cursor = own.cursor, own.segment?.state == .open, try cursor.wake(in: directory) else {
      return false
    }
    return try cursor.header(at: UInt64(SegmentHeader.byteCount))?.kind == FrameHeader.Kind.block
  }

  /// Reports what snapshots know of and the log has lost, once. Their files keep another name from then on: nothing is read from them, and
  /// nothing that they prove is thrown away.
  ///
  /// - Parameter replica: whose loss is reported already.
  private func setAside(
    _ missing: [(claim: SnapshotClaim, finding: Finding)], reportedOf replica: ReplicaID?
  ) throws(StorageError) {
    guard !missing.isEmpty else { return }
    for file in Set(missing.map(\.claim.file)).sorted() {
      do throws(FileError) { try directory.fileSystem.rename(file, to: file + ".lost") } catch {
        // Somebody removed it: snapshots may be.
        guard error.isNotFound else { throw StorageError(error) }
      }
    }
    streamSet.reports += missing.map(\.finding).filter { $0.replica != replica }
    streamSet.snapshots.removeAll { claim in missing.contains { $0.claim.file == claim.file } }
  }

  /// Makes sure that what is appended to a stream's tail will be read: leaves a segment whose commits another process has sealed, which
  /// may have died before it removed it, and removes what such a process left. Looks again only where files of the store have changed.
  func resolve(_ reader: StreamReader) throws(StorageError) {
    guard reader.resolvedStructure != lease.lock.page().structure else { return }
    let serving = try directory.servingSegments(of: reader.replica).serving
    if let segment = reader.segment, !serving.contains(segment) {
      reader.leaveSegment()
      try readOn(in: reader.replica)
      guard streamSet.ends[reader.replica] == nil else {
        throw StorageError(
          .inputOutput, "the segments keep changing", file: directory.streamPath(reader.replica))
      }
    }
    try removeLeftovers(of: reader.replica, besides: serving)
    reader.resolvedStructure = lease.lock.page().structure
  }

  /// Cuts what is bad from the tail of a stream, and keeps it aside.
  func cutTail(_ finding: Finding, of own: StreamReader) throws(StorageError) {
    if own.replica == streamSet.identity.replica { appender.writer = nil }
    guard let cursor = own.cursor, let segment = own.segment, let offset = finding.error.offset,
      finding.error.file == cursor.path
    else { return }
    lease.lock.update { _ in }
    try onFiles { () throws(FileError) in
      // A suspect is copied up to its last whole frame, and not written to.
      let isSuspect = segment.state == .suspect
      let file = try directory.fileSystem.open(cursor.path, isSuspect ? .read : .readWrite)
      let size = try file.size()
      guard size > offset else { return }
      try keepAside(
        try file.bytes(Int(size - offset), at: offset), as: segment.cutName(offset), in: own.replica)
      guard !isSuspect else { return }
      try file.truncate(to: offset)
      try file.synchronize()
    }
    cursor.forget()
  }

  private func keepAside(_ bytes: [UInt8], as name: String, in replica: ReplicaID) throws(FileError) {
    let folder = directory.streamPath(replica)
    var path = "\(folder)/\(name)"
    var copies = 1
    while try directory.fileSystem.info(path) != nil {
      copies += 1
      path = "\(folder)/\(name).\(copies)"
    }
    let file = try directory.fileSystem.open(path, .createNew)
    try file.write(bytes, at: 0)
    try file.synchronize()
    try directory.fileSystem.synchronizeDirectory(folder)
  }

  /// Opens the tail for writing, unless this process holds it already just as it is.
  private func recoverOwnTail(of own: StreamReader) throws(StorageError) {
    guard let cursor = own.cursor, let segment = own.segment, segment.state != .sealed else {
      appender.writer = nil
      return
    }
    if let writer = appender.writer, writer.file === cursor.file, writer.offset == cursor.offset { return }
    if segment.state == .suspect { return try replaceSuspect(cursor, own) }
    let page = lease.lock.page()
    let isRecorded = page.replica == own.replica && page.segment == cursor.header.id
    if !isRecorded {
      // Whoever made the segment may have died before its names were durable.
      try synchronizeNames(startingWith: cursor.header.firstCommit)
    }
    let offset = cursor.offset
    let taken = try onFiles { () throws(FileError) in
      let file: any OpenFile
      if let writer = appender.writer, writer.file === cursor.file {
        file = writer.file
      } else {
        file = try directory.fileSystem.open(cursor.path, .readWrite)
      }
      return SegmentWriter(
        file: file, path: cursor.path, header: cursor.header, offset: offset,
        durableOffset: isRecorded ? min(page.durableBytes, offset) : UInt64(SegmentHeader.byteCount),
        fileBytes: try file.size())
    }
    if taken.durableOffset < offset {
      // What another process wrote may be in memory only: no frame may call it durable before it is.
      do { try taken.synchronize() } catch { throw appender.suspend(taken, because: error.description) }
    }
    appender.writer = taken
    own.didWrite(to: taken.file, path: taken.path, header: taken.header, offset: offset)
    announce(taken, isStructural: false)
  }

  /// Makes the names durable that lead to a segment of the own stream.
  private func synchronizeNames(startingWith firstCommit: CommitNumber) throws(StorageError) {
    try onFiles { () throws(FileError) in
      try directory.fileSystem.synchronizeDirectory(directory.streamPath(streamSet.identity.replica))
      guard firstCommit.rawValue == 1 else { return }
      try directory.fileSystem.synchronizeDirectory(directory.replicasPath)
      // A new replica's stream must not outlive the file that says who writes it.
      try directory.fileSystem.synchronizeDirectory(directory.path)
    }
  }

  /// Tells everybody where the tail is.
  func announce(_ writer: SegmentWriter, isStructural: Bool) {
    lease.lock.update { page in
      page.replica = writer.header.replica
      page.segment = writer.header.id
      page.firstCommit = writer.header.firstCommit.rawValue
      page.writtenBytes = writer.offset
      page.durableBytes = writer.durableOffset
      if isStructural { page.structure &+= 1 }
    }
  }

  // MARK: - Segments

  /// Makes a new open segment that starts with `commit`.
  func createSegment(before commit: Commit) throws(StorageError) -> SegmentWriter {
    if commit.number.rawValue == 1 { try makeStreamFolder(of: streamSet.identity.replica) }
    var generator = options.generator
    let secret = (0..<4).flatMap { _ in withUnsafeBytes(of: generator.next()) { Array($0) } }
    let frontier = try newestFrontier()
    let header = SegmentHeader(
      kind: .open, id: .random(using: &generator), replica: streamSet.identity.replica,
      replicaName: streamSet.identity.name,
      firstCommit: commit.number, firstSequence: commit.firstSequence, secret: Digest(secret),
      treeSize: frontier.size, frontier: frontier.roots)
    let created = try SegmentWriter.create(header, in: directory, suffix: generator.next())
    announce(created, isStructural: true)
    return created
  }

  /// What is there already may have been left by a process that died before it was durable.
  func makeStreamFolder(of replica: ReplicaID) throws(StorageError) {
    let folder = directory.streamPath(replica)
    try onFiles { () throws(FileError) in
      if try directory.fileSystem.info(folder) == nil { try directory.fileSystem.createDirectory(folder) }
      try directory.fileSystem.synchronizeDirectory(directory.replicasPath)
      try directory.fileSystem.synchronizeDirectory(directory.path)
    }
  }

  /// The frontier that the last sealed segment starts from: the newest at hand without hashing.
  private func newestFrontier() throws(StorageError) -> (size: UInt64, roots: [Digest]) {
    guard
      let sealed = try directory.segments(of: streamSet.identity.replica).last(where: { $0.state == .sealed })
    else {
      return (0, [])
    }
    let path = directory.path(of: sealed, in: streamSet.identity.replica)
    let file = try onFiles { () throws(FileError) in try directory.fileSystem.open(path, .read) }
    let header = try directory.header(of: file, path: path).header
    return (header.treeSize, header.frontier)
  }

  /// Copies the whole frames of a suspect to a new file: what the system caches of it may never reach the disk.
  private func replaceSuspect(_ cursor: SegmentCursor, _ own: StreamReader) throws(StorageError) {
    let taken = try copyOfSuspect(cursor)
    appender.writer = taken
    own.didWrite(to: taken.file, path: taken.path, header: taken.header, offset: taken.offset)
    announce(taken, isStructural: true)
  }

  /// A new file with the whole frames of a suspect, in its place.
  func copyOfSuspect(_ cursor: SegmentCursor) throws(StorageError) -> SegmentWriter {
    let folder = directory.streamPath(cursor.header.replica)
    let offset = cursor.offset
    let bytes = try onFiles { () throws(FileError) in
      try directory.fileSystem.open(cursor.path, .read).bytes(Int(offset), at: 0)
    }
    guard bytes.count == Int(offset) else {
      throw StorageError(
        .inputOutput, "the suspect segment became shorter while it was copied", file: cursor.path)
    }
    lease.lock.update { $0.structure &+= 1 }
    let segment = SegmentFile(firstCommit: cursor.header.firstCommit, state: .open)
    let path = "\(folder)/\(segment.name)"
    try directory.replaceFile(path, with: bytes, in: folder, suffix: options.random())
    let file = try onFiles { () throws(FileError) in
      try directory.fileSystem.remove(cursor.path)
      try directory.fileSystem.synchronizeDirectory(folder)
      return try directory.fileSystem.open(path, .readWrite)
    }
    return SegmentWriter(
      file: file, path: path, header: cursor.header, offset: offset, durableOffset: offset, fileBytes: offset)
  }

  /// Removes a stream's unfinished files, and its segments whose commits all stand in the one before.
  private func removeLeftovers(of replica: ReplicaID, besides serving: [SegmentFile]) throws(StorageError) {
    let folder = directory.streamPath(replica)
    var names: [String]
    do { names = try directory.fileSystem.entries(of: folder) } catch {
      if error.isNotFound { return }
      throw StorageError(error)
    }
    let serving = Set(serving.map(\.name))
    names = names.filter { name in
      name.contains(".tmp-") || (SegmentFile(name: name) != nil && !serving.contains(name))
    }
    guard !names.isEmpty else { return }
    lease.lock.update { $0.structure &+= 1 }
    try onFiles { () throws(FileError) in
      // What serves instead must be durable first: whoever sealed may have died before that.
      try directory.fileSystem.synchronizeDirectory(folder)
      for name in names { try directory.fileSystem.remove("\(folder)/\(name)") }
      try directory.fileSystem.synchronizeDirectory(folder)
    }
  }

  // MARK: - Identity

  /// The folder was copied or restored, or lost acknowledged commits: its numbers may be used elsewhere.
  func becomeNewReplica(at location: StoreIdentity.Location) throws(StorageError) {
    var generator = options.generator
    var changed = streamSet.identity
    changed.replica = .random(using: &generator)
    changed.location = location
    lease.lock.update { $0.structure &+= 1 }
    if let tail = streamSet.own.cursor, streamSet.own.segment?.state == .open {
      // The new stream names the old one's last commit: that one must not be lost after it.
      try onFiles { () throws(FileError) in
        try directory.fileSystem.open(tail.path, .readWrite).synchronizeData()
      }
    }
    try directory.replaceFile(
      directory.identityPath, with: changed.encoded(), in: directory.path, suffix: generator.next())
    streamSet.identity = changed
    appender.writer = nil
    // Until here the page remembers what was lost.
    lease.lock.update { page in
      page = StoreLock.Page(generation: page.generation, structure: page.structure)
    }
  }
}
