import HeartlogFiles
import HeartlogFormat

/// Reads every byte of a store and checks everything that the format guarantees.
package enum Verification {
  /// Verifies each stream, sorted by replica. Takes no lock.
  ///
  /// - Parameter snapshots: What snapshots claim about the log, to be compared with it.
  package static func run(
    at path: String, on fileSystem: any FileSystem, snapshots: [SnapshotClaim] = [],
    progress: LogProgress? = nil
  ) throws(HeartlogError) -> [StreamVerification] {
    let directory = StoreDirectory(fileSystem: fileSystem, path: path)
    let own = try StoreIdentity.read(directory).replica
    return try run(directory, own: own, snapshots: snapshots, progress: progress)
  }

  /// Verifies each stream of a store directory, sorted by replica.
  ///
  /// - Parameter own: The replica that writes the store.
  static func run(
    _ directory: StoreDirectory, own: ReplicaID, snapshots: [SnapshotClaim], progress: LogProgress?
  ) throws(HeartlogError) -> [StreamVerification] {
    try heartlogErrors {
      let lock = try StoreLock(directory)
      let page = lock.page()
      let (replicas, dropped) = try directory.streams()
      var ofThisStore: [SnapshotClaim] = []
      for claim in snapshots where try directory.knowsStream(ofAny: claim.positions, own: own) {
        ofThisStore.append(claim)
      }
      let snapshots = ofThisStore
      var sizes: [ReplicaID: (count: Int, bytes: UInt64)] = [:]
      for replica in replicas {
        let found = try directory.segmentSizes(of: replica)
        sizes[replica] = (found.count, found.reduce(0) { $0 + $1.bytes })
      }
      var meter = ProgressMeter(progress, total: sizes.values.reduce(0) { $0 + $1.bytes })
      // The replica's own stream may be missing completely, which only the page tells; for other streams, the snapshots tell.
      var streams = Set(replicas).union([own])
      streams.formUnion(snapshots.flatMap { $0.positions.map(\.replica) })
      let lost = try LostCommits.read(directory)
      streams.formUnion(lost.ranges.keys)
      streams.subtract(dropped)
      var verified: [ReplicaID: (stream: StreamVerifier, finding: Finding?)] = [:]
      let forks = try Forks(among: replicas + dropped, own: own, in: directory)
      let erased = WithheldEvents(try ErasedList.read(directory).events)
      for replica in streams.sorted() {
        verified[replica] = try verify(
          replica, isOwn: replica == own, directory, lock, page, snapshots, forks, erased, &meter)
        verified[replica]?.stream.reader.rest()
      }
      // The replica's own stream is checked last: the commits after the end of another stream may show that it is a branch.
      for replica in verified.keys.filter({ $0 != own }) + [own] {
        guard let found = verified[replica], found.finding == nil else { continue }
        verified[replica]?.finding = try forks.finding(of: found.stream.reader)
      }
      for (replica, found) in verified.sorted(by: { $0.key < $1.key }) {
        for head in found.stream.reader.tail.seenHeads {
          // This replica's writer had received the commits that it had seen, and what others had seen of its stream was written
          // here.
          guard replica == own || head.replica == own, !dropped.contains(head.replica) else { continue }
          if let seen = verified[head.replica],
            seen.finding != nil || seen.stream.reader.tail.next > head.commit || seen.stream.reader.isEnded
          {
            continue
          }
          // The commits may have arrived after that stream was read.
          var (stream, finding) = try verify(
            head.replica, isOwn: head.replica == own, directory, lock, lock.page(), snapshots, forks, erased,
            &meter)
          let next = stream.reader.tail.next
          let branches = try BranchList.read(of: head.replica, in: directory).branches
          let hasBranched = branches.contains { branch in
            let last = verified[branch.replica].map { $0.stream.reader.tail.next.rawValue - 1 } ?? 0
            return next.rawValue > branch.commit && branch.commit + last >= head.commit.rawValue
          }
          if finding == nil, next <= head.commit, !stream.reader.isEnded, !hasBranched {
            finding = .missing(next...head.commit, of: head.replica, knownFrom: directory.streamPath(replica))
          }
          stream.reader.rest()
          verified[head.replica] = (stream, finding)
        }
      }
      for (replica, found) in verified where found.finding == nil && !found.stream.reader.isEnded {
        if let commits = lost.missing(of: replica, from: found.stream.reader.tail.next) {
          verified[replica]?.finding = .missing(
            commits, of: replica, knownFrom: LostCommits.path(in: directory))
        }
      }
      return verified.sorted { $0.key < $1.key }.compactMap { replica, verified in
        let size = sizes[replica] ?? (0, 0)
        if size.count == 0, verified.finding == nil { return nil }
        return StreamVerification(
          replica: replica, name: verified.stream.name, isOwn: replica == own,
          commits: verified.stream.reader.tail.next.rawValue - 1,
          events: verified.stream.reader.tail.nextSequence.rawValue - 1,
          missingContents: verified.stream.missingContents, segments: size.count,
          bytes: size.bytes, root: verified.stream.tree.root, finding: verified.finding,
          checkpoint: verified.stream.provenCheckpoint)
      }
    }
  }

  private static func verify(
    _ replica: ReplicaID, isOwn: Bool, _ directory: StoreDirectory, _ lock: StoreLock, _ page: StoreLock.Page,
    _ snapshots: [SnapshotClaim], _ forks: Forks, _ erased: WithheldEvents, _ meter: inout ProgressMeter
  ) throws -> (StreamVerifier, Finding?) {
    var page = page
    var before: HeartlogError?
    while true {
      let stream = StreamVerifier(
        directory, replica: replica, isOwn: isOwn, snapshots: snapshots, erased: erased)
      switch try stream.run(page: page, forks: forks, meter: &meter) {
      case .sound: return (stream, nil)
      case .changed: page = lock.page()
      case .found(let finding):
        // A tail that is being written looks torn: read again until nothing changes or the error is at the same offset.
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
  /// Whether a claim about the tree is false.
  private var isContradicted = false
  /// What the segment headers, the snapshots and the checkpoint claim about the tree.
  private var claims = TreeClaims()
  private let snapshots: [SnapshotClaim]
  private let erased: WithheldEvents
  private(set) var missingContents: UInt64 = 0
  private let isOwn: Bool
  /// The checkpoint of the stream's owner, with a valid signature.
  private var checkpoint: SignedCheckpoint?
  /// The stream's tail at the last commit of the tree. Maintained only if there are snapshots.
  private var passed: StreamTail

  init(
    _ directory: StoreDirectory, replica: ReplicaID, isOwn: Bool, snapshots: [SnapshotClaim],
    erased: WithheldEvents
  ) {
    self.isOwn = isOwn
    passed = StreamTail(replica: replica)
    self.directory = directory
    self.replica = replica
    self.snapshots = snapshots
    self.erased = erased
    reader = StreamReader(directory, replica: replica)
  }

  enum Outcome {
    case sound
    case found(Finding)
    /// Another process sealed a segment during reading.
    case changed
  }

  /// The checkpoint, if the commits that were read lead to it.
  var provenCheckpoint: SignedCheckpoint? {
    checkpoint.flatMap { $0.checkpoint.size <= tree.size && !isContradicted ? $0 : nil }
  }

  private var checkpointPath: String { CheckpointFile.path(of: replica, in: directory) }

  /// Reads the checkpoint and verifies its signature.
  ///
  /// - Returns: a finding if it is damaged, or its owner did not sign it.
  private func readCheckpoint() throws(HeartlogError) -> Finding? {
    do throws(HeartlogError) {
      checkpoint = try CheckpointFile.read(of: replica, in: directory)
      guard let checkpoint, !checkpoint.isSigned else { return nil }
      self.checkpoint = nil
      throw HeartlogError(
        .corrupt, "a checkpoint that its owner did not sign", file: checkpointPath, offset: 0)
    } catch {
      guard error.code == .corrupt else { throw error }
      return Finding(verdict: .corrupt, replica: replica, error: error)
    }
  }

  func run(page: StoreLock.Page, forks: Forks, meter: inout ProgressMeter) throws -> Outcome {
    let unsigned = try readCheckpoint()
    claims = try TreeClaims(of: replica, in: directory, snapshots: snapshots)
    var hasher = SHA256Hasher()
    while true {
      let tail = reader.tail
      switch try reader.next(page: page) {
      case .end(nil): return (missing() ?? unsigned).map(Outcome.found) ?? .sound
      case .end(let finding?):
        // What looks like an unfinished batch may be the remains of commits that existed.
        return .found(finding.verdict == .torn ? missing() ?? finding : finding)
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
            "the file `store` names a stream that was received: the file is from another folder, or is an older one",
            cursor, at: cursor.passedOffset, tail)
        }
        meter.advance(cursor)
        guard let (commits, secrets) = frame.commits else { continue }
        var salts = Salts(secrets)
        for commit in commits {
          missingContents += UInt64(erased.unexplainedCount(in: commit))
          do {
            let leaf = try commit.leafHash(salts: &salts, hasher: &hasher)
            forks.note(commit, leaf: leaf)
            tree.append(leaf: leaf, hasher: &hasher)
            if let claim = try contradicted(behind: commit) {
              isContradicted = true
              return .found(contradiction(of: claim))
            }
          } catch {
            return problem(error.reason, cursor, at: cursor.passedOffset, tail)
          }
        }
      }
    }
  }

  /// Returns a claim about the stream up to a commit that is false; nil if there is none.
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
      error: HeartlogError(
        .corrupt, claim.contradiction, file: claim.file, offset: 0,
        commits: CommitNumber(rawValue: 1)...CommitNumber(rawValue: tree.size)))
  }

  /// Returns a finding if snapshots know of commits that the stream lacks.
  private func missing() -> Finding? {
    if let end = reader.endCommit {
      // A store ends a stream only if it has all commits before the end.
      guard end > tree.size else { return nil }
      return .missing(
        reader.tail.next...CommitNumber(rawValue: end), of: replica,
        knownFrom: "\(directory.streamPath(replica))/\(StreamEnd.name)")
    }
    var known = snapshots.compactMap { $0.claim(of: replica) }
    if let checkpoint { known.append(TreeClaims.Claim(checkpoint.checkpoint, file: checkpointPath)) }
    guard let claim = known.max(by: { $0.size < $1.size }), claim.size > tree.size else { return nil }
    return .missing(
      reader.tail.next...CommitNumber(rawValue: claim.size), of: replica, knownFrom: claim.file)
  }

  private func problem(_ reason: String, _ cursor: SegmentCursor, at offset: UInt64, _ tail: StreamTail)
    -> Outcome
  {
    .found(
      Finding(
        verdict: .corrupt, replica: replica,
        error: HeartlogError(
          .corrupt, reason, file: cursor.path, offset: offset,
          commits: tail.next...max(tail.next, reader.tail.head ?? tail.next))))
  }
}

/// A reader that starts in the middle of a stream, with the stream's tree before its position.
///
/// The header and the first block of a sealed segment contain everything needed about the commits before it:
/// heads, numbers and frontier.
struct VerifiedReader {
  let reader: StreamReader
  var tree: MerkleTree

  /// Starts at the last sealed segment at or before `segment`, or at the start of the stream if there is none.
  init(_ directory: StoreDirectory, replica: ReplicaID, to segment: SegmentFile) throws {
    let segments = try directory.servingSegments(of: replica).serving
    guard let start = segments.last(where: { $0.firstCommit <= segment.firstCommit && $0.state == .sealed }),
      let tail = try Self.tail(before: start, in: directory, replica: replica)
    else {
      reader = StreamReader(directory, replica: replica)
      tree = MerkleTree()
      return
    }
    reader = StreamReader(directory, replica: replica, from: tail.0)
    tree = try MerkleTree(size: tail.1.treeSize, frontier: tail.1.frontier)
  }

  private static func tail(
    before segment: SegmentFile, in directory: StoreDirectory, replica: ReplicaID
  ) throws -> (StreamTail, SegmentHeader)? {
    let cursor = try directory.cursor(of: segment, in: replica)
    let header = cursor.header
    while case .frame(let frame) = try cursor.look() {
      if frame.kind == FrameHeader.Kind.block {
        let block = try cursor.withBody(of: frame) { body in
          try BlockEncoding.decodeColumns(
            body, replica: replica, firstCommit: frame.firstCommit, commitCount: Int(frame.commitCount))
        }
        return (StreamTail(before: header, seen: block.headsAtStart), header)
      }
      cursor.pass(frame)
    }
    return nil
  }
}
