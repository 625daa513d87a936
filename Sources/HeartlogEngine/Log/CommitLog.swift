import HeartlogFiles
import HeartlogFormat
import Synchronization

/// The log of one store. It reads every stream, and writes its own.
///
/// Concurrent writers are queued. The first of them writes all queued commits as one batch, with a single fdatasync. The store's lock is
/// held from the first draft of a batch to its fdatasync, so that drafts build on everything that any process has written.
package final class CommitLog: @unchecked Sendable {
  /// What this process is doing with the log's files.
  enum Phase {
    case idle
    /// One thread is changing the log's files, outside the monitor.
    case busy
    /// Like `busy`, but the thread also changes the state of the streams. Other threads wait before they read it.
    case changingStreams
    /// The busy thread only appends behind the acknowledged commits. A flush may start at the same time.
    case appending
    /// The store was closed.
    case closed
  }

  // Guarded by `monitor`, except that the busy thread may change the log's files, and the fields here that represent them, outside of it.
  // Two accesses never overlap, so the accesses that each commit makes are not checked at run time (`exclusivity(unchecked)`): the checks
  // were a seventh of the cost of a buffered commit.
  let directory: StoreDirectory
  let options: StorageOptions
  let monitor = Monitor()
  let access: LogAccess

  @exclusivity(unchecked) var phase = Phase.idle
  let lease: StoreLease
  // The lease's lock and the projection of `streamSet`: a call through those objects counts a reference, which took 290 instructions of a
  // commit.
  let lock: StoreLock
  let projection: Projection
  let queue: CommitQueue
  let appender: SegmentAppender
  let streamSet: StreamSet
  let recovery: TailRecovery
  let receiver: RunReceiver
  @exclusivity(unchecked) var openFileCount = OpenFileCount()
  @exclusivity(unchecked) var sealing = Sealing()
  /// How often the log was asked to rest. Sealing in the background ends when it is raised.
  let rests = Atomic<Int>(0)

  /// The positions, among those that the log was opened at, that are now in a segment sealed since then, with their new locations.
  /// Comparing their trees took time.
  package private(set) var movedPositions: [StreamPosition] = []

  /// Opens an existing store, and reads its log into `projection`: either the whole log, or what follows the given positions.
  ///
  /// Each position is checked before the projection receives anything: the stream must still have the same commits before it. Streams without a
  /// position are read from their start.
  ///
  /// - Parameters:
  ///   - positions: at most one per stream, at which the projection already has all earlier commits.
  ///   - snapshots: what snapshots record about the log, including the one that the positions come from. If a snapshot records commits that
  ///     are missing here, they are lost: `findings` reports it, and the next writer acts on it.
  /// - Throws: `otherHistory` if a position does not match its stream. `otherLog` if a position belongs to another store, or if its stream
  ///   was ended before it. In that case the log must be read from its start.
  package init(
    at path: String, on fileSystem: any FileSystem, options: StorageOptions = StorageOptions(),
    projection: Projection, from positions: [StreamPosition] = [], snapshots: [SnapshotClaim] = [],
    progress: LogProgress? = nil
  ) throws(HeartlogError) {
    directory = StoreDirectory(fileSystem: fileSystem, path: path)
    let found = try StoreIdentity.readWithFile(directory)
    self.options = options
    self.projection = projection
    lock = try StoreLock(directory, options)
    access = LogAccess(directory, options, hasLockPage: lock.hasPage)
    lease = StoreLease(lock, monitor: monitor)
    queue = CommitQueue(replica: found.identity.replica)
    appender = SegmentAppender(directory, lease, options.trace)
    streamSet = StreamSet(
      directory, identity: found.identity, checkpoints: Checkpoints(directory, options, lock),
      erased: ErasedEvents(directory, options, lock), snapshots: snapshots, projection: projection)
    recovery = TailRecovery(directory, options, lease, appender, streamSet)
    receiver = RunReceiver(directory, options, lease, appender, streamSet, recovery)
    try monitor.withLock { () throws(HeartlogError) in
      let page = lock.page()
      _ = try streamSet.erased.refresh()
      let starts = try StreamStart(directory: directory).readers(at: positions, own: found.identity.replica)
      for (position, (reader, moved)) in zip(positions, starts) {
        streamSet.readers[position.replica] = reader
        if let moved { movedPositions.append(moved) }
        streamSet.merkleCaches.positions[position.replica] = position
        streamSet.clock.receive(position.lastStamp)
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

  /// The identity of the replica that writes here.
  package var ownIdentity: StoreIdentity { withStreams { streamSet.identity } }

  /// The replica that writes here. Waits for no writer, and may be read inside a draft.
  package var ownReplica: ReplicaID { streamSet.ownReplica.withLock { $0 } }

  /// Whether the folder of a store is a copy, which becomes a new replica when it is next written.
  package static func isCopied(at path: String, on fileSystem: any FileSystem) throws(HeartlogError) -> Bool {
    let directory = StoreDirectory(fileSystem: fileSystem, path: path)
    return try !StoreIdentity.read(directory).location.isSame(as: .of(directory))
  }

  /// Damage found in the parts that were read so far, and what recovery did.
  package var findings: [Finding] {
    withStreams {
      let found = recovery.reports + streamSet.findings
      let signed = streamSet.missingSigned
      // Another process may have received them, and their checkpoint, since the streams were read. It raises the generation first.
      guard lease.isHeld || (lock.hasPage && lock.generation == lease.seenPage?.generation) else {
        return found
      }
      let lost = Set(found.filter { $0.verdict == .lost }.map(\.replica))
      return found + signed.filter { !lost.contains($0.replica) }
    }
  }

  /// Whether commits that were acknowledged are not here, as far as the snapshots say or an earlier writer noted.
  var hasLostCommits: Bool {
    get throws(HeartlogError) {
      if withStreams({ !streamSet.missing.isEmpty }) { return true }
      return try !notedLosses().isEmpty
    }
  }

  /// Gives later commits higher stamps than this one.
  func stampLater(than stamp: HybridTimestamp) { monitor.withLock { streamSet.clock.receive(stamp) } }

  /// Reads the state of the streams while no thread changes it. The thread that changes it must not call this.
  func withStreams<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    try monitor.withLock { () throws(E) in
      // In a forked process, no thread would end the phase.
      while phase == .changingStreams, access.isOfThisProcess { monitor.wait() }
      return try body()
    }
  }

  /// Whether other users of the machine could read the store, or hold its lock, until this process first wrote to it.
  package var hasTakenPermissions: Bool { monitor.withLock { recovery.tookPermissions } }

  /// Why the last attempt to seal in the background failed.
  package var sealingFailure: HeartlogError? { monitor.withLock { sealing.failure } }

  /// Reads what other processes and other replicas wrote.
  package func refresh() throws(HeartlogError) {
    defer { noteFiles() }
    try monitor.withLock { () throws(HeartlogError) in
      try checkUsable()
      try refreshInside()
    }
  }

  private func refreshInside() throws(HeartlogError) {
    monitor.assertHeld()
    // No other process can have written while this process holds the lock.
    guard !lease.isHeld else { return }
    let page = lock.page()
    if let seen = lease.seenPage, page.generation == seen.generation, page.generation != 0 {
      return lease.noteSeen(page)
    }
    try options.trace.span(.refresh) { () throws(HeartlogError) in try catchUp(nil) }
  }

  /// What this process has read of the store. Readers ask it whether to call `refreshForReading`.
  package var seen: SeenGeneration { lock.seen }

  /// Calls `changed` when another process may have changed the store, until the result is released. `changed` must call
  /// `refreshWatched` once and after each call, but not on the thread that calls it. Nil if that cannot be told: poll then.
  package func watch(_ changed: @escaping @Sendable () -> Void) -> (any LockFileWatch)? {
    lock.watch(changed)
  }

  /// Reads what other processes wrote, for a store that watches. Another change calls the watch.
  package func refreshWatched() {
    lock.awaitChange()
    if !seen.isCurrent { refreshForReading() }
  }

  /// Reads what other processes wrote, for a store that polls. On a network file system, where the lock page tells nothing, the streams
  /// are looked at each time.
  package func refreshPolled() { if !seen.isCurrent || !lock.hasPage { refreshForReading() } }

  /// Like `refresh`, for a reader. Waits neither for the lock nor for a thread that drafts, but for one that reads the log.
  ///
  /// A failure is not thrown: what was read before stays. The next write or `refresh` looks again, and throws; so does the next reader
  /// once the store has changed again.
  package func refreshForReading() {
    guard access.isOfThisProcess else { return }
    while !monitor.tryEnter() {
      // A thread that drafts holds the lock and has read everything, so nobody waits for its closure here.
      if seen.isCurrent { return }
      options.scheduler.sleep(microseconds: Self.pauseMicroseconds)
    }
    if phase != .closed {
      let generation = lock.page().generation
      do throws(HeartlogError) { try refreshInside() } catch { seen.note(generation) }
    }
    // Without entering the monitor again: a thread that drafts may be in it then.
    openFileCount.isStale = true
    leaveNotingFiles()
  }

  /// How often a reader looks whether the thread that reads the log is done.
  private static let pauseMicroseconds: UInt32 = 50

  /// Reads new data in every stream.
  ///
  /// - Parameter anew: reads the whole log again, into a projection that was notified of it.
  func catchUp(_ progress: LogProgress?, anew: Bool = false) throws(HeartlogError) {
    queue.looksForHeads = true
    let page = lock.page()
    if !anew, lease.seenPage?.structure != page.structure || page.structure == 0 {
      if try streamSet.erased.refresh() { return try restart() }
      for reader in streamSet.readers.values where try reader.wasEndedMeanwhile() { return try restart() }
    }
    try catchUp(progress, page: page, anew: anew)
  }

  /// - Parameters:
  ///   - page: the lock's page as it was before any stream was read.
  ///   - identityFile: the file that `identity` was read from.
  private func catchUp(
    _ progress: LogProgress?, page: StoreLock.Page, anew: Bool = false, identityFile: (any OpenFile)? = nil
  ) throws(HeartlogError) {
    if anew || lease.seenPage?.structure != page.structure || page.structure == 0 {
      if try !isIdentity(in: identityFile) { streamSet.identity = try StoreIdentity.read(directory) }
      let (replicas, dropped) = try directory.streams()
      streamSet.dropped = Set(dropped)
      if dropped.contains(where: { streamSet.readers[$0] != nil }) { return try restart() }
      for replica in replicas where streamSet.readers[replica] == nil {
        streamSet.readers[replica] = StreamReader(directory, replica: replica)
      }
    }
    _ = streamSet.own
    assert(
      streamSet.readers[streamSet.identity.replica] != nil, "the own stream is read, even if it is empty")
    var meter = ProgressMeter(progress, total: progress == nil ? 0 : try directory.logBytes())
    var openStreams = 0
    for replica in streamSet.readers.keys.sorted() {
      try streamSet.readOn(replica, page, &meter)
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

  /// Whether an open file is the current identity file. That file is only ever replaced by another.
  private func isIdentity(in file: (any OpenFile)?) throws(HeartlogError) -> Bool {
    guard let file else { return false }
    return try directory.fileSystem.info(directory.identityPath)?.inode == file.inode()
  }

  // MARK: - The end

  /// Flushes and releases the lock. Every later call throws. Waits for commits and sealing in progress.
  package func close() {
    end()
    noteFiles()
  }

  private func end() {
    monitor.withLock {
      guard phase != .closed else { return }
      guard access.isOfThisProcess else { return phase = .closed }
      finishWork()
      phase = .closed
      if lease.isHeld { lease.release() }
      closeFiles()
      monitor.notifyAll()
    }
  }

  /// Waits until nothing is queued, unsynced, or being sealed. Leaves the monitor, and other threads may enter it in the meantime.
  func finishWork() {
    monitor.assertHeld()
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
  }

  func checkUsable() throws(HeartlogError) {
    if phase == .closed { throw HeartlogError(.misuse, "the store was closed") }
    try access.checkProcess()
  }

  func checkWritable() throws(HeartlogError) {
    try checkUsable()
    try appender.checkOutcome()
    try access.checkWritable()
  }

  /// Whether a thread is changing the log's files.
  var isBusy: Bool {
    switch phase {
    case .busy, .changingStreams, .appending: true
    case .idle, .closed: false
    }
  }
}

extension CommitLog {
  /// The status of one stream, as far as it was read.
  package struct StreamStatus: Sendable {
    package let replica: ReplicaID
    /// The display name of the replica.
    package let name: String
    /// True if the stream was forked.
    package let isEnded: Bool
    /// The writer's clock at the last commit, or nil before the first commit.
    package let lastWallTime: Milliseconds?
    /// The latest time that the writer's clock ever showed, or nil before the first commit.
    package let latestWallTime: Milliseconds?
  }

  /// The streams of the store, sorted by replica.
  package var streams: [StreamStatus] {
    withStreams {
      streamSet.readers.keys.sorted().map { replica in
        let name =
          replica == streamSet.identity.replica
          ? streamSet.identity.name : streamSet.readers[replica]?.cursor?.header.replicaName
        let tail = streamSet.readers[replica]?.tail
        let time = tail?.head == nil ? nil : tail?.time
        return StreamStatus(
          replica: replica, name: name ?? "", isEnded: streamSet.readers[replica]?.isEnded ?? false,
          lastWallTime: time?.last, latestWallTime: time?.latest)
      }
    }
  }

  /// The own replica, and the replicas whose streams have ended.
  package var ownAndEndedReplicas: (own: ReplicaID, ended: Set<ReplicaID>) {
    withStreams { streamSet.ownAndEndedReplicas }
  }

  /// The same for drafts, which have entered the monitor.
  package var ownAndEndedReplicasOfDraft: (own: ReplicaID, ended: Set<ReplicaID>) {
    monitor.assertHeld()
    return streamSet.ownAndEndedReplicas
  }

  /// The wall time of the last commit that was read from a stream, or nil if there is none.
  package func lastWallTime(of replica: ReplicaID) -> Milliseconds? {
    withStreams {
      guard let tail = streamSet.readers[replica]?.tail, tail.head != nil else { return nil }
      return tail.time?.last
    }
  }

  /// The size of the log on disk in bytes, including zeros written ahead.
  package func logBytes() throws(HeartlogError) -> UInt64 { try directory.logBytes() }
}

extension StreamSet {
  fileprivate var ownAndEndedReplicas: (own: ReplicaID, ended: Set<ReplicaID>) {
    (identity.replica, Set(readers.keys.filter { readers[$0]?.isEnded == true }))
  }
}
