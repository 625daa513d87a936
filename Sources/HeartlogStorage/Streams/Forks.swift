import HeartlogFormat
import HeartlogFiles

/// Finds which streams are branches of others by their names. Each fork must have an `ended` file, and each `ended` file a
/// branch.
final class Forks {
  private let directory: StoreDirectory
  private let streams: Set<ReplicaID>
  private let own: ReplicaID
  private var isOwnBranch = false
  /// By replica: the commits after which another stream may have branched off, because its first commit had seen exactly these.
  private var candidates: [ReplicaID: Set<UInt64>] = [:]
  /// By forked stream: the last commit before a branch that is in this store.
  private var forkedBehind: [ReplicaID: UInt64] = [:]

  init(among streams: [ReplicaID], own: ReplicaID, in directory: StoreDirectory) throws {
    self.directory = directory
    self.own = own
    self.streams = Set(streams)
    for replica in streams {
      let reader = StreamReader(directory, replica: replica)
      guard case .frame(let frame, _) = try reader.next(), let first = frame.commits?.commits.first else {
        continue
      }
      for head in first.heads { candidates[head.replica, default: []].insert(head.commit.rawValue) }
    }
  }

  /// Checks whether a commit is the first of a branch that is in this store.
  func note(_ commit: Commit, leaf: Digest) {
    let before = commit.number.rawValue - 1
    guard before == 0 || candidates[commit.replica]?.contains(before) == true else { return }
    let branch = branch(beginningWith: commit, leaf: leaf)
    guard branch.isAmong(streams) else { return }
    if branch.isAmong([own]) { isOwnBranch = true }
    forkedBehind[commit.replica] = min(before, forkedBehind[commit.replica] ?? .max)
  }

  private func branch(beginningWith commit: Commit, leaf: Digest) -> StreamBranch {
    StreamBranch(
      of: commit.replica, firstCommit: commit.number, firstSequence: commit.firstSequence, leaf: leaf)
  }

  /// Returns what is wrong with the end of a stream, after all streams were read.
  ///
  /// - Parameter reader: A reader at the end of the stream.
  func finding(of reader: StreamReader) throws -> Finding? {
    if isOwnBranch, reader.replica == own {
      return finding(
        "the file `store` names a branch, which has no writer: the file is from another folder, or is an older one",
        of: reader,
        behind: 0)
    }
    if let commit = forkedBehind[reader.replica],
      // It may have been ended since.
      try StreamEnd.read(of: reader.replica, in: directory).map({ $0.commit > commit }) ?? true
    {
      return finding(
        "the store has a branch of the stream, but the stream does not end before it: its file `ended` is missing, or was truncated; the next sync with a device that knows the fork ends it",
        of: reader, behind: commit)
    }
    guard reader.isEnded else { return nil }
    let beyond = StreamReader(
      directory, behind: reader.tail, at: nil, listing: try directory.listing(of: reader.replica), end: nil)
    guard case .frame(let frame, _) = try beyond.next(), let (commits, secrets) = frame.commits,
      let next = commits.first
    else { return nil }
    var salts = Salts(secrets)
    var hasher = SHA256Hasher()
    let leaf = try next.leafHash(salts: &salts, hasher: &hasher)
    let branch = branch(beginningWith: next, leaf: leaf)
    if branch.isAmong([own]) { isOwnBranch = true }
    if branch.isAmong(streams) { return nil }
    for replica in [branch.replica, branch.formerReplica] where try !directory.segments(of: replica).isEmpty {
      return nil
    }
    return finding(
      "the stream has ended, and no branch has the commits after its end: sync with a device that has them",
      of: reader, behind: next.number.rawValue - 1)
  }

  private func finding(_ reason: String, of reader: StreamReader, behind commit: UInt64) -> Finding {
    let next = CommitNumber(rawValue: commit + 1)
    return Finding(
      verdict: .corrupt, replica: reader.replica,
      error: HeartlogError(
        .corrupt, reason, file: directory.streamPath(reader.replica),
        commits: next...max(next, reader.tail.head ?? next)))
  }
}
