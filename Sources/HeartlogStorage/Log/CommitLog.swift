import Dispatch
import HeartlogEvents
import HeartlogFiles

/// The log of one store: reads every stream, and writes its own.
///
/// Concurrent writers queue. The first of them writes all that waits as one batch, and one fdatasync serves all of it. The lock of the store
/// is held from the first draft of a batch to its fdatasync, so that drafts build on everything that any process has written.
package final class CommitLog: @unchecked Sendable {
  /// What this process does with the log's files.
  enum Phase {
    case idle
    /// One thread changes the log's files, outside of the monitor.
    case busy
    /// The same, and the thread changes what is known of the streams, too: others wait before they look at it.
    case changingStreams
    /// The busy thread does nothing but append behind what is acknowledged: a flush may begin meanwhile.
    case appending
    /// The store was closed.
    case closed
  }

  // Guarded by `monitor`, except that the busy thread may change the log's files, and what stands for them here, outside of it. Two accesses
  // never meet, so those that each commit makes are not checked at run time (`exclusivity(unchecked)`): that was a seventh of what a
  // buffered commit costs.
  let directory: StoreDirectory
  let options: StorageOptions
  let monitor = Monitor()
  // Held: sealing in the background may outlive the store that the log belongs to.
  let sink: any CommitSink
  let access: LogAccess

  @exclusivity(unchecked) var phase = Phase.idle
  let lease: StoreLease
  let queue: CommitQueue
  let appender: SegmentAppender
  let streamSet: StreamSet
  /// What is known of the streams for shipping. Its monitor is entered last.
  let merkleCaches = MerkleCaches()
  @exclusivity(unchecked) var clock = HybridClock()
  @exclusivity(unchecked) var openFileCount = OpenFileCount()
  @exclusivity(unchecked) var sealing = Sealing()
  /// A writer of this process took permissions that others had for the store.
  var tookPermissions = false

  /// Of the positions that the log was opened at, those that lie elsewhere now, in a segment that was sealed since, with their new locations:
  /// comparing their trees took time.
  package private(set) var movedPositions: [StreamPosition] = []

  /// Opens a store that is there, and reads its log into `sink`: all of it, or what follows positions in it.
  ///
  /// Each position is checked before the sink gets anything: the stream must still have the same commits in front of it. Streams that no
  /// position names are read from their start.
  ///
  /// - Parameters:
  ///   - positions: at most one a stream; where the sink has all commits in front of them already.
  ///   - snapshots: what snapshots say of the log, that of the positions among them. Where one knows of commits that are not here, they
  ///     are lost: `findings` says so, and the next writer acts upon it.
  /// - Throws: `otherHistory` where a position does not stand in its stream, and `otherLog` where it is of another store, or its stream was
  ///   ended in front of it: then the log is to be read from its start.
  package init(
    at path: String, on fileSystem: any FileSystem, options: StorageOptions = StorageOptions(),
    sink: any CommitSink, from positions: [StreamPosition] = [], snapshots: [SnapshotClaim] = [],
    progress: LogProgress? = nil
  ) throws(StorageError) {
    directory = StoreDirectory(fileSystem: fileSystem, path: path)
    let found = try StoreIdentity.readWithFile(directory)
    self.options = options
    self.sink = sink
    let lock = try StoreLock(directory)
    access = LogAccess(directory, options, hasLockPage: lock.hasPage)
    lease = StoreLease(lock, monitor: monitor)
    queue = CommitQueue(replica: found.identity.replica)
    appender = SegmentAppender(directory, lease)
    streamSet = StreamSet(directory, identity: found.identity, snapshots: snapshots)
    try monitor.withLock { () throws(StorageError) in
      let page = lease.lock.page()
      let starts = try StreamStart(directory: directory).readers(at: positions, own: found.identity.replica)
      for (position, (reader, moved)) in zip(positions, starts) {
        streamSet.readers[position.replica] = reader
        if let moved { movedPositions.append(moved) }
        merkleCaches.positions[position.replica] = position
        clock.receive(position.lastStamp)
      }
      try catchUp(progress, page: page, identityFile: found.file)
    }
    noteFiles()
  }

  deinit {
    end()
    options.budget.forget(self)
  }

  // MARK: - Reading

  /// Who writes here.
  package var ownIdentity: StoreIdentity { withStreams { streamSet.identity } }

  /// What is not as it was written, as far as it was read; and what recovery did.
  package var findings: [Finding] { withStreams { streamSet.findings } }

  /// Looks at what is known of the streams while no thread changes it. `body` must not be called by the thread that does.
  func withStreams<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    try monitor.withLock { () throws(E) in
      // In a forked process nobody would end the phase.
      while phase == .changingStreams, access.isOfThisProcess { monitor.wait() }
      return try body()
    }
  }

  /// Whether other users of the machine could read the store, or hold its lock, until this process first wrote to it.
  package var hasTakenPermissions: Bool { monitor.withLock { tookPermissions } }

  /// Why sealing in the background did not succeed the last time.
  package var sealingFailure: StorageError? { monitor.withLock { sealing.failure } }

  /// Takes in what other processes and other replicas wrote.
  package func refresh() throws(StorageError) {
    defer { noteFiles() }
    try monitor.withLock { () throws(StorageError) in
      try checkUsable()
      // Nobody else can have written while this process holds the lock.
      guard !lease.isHeld else { return }
      let page = lease.lock.page()
      if let seen = lease.seenPage, page.generation == seen.generation, page.generation != 0 { return }
      try catchUp(nil)
    }
  }

  /// Whether another process changed something since the last look. Costs a few loads from memory.
  package var isBehind: Bool {
    let generation = lease.lock.generation
    return monitor.withLock {
      !lease.isHeld && (!lease.lock.hasPage || generation != lease.seenPage?.generation)
    }
  }

  /// Reads on in every stream.
  ///
  /// - Parameter anew: reads all that there is once more, into a sink that was told so.
  func catchUp(_ progress: LogProgress?, anew: Bool = false) throws(StorageError) {
    queue.looksForHeads = true
    let page = lease.lock.page()
    if !anew, lease.seenPage?.structure != page.structure || page.structure == 0 {
      for reader in streamSet.readers.values where try reader.wasEndedMeanwhile() { return try restart() }
    }
    try catchUp(progress, page: page, anew: anew)
  }

  /// - Parameters:
  ///   - page: the lock's page as it was before any stream was looked at.
  ///   - identityFile: what `identity` was read from.
  private func catchUp(
    _ progress: LogProgress?, page: StoreLock.Page, anew: Bool = false, identityFile: (any OpenFile)? = nil
  ) throws(StorageError) {
    if anew || lease.seenPage?.structure != page.structure || page.structure == 0 {
      if try !isIdentity(in: identityFile) { streamSet.identity = try StoreIdentity.read(directory) }
      for replica in try directory.replicas() where streamSet.readers[replica] == nil {
        streamSet.readers[replica] = StreamReader(directory, replica: replica)
      }
    }
    _ = streamSet.own
    var meter = ProgressMeter(progress, total: progress == nil ? 0 : try directory.logBytes())
    var openStreams = 0
    for replica in streamSet.readers.keys.sorted() {
      try readOn(replica, page, &meter)
      guard let reader = streamSet.readers[replica], reader.cursor?.file != nil,
        replica != streamSet.identity.replica
      else {
        continue
      }
      openStreams += 1
      if openStreams > OpenFileBudget.streamsMax { reader.rest() }
    }
    lease.noteSeen(page)
  }

  /// Whether an open file is the one that says who writes here: it is only ever replaced by another.
  private func isIdentity(in file: (any OpenFile)?) throws(StorageError) -> Bool {
    guard let file else { return false }
    return try onFiles { () throws(FileError) in
      try directory.fileSystem.info(directory.identityPath)?.inode == file.inode()
    }
  }

  private func readOn(_ replica: ReplicaID, _ page: StoreLock.Page, _ meter: inout ProgressMeter)
    throws(StorageError)
  {
    guard let reader = streamSet.readers[replica] else { return }
    streamSet.ends[replica] = nil
    reader.borrowsRows = true
    let frames = ReadAhead(reader, page: page)
    while true {
      let found = try storageErrors { try frames.next() }
      switch found.next {
      case .end(.whole): return
      case .end(.unfinished(let finding)), .end(.corrupt(let finding)):
        streamSet.ends[replica] = finding
        return
      case .frame(let frame, let cursor):
        meter.advance(cursor, to: found.offset)
        switch frame {
        case .row(let commit, _):
          clock.receive(commit.stamp)
          sink.receive(commit)
        case .rows(let rows, _):
          if rows.mayReadAhead { frames.readAhead() }
          rows.withRows { rows in
            // Stamps rise along a stream.
            if let last = rows.last { clock.receive(last.stamp) }
            sink.receive(rows)
          }
        case .block(let block):
          clock.receive(block.lastStamp)
          sink.receive(block)
        case .record: break
        }
      }
    }
  }

  /// Reads on in one stream alone.
  func readOn(in replica: ReplicaID) throws(StorageError) {
    var meter = ProgressMeter(nil, total: 0)
    try readOn(replica, lease.lock.page(), &meter)
  }

  // MARK: - The end

  /// Flushes and lets go of the lock; every later call throws. Waits for commits and sealing under way.
  package func close() {
    end()
    noteFiles()
  }

  private func end() {
    monitor.withLock {
      guard phase != .closed else { return }
      guard access.isOfThisProcess else { return phase = .closed }
      // Each of these leaves the monitor, and others may come in meanwhile.
      while true {
        if isBusy || appender.isFlushing || sealing.isRunning {
          monitor.wait()
        } else if !queue.waiting.isEmpty {
          writeBatch()
        } else if lease.unsyncedSince != nil {
          synchronizeLease()
        } else {
          break
        }
      }
      phase = .closed
      if lease.isHeld { lease.release() }
      closeFiles()
      monitor.notifyAll()
    }
  }

  func checkUsable() throws(StorageError) {
    if phase == .closed { throw StorageError(.misuse, "the store was closed") }
    try access.checkProcess()
  }

  func checkWritable() throws(StorageError) {
    try checkUsable()
    try appender.checkOutcome()
    try access.checkWritable()
  }

  /// A thread is changing the log's files.
  var isBusy: Bool {
    switch phase {
    case .busy, .changingStreams, .appending: true
    case .idle, .closed: false
    }
  }
}
