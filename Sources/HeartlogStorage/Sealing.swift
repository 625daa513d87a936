import Dispatch
import HeartlogEvents
import HeartlogFiles

/// What one run of sealing did.
public struct SealReport: Sendable {
  public var replacedFiles = 0
  public var sealedFiles = 0
  public var events: UInt64 = 0
  public var bytesBefore: UInt64 = 0
  public var bytesAfter: UInt64 = 0

  public init() {}
}

/// Sealing: whole segments become one file of large blocks. Commits, numbers, boundaries and hashes stay.
extension CommitLog {
  /// The most events of a sealed file that still takes in its neighbours.
  private static let sealedEventsMax = UInt64(Limits.commitEventsMax)
  /// In the background, small sealed neighbours are joined only when this many have come together: so no event is
  /// written more than about twice.
  private static let neighboursMin = 4

  /// Seals the whole own stream, its tail included, and joins small neighbours.
  public func seal(progress: LogProgress? = nil) throws(StorageError) -> SealReport {
    try storageErrors {
      try withQuietLog {
        while isSealing { monitor.wait() }
        writer = nil
        readers[identity.replica]?.leaveSegment()
        let runs = try plan(try segmentSizes(includesTail: true), joinsAll: true)
        var report = SealReport()
        let total = runs.reduce(0) { $0 + $1.reduce(0) { $0 + $1.bytes } }
        var done: UInt64 = 0
        for run in runs {
          let sealed = try encode(run, identity: identity)
          try replace(run, by: sealed, report: &report)
          done += run.reduce(0) { $0 + $1.bytes }
          progress?(done, total)
        }
        lock.update { page in
          page = StoreLock.Page(generation: page.generation, structure: page.structure &+ 1)
        }
        return report
      }
    }
  }

  /// A segment has just become full. Called outside the monitor.
  func didRotate() {
    guard options.sealsInBackground else { return }
    DispatchQueue.global(qos: .utility).async { [weak self] in self?.sealInBackground() }
  }

  private func sealInBackground() {
    let identity = monitor.withLock { () -> StoreIdentity? in
      guard !isSealing else { return nil }
      isSealing = true
      return self.identity
    }
    guard let identity else { return }
    defer {
      monitor.withLock {
        isSealing = false
        monitor.notifyAll()
      }
    }
    do {
      while let run = try plan(try segmentSizes(includesTail: false), joinsAll: false).first {
        let sealed = try encode(run, identity: identity)
        var report = SealReport()
        try withQuietLog { try replace(run, by: sealed, report: &report) }
        if report.sealedFiles == 0 { break }
      }
      monitor.withLock { sealingFailure = nil }
    } catch {
      // Nothing is lost: the segments stay as they are, and the next rotation or `seal` tries again.
      let failure = error as? StorageError ?? StorageError(.inputOutput, String(describing: error))
      monitor.withLock { sealingFailure = failure }
    }
  }

  // MARK: - What to seal

  /// A segment of the own stream, and how much it holds.
  struct SegmentSize {
    let file: SegmentFile
    let header: SegmentHeader
    let inode: UInt64
    let bytes: UInt64
    let events: UInt64
  }

  private func segmentSizes(includesTail: Bool) throws -> [SegmentSize] {
    let own = identity.replica
    let folder = directory.streamPath(own)
    var sizes: [SegmentSize] = []
    let segments = try directory.segments(of: own)
    var next = readers[own]?.chain.nextSequence ?? SequenceNumber(rawValue: 1)
    for segment in segments.reversed() {
      let path = "\(folder)/\(segment.name)"
      let file = try directory.fileSystem.open(path, .read)
      let header = try directory.header(of: file, path: path).header
      let isTail = segment == segments.last && segment.state != .sealed
      if !isTail || includesTail {
        sizes.append(
          SegmentSize(
            file: segment, header: header, inode: try file.inode(), bytes: try file.size(),
            events: header.kind == .sealed
              ? header.totals.events : next.rawValue &- header.firstSequence.rawValue))
      }
      next = header.firstSequence
    }
    return sizes.reversed()
  }

  /// The runs of neighbours that are to become one file each.
  private func plan(_ segments: [SegmentSize], joinsAll: Bool) throws -> [[SegmentSize]] {
    var runs: [[SegmentSize]] = []
    var run: [SegmentSize] = []
    var events: UInt64 = 0
    func endRun() {
      let isWorthIt =
        run.contains { $0.file.state != .sealed } || run.count >= (joinsAll ? 2 : Self.neighboursMin)
      if isWorthIt { runs.append(run) }
      run = []
      events = 0
    }
    for segment in segments {
      let joins = events + segment.events <= Self.sealedEventsMax
      // In the background a new segment is first sealed alone.
      if !joins
        || (!joinsAll
          && (segment.file.state != .sealed) != (run.last.map { $0.file.state != .sealed } ?? true))
      {
        endRun()
      }
      if !joinsAll, segment.file.state != .sealed, !run.isEmpty { endRun() }
      run.append(segment)
      events += segment.events
    }
    endRun()
    return runs
  }

  // MARK: - How

  private struct SealedFile {
    let bytes: [UInt8]
    let header: SegmentHeader
  }

  /// Reads a run and builds the file that replaces it.
  private func encode(_ run: [SegmentSize], identity: StoreIdentity) throws -> SealedFile {
    guard let first = run.first, let last = run.last else { preconditionFailure("a run has a segment") }
    var generator = options.generator
    let id = SegmentID.random(using: &generator)
    var builder = BlockBuilder(id: id)
    let passage = try StreamPassage(directory, replica: first.header.replica, to: first.file)
    let reader = passage.reader
    var tree = passage.tree
    var hasher = SHA256Hasher()
    var chain = reader.chain
    let end = last.header.firstSequence.rawValue + last.events
    // The tree in front of the run goes into the header; the run's own leaves are for the next one.
    while chain.nextSequence.rawValue < end {
      guard case .frame(let frame, _) = try reader.next() else {
        throw StorageError(
          .corrupt, "a segment that cannot be read to its end", file: directory.streamPath(identity.replica))
      }
      switch frame {
      case .record(let kind, let body):
        if chain.next >= first.file.firstCommit { try builder.add(kind: kind, body: body, next: chain.next) }
      case .commits(let commits, let secrets):
        var salts = Salts(secrets)
        for commit in commits where commit.nextSequence.rawValue <= end {
          if commit.number >= first.file.firstCommit {
            try builder.add(commit, secrets: secrets, after: chain)
          } else {
            tree.append(leaf: try commit.leafHash(salts: &salts, hasher: &hasher), hasher: &hasher)
          }
          try chain.extend(by: commit)
        }
      }
    }
    let header = SegmentHeader(
      kind: .sealed, id: id, replica: first.header.replica, replicaName: identity.name,
      firstCommit: first.header.firstCommit, firstSequence: first.header.firstSequence,
      secret: SegmentHeader.noSecret, treeSize: tree.size, frontier: tree.frontier)
    return SealedFile(bytes: try builder.finish(header), header: header)
  }

  /// Puts a sealed file in the place of its run. The store's lock is held.
  private func replace(_ run: [SegmentSize], by sealed: SealedFile, report: inout SealReport) throws {
    guard let first = run.first else { return }
    let folder = directory.streamPath(first.header.replica)
    for segment in run {
      // Another process may have sealed some of them meanwhile: then its work stands.
      let info = try directory.fileSystem.info("\(folder)/\(segment.file.name)")
      guard info?.inode == segment.inode else { return }
    }
    let target = SegmentFile(firstCommit: first.file.firstCommit, state: .sealed)
    try directory.replaceFile(
      "\(folder)/\(target.name)", with: sealed.bytes, in: folder, suffix: options.random())
    for segment in run where segment.file != target {
      try directory.fileSystem.remove("\(folder)/\(segment.file.name)")
    }
    try directory.fileSystem.synchronizeDirectory(folder)
    lock.update { $0.structure &+= 1 }
    report.replacedFiles += run.count
    report.sealedFiles += 1
    report.events += run.reduce(0) { $0 + $1.events }
    report.bytesBefore += run.reduce(0) { $0 + $1.bytes }
    report.bytesAfter += UInt64(sealed.bytes.count)
  }
}
