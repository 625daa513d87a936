import Dispatch
import HeartlogEvents
import HeartlogFiles

/// The log of one store: reads every stream, and writes its own.
///
/// Concurrent writers form a line. The first whose turn it is writes the whole line as one batch, and one
/// fdatasync serves all of it. The lock of the store is held from the first draft of a batch to its fdatasync, so
/// that drafts build on everything that any process has written.
package final class CommitLog: @unchecked Sendable {
  // Everything below `monitor` is touched by whoever is in it alone, except that the thread that set
  // `isBusy` may change the log's files, and what stands for them here, outside of it. So two accesses never meet, and those to what each
  // commit touches are not looked up at runtime either (`exclusivity(unchecked)`): that was a seventh of all that a buffered commit costs.
  let directory: StoreDirectory
  let options: StorageOptions
  let lock: StoreLock
  let monitor = Monitor()
  // Held: sealing in the background may outlive the store that the log belongs to.
  let sink: any CommitSink
  let processID: Int32
  private let isReadOnlyBecause: String?

  var identity: StoreIdentity { didSet { knownOwnReader = nil } }
  var readers: [ReplicaID: StreamReader] = [:] { didSet { knownOwnReader = nil } }
  /// That of the own stream, once it was looked up.
  @exclusivity(unchecked) private var knownOwnReader: StreamReader?
  var ends: [ReplicaID: Finding] = [:]
  /// What snapshots say of the log, those among them from which it could not be opened.
  var snapshots: [SnapshotClaim]
  @exclusivity(unchecked) var writer: SegmentWriter?
  /// What the store's recovery did since it was opened.
  var reports: [Finding] = []
  /// A writer of this process took permissions that others had for the store.
  var tookPermissions = false
  @exclusivity(unchecked) var clock = HybridClock()

  // The line.
  @exclusivity(unchecked) var staged: StreamTail
  @exclusivity(unchecked) var queue = CommitQueue()
  /// What is written now, or memory for the next batch: the busy thread's.
  @exclusivity(unchecked) var batch = CommitQueue()
  /// The number of the batch that the line will be: tells the event count of its writers.
  @exclusivity(unchecked) var nextBatch = 0
  /// How many commits were in the last batch, and in line behind it: about as many threads write at once.
  @exclusivity(unchecked) var recentWriters = 0
  /// How long durable batches take to be written, about the least of late: the busy thread's. A second before the first.
  @exclusivity(unchecked) var batchNanoseconds: UInt64 = 1_000_000_000
  /// What writers in line wait for, by batches of even and of odd numbers.
  let eventCounts = [EventCount(), EventCount()]
  /// Other streams may have grown since heads were last written.
  @exclusivity(unchecked) var looksForHeads = true
  /// A thread is changing the log's files.
  @exclusivity(unchecked) var isBusy = false
  /// A thread makes durable what was acknowledged before, while others go on writing. Until it has, nobody else makes the segment
  /// durable: the system reports an error once, and whoever asked second would not hear of it.
  @exclusivity(unchecked) var isFlushing = false
  /// Another lease ended meanwhile.
  @exclusivity(unchecked) var flushesAgain = false
  /// The busy thread does nothing but append behind what is acknowledged: a flush may begin meanwhile.
  @exclusivity(unchecked) var isAppending = false
  /// The segment that is written to, and up to where its commits are acknowledged.
  @exclusivity(unchecked) var acknowledged: (segment: SegmentWriter, bytes: UInt64)?
  /// What a flush came to: taken when no thread is busy.
  @exclusivity(unchecked) var flushOutcome: FlushOutcome?

  // The store's lock.
  var isAcquiring = false
  var acquisitions = 0
  /// The last acquisition that failed: whoever waited for it need not wait as long again.
  var failedAcquisition: (number: Int, error: StorageError)?
  @exclusivity(unchecked) var holdsLock = false
  /// Other processes wait for the lock: nobody joins the line until they had it.
  var isGivingWay = false
  /// Threads that want the log to themselves: nobody joins the line until they had it.
  var quietRequests = 0
  @exclusivity(unchecked) var unsyncedSince: DispatchTime?
  /// The generation at which this process let go of the lock, all taken in: while it stands, nobody has written.
  /// One that was seen without the lock says less: its writer may have gone on without raising it again.
  var releasedGeneration: UInt64?
  /// After an error in the middle of things: all is looked at again before the next write.
  var looksAgain = false

  private var seenPage: StoreLock.Page?
  /// Files may have been opened or closed since they were last counted.
  @exclusivity(unchecked) var recountsFiles = true
  @exclusivity(unchecked) var countedFiles = 0
  var failure: StorageError?
  private(set) var isClosed = false

  /// Where received streams go on, as far as this process wrote them.
  var receivedTails: [ReplicaID: SegmentWriter] = [:]
  /// What is known of the streams for shipping. Its monitor is entered last.
  let merkleCaches = MerkleCaches()

  /// Of the positions that the log was opened at, those that lie elsewhere now, in a segment that was sealed since, with their new places:
  /// comparing their trees took time.
  package private(set) var movedPositions: [StreamPosition] = []

  /// Somebody seals, in the background or not.
  var isSealing = false
  var backgroundSealingFailure: StorageError?

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
    identity = found.identity
    self.options = options
    self.sink = sink
    self.snapshots = snapshots
    processID = fileSystem.processID
    lock = try StoreLock(directory)
    staged = StreamTail(replica: identity.replica)
    isReadOnlyBecause =
      if !lock.hasPage {
        Self.networkReason
      } else if options.access == .readOnly {
        "the store was opened for reading only"
      } else {
        nil
      }
    try monitor.withLock { () throws(StorageError) in
      let page = lock.page()
      let starts = try StreamStart(directory: directory).readers(at: positions, own: identity.replica)
      for (position, (reader, moved)) in zip(positions, starts) {
        readers[position.replica] = reader
        if let moved { movedPositions.append(moved) }
        merkleCaches.positions[position.replica] = position
        clock.receive(position.lastStamp)
      }
      try catchUp(progress, page: page, identityFile: found.file)
    }
    noteFiles()
  }

  static let networkReason = "the store is on a network file system; sync with it as a folder instead"

  deinit {
    end()
    options.budget.forget(self)
  }

  // MARK: - Reading

  /// Who writes here.
  package var ownIdentity: StoreIdentity { monitor.withLock { identity } }

  /// What is not as it was written, as far as it was read; and what recovery did.
  package var findings: [Finding] {
    monitor.withLock {
      let lost = Set(ends.values.filter { $0.verdict == .lost }.map(\.replica))
      return reports + ends.sorted { $0.key < $1.key }.map(\.value)
        + missing.map(\.finding).filter { !lost.contains($0.replica) }
    }
  }

  /// Commits that a snapshot was made from, and that are not here any more.
  var missing: [(claim: SnapshotClaim, finding: Finding)] {
    snapshots.flatMap { claim in
      claim.positions.compactMap { position in
        guard ends[position.replica]?.verdict != .corrupt else { return nil }
        let reader = readers[position.replica]
        let next = reader?.tail.next ?? CommitNumber(rawValue: 1)
        guard next <= position.commit, reader?.isEnded != true else { return nil }
        return (claim, .missing(next...position.commit, of: position.replica, knownFrom: claim.file))
      }
    }
  }

  /// Whether other users of the machine could read the store, or hold its lock, until this process first wrote to it.
  package var hasTakenPermissions: Bool { monitor.withLock { tookPermissions } }

  /// Why sealing in the background did not succeed the last time.
  package var sealingFailure: StorageError? { monitor.withLock { backgroundSealingFailure } }

  /// Takes in what other processes and other replicas wrote.
  package func refresh() throws(StorageError) {
    defer { noteFiles() }
    try monitor.withLock { () throws(StorageError) in
      try checkUsable()
      // Nobody else can have written while this process holds the lock.
      guard !holdsLock else { return }
      let page = lock.page()
      if let seenPage, page.generation == seenPage.generation, page.generation != 0 { return }
      try catchUp(nil)
    }
  }

  /// Whether another process changed something since the last look. Costs a few loads from memory.
  package var isBehind: Bool {
    let page = lock.page()
    return monitor.withLock { !holdsLock && (!lock.hasPage || page.generation != seenPage?.generation) }
  }

  /// Reads on in every stream.
  ///
  /// - Parameter anew: reads all that there is once more, into a sink that was told so.
  func catchUp(_ progress: LogProgress?, anew: Bool = false) throws(StorageError) {
    looksForHeads = true
    let page = lock.page()
    if !anew, seenPage?.structure != page.structure || page.structure == 0 {
      for reader in readers.values where try reader.wasEndedMeanwhile() { return try restart() }
    }
    try catchUp(progress, page: page, anew: anew)
  }

  /// - Parameters:
  ///   - page: the lock's page as it was before any stream was looked at.
  ///   - identityFile: what `identity` was read from.
  private func catchUp(
    _ progress: LogProgress?, page: StoreLock.Page, anew: Bool = false, identityFile: (any OpenFile)? = nil
  ) throws(StorageError) {
    if anew || seenPage?.structure != page.structure || page.structure == 0 {
      if try !isIdentity(in: identityFile) { identity = try StoreIdentity.read(directory) }
      for replica in try directory.replicas() where readers[replica] == nil {
        readers[replica] = StreamReader(directory, replica: replica)
      }
    }
    _ = ownReader
    var meter = ProgressMeter(progress, total: progress == nil ? 0 : try directory.logBytes())
    var openStreams = 0
    for replica in readers.keys.sorted() {
      try readOn(replica, page, &meter)
      guard let reader = readers[replica], reader.cursor?.file != nil, replica != identity.replica else {
        continue
      }
      openStreams += 1
      if openStreams > OpenFileBudget.streamsMax { reader.rest() }
    }
    seenPage = page
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
    guard let reader = readers[replica] else { return }
    ends[replica] = nil
    reader.borrowsRows = true
    let frames = ReadAhead(reader, page: page)
    while true {
      let found = try storageErrors { try frames.next() }
      switch found.next {
      case .end(.whole): return
      case .end(.unfinished(let finding)), .end(.corrupt(let finding)):
        ends[replica] = finding
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
    try readOn(replica, lock.page(), &meter)
  }

  /// The reader of the own stream, which may be empty yet.
  var ownReader: StreamReader {
    if let knownOwnReader { return knownOwnReader }
    let reader = readers[identity.replica] ?? StreamReader(directory, replica: identity.replica)
    if readers[identity.replica] == nil { readers[identity.replica] = reader }
    knownOwnReader = reader
    return reader
  }

  // MARK: - The end

  /// Flushes and lets go of the lock; every later call throws. Waits for commits and sealing under way.
  package func close() {
    end()
    noteFiles()
  }

  private func end() {
    monitor.withLock {
      guard !isClosed else { return }
      guard directory.fileSystem.processID == processID else {
        // After a fork the lock is the other process's, and so is what was not flushed.
        isClosed = true
        return
      }
      // Each of these leaves the monitor, and others may come in meanwhile.
      while true {
        if isBusy || isFlushing || isSealing {
          monitor.wait()
        } else if !queue.isEmpty {
          flushLine()
        } else if unsyncedSince != nil {
          synchronizeLease()
        } else {
          break
        }
      }
      isClosed = true
      if holdsLock {
        holdsLock = false
        lock.release()
      }
      closeFiles()
      monitor.notifyAll()
    }
  }

  func checkUsable() throws(StorageError) {
    if isClosed { throw StorageError(.misuse, "the store was closed") }
    if directory.fileSystem.processID != processID {
      throw StorageError(.misuse, "the store was opened before a fork; open it again in the new process")
    }
  }

  func checkWritable() throws(StorageError) {
    try checkUsable()
    if let failure { throw failure }
    if let isReadOnlyBecause {
      throw StorageError(.readOnly, isReadOnlyBecause, file: directory.path)
    }
  }

  /// Notes, as the lock goes, that nothing of others has been missed.
  func noteSeen() {
    let page = lock.page()
    seenPage = looksAgain ? nil : page
    releasedGeneration = looksAgain ? nil : page.generation
    if looksAgain { for reader in readers.values { reader.resolvedStructure = nil } }
    looksAgain = false
  }
}
