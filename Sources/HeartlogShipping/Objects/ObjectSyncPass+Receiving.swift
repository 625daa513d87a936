import Heartlog

extension ObjectSyncPass {
  /// Receives what the folder has of a stream, up to the first gap.
  mutating func receive(
    _ stream: ReplicaID, _ files: [FolderFile], _ listing: FolderListing
  ) throws(HeartlogError) {
    guard !files.isEmpty else { return }
    var head = try head(of: stream)
    if let ended = head, ended.isEnded, try isSigned(stream, beyond: ended.commit.rawValue, listing) {
      // Somebody said that it ended. Its owner signed what comes after.
      try store.setAside(stream)
    }
    try findForks(stream, files)
    let end = try endOfStream(stream, files, listing)
    head = try self.head(of: stream)
    var position = head?.commit.rawValue ?? 0
    var files = files
    var passed: Set<String> = []
    var relistCount = 0
    while head?.isEnded != true,
      let file = next(files.filter { !passed.contains($0.path) }, after: position, limit: end?.commit)
    {
      try options.checkTime()
      passed.insert(file.path)
      guard let content = try readProven(file) else {
        // Its writer may have merged it with others since the names were listed.
        if isDeleted(file), relistCount < Self.relistMax {
          files = try relisted(stream)
          relistCount += 1
        }
        continue
      }
      position = try take(content, of: file, after: position)
      if content.isProven, position == content.lastCommit, let signed = content.checkpoint {
        _ = try store.take(signed, at: options.clock())
      }
      head = try self.head(of: stream)
    }
    let known = position
    if head?.isEnded != true {
      counts.waiting += files.filter { $0.kind == .run && $0.name.first > known + 1 && !$0.name.isEnd }.count
    }
    if let end, head?.isEnded != true, position == end.commit { try endIfSame(stream, head, at: end) }
  }

  /// A stream's files are listed again so often at most.
  private static let relistMax = 8

  /// Whether the place said that a file is gone for good.
  private func isDeleted(_ file: FolderFile) -> Bool { memory.catalogue.entries[file.objectName] == nil }

  /// The files of a stream that are there now.
  private mutating func relisted(_ stream: ReplicaID) throws(HeartlogError) -> [FolderFile] {
    try memory.catalogue.update(from: objects, options)
    var listing = FolderListing(memory.catalogue)
    _ = listing.leaveOut(ring?.revoked ?? [:])
    return listing.files.filter { $0.stream == stream }
  }

  /// The file that reaches furthest from `position` without a gap.
  func next(_ files: [FolderFile], after position: UInt64, limit: UInt64?) -> FolderFile? {
    files.filter { file in
      file.kind != .placeholder && !file.name.isEnd && file.name.first <= position + 1
        && file.name.last > position
        && file.name.last <= limit ?? .max
    }.max { one, other in
      if one.name.last != other.name.last { return one.name.last < other.name.last }
      // Of equal files, one under its own name comes first.
      if one.kind != other.kind { return one.kind == .copy }
      return (other.name.first, other.path) < (one.name.first, one.path)
    }
  }

  /// Receives the new runs of a file.
  ///
  /// - Returns: The last commit that is known afterwards.
  private mutating func take(
    _ content: RunFile, of file: FolderFile, after start: UInt64
  ) throws(HeartlogError) -> UInt64 {
    var position = start
    for run in content.runs where run.lastCommit.rawValue > position {
      try options.checkTime()
      if isSkipped(run.replica) {
        waiting.add(run)
        position = run.lastCommit.rawValue
        continue
      }
      let outcome: ReceivedRun
      do throws(HeartlogError) { outcome = try store.receive(run) } catch {
        // The file is whole. So this is either a fork at an earlier commit, or an error of the writer.
        guard error.code == .peer else { throw error }
        if try !endFork(content) { damaged.insert(file.path) }
        return position
      }
      switch outcome {
      case .appended, .known: count(outcome, of: run)
      case .gap: return position
      case .diverged:
        if try !endFork(content) { try refuse(run, of: content) }
        return position
      case .waiting(let reason):
        waiting.begin(with: run)
        skip(run, .waiting, reason)
      case .refused(let reason):
        skip(run, .clock, reason)
        return position
      case .unsigned(let reason):
        // A proof may arrive later than its run, or another file may have one.
        if run.proof == nil { counts.waiting += 1 } else { skip(run, .unsigned, reason) }
        return position
      case .full(let reason):
        skip(run, .full, reason)
        return position
      }
      position = run.lastCommit.rawValue
    }
    return position
  }

  /// Counts a run that was received.
  private mutating func count(_ outcome: ReceivedRun, of run: StreamRun) {
    guard case .appended(let commits, let events, let changedItems) = outcome else { return }
    report.received.commits += UInt64(commits)
    receivedEvents += UInt64(events)
    report.changedItems += UInt64(changedItems)
    receivedStreams.insert(run.replica)
    progress.receivedCommits += UInt64(commits)
    options.progress?(progress)
  }

  // MARK: - Skipped streams and waiting runs

  /// Reports that a stream is skipped from `run` on.
  private mutating func skip(_ run: StreamRun, _ cause: SyncReport.SkippedStream.Cause, _ reason: String) {
    skip(
      SyncReport.SkippedStream(
        replica: run.replica, name: run.name, firstCommit: run.firstCommit, cause: cause, reason: reason))
  }

  private func isSkipped(_ stream: ReplicaID) -> Bool { report.skipped.contains { $0.replica == stream } }

  /// Passes runs that had to wait to the store again, after all others were received.
  mutating func resolveWaiting() throws(HeartlogError) {
    let resolutions = try waiting.resolve(in: store)
    for (replica, resolution) in resolutions.sorted(by: { $0.key < $1.key }) {
      // The stream may now be stopped for another reason than before.
      report.skipped.removeAll { $0.replica == replica }
      for (run, outcome) in resolution.taken { count(outcome, of: run) }
      switch resolution.stop {
      case nil: break
      case (let run, .unsigned(let reason))?: skip(run, .unsigned, reason)
      case (let run, .refused(let reason))?: skip(run, .clock, reason)
      case (let run, .full(let reason))?: skip(run, .full, reason)
      case (let run, .waiting(let reason))?: skip(run, .waiting, reason)
      case (let run, _)?: skip(run, .waiting, "this store has different commits there by now")
      }
    }
  }

  /// Reports a run that does not lead to its root, and is not forked either. If the commits before the run
  /// are not the store's, they may belong to a fork whose files have not arrived yet: the file waits for
  /// them.
  private mutating func refuse(_ run: StreamRun, of content: RunFile) throws(HeartlogError) {
    let before = content.runs.last { $0.lastCommit < run.firstCommit }
    let isOwn =
      try before.map { (run) throws(HeartlogError) in
        try store.streamRoot(of: run.replica, at: run.lastCommit) == run.root
      } ?? (run.firstCommit.rawValue == 1)
    guard isOwn else {
      counts.waiting += 1
      return
    }
    skip(
      run, .refused,
      "in a file of the folder, commits \(run.firstCommit) to \(run.lastCommit) do not lead to the root that came with them"
    )
  }

  // MARK: - Forks and ends

  /// Compares the roots in the names of files with the store's own.
  private mutating func findForks(_ stream: ReplicaID, _ files: [FolderFile]) throws(HeartlogError) {
    var last = try head(of: stream)?.commit.rawValue ?? 0
    for file in files.sorted(by: { ($0.name.last, $0.path) < ($1.name.last, $1.path) })
    where file.kind == .run && !file.name.isEnd && file.name.last <= last
      && !memory.checked.contains(file.root)
    {
      guard try !isOwn(file) else {
        memory.checked.insert(file.root)
        continue
      }
      try options.checkTime()
      guard let content = try readProven(file) else { continue }
      if try endFork(content) {
        last = try head(of: stream)?.commit.rawValue ?? 0
      } else {
        counts.waiting += 1
      }
    }
  }

  /// Whether the root in a file's name is the store's own; false if the store's stream is shorter.
  func isOwn(_ file: FolderFile) throws(HeartlogError) -> Bool {
    if memory.checked.contains(file.root) { return true }
    let root = try store.streamRoot(of: file.stream, at: CommitNumber(rawValue: file.name.last))
    return root.map { RootPrefix($0) } == file.name.root
  }

  /// Ends a stream whose commits in a file differ from those in the store.
  ///
  /// - Returns: Whether the last common commit was found. If the commits before the file differ too, an
  ///   earlier file contains the fork.
  private mutating func endFork(_ content: RunFile) throws(HeartlogError) -> Bool {
    guard let last = try ForkSearch(store).lastCommon(content),
      try mayEnd(content.replica, other: content.runs.last?.proof?.checkpoint)
    else { return false }
    try store.endStream(content.replica, after: CommitNumber(rawValue: last))
    report.forks.removeAll { $0.replica == content.replica }
    report.forks.append(
      SyncReport.Fork(
        replica: content.replica, name: content.name, lastCommon: CommitNumber(rawValue: last), isEnded: true)
    )
    return true
  }

  /// The first commit after which files say that the stream ends. If the stream is longer here, it is ended
  /// there.
  private mutating func endOfStream(
    _ stream: ReplicaID, _ files: [FolderFile], _ listing: FolderListing
  ) throws(HeartlogError) -> (commit: UInt64, root: RootPrefix)? {
    let ends = files.filter { $0.kind == .run && $0.name.isEnd }.sorted { $0.name.last < $1.name.last }
    for file in ends {
      guard try read(file) != nil, try !isSigned(stream, beyond: file.name.last, listing) else { continue }
      let end = (commit: file.name.last, root: file.name.root)
      if let head = try head(of: stream), head.commit.rawValue >= end.commit,
        !(head.isEnded && head.commit.rawValue == end.commit)
      {
        try endIfSame(stream, head, at: end)
      }
      return end
    }
    return nil
  }

  private mutating func endIfSame(
    _ stream: ReplicaID, _ head: StreamHead?, at end: (commit: UInt64, root: RootPrefix)
  ) throws(HeartlogError) {
    let last = CommitNumber(rawValue: end.commit)
    let root = end.commit == 0 ? nil : try store.streamRoot(of: stream, at: last)
    guard try mayEnd(stream) else { return }
    guard end.commit == 0 || root.map({ RootPrefix($0) }) == end.root else { return }
    // The end of a stream that is not here is remembered as long as there is room for streams.
    if head == nil, try store.streamHeads().count >= Limits.streamsMax { return }
    try store.endStream(stream, after: last)
    if let head, head.commit > last {
      report.forks.append(
        SyncReport.Fork(replica: stream, name: head.name, lastCommon: last, isEnded: true))
    }
  }

  // MARK: - Reading

  /// The content of a file with the proof of its runs, if there is one.
  mutating func readProven(_ file: FolderFile) throws(HeartlogError) -> RunFile? {
    guard var content = try read(file) else { return nil }
    if let proof = try proof(of: file, content.runs) { content.prove(with: proof) }
    return content
  }

  /// The content of a file; `nil` if it is not whole, does not match its name, or no longer exists.
  mutating func read(_ file: FolderFile) throws(HeartlogError) -> RunFile? {
    return try readWithVault(file)?.content
  }

  /// The same, with the vault under whose keys the object is; `nil` if it is not encrypted.
  mutating func readWithVault(
    _ file: FolderFile
  ) throws(HeartlogError) -> (content: RunFile, vault: VaultID?)? {
    guard let (bytes, vault) = try getWithVault(file, bytesMax: RunFile.bytesMax) else { return nil }
    guard let content = try? RunFile(bytes), content.replica == file.stream,
      file.kind == .copy || content.isCalled(file.name, bytes, checksContent: !format.isEncrypted),
      content.isProven ? format.isEncrypted && content.checkpoint?.isSigned == true : true
    else {
      damaged.insert(file.path)
      return nil
    }
    return (content, vault)
  }

  /// The bytes of a file; `nil` if it cannot be read, is too large, or is not here.
  mutating func get(_ file: FolderFile, bytesMax: Int) throws(HeartlogError) -> [UInt8]? {
    try getWithVault(file, bytesMax: bytesMax)?.bytes
  }

  private mutating func getWithVault(
    _ file: FolderFile, bytesMax: Int
  ) throws(HeartlogError) -> (bytes: [UInt8], vault: VaultID?)? {
    switch try objects.get(file.path, bytesMax: format.bytesMax(bytesMax)) {
    case .bytes(let bytes):
      report.received.bytes += UInt64(bytes.count)
      switch format.opened(file.objectName, bytes) {
      case .content(let content, let vault): return (content, vault)
      case .damaged: break
      case .plain: plain.insert(file.path)
      case .locked: locked.insert(file.path)
      }
      damaged.insert(file.path)
      return nil
    case .absent: return nil
    case .deleted:
      memory.catalogue.remove(file.objectName)
      return nil
    case .unreadable:
      // A file that cannot be read, such as some placeholders, does not stop the pass.
      damaged.insert(file.path)
      return nil
    }
  }
}

extension FolderFile {
  /// The key in `checked` for a file whose root was compared with the store's.
  fileprivate var root: String { "root \(path)" }
}

extension RunFile {
  /// Whether `name` is the right name for a file of these bytes. A file without runs has its root only in its
  /// name.
  ///
  /// - Parameter checksContent: False if the name has the salt of an object there, which was checked.
  fileprivate func isCalled(_ name: RunFileName, _ bytes: [UInt8], checksContent: Bool) -> Bool {
    guard name.first == firstCommit, name.last == lastCommit, let hash = Self.contentHash(bytes),
      !checksContent || RootPrefix(hash) == name.content
    else { return false }
    return runs.last.map { RootPrefix($0.root) == name.root } ?? true
  }
}
