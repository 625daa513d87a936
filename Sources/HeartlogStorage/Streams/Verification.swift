import HeartlogEvents
import HeartlogFiles

/// What `verify` found in one stream.
package struct StreamVerification: Sendable {
  package let replica: ReplicaID
  /// What the stream's last segment calls its replica.
  package let name: String
  package let isOwn: Bool
  package let commits: UInt64
  package let events: UInt64
  package let segments: Int
  /// On disk, zeros written ahead included.
  package let bytes: UInt64
  /// The root of the stream's tree over its sound commits.
  package let root: Digest
  /// What ends the sound part; nil where all is sound.
  package let finding: Finding?
}

/// Reads every byte of a store and checks all that the format promises.
package enum Verification {
  /// Verifies each stream, sorted by replica. Takes no lock.
  ///
  /// - Parameter snapshots: what snapshots say of the log: held against it.
  package static func run(
    at path: String, on fileSystem: any FileSystem, snapshots: [SnapshotClaim] = [],
    progress: LogProgress? = nil
  ) throws(StorageError) -> [StreamVerification] {
    let directory = StoreDirectory(fileSystem: fileSystem, path: path)
    let own = try StoreIdentity.read(directory).replica
    return try run(directory, own: own, snapshots: snapshots, progress: progress)
  }

  /// - Parameter own: who writes to the store.
  static func run(
    _ directory: StoreDirectory, own: ReplicaID, snapshots: [SnapshotClaim], progress: LogProgress?
  ) throws(StorageError) -> [StreamVerification] {
    try storageErrors {
      let fileSystem = directory.fileSystem
      let lock = try StoreLock(directory)
      let page = lock.page()
      let replicas = try directory.replicas()
      var ofThisStore: [SnapshotClaim] = []
      for claim in snapshots where try directory.knowsStream(ofAny: claim.positions, own: own) {
        ofThisStore.append(claim)
      }
      let snapshots = ofThisStore
      var sizes: [ReplicaID: (count: Int, bytes: UInt64)] = [:]
      for replica in replicas {
        for segment in try directory.segments(of: replica) {
          let info = try fileSystem.info(directory.path(of: segment, in: replica))
          sizes[replica, default: (0, 0)].count += 1
          sizes[replica, default: (0, 0)].bytes += info?.size ?? 0
        }
      }
      var meter = ProgressMeter(progress, total: sizes.values.reduce(0) { $0 + $1.bytes })
      // The own stream may be missing altogether, which only the page can tell; others, which snapshots tell.
      var streams = Set(replicas).union([own])
      streams.formUnion(snapshots.flatMap { $0.positions.map(\.replica) })
      var verified: [ReplicaID: (stream: StreamVerifier, finding: Finding?)] = [:]
      let forks = try Forks(among: replicas, own: own, in: directory)
      for replica in streams.sorted() {
        verified[replica] = try verify(
          replica, isOwn: replica == own, directory, lock, page, snapshots, forks, &meter)
        verified[replica]?.stream.reader.rest()
      }
      // Last of the own one: behind the end of another it may turn out to be a branch.
      for replica in verified.keys.filter({ $0 != own }) + [own] {
        guard let found = verified[replica], found.finding == nil else { continue }
        verified[replica]?.finding = try forks.finding(of: found.stream.reader)
      }
      for (replica, found) in verified.sorted(by: { $0.key < $1.key }) {
        for head in found.stream.reader.tail.seenHeads {
          // What the own stream's writer had seen, it had received; and what others had seen of the own stream was written here.
          guard replica == own || head.replica == own else { continue }
          if let seen = verified[head.replica],
            seen.finding != nil || seen.stream.reader.tail.next > head.commit || seen.stream.reader.isEnded
          {
            continue
          }
          // It may have come since that stream was read.
          var (stream, finding) = try verify(
            head.replica, isOwn: head.replica == own, directory, lock, lock.page(), snapshots, forks, &meter)
          let next = stream.reader.tail.next
          if finding == nil, next <= head.commit, !stream.reader.isEnded {
            finding = .missing(next...head.commit, of: head.replica, knownFrom: directory.streamPath(replica))
          }
          stream.reader.rest()
          verified[head.replica] = (stream, finding)
        }
      }
      return verified.sorted { $0.key < $1.key }.compactMap { replica, verified in
        let size = sizes[replica] ?? (0, 0)
        if size.count == 0, verified.finding == nil { return nil }
        return StreamVerification(
          replica: replica, name: verified.stream.name, isOwn: replica == own,
          commits: verified.stream.reader.tail.next.rawValue - 1,
          events: verified.stream.reader.tail.nextSequence.rawValue - 1, segments: size.count,
          bytes: size.bytes, root: verified.stream.tree.root, finding: verified.finding)
      }
    }
  }

  private static func verify(
    _ replica: ReplicaID, isOwn: Bool, _ directory: StoreDirectory, _ lock: StoreLock, _ page: StoreLock.Page,
    _ snapshots: [SnapshotClaim], _ forks: Forks, _ meter: inout ProgressMeter
  ) throws -> (StreamVerifier, Finding?) {
    var page = page
    var before: StorageError?
    while true {
      let stream = StreamVerifier(directory, replica: replica, isOwn: isOwn, snapshots: snapshots)
      switch try stream.run(page: page, forks: forks, meter: &meter) {
      case .sound: return (stream, nil)
      case .changed: page = lock.page()
      case .found(let finding):
        // A tail that is being written looks torn: look again, until nothing changes or the place is the same.
        let later = lock.page()
        let error = finding.error
        if later.generation == page.generation
          || (before?.file == error.file && before?.offset == error.offset)
        {
          return (stream, finding)
        }
        before = error
        page = later
      }
    }
  }
}

private final class StreamVerifier {
  let reader: StreamReader
  var tree = MerkleTree()
  var name = ""
  private let directory: StoreDirectory
  private let replica: ReplicaID
  private var segment: SegmentID?
  /// What each segment's header and the snapshots say of the tree.
  private var claims = TreeClaims()
  private let snapshots: [SnapshotClaim]
  private let isOwn: Bool
  /// The stream up to the last commit of the tree, where a snapshot says something of it.
  private var passed: StreamTail

  init(
    _ directory: StoreDirectory, replica: ReplicaID, isOwn: Bool = false, snapshots: [SnapshotClaim] = []
  ) {
    self.isOwn = isOwn
    passed = StreamTail(replica: replica)
    self.directory = directory
    self.replica = replica
    self.snapshots = snapshots
    reader = StreamReader(directory, replica: replica)
  }

  enum Outcome {
    case sound
    case found(Finding)
    /// A segment was made by sealing while others were read.
    case changed
  }

  func run(page: StoreLock.Page, forks: Forks, meter: inout ProgressMeter) throws -> Outcome {
    claims = try TreeClaims(of: replica, in: directory, snapshots: snapshots)
    var hasher = SHA256Hasher()
    while true {
      let tail = reader.tail
      switch try reader.next(page: page) {
      case .end(.whole): return missing().map(Outcome.found) ?? .sound
      case .end(.unfinished(let finding)) where finding.verdict == .torn:
        // What looks like a batch that was not finished may be what is left of commits that were there.
        return .found(missing() ?? finding)
      case .end(.unfinished(let finding)), .end(.corrupt(let finding)): return .found(finding)
      case .frame(let frame, let cursor):
        if segment != cursor.header.id {
          segment = cursor.header.id
          name = cursor.header.replicaName
          let header = cursor.header
          guard claims.contains(treeSize: header.treeSize, frontier: header.frontier, in: cursor.path) else {
            return .changed
          }
        }
        if isOwn, case .block = frame, cursor.header.kind == .open {
          return problem(
            "the stream that the file `store` names was received: that file is of another folder, or an older one",
            cursor, at: cursor.passedOffset, tail)
        }
        meter.advance(cursor, to: cursor.offset)
        guard let (commits, secrets) = frame.commits else { continue }
        var salts = Salts(secrets)
        for commit in commits {
          do {
            let leaf = try commit.leafHash(salts: &salts, hasher: &hasher)
            forks.note(commit, leaf: leaf)
            tree.append(leaf: leaf, hasher: &hasher)
            if let claim = try contradicted(behind: commit) { return .found(contradiction(of: claim)) }
          } catch {
            return problem(error.reason, cursor, at: cursor.passedOffset, tail)
          }
        }
      }
    }
  }

  /// What is said of the stream up to a commit, and is not so.
  private func contradicted(behind commit: Commit) throws(MalformedError) -> TreeClaims.Claim? {
    if let claim = claims.contradicted(by: tree) { return claim }
    guard !snapshots.isEmpty else { return nil }
    try passed.extend(by: commit)
    let wrong = snapshots.first { snapshot in
      snapshot.positions.contains {
        $0.replica == replica && $0.commit == commit.number && $0.tail != passed
      }
    }
    return wrong?.claim(of: replica)
  }

  private func contradiction(of claim: TreeClaims.Claim) -> Finding {
    Finding(
      verdict: .corrupt, replica: replica,
      error: StorageError(
        .corrupt, claim.contradiction, file: claim.file, offset: 0,
        commits: CommitNumber(rawValue: 1)...CommitNumber(rawValue: tree.size)))
  }

  /// Commits that snapshots know of, and that are not here.
  private func missing() -> Finding? {
    if let end = reader.endCommit {
      // A store ends a stream only where it has all in front of the end.
      guard end > tree.size else { return nil }
      return .missing(
        reader.tail.next...CommitNumber(rawValue: end), of: replica,
        knownFrom: "\(directory.streamPath(replica))/\(StreamEnd.name)")
    }
    guard claims.lastCommit > tree.size,
      let claim = snapshots.first(where: { ($0.claim(of: replica)?.tree.size ?? 0) > tree.size })
    else { return nil }
    return .missing(
      reader.tail.next...CommitNumber(rawValue: claims.lastCommit), of: replica, knownFrom: claim.file)
  }

  private func problem(_ reason: String, _ cursor: SegmentCursor, at offset: UInt64, _ tail: StreamTail)
    -> Outcome
  {
    .found(
      Finding(
        verdict: .corrupt, replica: replica,
        error: StorageError(
          .corrupt, reason, file: cursor.path, offset: offset,
          commits: tail.next...max(tail.next, reader.tail.head ?? tail.next))))
  }
}
