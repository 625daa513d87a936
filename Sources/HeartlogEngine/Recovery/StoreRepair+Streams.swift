import HeartlogFiles
import HeartlogFormat

/// A store with a copy of the damaged store's streams, filled up from elsewhere as by a sync.
package struct StreamCopies {
  let directory: StoreDirectory
  private let source: String?
  let streams: [ReplicaID: SalvagedStream]
  private let reasons: [ReplicaID: String]

  /// - Parameters:
  ///   - path: The folder of the copy.
  ///   - source: From where it was filled up, as shown to people; nil if it was not.
  ///   - streams: What was read of the damaged streams.
  ///   - reasons: Why commits of streams were not received, as phrases.
  package init(
    at path: String, on fileSystem: any FileSystem, from source: String?, _ streams: [SalvagedStream],
    reasons: [ReplicaID: String]
  ) {
    directory = StoreDirectory(fileSystem: fileSystem, path: path)
    self.source = source
    self.streams = Dictionary(uniqueKeysWithValues: streams.map { ($0.replica, $0) })
    self.reasons = reasons
  }

  /// The source, or the store itself, as shown to people.
  var origin: String { source ?? "the store" }

  /// Why a stream cannot be repaired, as a phrase.
  ///
  /// - Parameters:
  ///   - commit: The last commit that the copy has.
  ///   - unread: The first readable commit of the damaged stream that is not in the copy.
  func reason(for replica: ReplicaID, copied commit: UInt64, unread: CommitNumber?) -> String {
    guard let source else {
      return "what is missing can only be in another copy; everything before the damage can be read"
    }
    if let reason = reasons[replica] { return reason }
    if let unread, unread.rawValue <= commit { return "\(source) has another commit \(unread)" }
    return "\(source) does not have commit \(commit + 1) of the stream"
  }
}

/// Damaged segments are replaced by what a copy has of their commits. Source: docs/format.md, "Damaged streams".
extension StoreRepair {
  /// A segment that takes the place of a damaged one.
  private struct Replacement {
    let replica: ReplicaID
    let commits: ClosedRange<CommitNumber>
    /// The damaged file; nil if a segment is missing.
    let damaged: SegmentFile?
    let damage: HeartlogError
    /// Whether nothing of the stream follows it.
    let isEnd: Bool
    /// The last readable commit before the damage.
    let readable: UInt64
    let bytes: [UInt8]

    /// The segment that it becomes.
    var segment: SegmentFile { SegmentFile(firstCommit: commits.lowerBound, state: .sealed) }
  }

  /// The first damage of a stream, or the first content that is missing although it was not erased, and the last commit before it.
  private struct StreamDamage {
    let error: HeartlogError
    let readable: UInt64
    let isMissingContent: Bool
  }

  /// Repairs all damaged streams, as far as a copy has what they lack.
  mutating func repairStreams(from makeCopy: () throws -> StreamCopies) throws {
    let damaged = try directory.replicas().filter { try damage(of: $0, in: directory) != nil }
    guard !damaged.isEmpty else { return }
    let copies = try makeCopy()
    // Everything is done on a copy of the files first.
    let draft = try draftCopy()
    var repaired: [(replacements: [Replacement], left: (damage: HeartlogError, reason: String)?)] = []
    for replica in damaged {
      var replacements: [Replacement] = []
      var left: (damage: HeartlogError, reason: String)?
      while left == nil, let found = try damage(of: replica, in: draft) {
        do {
          replacements.append(
            try replace(found, in: replica, of: draft, from: copies, besides: replacements))
        } catch {
          left = (found.error, HeartlogError(wrapping: error).message)
        }
      }
      repaired.append((replacements, left))
    }
    let findings = try Verification.run(
      draft, own: report.replica ?? IdentityEvidence.noReplica, snapshots: [], progress: nil)
    for (replica, found) in zip(damaged, repaired) {
      let finding = findings.first { $0.replica == replica }?.finding
      if let finding, finding.isCorrupt, found.left == nil,
        finding.error.file != CheckpointFile.path(of: replica, in: draft)
      {
        leave(finding.error, "left unchanged: with what \(copies.origin) has, \(finding.error.message)")
        continue
      }
      try install(found.replacements, of: replica, from: copies)
      if let left = found.left { leave(left.damage, "left unchanged: \(left.reason)") }
    }
  }

  private mutating func leave(_ damage: HeartlogError, _ outcome: String) {
    report.entries.append(
      RepairReport.Entry(
        file: damage.file ?? directory.path, damage: damage.message, outcome: outcome, isRepaired: false))
  }

  /// Reads a stream to its first damage; nil if there is none, or only its end is damaged.
  private func damage(of replica: ReplicaID, in directory: StoreDirectory) throws -> StreamDamage? {
    let reader = StreamReader(directory, replica: replica)
    while true {
      switch try reader.next() {
      case .frame(.block(let block), let cursor) where takesContent && !erased.explains(block):
        let error = HeartlogError(
          .corrupt, "the content of events is missing, and no erasure explains it", file: cursor.path,
          offset: cursor.passedOffset, commits: block.firstCommit...block.lastCommit)
        return StreamDamage(
          error: error, readable: block.firstCommit.rawValue - 1, isMissingContent: true)
      case .frame: break
      case .end(let finding):
        guard let finding, finding.isCorrupt, !finding.error.isRepairable else { return nil }
        return StreamDamage(
          error: finding.error, readable: reader.tail.next.rawValue - 1, isMissingContent: false)
      }
    }
  }

  /// A copy of the streams' files, in memory.
  private func draftCopy() throws -> StoreDirectory {
    let files = MemoryFileSystem(root: directory.path)
    try files.createDirectory(directory.path)
    try files.createDirectory(directory.replicasPath)
    for replica in try directory.replicas() {
      let folder = directory.streamPath(replica)
      try files.createDirectory(folder)
      for name in try directory.fileSystem.entries(of: folder) {
        let path = "\(folder)/\(name)"
        guard try directory.fileSystem.info(path)?.kind == .file,
          let bytes = try directory.fileSystem.contents(of: path)
        else {
          continue
        }
        try files.open(path, .createNew).write(bytes, at: 0)
      }
    }
    return StoreDirectory(fileSystem: files, path: directory.path)
  }

  // MARK: - One segment

  /// Replaces the first damaged segment of a stream of the draft.
  ///
  /// - Throws: Why it cannot be replaced. The message of the error is a phrase.
  private func replace(
    _ damage: StreamDamage, in replica: ReplicaID, of draft: StoreDirectory, from copies: StreamCopies,
    besides earlier: [Replacement]
  ) throws -> Replacement {
    func unrepairable(_ reason: String) -> HeartlogError { HeartlogError(.corrupt, reason) }
    let segments = try draft.servingSegments(of: replica)
    let name = damage.error.file.flatMap { $0.split(separator: "/").last }.map(String.init) ?? ""
    guard let named = SegmentFile(name: name), !segments.leftovers.contains(named) else {
      throw unrepairable("the files contradict each other")
    }
    let isMissing = named.firstCommit.rawValue > damage.readable + 1
    let first = isMissing ? CommitNumber(rawValue: damage.readable + 1) : named.firstCommit
    if earlier.contains(where: { $0.commits.lowerBound == first }) {
      throw unrepairable("it was replaced, and is damaged again")
    }
    let next = segments.serving.first { $0.firstCommit > first }
    let stream = copies.streams[replica]
    let end = try StreamEnd.read(of: replica, in: draft)?.commit ?? .max
    let copied = min(try Self.lastCommit(of: replica, in: copies.directory), end)
    let lastNeeded = next.map { min($0.firstCommit.rawValue - 1, end) } ?? copied
    // Where nothing follows, what was known of the lost commits must not be forgotten for nothing.
    let isWhole = stream.map { $0.lost.isEmpty && !$0.mayLackMore } ?? false
    let unread = stream?.firstNotCopied
    guard copied >= lastNeeded, lastNeeded >= first.rawValue,
      unread.map({ next != nil && $0.rawValue > lastNeeded }) ?? true,
      next != nil || copied > damage.readable || isWhole
    else { throw unrepairable(copies.reason(for: replica, copied: copied, unread: unread)) }
    if damage.isMissingContent,
      let left = try self.damage(of: replica, in: copies.directory), left.readable < lastNeeded
    {
      throw unrepairable("\(copies.origin) does not have it either")
    }
    let commits = first...CommitNumber(rawValue: lastNeeded)
    let bytes = try sealedFile(of: commits, of: replica, draft, copies)
    let replacement = Replacement(
      replica: replica, commits: commits, damaged: isMissing ? nil : named,
      damage: damage.error, isEnd: next == nil, readable: damage.readable, bytes: bytes)
    try draft.replaceFile(
      draft.path(of: replacement.segment, in: replica), with: bytes, suffix: options.random())
    for other in Self.others(than: replacement.segment) {
      let path = draft.path(of: other, in: replica)
      if try draft.fileSystem.info(path) != nil { try draft.fileSystem.remove(path) }
    }
    return replacement
  }

  /// The files that a sealed segment takes precedence over.
  private static func others(than segment: SegmentFile) -> [SegmentFile] {
    [.open, .suspect].map { SegmentFile(firstCommit: segment.firstCommit, state: $0) }
  }

  private static func lastCommit(of replica: ReplicaID, in directory: StoreDirectory) throws -> UInt64 {
    let reader = StreamReader(directory, replica: replica)
    try reader.forEachFrame()
    return reader.tail.next.rawValue - 1
  }

  /// Builds a segment from commits of the copy. Whatever the store says about the stream's tree must be true of the whole copy.
  private func sealedFile(
    of commits: ClosedRange<CommitNumber>, of replica: ReplicaID, _ draft: StoreDirectory,
    _ copies: StreamCopies
  ) throws -> [UInt8] {
    let claims = try TreeClaims(of: replica, in: draft)
    let copy = try MerkleCache(
      copies.directory, replica: replica, before: CommitNumber(rawValue: 1))
    var generator = options.generator
    let id = SegmentID.random(using: &generator)
    var builder = BlockBuilder(id: id, without: WithheldEvents(try ErasedList.read(copies.directory).events))
    var header: SegmentHeader?
    while let (commit, secrets) = try copy.peek() {
      if commit.number == commits.lowerBound {
        header = SegmentHeader(
          kind: .sealed, id: id, replica: replica, replicaName: copy.name, firstCommit: commit.number,
          firstSequence: commit.firstSequence, secret: SegmentHeader.noSecret, treeSize: copy.tree.size,
          frontier: copy.tree.frontier)
      }
      if commits.contains(commit.number) { try builder.add(commit, secrets: secrets, after: copy.tail) }
      try copy.pass()
      if let claim = claims.contradicted(by: copy.tree) {
        throw HeartlogError(
          .corrupt, "\(copies.origin) has other commits: \(claim.contradiction), in \(claim.file)")
      }
    }
    guard let header, copy.position >= commits.upperBound.rawValue else {
      throw HeartlogError(.corrupt, "the copy became shorter", file: copies.directory.path)
    }
    return try builder.finish(header)
  }

  // MARK: - Installing

  /// Puts segments in the place of damaged ones, the first one first.
  private mutating func install(
    _ replacements: [Replacement], of replica: ReplicaID, from copies: StreamCopies
  ) throws {
    guard !replacements.isEmpty else { return }
    let own = try? StoreIdentity.read(directory)
    let leaves = own?.replica == replica && replacements.contains(where: \.isEnd)
    if let own, leaves {
      // Nobody knows how far it had come.
      try leaveStream(own, because: "the end of the stream that it names was damaged")
    }
    if !report.isDryRun { try takeOverContent(of: replica, from: copies) }
    for replacement in replacements { try install(replacement, from: copies) }
    if let own, leaves, !report.isDryRun { try sign(own, upTo: replacements.last?.commits.upperBound) }
  }

  private mutating func install(_ replacement: Replacement, from copies: StreamCopies) throws {
    let (replica, segment) = (replacement.replica, replacement.segment)
    let folder = directory.streamPath(replica)
    let path = directory.path(of: segment, in: replica)
    let file = replacement.damaged.map { directory.path(of: $0, in: replica) } ?? path
    var keptAt: String?
    if !report.isDryRun {
      lock.update { $0.structure &+= 1 }
      try removeUnfinished(in: folder)
      for original in [segment] + Self.others(than: segment) {
        let original = directory.path(of: original, in: replica)
        guard let bytes = try directory.fileSystem.contents(of: original) else { continue }
        let name = try keepAside(original, bytes)
        if original == file { keptAt = name }
      }
      let temporary = try directory.prepareFile(path, with: replacement.bytes, suffix: options.random())
      guard try directory.fileSystem.contents(of: temporary) == replacement.bytes else {
        throw HeartlogError(.inputOutput, "the disk does not return what was written", file: temporary)
      }
      try directory.fileSystem.giveName(path, to: temporary)
      for other in Self.others(than: segment) {
        let path = directory.path(of: other, in: replica)
        if try directory.fileSystem.info(path) != nil { try directory.fileSystem.remove(path) }
      }
      try directory.fileSystem.synchronizeDirectory(folder)
      lock.update { $0.structure &+= 1 }
    }
    note(file, replacement.damage, outcome(of: replacement, from: copies), keptAt: keptAt)
  }

  private func outcome(of replacement: Replacement, from copies: StreamCopies) -> String {
    let (first, last) = (replacement.commits.lowerBound, replacement.commits.upperBound)
    let range = first == last ? "commit \(first)" : "commits \(first) to \(last)"
    return replacement.readable >= last.rawValue
      ? "rebuilt: \(range), all of which could be read"
      : "rebuilt: \(range), with those from \(copies.origin) that could not be read"
  }

  /// Lists, before segments are installed, what of their content is erased in the copy.
  private func takeOverContent(of replica: ReplicaID, from copies: StreamCopies) throws {
    var list = try ErasedList.read(directory)
    let before = list.events
    list.add(try ErasedList.read(copies.directory).events)
    if list.events != before {
      // The next erasure looks for it in the other segments, too.
      list.isPending = true
      lock.update { $0.structure &+= 1 }
      try list.write(in: directory, options)
      lock.update { $0.structure &+= 1 }
    }
  }

  /// Signs what this store wrote as the replica that it gives up, if it still has the key. The commits must be durable.
  func sign(_ former: StoreIdentity, upTo last: CommitNumber?) throws {
    let checkpoints = Checkpoints(directory, options, lock)
    let caches = MerkleCaches(directory)
    do {
      let before = try checkpoints.last(of: former.replica)
      let signed = try checkpoints.sign(former, upTo: last, after: before, caches)
      if let signed, signed != before { try checkpoints.write(signed) }
    } catch let error as HeartlogError where error.code == .corrupt {
      // What contradicts a checkpoint is not signed.
    }
  }
}
