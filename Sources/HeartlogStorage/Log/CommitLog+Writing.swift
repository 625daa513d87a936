import HeartlogEvents
import HeartlogFiles

/// The line: staging commits, and writing them in batches.
extension CommitLog {
  /// A line longer than this is written in several batches. Any single commit fits.
  private static let batchBytesMax = 64 << 20

  /// Writes one commit: `stage`, and `finish`.
  ///
  /// - Returns: the commit, acknowledged as `durability` says; nil where nothing was to be written.
  public func write(_ durability: Durability, _ draft: () throws -> CommitDraft?) throws -> Commit? {
    guard let turn = try stage(durability, draft) else { return nil }
    return try finish(turn)
  }

  /// Puts a commit in line. One thread may put several there before it finishes the first: they are written together.
  ///
  /// - Parameter draft: says what to write, given everything committed or staged so far; nil writes nothing. It is
  ///   called with the store's lock held, once, and must not call the log.
  /// - Returns: what `finish` must be called with, soon: until then others may have to wait. Nil where nothing is to be written.
  public func stage(_ durability: Durability, _ draft: () throws -> CommitDraft?) throws -> Turn? {
    defer { noteFiles() }
    monitor.enter()
    defer { monitor.leave() }
    try takeLock()
    do {
      if let draft = try draft() { return try stage(draft, durability) }
    } catch {
      releaseWhenIdle()
      throw error
    }
    releaseWhenIdle()
    return nil
  }

  /// Waits until a commit in line is acknowledged; writes the line where nobody else does.
  public func finish(_ turn: Turn) throws(StorageError) -> Commit {
    defer { noteFiles() }
    return try monitor.withLock { () throws(StorageError) in
      while true {
        if let result = turn.result {
          try result.get()
          return turn.entry.commit
        }
        if isBusy { monitor.wait() } else { flushLine() }
      }
    }
  }

  private func stage(_ draft: CommitDraft, _ durability: Durability) throws -> Turn {
    guard staged.next.rawValue <= Limits.numberMax else {
      throw StorageError(.malformed, "this replica has written all the commits that it can")
    }
    // A commit that is refused must not move the clock.
    var advanced = clock
    guard let stamp = advanced.next(wallTime: draft.wallTime) else {
      throw StorageError(.malformed, "a stamp past the year 2999")
    }
    let heads = readers.values.compactMap { reader -> Head? in
      guard reader.replica != identity.replica, let head = reader.chain.head,
        head.rawValue > staged.seen[reader.replica]?.rawValue ?? 0
      else { return nil }
      return Head(replica: reader.replica, commit: head)
    }
    let commit = Commit(
      replica: identity.replica, number: staged.next, firstSequence: staged.nextSequence, stamp: stamp,
      wallTime: draft.wallTime, origin: draft.origin, heads: heads.sorted { $0.replica < $1.replica },
      records: draft.records)
    let turn: Turn
    do {
      var row: [UInt8] = []
      try RowEncoding.append(commit, to: &row)
      turn = Turn(SegmentWriter.Entry(commit: commit, body: Frame.Body(row: row)), durability)
      try staged.extend(by: commit)
    } catch {
      throw StorageError(error)
    }
    clock = advanced
    line.append(turn)
    sink.stage(commit)
    return turn
  }

  /// Writes what stands in line, or a first part of it.
  func flushLine() {
    isBusy = true
    if line.contains(where: { $0.durability == .durable }) { waitForTheLine() }
    let batch = takeBatch()
    let isDurable = batch.contains { $0.durability == .durable }
    let result = monitor.outside {
      Result { () throws(StorageError) in try write(batch.map(\.entry), isDurable: isDurable) }
    }
    isBusy = false
    switch result {
    case .success:
      didWrite(batch.map(\.entry.commit)[...])
      for turn in batch { turn.result = .success(()) }
      if isDurable { unsyncedSince = nil } else { startLease() }
    case .failure(let error):
      // What stands behind the batch was drafted upon it.
      for turn in batch + line { turn.result = .failure(error) }
      line.removeAll()
      sink.discard()
      staged = ownReader.chain
      clock = HybridClock(last: readers.values.map(\.chain.lastStamp).max() ?? clock.last)
      if error.code == .outcomeUnknown { failure = error }
      looksAgain = true
    }
    releaseWhenIdle()
    monitor.notifyAll()
  }

  /// Lets threads that are about to write join: until the line stops growing, not for a time.
  private func waitForTheLine() {
    var count = 0
    while line.count > count {
      count = line.count
      monitor.yield()
    }
  }

  private func takeBatch() -> [Turn] {
    var bytes = 0
    let rest = line.dropFirst().firstIndex { turn in
      bytes += turn.entry.body.bytes.count
      return bytes > Self.batchBytesMax
    }
    let batch = Array(line[..<(rest ?? line.count)])
    line.removeFirst(batch.count)
    return batch
  }

  /// Runs outside the monitor, by the one thread that is busy.
  private func write(_ entries: [SegmentWriter.Entry], isDurable: Bool) throws(StorageError) {
    // Should this process die in the middle, the next holder sees that it must look at the files.
    lock.update { _ in }
    let target = try segmentForWriting(entries)
    do { try target.append(entries) } catch {
      guard error.code == .outcomeUnknown else { throw error }
      throw suspend(target, because: error.reason)
    }
    let written = target.offset
    lock.update { $0.writtenBytes = written }
    if isDurable { try synchronize(target) }
  }

  /// The open segment, or a new one where it is full.
  private func segmentForWriting(_ entries: [SegmentWriter.Entry]) throws(StorageError) -> SegmentWriter {
    if let writer {
      guard writer.offset >= options.segmentBytesMax else { return writer }
      if writer.durableOffset < writer.offset { try synchronize(writer) }
    }
    let isRotation = writer != nil
    let created = try createSegment(before: entries[0].commit)
    writer = created
    if isRotation { didRotate() }
    return created
  }

  /// One fdatasync. After a failure nobody appends to the segment again.
  func synchronize(_ target: SegmentWriter) throws(StorageError) {
    do { try target.synchronize() } catch { throw suspend(target, because: error.description) }
    let durable = target.durableOffset
    lock.update { $0.durableBytes = durable }
  }

  /// Keeps the line from being written while `body` runs outside the monitor: so a test makes one batch.
  func withLineHeld<R>(_ body: () throws -> R) throws -> R {
    monitor.enter()
    defer { monitor.leave() }
    while isBusy { monitor.wait() }
    isBusy = true
    defer {
      isBusy = false
      monitor.notifyAll()
    }
    return try monitor.outside { Result { try body() } }.get()
  }

  private func didWrite(_ commits: ArraySlice<Commit>) {
    guard let writer else { preconditionFailure("a batch was written to a segment") }
    let own = ownReader
    for commit in commits {
      // Each was checked when it was staged.
      do { try own.didAppend(commit) } catch { preconditionFailure(error.reason) }
    }
    own.didWrite(to: writer.file, path: writer.path, header: writer.header, offset: writer.offset)
    sink.publish(commits)
  }
}
