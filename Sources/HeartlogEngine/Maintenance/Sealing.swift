import HeartlogFiles
import HeartlogFormat

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
    monitor.withLock {
      while sealing.isRunning { monitor.wait() }
      sealing.isRunning = true
    }
    defer { endSealing() }
    var report = SealReport()
    let streams = try exclusively { try $0.sealableStreams() }
    let runs = streams.flatMap { SealingPlan.all($0, joining: joining) }
    let total = runs.joined().reduce(0) { $0 + $1.bytes }
    for run in runs where !run.contains(where: \.isTail) {
      try seal(run, &report)
      progress?(report.bytesBefore, total)
    }
    try exclusively { log in
      for stream in try log.sealableStreams() {
        for run in SealingPlan.all(stream, joining: joining) { try log.seal(run, &report) }
      }
    }
    progress?(total, total)
    return report
  }

  /// Starts sealing in the background when a segment has just become full. Called outside the monitor.
  func didRotate() {
    guard options.sealsInBackground else { return }
    let rests = rests.load(ordering: .relaxed)
    options.scheduler.runAtLowPriority { [weak self] in self?.sealInBackground(upToRest: rests) }
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

  private func sealFullSegments(_ isStopped: () -> Bool) throws(HeartlogError) {
    while let run = try exclusively(isFlushed: false, { try $0.sealableStreams() }).lazy
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

  /// Seals a run that is no longer written.
  private func seal(
    _ run: [SealableSegment], _ report: inout SealReport, _ isStopped: () -> Bool = { false }
  ) throws(HeartlogError) {
    let (name, withheld, snapshots) = withStreams {
      (replicaName(of: run), streamSet.erased.withheld, streamSet.snapshots)
    }
    let found: SealedFile?
    do throws(HeartlogError) {
      found = try heartlogErrors {
        try SealedFile(
          of: run, in: directory, replicaName: name, options: options, without: withheld,
          snapshots: snapshots, isStopped: isStopped)
      }
    } catch {
      guard error.isNotFound else { throw error }
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
    try exclusively(isFlushed: false) { log in
      // Another process that took over the tail has removed unfinished files, including this one.
      let isThere = try directory.fileSystem.info(temporary) != nil
      try log.replace(run, by: sealed, preparedAs: isThere ? temporary : nil, &report)
      isUsed = isThere && report.sealedFiles > before
    }
  }

  /// Returns the name for the replica of a run: this replica's present name, or another one's name in its last
  /// segment.
  fileprivate func replicaName(of run: [SealableSegment]) -> String {
    guard let last = run.last, last.header.replica != streamSet.identity.replica else {
      return streamSet.identity.name
    }
    return last.header.replicaName
  }

  /// Returns the path of the file that replaces a run.
  fileprivate func path(of run: [SealableSegment]) -> String {
    directory.path(
      of: SegmentFile(firstCommit: run[0].file.firstCommit, state: .sealed), in: run[0].header.replica)
  }

}

extension ExclusiveLog {
  /// Returns the non-empty segments of each stream, this replica's own stream first.
  fileprivate func sealableStreams() throws(HeartlogError) -> [[SealableSegment]] {
    let own = streamSet.own
    let others = streamSet.readers.values.filter { reader in
      // Segments of ended or damaged streams are not rewritten.
      reader.replica != own.replica && !reader.isEnded && streamSet.ends[reader.replica] == nil
    }
    return try ([own] + others.sorted { $0.replica < $1.replica }).map { (reader) throws(HeartlogError) in
      try recovery.resolve(reader)
      return try sealableSegments(of: reader)
    }
  }

  func sealableSegments(of reader: StreamReader) throws(HeartlogError) -> [SealableSegment] {
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

  /// Seals a run that may contain a tail.
  ///
  /// - Parameter end: The last commit that is kept; nil for all.
  func seal(
    _ run: [SealableSegment], upTo end: CommitNumber? = nil, _ report: inout SealReport
  ) throws(HeartlogError) {
    guard
      let sealed = try heartlogErrors({
        try SealedFile(
          of: run, in: directory, replicaName: log.replicaName(of: run), options: options,
          upTo: end, without: streamSet.erased.withheld, snapshots: streamSet.snapshots)
      })
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
    lock.update { page in
      page = StoreLock.Page(
        generation: page.generation, structure: page.structure, replica: replica,
        firstCommit: streamSet.own.tail.next.rawValue)
    }
  }

  /// Replaces a run by its sealed file.
  ///
  /// - Parameter temporary: The path of the durable file, if it is already written; nil if it has to be written.
  fileprivate func replace(
    _ run: [SealableSegment], by sealed: SealedFile, preparedAs temporary: String? = nil,
    _ report: inout SealReport
  ) throws(HeartlogError) {
    guard let first = run.first else { return }
    let replica = first.header.replica
    let folder = directory.streamPath(replica)
    for segment in run {
      // Another process may have sealed some of them since, or erased from them: then its result is kept.
      let path = directory.path(of: segment.file, in: replica)
      guard let file = try ifPresent(directory.fileSystem.open(path, .read)) else { return }
      guard try directory.isSegment(segment.header.id, file, path: path) else { return }
    }
    let target = SegmentFile(firstCommit: first.file.firstCommit, state: .sealed)
    let path = log.path(of: run)
    // Updated before the new name exists: a process that uses a segment of the run as its tail must check before
    // it appends.
    lock.update { $0.structure &+= 1 }
    if let temporary {
      try directory.fileSystem.giveName(path, to: temporary)
    } else {
      try directory.replaceFile(path, with: sealed.bytes, suffix: options.random())
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

/// A segment that may be sealed, and its size.
struct SealableSegment {
  let file: SegmentFile
  let header: SegmentHeader
  let bytes: UInt64
  let events: UInt64
  /// Whether it is the segment being written.
  let isTail: Bool

  var isSealed: Bool { file.state == .sealed }
}

/// Decides which adjacent segments are joined into one file.
enum SealingPlan {
  /// The maximum number of events in a sealed file that joins several segments.
  static let joinedEventsMax = UInt64(Limits.commitEventsMax)
  /// In the background, adjacent sealed segments that leave room for more are joined only when there are this
  /// many, so that few events are written more than twice.
  static let neighboursMin = 4

  /// Returns everything that can be sealed or joined, including the tail.
  static func all(_ segments: [SealableSegment], joining: Bool = true) -> [[SealableSegment]] {
    guard joining else { return segments.filter { !$0.isSealed }.map { [$0] } }
    return neighbours(segments).map(\.run).filter { $0.count > 1 || $0.contains { !$0.isSealed } }
  }

  /// Returns the next run to seal in the background, without the tail: a full segment is first sealed alone.
  static func next(_ segments: [SealableSegment]) -> [SealableSegment]? {
    let full = segments.filter { !$0.isTail }
    if let unsealed = full.first(where: { !$0.isSealed }) { return [unsealed] }
    return neighbours(full).first { $0.run.count >= ($0.isFull ? 2 : neighboursMin) }?.run
  }

  /// Groups adjacent segments that fit together. A group is full if the next segment does not fit.
  private static func neighbours(_ segments: [SealableSegment]) -> [(run: [SealableSegment], isFull: Bool)] {
    var runs: [(run: [SealableSegment], isFull: Bool)] = []
    var events: UInt64 = 0
    for segment in segments {
      if let last = runs.indices.last, events + segment.events <= joinedEventsMax {
        runs[last].run.append(segment)
        events += segment.events
      } else {
        if let last = runs.indices.last { runs[last].isFull = true }
        runs.append(([segment], false))
        events = segment.events
      }
    }
    return runs
  }
}
