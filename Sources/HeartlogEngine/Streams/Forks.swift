import HeartlogFiles
import HeartlogFormat

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

extension Finding {
  var isCorrupt: Bool { verdict == .corrupt }

  /// Creates a finding for missing commits of which another file of the store knows.
  static func missing(
    _ commits: ClosedRange<CommitNumber>, of replica: ReplicaID, knownFrom file: String
  ) -> Finding {
    Finding(
      verdict: .lost, replica: replica,
      error: HeartlogError(
        .corrupt, "\(file) refers to commits of the stream \(replica) that are missing", file: file,
        commits: commits))
  }
}

/// The file `branched` in the folder of a stream: commits of it that go on as streams of their own, because nobody signs them any more.
/// Source: docs/format.md, "Forked streams".
package struct BranchList: Equatable {
  struct Branch: Hashable {
    /// The last commit that stayed.
    let commit: UInt64
    let replica: ReplicaID
  }

  var branches: [Branch] = []

  static let name = "branched"

  static func path(of replica: ReplicaID, in directory: StoreDirectory) -> String {
    "\(directory.streamPath(replica))/\(name)"
  }

  /// Reads the file; an empty list if there is none, or it is damaged: it only says where commits are that are missing otherwise.
  package static func read(of replica: ReplicaID, in directory: StoreDirectory) throws(HeartlogError)
    -> BranchList
  {
    let bytes = try directory.fileSystem.contents(of: path(of: replica, in: directory))
    var list = BranchList()
    for line in bytes.flatMap(ChecksummedText.init)?.lines ?? [] {
      guard let words = ChecksummedText.value(of: name, in: line)?.split(separator: " "), words.count == 2,
        let commit = UInt64(words[0]), let replica = ReplicaID(words[1])
      else { continue }
      list.branches.append(Branch(commit: commit, replica: replica))
    }
    return list
  }

  /// Replaces the file, durably. The caller holds the lock.
  package func write(of replica: ReplicaID, in directory: StoreDirectory, _ options: StorageOptions)
    throws(HeartlogError)
  {
    let lines = branches.map { "\(Self.name) \($0.commit) \($0.replica)" }
    try directory.replaceFile(
      Self.path(of: replica, in: directory), with: ChecksummedText.encoded(lines), suffix: options.random())
  }
}

/// The file `ended` in the folder of a stream with two histories: the stream is not read after this commit.
package struct StreamEnd: Equatable, Sendable {
  /// The last commit that both histories have in common; 0 for none.
  let commit: UInt64

  static let name = "ended"

  package func encoded() -> [UInt8] { ChecksummedText.encoded(["ended \(commit)"]) }

  static func path(of replica: ReplicaID, in directory: StoreDirectory) -> String {
    "\(directory.streamPath(replica))/\(name)"
  }

  /// Reads the end of a stream; nil if the stream continues.
  ///
  /// - Throws: `corrupt` for a damaged file: reading on would bring back a history that was set aside. `newerFormat`.
  package static func read(of replica: ReplicaID, in directory: StoreDirectory) throws(HeartlogError)
    -> StreamEnd?
  {
    let path = path(of: replica, in: directory)
    guard let bytes = try ifPresent(directory.fileSystem.open(path, .read).bytes(bytesMax, at: 0)) else {
      return nil
    }
    let damaged = HeartlogError(.corrupt, "the end of a stream is damaged", file: path, offset: 0)
    guard let text = ChecksummedText(bytes) else { throw damaged }
    try text.checkVersion(of: "the end of a stream", file: path)
    guard let line = text.lines.first,
      let commit = ChecksummedText.value(of: "ended", in: line).flatMap({ UInt64($0) }),
      StreamEnd(commit: commit).encoded() == bytes
    else { throw damaged }
    return StreamEnd(commit: commit)
  }

  static let bytesMax = 4_096
}

extension [Finding] {
  /// An unfinished batch at the tail was never acknowledged, and readers ignore it. It is not damage.
  package var damage: [Finding] { filter { $0.verdict != .torn } }
}
