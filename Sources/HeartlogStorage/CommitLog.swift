import Dispatch
import HeartlogEvents
import HeartlogFiles

/// The log of one store: reads every stream, and writes its own.
///
/// Concurrent writers form a line. The first whose turn it is writes the whole line as one batch, and one
/// fdatasync serves all of it. The lock of the store is held from the first draft of a batch to its fdatasync, so
/// that drafts build on everything that any process has written.
public final class CommitLog: @unchecked Sendable {
  // Everything below `monitor` is touched by its holder alone, except that the thread that set `isFlushing`
  // may use `writer` outside of it.
  let directory: StoreDirectory
  let options: StorageOptions
  let lock: StoreLock
  let monitor = Monitor()
  private unowned let sink: any CommitSink
  private let processID: Int32

  var identity: StoreIdentity
  var readers: [ReplicaID: StreamReader] = [:]
  var ends: [ReplicaID: Finding] = [:]
  var writer: SegmentWriter?
  /// What the store's recovery did since it was opened.
  var reports: [Finding] = []

  private var clock = HybridClock()
  private var staged: Chain
  private var line: [Turn] = []
  private var isAcquiring = false
  private var holdsLock = false
  private var isFlushing = false
  /// Others wait for the lock: nobody joins the line until they had it.
  private var isGivingWay = false
  private var unsyncedSince: DispatchTime?
  /// The generation up to which everything was read.
  private var seenPage: StoreLock.Page?
  private var failure: StorageError?
  private var isClosed = false
  var isSealing = false
  /// Why sealing in the background did not succeed the last time.
  public internal(set) var sealingFailure: StorageError?

  /// One commit on its way.
  private final class Turn {
    let entry: SegmentWriter.Entry
    let durability: Durability
    var result: Result<Void, StorageError>?

    init(_ entry: SegmentWriter.Entry, _ durability: Durability) {
      self.entry = entry
      self.durability = durability
    }
  }

  /// Opens a store that is there, and reads its whole log into `sink`.
  public init(
    at path: String, on fileSystem: any FileSystem, options: StorageOptions = StorageOptions(),
    sink: any CommitSink, progress: LogProgress? = nil
  ) throws(StorageError) {
    directory = StoreDirectory(fileSystem: fileSystem, path: path)
    identity = try StoreIdentity.read(directory)
    self.options = options
    self.sink = sink
    processID = fileSystem.processID
    lock = try StoreLock(directory)
    staged = Chain(replica: identity.replica)
    if try onFiles({ () throws(FileError) in try fileSystem.isOnNetwork(path) }) {
      isReadOnlyBecause = "the store is on a network file system; sync with it as a folder instead"
    } else if options.access == .readOnly {
      isReadOnlyBecause = "the store was opened for reading only"
    }
    try monitor.withLock { () throws(StorageError) in try takeIn(progress) }
  }

  deinit { close() }

  private(set) var isReadOnlyBecause: String?

  // MARK: - Reading

  /// Who writes here.
  public var ownIdentity: StoreIdentity { monitor.withLock { identity } }

  /// What is not as it was written, as far as it was read; and what recovery did.
  public var findings: [Finding] {
    monitor.withLock { reports + ends.sorted { $0.key < $1.key }.map(\.value) }
  }

  /// Takes in what other processes and other replicas wrote.
  public func refresh() throws(StorageError) {
    try monitor.withLock { () throws(StorageError) in
      try checkUsable()
      // Nobody else can have written while this process holds the lock.
      if !holdsLock { try takeIn(nil) }
    }
  }

  /// Whether another process changed something since the last look. Costs a few loads from memory.
  public var isBehind: Bool {
    let page = lock.page()
    return monitor.withLock { !holdsLock && page.generation != seenPage?.generation }
  }

  private func takeIn(_ progress: LogProgress?) throws(StorageError) {
    let page = lock.page()
    if let seenPage, page.generation == seenPage.generation, page.generation != 0 { return }
    if seenPage?.structure != page.structure || page.structure == 0 {
      if seenPage != nil { identity = try StoreIdentity.read(directory) }
      for replica in try directory.replicas() where readers[replica] == nil {
        readers[replica] = StreamReader(directory, replica: replica)
      }
    }
    if readers[identity.replica] == nil {
      readers[identity.replica] = StreamReader(directory, replica: identity.replica)
    }
    var meter = ProgressMeter(progress, total: progress == nil ? 0 : try directory.logBytes())
    ends.removeAll()
    for (replica, reader) in readers.sorted(by: { $0.key < $1.key }) {
      let ownPage = replica == identity.replica ? page : StoreLock.Page()
      let end = try storageErrors {
        try reader.read(page: ownPage) { frame, cursor in
          if case .commits(let commits, _) = frame {
            for commit in commits {
              clock.receive(commit.stamp)
              sink.receive(commit)
            }
          }
          meter.advance(cursor)
        }
      }
      switch end {
      case .whole: break
      case .unfinished(let finding), .corrupt(let finding): ends[replica] = finding
      }
    }
    seenPage = page
  }

  // MARK: - Writing

  /// Writes one commit.
  ///
  /// - Parameter draft: says what to write, given everything committed or staged so far; nil writes nothing. It is
  ///   called with the store's lock held, once.
  /// - Returns: the commit, acknowledged as `durability` says; nil where nothing was to be written.
  public func write(_ durability: Durability, _ draft: () throws -> CommitDraft?) throws -> Commit? {
    monitor.enter()
    defer { monitor.leave() }
    try takeLock()
    let commit: Commit
    do {
      guard let draft = try draft() else {
        releaseWhenIdle()
        return nil
      }
      commit = try stage(draft, durability)
    } catch {
      releaseWhenIdle()
      throw error
    }
    guard let turn = line.last else { preconditionFailure("a staged commit stands in the line") }
    while turn.result == nil {
      if isFlushing { monitor.wait() } else { flushLine() }
    }
    try turn.result?.get()
    return commit
  }

  /// Makes every acknowledged commit durable, and lets others write.
  public func flush() throws(StorageError) {
    try monitor.withLock { () throws(StorageError) in
      while isFlushing { monitor.wait() }
      if let failure { throw failure }
      guard unsyncedSince != nil else { return }
      synchronizeLease()
      if let failure { throw failure }
    }
  }

  /// Flushes and lets go of the lock; every later call throws. Waits for sealing that is under way.
  public func close() {
    monitor.withLock {
      guard !isClosed else { return }
      while isFlushing || isSealing { monitor.wait() }
      if unsyncedSince != nil { synchronizeLease() }
      isClosed = true
      if holdsLock {
        holdsLock = false
        lock.release()
      }
    }
  }

  private func checkUsable() throws(StorageError) {
    if isClosed { throw StorageError(.misuse, "the store was closed") }
    if directory.fileSystem.processID != processID {
      throw StorageError(.misuse, "the store was opened before a fork; open it again in the new process")
    }
  }

  private func checkWritable() throws(StorageError) {
    try checkUsable()
    if let failure { throw failure }
    if let isReadOnlyBecause {
      throw StorageError(.readOnly, isReadOnlyBecause, file: directory.path)
    }
  }

  /// Takes the store's lock for this process, and everything that others wrote.
  private func takeLock() throws(StorageError) {
    while true {
      try checkWritable()
      if isAcquiring || isGivingWay { monitor.wait() } else { break }
    }
    guard !holdsLock else { return }
    isAcquiring = true
    let result = monitor.outside {
      Result { () throws(StorageError) in try lock.acquire(waitingAtMost: options.lockMillisecondsMax) }
    }
    isAcquiring = false
    monitor.notifyAll()
    try result.get()
    holdsLock = true
    do {
      try takeIn(nil)
      try takeOver()
      guard let own = readers[identity.replica] else { preconditionFailure("the own stream has a reader") }
      staged = own.chain
    } catch {
      letGo()
      throw error
    }
  }

  private func stage(_ draft: CommitDraft, _ durability: Durability) throws -> Commit {
    guard staged.next.rawValue <= Limits.numberMax else {
      throw StorageError(.malformed, "this replica has written all the commits that it can")
    }
    guard let stamp = clock.next(wallTime: draft.wallTime) else {
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
    do {
      var row: [UInt8] = []
      try RowEncoding.append(commit, to: &row)
      try staged.extend(by: commit)
      line.append(Turn(SegmentWriter.Entry(commit: commit, body: Frame.Body(row: row)), durability))
    } catch {
      throw StorageError(error)
    }
    sink.stage(commit)
    return commit
  }

  // MARK: - The line

  /// Writes everything that stands in line.
  private func flushLine() {
    isFlushing = true
    if line.contains(where: { $0.durability == .durable }) { waitForTheLine() }
    let batch = line
    line.removeAll(keepingCapacity: true)
    let isDurable = batch.contains { $0.durability == .durable }
    let result = monitor.outside {
      Result { () throws(StorageError) in try write(batch.map(\.entry), isDurable: isDurable) }
    }
    isFlushing = false
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
      if let own = readers[identity.replica] { staged = own.chain }
      if error.code == .outcomeUnknown { failure = error }
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

  /// Runs outside the monitor, by the one thread that flushes.
  private func write(_ entries: [SegmentWriter.Entry], isDurable: Bool) throws(StorageError) {
    let target = try segmentForWriting(entries)
    // Should this process die in the middle, the next holder sees that it must look at the tail.
    lock.update { _ in }
    try target.append(entries)
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
  private func synchronize(_ target: SegmentWriter) throws(StorageError) {
    do { try target.synchronize() } catch {
      writer = nil
      throw suspend(target, after: error)
    }
    let durable = target.durableOffset
    lock.update { $0.durableBytes = durable }
  }

  private func didWrite(_ commits: ArraySlice<Commit>) {
    guard let own = readers[identity.replica], let writer else { return }
    for commit in commits {
      // Each was checked when it was staged.
      do { try own.didAppend(commit) } catch { preconditionFailure(error.reason) }
    }
    own.didWrite(to: writer.file, path: writer.path, header: writer.header, offset: writer.offset)
    sink.publish(commits)
  }

  // MARK: - The lease

  /// A lock and unlock cost as much as a buffered write: the lock is kept until the next flush.
  private func startLease() {
    guard unsyncedSince == nil else { return }
    unsyncedSince = .now()
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Self.leaseMillisecondsMax)) {
      [weak self] in
      guard let self else { return }
      monitor.withLock {
        while self.isFlushing { self.monitor.wait() }
        if self.unsyncedSince != nil { self.synchronizeLease() }
      }
    }
  }

  private static let leaseMillisecondsMax = 100
  /// Others may have the lock earlier, but not before some work was done under it.
  private static let leaseMillisecondsMin: UInt64 = 25

  private func synchronizeLease() {
    isFlushing = true
    let result = monitor.outside {
      Result { () throws(StorageError) in if let writer { try synchronize(writer) } }
    }
    isFlushing = false
    unsyncedSince = nil
    if case .failure(let error) = result { failure = error }
    releaseWhenIdle()
    monitor.notifyAll()
  }

  private func releaseWhenIdle() {
    guard holdsLock, !isFlushing else { return }
    if lock.isWanted { isGivingWay = true }
    guard line.isEmpty else { return }
    if let unsyncedSince {
      let heldNanoseconds = DispatchTime.now().uptimeNanoseconds - unsyncedSince.uptimeNanoseconds
      guard isGivingWay, heldNanoseconds > Self.leaseMillisecondsMin * 1_000_000 else {
        isGivingWay = false
        return
      }
      // Ends by calling this function again, with nothing unsynced.
      return synchronizeLease()
    }
    letGo()
    if isGivingWay {
      monitor.outside { lock.giveWay() }
      isGivingWay = false
    }
    monitor.notifyAll()
  }

  private func letGo() {
    guard holdsLock else { return }
    seenPage = lock.page()
    holdsLock = false
    lock.release()
  }

  // MARK: - Changing files under the lock

  /// Runs `body` with the store's lock held, everything taken in, and nothing in line.
  func withQuietLog<R>(_ body: () throws -> R) throws -> R {
    monitor.enter()
    defer { monitor.leave() }
    try takeLock()
    while isFlushing || !line.isEmpty {
      if isFlushing { monitor.wait() } else { flushLine() }
      try takeLock()
    }
    defer { releaseWhenIdle() }
    if unsyncedSince != nil {
      synchronizeLease()
      try takeLock()
    }
    return try body()
  }
}
