import HeartlogEvents
import HeartlogFiles

/// What one run of sealing did.
package struct SealReport: Sendable {
  package var replacedFiles = 0
  package var sealedFiles = 0
  package var events: UInt64 = 0
  package var bytesBefore: UInt64 = 0
  package var bytesAfter: UInt64 = 0

  package init() {}
}

extension CommitLog {
  /// Sealing, in the background or not.
  struct Sealing {
    var isRunning = false
    /// Why the last one in the background did not succeed.
    var failure: StorageError?
  }
}

/// Sealing: whole segments become one file of large blocks. Commits, numbers, boundaries and hashes stay.
extension CommitLog {
  /// Seals all streams, their tails included, and joins small neighbours.
  ///
  /// The lock is held only while names change, and while the tail is sealed.
  package func seal(progress: LogProgress? = nil) throws(StorageError) -> SealReport {
    try seal(joining: true, progress: progress)
  }

  /// - Parameter joining: whether sealed neighbours become one file.
  func seal(joining: Bool, progress: LogProgress? = nil) throws(StorageError) -> SealReport {
    try storageErrors {
      monitor.withLock {
        while sealing.isRunning { monitor.wait() }
        sealing.isRunning = true
      }
      defer { endSealing() }
      var report = SealReport()
      let streams = try withQuietLog { try sealableStreams() }
      let runs = streams.flatMap { SealingPlan.all($0, joining: joining) }
      let total = runs.joined().reduce(0) { $0 + $1.bytes }
      for run in runs where !run.contains(where: \.isTail) {
        try seal(run, &report)
        progress?(report.bytesBefore, total)
      }
      try withQuietLog {
        for stream in try sealableStreams() {
          for run in SealingPlan.all(stream, joining: joining) { try sealUnderLock(run, &report) }
        }
      }
      progress?(total, total)
      return report
    }
  }

  /// A segment has just become full. Called outside the monitor.
  func didRotate() {
    guard options.sealsInBackground else { return }
    WorkerPool.unhurried.run { [weak self] in self?.sealInBackground() }
  }

  private func sealInBackground() {
    let isMine = monitor.withLock { () -> Bool in
      if sealing.isRunning || phase == .closed || appender.failure != nil { return false }
      sealing.isRunning = true
      return true
    }
    guard isMine else { return }
    defer { endSealing() }
    var outcome: StorageError?
    do {
      while let run = try withQuietLog(isFlushed: false, { try sealableStreams() }).lazy
        .compactMap(SealingPlan.next).first
      {
        var report = SealReport()
        try seal(run, &report)
        // Another process is at it.
        if report.sealedFiles == 0 { break }
      }
    } catch {
      // Nothing is lost: the segments stay as they are, and the next rotation or `seal` tries again.
      outcome = error as? StorageError ?? StorageError(.inputOutput, String(describing: error))
    }
    monitor.withLock { sealing.failure = outcome }
  }

  private func endSealing() {
    monitor.withLock {
      sealing.isRunning = false
      monitor.notifyAll()
    }
    noteFiles()
  }

  /// The segments that hold something, stream by stream, the own one first. The log is quiet.
  private func sealableStreams() throws -> [[SealableSegment]] {
    let own = streamSet.own
    let others = streamSet.readers.values.filter { reader in
      // Of what ended or is damaged nothing is written anew.
      reader.replica != own.replica && !reader.isEnded && streamSet.ends[reader.replica] == nil
    }
    return try ([own] + others.sorted { $0.replica < $1.replica }).map { reader in
      try resolve(reader)
      return try sealableSegments(of: reader)
    }
  }

  private func sealableSegments(of reader: StreamReader) throws -> [SealableSegment] {
    var segments: [SealableSegment] = []
    var next = reader.tail.nextSequence
    for segment in try directory.servingSegments(of: reader.replica).serving.reversed() {
      let path = directory.path(of: segment, in: reader.replica)
      let file = try directory.fileSystem.open(path, .read)
      let header = try directory.header(of: file, path: path).header
      let events = next.rawValue &- header.firstSequence.rawValue
      if events > 0 {
        segments.append(
          SealableSegment(
            file: segment, header: header, inode: try file.inode(), bytes: try file.size(), events: events,
            isTail: segment == reader.segment && segment.state != .sealed))
      }
      next = header.firstSequence
    }
    return segments.reversed()
  }

  /// Seals a run that is not written to any more.
  private func seal(_ run: [SealableSegment], _ report: inout SealReport) throws {
    let (name, snapshots) = monitor.withLock { (replicaName(of: run), streamSet.snapshots) }
    guard
      let sealed = try SealedFile(
        of: run, in: directory, replicaName: name, options: options, snapshots: snapshots)
    else { return }
    // Other writers wait for the rename alone, not for the file.
    let path = path(of: run)
    let temporary = try directory.prepareFile(path, with: sealed.bytes, suffix: options.random())
    let before = report.sealedFiles
    var isUsed = false
    defer { if !isUsed { try? directory.fileSystem.remove(temporary) } }
    try withQuietLog(isFlushed: false) {
      // Another process that took over the tail has removed what was unfinished: this file, too.
      let isThere = try directory.fileSystem.info(temporary) != nil
      try replace(run, by: sealed, preparedAs: isThere ? temporary : nil, &report)
      isUsed = isThere && report.sealedFiles > before
    }
  }

  /// Seals a run that a tail may be part of. The log is quiet.
  private func sealUnderLock(_ run: [SealableSegment], _ report: inout SealReport) throws {
    guard
      let sealed = try SealedFile(
        of: run, in: directory, replicaName: replicaName(of: run), options: options,
        snapshots: streamSet.snapshots)
    else { return }
    guard let tail = run.first(where: \.isTail) else { return try replace(run, by: sealed, &report) }
    // From here on nothing may be appended to it, whatever becomes of the rest.
    let replica = tail.header.replica
    streamSet.readers[replica]?.leaveSegment()
    streamSet.readers[replica]?.resolvedStructure = nil
    streamSet.receivedTails[replica] = nil
    guard replica == streamSet.identity.replica else { return try replace(run, by: sealed, &report) }
    appender.writer = nil
    try replace(run, by: sealed, &report)
    // What is sealed was durable: should it be gone one day, the page still tells.
    lease.lock.update { page in
      page = StoreLock.Page(
        generation: page.generation, structure: page.structure, replica: replica,
        firstCommit: streamSet.own.tail.next.rawValue)
    }
  }

  /// What the replica of a run is called now; of another one, what it was called last.
  private func replicaName(of run: [SealableSegment]) -> String {
    guard let last = run.last, last.header.replica != streamSet.identity.replica else {
      return streamSet.identity.name
    }
    return last.header.replicaName
  }

  /// Where the file of a sealed run goes.
  private func path(of run: [SealableSegment]) -> String {
    directory.path(
      of: SegmentFile(firstCommit: run[0].file.firstCommit, state: .sealed), in: run[0].header.replica)
  }

  /// Puts a sealed file in the place of its run. The log is quiet.
  ///
  /// - Parameter temporary: where the file is already, durable; nil where it has to be written.
  private func replace(
    _ run: [SealableSegment], by sealed: SealedFile, preparedAs temporary: String? = nil,
    _ report: inout SealReport
  ) throws {
    guard let first = run.first else { return }
    let replica = first.header.replica
    let folder = directory.streamPath(replica)
    for segment in run {
      // Another process may have sealed some of them meanwhile: then its work stands.
      let info = try directory.fileSystem.info(directory.path(of: segment.file, in: replica))
      guard info?.inode == segment.inode else { return }
    }
    let target = SegmentFile(firstCommit: first.file.firstCommit, state: .sealed)
    let path = path(of: run)
    // Before the new name is there: a process that holds one of the run as its tail must look before it appends.
    lease.lock.update { $0.structure &+= 1 }
    if let temporary {
      try directory.giveName(path, to: temporary, in: folder)
    } else {
      try directory.replaceFile(path, with: sealed.bytes, in: folder, suffix: options.random())
    }
    for segment in run where segment.file != target {
      try directory.fileSystem.remove(directory.path(of: segment.file, in: replica))
    }
    try directory.fileSystem.synchronizeDirectory(folder)
    report.replacedFiles += run.count
    report.sealedFiles += 1
    report.events += run.reduce(0) { $0 + $1.events }
    report.bytesBefore += run.reduce(0) { $0 + $1.bytes }
    report.bytesAfter += UInt64(sealed.bytes.count)
  }
}
