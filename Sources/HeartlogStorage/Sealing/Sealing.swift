import HeartlogFormat
import HeartlogFiles

extension CommitLog {
  /// The state of sealing, in the background or by a call.
  struct Sealing {
    var isRunning = false
    /// Why the last background sealing failed.
    var failure: HeartlogError?
  }
}

/// Sealing: complete segments are rewritten as one file of large blocks. Commits, numbers, boundaries and hashes
/// do not change.
extension CommitLog {
  /// Seals all streams, including their tails, and joins small adjacent segments.
  ///
  /// The lock is held only while names change and while tails are sealed.
  package func seal(progress: LogProgress? = nil) throws(HeartlogError) -> SealReport {
    try options.trace.span(.seal) { () throws(HeartlogError) in try seal(joining: true, progress: progress) }
  }

  /// Seals all streams, including their tails.
  ///
  /// - Parameter joining: Whether adjacent sealed segments are joined into one file.
  func seal(joining: Bool, progress: LogProgress? = nil) throws(HeartlogError) -> SealReport {
    try heartlogErrors {
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

  /// Starts sealing in the background when a segment has just become full. Called outside the monitor.
  func didRotate() {
    guard options.sealsInBackground else { return }
    let rests = rests.load(ordering: .relaxed)
    options.scheduler.runUnhurried { [weak self] in self?.sealInBackground(upToRest: rests) }
  }

  /// - Parameter rests: The number of rests so far. The next one ends the sealing: it goes on when another segment is full.
  private func sealInBackground(upToRest rests: Int) {
    let isStopped = { self.rests.load(ordering: .relaxed) != rests }
    let isMine = monitor.withLock { () -> Bool in
      if sealing.isRunning || phase == .closed || appender.failure != nil || isStopped() { return false }
      sealing.isRunning = true
      return true
    }
    guard isMine else { return }
    defer { endSealing() }
    var outcome: HeartlogError?
    do {
      try options.trace.span(.seal) { try sealFullSegments(isStopped) }
    } catch {
      // Nothing is lost: the segments stay as they are, and the next rotation or `seal` tries again.
      let failure = HeartlogError(wrapping: error)
      options.trace.record(.sealingFailed, failure.description)
      outcome = failure
    }
    monitor.withLock { sealing.failure = outcome }
  }

  private func sealFullSegments(_ isStopped: () -> Bool) throws {
    while let run = try withQuietLog(isFlushed: false, { try sealableStreams() }).lazy
      .compactMap(SealingPlan.next).first
    {
      var report = SealReport()
      try seal(run, &report, isStopped)
      // Another process is sealing, or the store rests.
      if report.sealedFiles == 0 || isStopped() { break }
    }
  }

  private func endSealing() {
    monitor.withLock {
      sealing.isRunning = false
      monitor.notifyAll()
    }
    noteFiles()
  }

  /// Returns the non-empty segments of each stream, this replica's own stream first. The log is quiet.
  private func sealableStreams() throws -> [[SealableSegment]] {
    let own = streamSet.own
    let others = streamSet.readers.values.filter { reader in
      // Segments of ended or damaged streams are not rewritten.
      reader.replica != own.replica && !reader.isEnded && streamSet.ends[reader.replica] == nil
    }
    return try ([own] + others.sorted { $0.replica < $1.replica }).map { reader in
      try recovery.resolve(reader)
      return try sealableSegments(of: reader)
    }
  }

  func sealableSegments(of reader: StreamReader) throws -> [SealableSegment] {
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
            file: segment, header: header, bytes: try file.size(), events: events,
            isTail: segment == reader.segment && segment.state != .sealed))
      }
      next = header.firstSequence
    }
    return segments.reversed()
  }

  /// Seals a run that is no longer written.
  private func seal(
    _ run: [SealableSegment], _ report: inout SealReport, _ isStopped: () -> Bool = { false }
  ) throws {
    let (name, withheld, snapshots) = withStreams {
      (replicaName(of: run), streamSet.erased.withheld, streamSet.snapshots)
    }
    let found: SealedFile?
    do {
      found = try SealedFile(
        of: run, in: directory, replicaName: name, options: options, without: withheld, snapshots: snapshots,
        isStopped: isStopped)
    } catch let error as FileError where error.isNotFound {
      // Another process has sealed what was there when the lock was held.
      return
    }
    guard let sealed = found else { return }
    // The file is written without the lock, so that other writers wait only for the rename.
    let path = path(of: run)
    let temporary = try directory.prepareFile(path, with: sealed.bytes, suffix: options.random())
    let before = report.sealedFiles
    var isUsed = false
    defer { if !isUsed { try? directory.fileSystem.remove(temporary) } }
    try withQuietLog(isFlushed: false) {
      // Another process that took over the tail has removed unfinished files, including this one.
      let isThere = try directory.fileSystem.info(temporary) != nil
      try replace(run, by: sealed, preparedAs: isThere ? temporary : nil, &report)
      isUsed = isThere && report.sealedFiles > before
    }
  }

  /// Seals a run that may contain a tail. The log is quiet.
  ///
  /// - Parameter end: The last commit that is kept; nil for all.
  func sealUnderLock(
    _ run: [SealableSegment], upTo end: CommitNumber? = nil, _ report: inout SealReport
  ) throws {
    guard
      let sealed = try SealedFile(
        of: run, in: directory, replicaName: replicaName(of: run), options: options,
        upTo: end, without: streamSet.erased.withheld, snapshots: streamSet.snapshots)
    else { return }
    guard let tail = run.first(where: \.isTail) else { return try replace(run, by: sealed, &report) }
    // From here on nothing may be appended to the tail, even if sealing fails.
    let replica = tail.header.replica
    streamSet.readers[replica]?.leaveSegment()
    streamSet.readers[replica]?.resolvedStructure = nil
    receiver.forgetTail(of: replica)
    guard replica == streamSet.identity.replica else { return try replace(run, by: sealed, &report) }
    appender.writer = nil
    try replace(run, by: sealed, &report)
    // The sealed commits were durable. The page records that, in case the file is lost later.
    lease.lock.update { page in
      page = StoreLock.Page(
        generation: page.generation, structure: page.structure, replica: replica,
        firstCommit: streamSet.own.tail.next.rawValue)
    }
  }

  /// Returns the name for the replica of a run: this replica's present name, or another one's name in its last
  /// segment.
  private func replicaName(of run: [SealableSegment]) -> String {
    guard let last = run.last, last.header.replica != streamSet.identity.replica else {
      return streamSet.identity.name
    }
    return last.header.replicaName
  }

  /// Returns the path of the file that replaces a run.
  private func path(of run: [SealableSegment]) -> String {
    directory.path(
      of: SegmentFile(firstCommit: run[0].file.firstCommit, state: .sealed), in: run[0].header.replica)
  }

  /// Replaces a run by its sealed file. The log is quiet.
  ///
  /// - Parameter temporary: The path of the durable file, if it is already written; nil if it has to be written.
  private func replace(
    _ run: [SealableSegment], by sealed: SealedFile, preparedAs temporary: String? = nil,
    _ report: inout SealReport
  ) throws {
    guard let first = run.first else { return }
    let replica = first.header.replica
    let folder = directory.streamPath(replica)
    for segment in run {
      // Another process may have sealed some of them since, or erased from them: then its result is kept.
      let path = directory.path(of: segment.file, in: replica)
      let file: any OpenFile
      do throws(FileError) { file = try directory.fileSystem.open(path, .read) } catch {
        guard error.isNotFound else { throw error }
        return
      }
      guard try directory.isSegment(segment.header.id, file, path: path) else { return }
    }
    let target = SegmentFile(firstCommit: first.file.firstCommit, state: .sealed)
    let path = path(of: run)
    // Updated before the new name exists: a process that uses a segment of the run as its tail must check before
    // it appends.
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
