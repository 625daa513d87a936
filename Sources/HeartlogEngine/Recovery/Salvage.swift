import HeartlogFiles
import HeartlogFormat

/// What was read of a stream, and what is lost of it.
package struct SalvagedStream: Sendable {
  /// Bytes of a file in which nothing can be read.
  package struct BadBytes: Sendable {
    package let file: String
    package let offset: UInt64
    package let byteCount: UInt64
    /// Why, as a phrase.
    package let reason: String
  }

  /// Commits that stand behind lost ones, as a stream of their own.
  package struct Branch: Sendable {
    /// The stream that has them now.
    package let replica: ReplicaID
    /// Their numbers in the stream from which they are.
    package internal(set) var commits: ClosedRange<CommitNumber>
  }

  /// The replica whose stream it is.
  package let replica: ReplicaID
  /// The replica's name as shown to people.
  package internal(set) var name = ""
  /// The first damage; nil if there is none.
  package internal(set) var damage: HeartlogError?
  /// The last commit of the stream itself that the copy has; 0 for none.
  package internal(set) var lastCommit: UInt64 = 0
  package internal(set) var branches: [Branch] = []
  /// The commits that are known to be lost, by their numbers.
  package internal(set) var lost: [ClosedRange<CommitNumber>] = []
  /// Whether more commits may be missing at the end, and nothing says how many.
  package internal(set) var mayLackMore = false
  package internal(set) var badBytes: [BadBytes] = []
  /// The first readable commit that was not copied, because nothing in the copy leads up to it.
  package internal(set) var firstNotCopied: CommitNumber?

  /// Whether the copy has everything of the stream, under its own name.
  package var isWhole: Bool { lost.isEmpty && !mayLackMore && branches.isEmpty }

  init(replica: ReplicaID) { self.replica = replica }
}

/// Copies what can be read of a store, damaged or not, to another one. Takes no lock, and changes nothing in the first.
package struct Salvage {
  let directory: StoreDirectory
  private let target: CommitLog
  private let erased: ErasedList
  private let withheld: WithheldEvents

  /// - Parameters:
  ///   - path: The folder of the damaged store.
  ///   - target: The log of the other store, which has nothing yet.
  package init(of path: String, on fileSystem: any FileSystem, to target: CommitLog) throws(HeartlogError) {
    let directory = StoreDirectory(fileSystem: fileSystem, path: path)
    try directory.checkIsDownloaded()
    self.directory = directory
    self.target = target
    erased = try ErasedList.read(directory)
    withheld = WithheldEvents(erased.events)
  }

  /// The membership of the damaged store in a vault, as far as it can be read; nil if it has none.
  package static func vault(
    at path: String, on fileSystem: any FileSystem
  ) throws(HeartlogError) -> VaultMembership? {
    let directory = StoreDirectory(fileSystem: fileSystem, path: path)
    do { return try StoreIdentity.read(directory).vault } catch {
      guard error.isRepairable else { throw error }
    }
    // Who synced has checkpoints, and those name the vault.
    for replica in try directory.replicas() {
      if let signed = try? CheckpointFile.read(of: replica, in: directory), signed.isSigned {
        return VaultMembership(signed.checkpoint.vault, isEstablished: true)
      }
    }
    return nil
  }

  /// Copies what the other store must have before it receives from elsewhere: which events are erased, the checkpoints, and of each stream
  /// everything before the first damage or missing content, but of a signed stream nothing that is not signed.
  ///
  /// A damaged stream thus ends in the other store before its first bad byte, and a sync takes the rest like any other commits.
  package func begin() throws(HeartlogError) {
    try heartlogErrors {
      try target.withhold(erased.events)
      for replica in try directory.replicas() {
        let signed = try checkpoint(of: replica)
        _ = try copy(replica, upTo: signed?.checkpoint.size ?? .max, isBeginning: true)
        if let signed { try target.keep(signed) }
      }
    }
  }

  /// Copies everything else that continues what the other store has by now.
  ///
  /// - Parameter branches: Whether commits that continue nothing are copied as streams of their own.
  /// - Returns: What was read of each stream, and what is lost of it.
  package func finish(branches: Bool) throws(HeartlogError) -> [SalvagedStream] {
    try heartlogErrors {
      var streams: [SalvagedStream] = []
      for replica in try directory.replicas() {
        streams.append(try copy(replica, branches: branches))
      }
      return streams
    }
  }

  /// Keeps checkpoints aside whose commits are lost, and ends the streams that are ended in the damaged store.
  package func settle() throws(HeartlogError) {
    try target.setLostCheckpointsAside()
    for replica in try directory.replicas() {
      do {
        guard let end = try StreamEnd.read(of: replica, in: directory) else { continue }
        try target.endStream(replica, after: end.commit)
      } catch {
        guard error.isRepairable else { throw error }
      }
    }
  }

  /// The checkpoint of a stream; nil if there is none with a valid signature.
  private func checkpoint(of replica: ReplicaID) throws(HeartlogError) -> SignedCheckpoint? {
    do {
      let signed = try CheckpointFile.read(of: replica, in: directory)
      return signed?.isSigned == true ? signed : nil
    } catch {
      guard error.code == .corrupt else { throw error }
      return nil
    }
  }

  private func copy(
    _ replica: ReplicaID, upTo last: UInt64 = .max, isBeginning: Bool = false, branches: Bool = false
  ) throws -> SalvagedStream {
    let remains = try DamagedStreamReader(of: replica, in: directory)
    var copier = try StreamCopier(of: replica, to: target)
    var firstNotCopied: CommitNumber?
    reading: while let piece = try remains.read() {
      copier.name = remains.found.name
      if !piece.isContinued {
        if isBeginning, remains.found.damage != nil { break }
        try copier.endBranch()
      }
      var seen = piece.seen
      for commit in piece.commits {
        if commit.number.rawValue > last || isBeginning && withheld.unexplainedCount(in: commit) > 0 {
          break reading
        }
        if try copier.add(commit, secrets: piece.secrets) { continue }
        guard branches else {
          firstNotCopied = commit.number
          break reading
        }
        try copier.branch(at: commit, secrets: piece.secrets, seen: seen)
        seen = []
      }
    }
    try copier.finish()
    // The rest is read for the report.
    if !isBeginning { while try remains.read() != nil {} }
    var stream = remains.found
    stream.firstNotCopied = firstNotCopied
    stream.lastCommit = copier.lastCommit
    stream.branches = copier.branches
    stream.lost = stream.lost.compactMap { range in
      // The other store may have got them from elsewhere.
      range.upperBound.rawValue <= copier.lastCommit
        ? nil : max(range.lowerBound, CommitNumber(rawValue: copier.lastCommit + 1))...range.upperBound
    }
    return stream
  }
}

/// Copies the commits of one stream to another store: those that are there already are compared, those that continue them are appended.
private struct StreamCopier {
  private let target: CommitLog
  private let replica: ReplicaID
  /// What the other store has.
  private let present: MerkleCache
  /// What is appended to the stream, once its end in the other store is reached.
  private var appended: RunBuilder?
  /// What is appended to a stream of its own.
  private var branched: BranchRuns?
  private(set) var branches: [SalvagedStream.Branch] = []
  /// Whether the other store has another history.
  private var hasDiverged = false
  /// Runs that are complete.
  private var pending: [StreamRun] = []
  /// The name of the replica as shown to people.
  var name = ""

  init(of replica: ReplicaID, to target: CommitLog) throws {
    self.target = target
    self.replica = replica
    present = try MerkleCache(target.directory, replica: replica, before: CommitNumber(rawValue: 1))
  }

  /// The last commit of the stream in the other store.
  var lastCommit: UInt64 { appended.map { $0.tail.next.rawValue - 1 } ?? present.position }

  /// Takes a commit into the stream, or into the branch that was begun.
  ///
  /// - Returns: false if it neither is in the other store nor continues what is.
  mutating func add(_ commit: Commit, secrets: [SegmentSecret]) throws -> Bool {
    if branched != nil {
      do throws(MalformedError) {
        let run = try branched?.add(commit, secrets: secrets)
        branches[branches.count - 1].commits = branches[branches.count - 1].commits.lowerBound...commit.number
        if let run { pending.append(run) }
      } catch {
        try endBranch()
        return false
      }
      try takePending()
      return true
    }
    if hasDiverged { return false }
    let leaf = try Self.leaf(of: commit, secrets)
    if appended == nil {
      while present.position + 1 < commit.number.rawValue, try present.pass() {}
      guard present.position + 1 == commit.number.rawValue else { return false }
      if let (theirs, theirSecrets) = try present.peek() {
        hasDiverged = try Self.leaf(of: theirs, theirSecrets) != leaf
        if !hasDiverged { try present.pass() }
        return !hasDiverged
      }
      appended = RunBuilder(named: name, after: present.tail, present.tree)
    }
    do throws(MalformedError) {
      guard commit.number == appended?.tail.next else { return false }
      if try appended?.add(commit, secrets: secrets, leaf: leaf) == true { return true }
      if let run = try appended?.takeRun() { pending.append(run) }
      _ = try appended?.add(commit, secrets: secrets, leaf: leaf)
    } catch {
      // It breaks a rule of the stream.
      return false
    }
    try takePending()
    return true
  }

  /// Begins a stream of its own with a commit.
  mutating func branch(at commit: Commit, secrets: [SegmentSecret], seen: [Head]) throws {
    let branch = StreamBranch(
      behindLossBefore: commit, leaf: try Self.leaf(of: commit, secrets), seen: seen)
    branches.append(SalvagedStream.Branch(replica: branch.replica, commits: commit.number...commit.number))
    branched = BranchRuns(branch, named: name, seen: seen)
    if let run = try branched?.add(commit, secrets: secrets) { pending.append(run) }
  }

  mutating func endBranch() throws {
    if let run = try branched?.takeRun() { pending.append(run) }
    branched = nil
    try takePending()
  }

  mutating func finish() throws {
    try endBranch()
    if let run = try appended?.takeRun() { pending.append(run) }
    try takePending()
  }

  private mutating func takePending() throws {
    for run in pending {
      switch try target.restore(run) {
      case .appended, .known: break
      case .gap, .diverged, .waiting, .refused, .unsigned, .full:
        throw HeartlogError(
          .corrupt, "commits \(run.firstCommit) to \(run.lastCommit) of \(run.replica) cannot be copied",
          file: target.directory.path)
      }
    }
    pending = []
  }

  private static func leaf(of commit: Commit, _ secrets: [SegmentSecret]) throws -> Digest {
    var salts = Salts(secrets)
    var hasher = SHA256Hasher()
    return try commit.leafHash(salts: &salts, hasher: &hasher)
  }
}

extension CommitLog {
  /// Withholds events from everything that is received from now on.
  func withhold(_ events: [ErasedEvent]) throws(HeartlogError) {
    guard !events.isEmpty else { return }
    try exclusively { _ in try streamSet.erased.add(events) }
  }

  /// Keeps checkpoints that cover commits which are not here under another name: the loss is known, and need not be told again.
  func setLostCheckpointsAside() throws(HeartlogError) {
    try exclusively { _ in
      for replica in try directory.replicas() {
        let head = streamSet.readers[replica]?.tail.head?.rawValue ?? 0
        guard let signed = try streamSet.checkpoints.newest(of: replica), signed.checkpoint.size > head
        else { continue }
        let path = CheckpointFile.path(of: replica, in: directory)
        lock.update { _ in }
        try directory.fileSystem.rename(path, to: path + ".lost")
        try directory.fileSystem.synchronizeDirectory(directory.streamPath(replica))
        lock.update { _ in }
      }
    }
  }

  /// Keeps a checkpoint with a valid signature, whether its commits are here or not: from now on, only what its owner signed is received.
  func keep(_ signed: SignedCheckpoint) throws(HeartlogError) {
    let replica = signed.checkpoint.replica
    if try restore(signed) { return }
    let head = CommitNumber(rawValue: signed.checkpoint.size)
    // Commits that contradict it are unsigned.
    guard try streamRoot(of: replica, at: head) == nil else { return }
    try exclusively { _ in
      try directory.makeStreamFolder(of: replica)
      try streamSet.checkpoints.write(signed)
    }
  }
}
