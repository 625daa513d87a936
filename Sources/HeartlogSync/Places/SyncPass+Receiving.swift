import Heartlog

extension SyncPass {
  /// Receives what the folder has of a stream, up to the first gap.
  mutating func receive(
    _ stream: ReplicaID, _ files: [FolderFile], _ listing: FolderListing
  ) throws(HeartlogError) {
    guard !files.isEmpty else { return }
    var head = try head(of: stream)
    if let ended = head, ended.isEnded, try isSigned(stream, beyond: ended.commit.rawValue, listing) {
      // Somebody said that it ended. Its owner signed what comes after.
      try setAside(ended)
    }
    if try findForks(stream, files), isBetweenStores { return }
    let end = try endOfStream(stream, files, listing)
    head = try self.head(of: stream)
    var position = max(head?.commit.rawValue ?? 0, reached[stream] ?? 0)
    var files = files
    var passed: Set<String> = []
    var relistCount = 0
    while head?.isEnded != true,
      let file = next(files.filter { !passed.contains($0.path) }, after: position, limit: end?.commit)
    {
      try options.checkTime()
      passed.insert(file.path)
      let start = position
      guard let content = try read(file) else {
        // Its writer may have merged it with others since the names were listed.
        if isDeleted(file), relistCount < Self.relistMax {
          files = try relisted(stream)
          relistCount += 1
        }
        continue
      }
      position = try take(content, of: file, after: position)
      if position == content.lastCommit, let signed = content.checkpoint {
        _ = try store.take(signed, at: options.clock())
      }
      // Another store gives its files in parts.
      if position > start, content.lastCommit < file.name.last { passed.remove(file.path) }
      head = try self.head(of: stream)
    }
    let known = position
    reached[stream] = position
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
    try memory.catalogue.update(from: place, options)
    var listing = FolderListing(memory.catalogue)
    _ = listing.leaveOut(ring?.revoked ?? [:])
    _ = listing.leaveOut(try droppedStreams())
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
        if try !endFork(content) { try refuse(run, of: content, after: position) }
        return position
      case .unsigned where run.proof == nil:
        // A proof may arrive later than its run, or another file or store may have one.
        if isBetweenStores {
          skip(run, .waiting, "the device signs its commits, and the peer has some that it did not sign")
        }
        counts.waiting += 1
        return position
      case .waiting, .refused, .unsigned, .full:
        if let reason = outcome.skip { skip(run, reason.cause, reason.reason) }
        guard case .waiting = outcome else { return position }
        waiting.begin(with: run)
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
  ///
  /// - Returns: The streams of which some were taken.
  @discardableResult
  mutating func resolveWaiting() throws(HeartlogError) -> [ReplicaID] {
    let resolutions = try waiting.resolve(in: store)
    waiting = WaitingRuns()
    for (replica, resolution) in resolutions.sorted(by: { $0.key < $1.key }) {
      // The stream may now be stopped for another reason than before.
      report.skipped.removeAll { $0.replica == replica }
      for (run, outcome) in resolution.taken { count(outcome, of: run) }
      if let (run, reason) = resolution.stop { skip(run, reason.cause, reason.reason) }
    }
    return resolutions.keys.filter { resolutions[$0]?.taken.isEmpty == false }.sorted()
  }

  /// Reports a run that does not lead to its root, and is not forked either. If the commits before the run
  /// are not the store's, they may belong to a fork whose files have not arrived yet: the file waits for
  /// them.
  private mutating func refuse(
    _ run: StreamRun, of content: RunFile, after position: UInt64
  ) throws(HeartlogError) {
    guard !disputed.contains(run.replica) else { return }
    let before = content.runs.last { $0.lastCommit < run.firstCommit }
    let isOwn =
      try before.map { (run) throws(HeartlogError) in
        try store.streamRoot(of: run.replica, at: run.lastCommit) == run.root
      } ?? (isBetweenStores ? run.firstCommit.rawValue == position + 1 : run.firstCommit.rawValue == 1)
    guard isOwn else {
      counts.waiting += 1
      return
    }
    skip(
      run, .refused,
      "\(isBetweenStores ? "" : "in a file of the folder, ")commits \(run.firstCommit) to \(run.lastCommit) do not lead to the root that came with them"
    )
  }

  // MARK: - Forks and ends

  /// Compares the roots in the names of files with the store's own.
  ///
  /// - Returns: Whether there is another history that cannot be told apart from here on.
  private mutating func findForks(
    _ stream: ReplicaID, _ files: [FolderFile]
  ) throws(HeartlogError) -> Bool {
    var isUnsettled = false
    var last = try head(of: stream)?.commit.rawValue ?? 0
    for file in files.sorted(by: { ($0.name.last, $0.path) < ($1.name.last, $1.path) })
    where file.kind == .run && !file.name.isEnd && file.name.last <= last
      && !memory.checked.contains(file.root)
    {
      guard try !isOwn(file) else {
        memory.checked.insert(file.root)
        continue
      }
      var isFound = false
      if endsForks {
        // Another store gives its files in parts.
        repeat {
          try options.checkTime()
          guard let content = try read(file) else { break }
          isFound = try endFork(content)
          if content.lastCommit >= file.name.last { break }
        } while !isFound
      } else if let head = try head(of: stream) {
        noteFork(of: stream, called: head.name)
        return true
      }
      if isFound {
        last = try head(of: stream)?.commit.rawValue ?? 0
      } else {
        counts.waiting += 1
        isUnsettled = true
      }
    }
    return isUnsettled
  }

  /// Whether the other store has another history of a stream.
  func isParted(_ head: StreamHead, _ files: [FolderFile]) throws(HeartlogError) -> Bool {
    for file in files where file.kind == .run && !file.name.isEnd && file.name.last <= head.commit.rawValue {
      if try !isOwn(file) { return true }
    }
    return false
  }

  /// Reports a fork, in place of what was reported of the stream before.
  ///
  /// - Parameters:
  ///   - last: The last common commit (0: none); `nil` if it was not determined.
  ///   - isEnded: Whether the stream was ended after it.
  mutating func noteFork(
    of replica: ReplicaID, called name: String, after last: UInt64? = nil, isEnded: Bool = false
  ) {
    report.forks.removeAll { $0.replica == replica }
    report.forks.append(
      SyncReport.Fork(
        replica: replica, name: name, lastCommon: last.map { CommitNumber(rawValue: $0) }, isEnded: isEnded))
  }

  /// Makes room for the history that the device signed: the one here goes on as a stream of its own.
  private mutating func setAside(_ head: StreamHead) throws(HeartlogError) {
    try store.setAside(head.replica)
    reached[head.replica] = nil
    hasParted = true
    noteFork(of: head.replica, called: head.name, after: 0)
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
    guard let (last, tree, run) = try store.lastCommon(with: content) else { return false }
    if let head = try head(of: content.replica), head.checkpoint == nil, let proof = run.proof,
      proof.covers(tree)
    {
      // The history that the owner signed keeps the stream's name.
      try setAside(head)
      return true
    }
    guard try mayEnd(content.replica, other: run.proof?.checkpoint) else {
      disputed.insert(content.replica)
      return false
    }
    hasParted = true
    try store.endStream(content.replica, after: CommitNumber(rawValue: last))
    noteFork(of: content.replica, called: content.name, after: last, isEnded: true)
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
    guard try mayEnd(stream) else {
      disputed.insert(stream)
      return
    }
    guard end.commit == 0 || root.map({ RootPrefix($0) }) == end.root else { return }
    // The end of a stream that is not here is remembered as long as there is room for streams.
    if head == nil, try store.streamHeads().count >= Limits.streamsMax { return }
    try store.endStream(stream, after: last)
    if let head, head.commit > last {
      hasParted = true
      noteFork(of: stream, called: head.name, after: end.commit, isEnded: true)
    }
  }

  // MARK: - Reading

  /// The content of a file; `nil` if it is not whole, does not match its name, or no longer exists.
  mutating func read(_ file: FolderFile) throws(HeartlogError) -> RunFile? {
    return try readWithVault(file)?.content
  }

  /// The same, with the vault under whose keys the object is; `nil` if it is not encrypted.
  mutating func readWithVault(
    _ file: FolderFile
  ) throws(HeartlogError) -> (content: RunFile, vault: VaultID?)? {
    let found = try content(of: file, bytesMax: RunFile.bytesMax)
    if case .file(let content) = found { return (content, nil) }
    guard let (bytes, vault) = opened(found, of: file) else { return nil }
    guard let content = try? RunFile(bytes), content.replica == file.stream,
      file.kind == .copy || content.isCalled(file.name, bytes, checksContent: !format.isEncrypted),
      content.checkpoint?.isSigned ?? true
    else {
      damaged.insert(file.path)
      return nil
    }
    return (content, vault)
  }

  /// The bytes of a file; `nil` if it cannot be read, is too large, or is not here.
  mutating func get(_ file: FolderFile, bytesMax: Int) throws(HeartlogError) -> [UInt8]? {
    opened(try content(of: file, bytesMax: bytesMax), of: file)?.bytes
  }

  private mutating func content(
    of file: FolderFile, bytesMax: Int
  ) throws(HeartlogError) -> ObjectContent {
    try place.get(file.path, bytesMax: format.bytesMax(bytesMax))
  }

  private mutating func opened(
    _ content: ObjectContent, of file: FolderFile
  ) -> (bytes: [UInt8], vault: VaultID?)? {
    switch content {
    case .bytes(let bytes):
      report.received.bytes += UInt64(bytes.count)
      switch format.opened(file.objectName, bytes) {
      case .content(let content, let vault): return (content, vault)
      case .damaged: break
      case .plain: plain.insert(file.path)
      case .locked: locked.insert(file.path)
      }
      damaged.insert(file.path)
    case .absent: break
    case .deleted: memory.catalogue.remove(file.objectName)
    // A file that cannot be read, such as some placeholders, does not stop the pass.
    case .unreadable, .file: damaged.insert(file.path)
    case .lost(let reason):
      let head = try? head(of: file.stream)
      skip(
        SyncReport.SkippedStream(
          replica: file.stream, name: head?.name ?? "",
          firstCommit: CommitNumber(rawValue: (head?.commit.rawValue ?? 0) + 1), cause: .peerDamaged,
          reason: reason))
    }
    return nil
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
  func isCalled(_ name: RunFileName, _ bytes: [UInt8], checksContent: Bool) -> Bool {
    guard name.first == firstCommit, name.last == lastCommit, let hash = Self.contentHash(bytes),
      !checksContent || RootPrefix(hash) == name.content
    else { return false }
    return runs.last.map { RootPrefix($0.root) == name.root } ?? true
  }
}

extension FavoritesStore {
  /// The last commit that a stream here and in a file have in common, found by comparing the commits; `nil` if the file contains no fork, if the commits before the file differ too, or if what it contains
  /// are no commits.
  ///
  /// Reads the store's stream from its start, because forks are rare.
  ///
  /// - Returns: The commit, the tree over the file's commits up to the end of the run after it, and that run.
  func lastCommon(
    with file: RunFile
  ) throws(HeartlogError) -> (commit: UInt64, tree: MerkleTree, run: StreamRun)? {
    var tree = MerkleTree()
    // The leaves of the store's commits, from the file's first commit on.
    var own: [Digest] = []
    var after: UInt64 = 0
    while after < file.lastCommit,
      let run = try streamRun(
        of: file.replica, after: after, upTo: CommitNumber(rawValue: file.lastCommit))
    {
      let leaves: [Digest]
      do { leaves = try run.leaves() } catch { throw HeartlogError(.corrupt, error.reason) }
      for (index, leaf) in leaves.enumerated() {
        if run.firstCommit.rawValue + UInt64(index) < file.firstCommit {
          tree.append(leaf: leaf)
        } else {
          own.append(leaf)
        }
      }
      after = run.lastCommit.rawValue
    }
    guard tree.size == file.firstCommit - 1 else { return nil }
    var next = 0
    var lastCommon: UInt64?
    for run in file.runs {
      // Anybody can write a whole file of nonsense. Only what is read of the store must be sound.
      guard let leaves = try? run.leaves() else { return nil }
      for leaf in leaves {
        if lastCommon == nil, next < own.count, own[next] != leaf {
          lastCommon = file.firstCommit + UInt64(next) - 1
        }
        tree.append(leaf: leaf)
        next += 1
      }
      guard let lastCommon else { continue }
      // The file's commits lead to its root only if the commits before it are the same as the store's.
      return tree.root == run.root ? (lastCommon, tree, run) : nil
    }
    return nil
  }
}
