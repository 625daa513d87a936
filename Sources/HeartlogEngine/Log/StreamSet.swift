import HeartlogFiles
import HeartlogFormat

/// What was read of each stream and passed to the projection, what damage was found, and the identity of the writer of the own stream.
///
/// The clock is never behind a commit that the projection has.
///
/// Guarded by the log's monitor, except `merkleCaches` and `checkpoints`, which have their own.
final class StreamSet {
  private let directory: StoreDirectory
  // A strong reference: sealing in the background may outlive the store that the log belongs to.
  let projection: Projection
  let merkleCaches: MerkleCaches

  var identity: StoreIdentity {
    didSet {
      knownOwn = nil
      let replica = identity.replica
      ownReplica.withLock { $0 = replica }
    }
  }
  /// The replica in `identity`. Not guarded by the monitor.
  let ownReplica: Monitor<ReplicaID>
  var readers: [ReplicaID: StreamReader] = [:] { didSet { knownOwn = nil } }
  /// The reader of the own stream, if it was already looked up.
  @exclusivity(unchecked) private var knownOwn: StreamReader?
  /// The findings that end the sound part of each stream.
  var ends: [ReplicaID: Finding] = [:]
  /// What snapshots record about the log, including snapshots from which it could not be opened.
  var snapshots: [SnapshotClaim]
  /// The devices that the keys of an encrypted vault name. None if the vault is not encrypted, or as long as nobody has read its keys.
  var members: Set<ReplicaID> = []
  /// Those that were members. Only the vault's root can name more of them.
  var removed: Set<ReplicaID> = []
  /// The streams that a person dropped, as of the last time that the folders were listed.
  var dropped: Set<ReplicaID> = []
  let erased: ErasedEvents
  let checkpoints: Checkpoints
  /// Stamps the next commit of the own stream.
  @exclusivity(unchecked) var clock = HybridClock()

  init(
    _ directory: StoreDirectory, identity: StoreIdentity, checkpoints: Checkpoints, erased: ErasedEvents,
    snapshots: [SnapshotClaim], projection: Projection
  ) {
    self.directory = directory
    self.projection = projection
    merkleCaches = MerkleCaches(directory)
    self.identity = identity
    ownReplica = Monitor(identity.replica)
    self.checkpoints = checkpoints
    self.erased = erased
    self.snapshots = snapshots
  }

  /// The reader of the own stream, which may still be empty.
  var own: StreamReader {
    if let knownOwn { return knownOwn }
    let reader = readers[identity.replica] ?? StreamReader(directory, replica: identity.replica)
    assert(reader.replica == identity.replica, "a reader is filed under the stream that it reads")
    if readers[identity.replica] == nil { readers[identity.replica] = reader }
    knownOwn = reader
    return reader
  }

  /// Forgets all streams. They are read again from their start.
  func forgetAll() {
    for replica in readers.keys { merkleCaches.monitor.withLock { merkleCaches.forget(replica) } }
    readers = [:]
    ends = [:]
  }

  /// Passes what is new in one stream to the projection.
  ///
  /// - Parameter page: the lock's page as it was before the stream is read.
  func readOn(_ replica: ReplicaID, _ page: StoreLock.Page, _ meter: inout ProgressMeter)
    throws(HeartlogError)
  {
    guard let reader = readers[replica] else { return }
    assert(reader.replica == replica, "a reader is filed under the stream that it reads")
    ends[replica] = nil
    ends[replica] = try heartlogErrors {
      try reader.forEachPiece(page: page, &meter) { piece in
        switch piece {
        case .rows(let rows):
          // Stamps increase along a stream.
          if let last = rows.last { clock.receive(last.stamp) }
          assert(
            rows.last.map { clock.last >= $0.stamp } ?? true,
            "the clock is never behind a commit that the projection has")
          projection.receive(rows)
        case .block(let block): receive(block)
        }
        return true
      }
    }
  }

  /// Passes a block, which was read or was just appended, to the projection.
  ///
  /// - Returns: the number of items that changed.
  @discardableResult
  func receive(_ block: ColumnBlock) -> Int {
    clock.receive(block.lastStamp)
    assert(clock.last >= block.lastStamp, "the clock is never behind a commit that the projection has")
    return projection.receive(block)
  }

  /// Whether other replicas have seen commits of the own stream that are missing here. Their numbers must not be used again.
  var othersHaveSeenMoreOfOwn: Bool {
    let own = own
    return readers.values.contains { $0.tail.seen[own.replica].map { $0 >= own.tail.next } ?? false }
  }

  /// The damage that prevents the store from being written, in the first stream that has any.
  var damage: Finding? {
    ends.isEmpty
      ? nil : ends.sorted { $0.key < $1.key }.map(\.value).first { $0.verdict == .corrupt }
  }

  /// Commits that a snapshot was made from and that are now missing.
  var missing: [(claim: SnapshotClaim, finding: Finding)] {
    snapshots.flatMap { claim in
      claim.positions.compactMap { position in
        guard ends[position.replica]?.verdict != .corrupt, !dropped.contains(position.replica) else {
          return nil
        }
        let reader = readers[position.replica]
        let next = reader?.tail.next ?? CommitNumber(rawValue: 1)
        guard next <= position.commit, reader?.isEnded != true else { return nil }
        return (claim, .missing(next...position.commit, of: position.replica, knownFrom: claim.file))
      }
    }
  }

  /// Commits that a device signed and that are now missing. A checkpoint is kept only once its commits are durable.
  var missingSigned: [Finding] {
    readers.values.sorted { $0.replica < $1.replica }.compactMap { reader in
      guard !reader.isEnded, ends[reader.replica]?.verdict != .corrupt,
        // One that cannot be read says nothing; `verify` reports it.
        let signed = try? checkpoints.newest(of: reader.replica)?.checkpoint,
        signed.size >= reader.tail.next.rawValue
      else { return nil }
      return .missing(
        reader.tail.next...CommitNumber(rawValue: signed.size), of: reader.replica,
        knownFrom: CheckpointFile.path(of: reader.replica, in: directory))
    }
  }

  /// Damage found in the parts that were read so far.
  var findings: [Finding] {
    let lost = Set(ends.values.filter { $0.verdict == .lost }.map(\.replica))
    return ends.sorted { $0.key < $1.key }.map(\.value)
      + missing.map(\.finding).filter { !lost.contains($0.replica) }
  }

  /// The number of streams of other replicas.
  var otherCount: Int { readers.count - (readers[identity.replica] == nil ? 0 : 1) }

  /// The heads of other replicas that the own stream, up to `tail`, has not named yet. A stream names at most `Limits.headsMax` others;
  /// more of them are there only if streams branched.
  func newHeads(after tail: StreamTail, most: Int = Limits.headsMax) -> [Head] {
    let heads = readers.values.compactMap { reader -> Head? in
      guard reader.replica != identity.replica, let head = reader.tail.head,
        head.rawValue > tail.seen[reader.replica]?.rawValue ?? 0
      else { return nil }
      return Head(replica: reader.replica, commit: head)
    }.sorted { $0.replica < $1.replica }
    guard tail.seen.count + heads.count > most else { return heads }
    var left = most - tail.seen.count
    return heads.filter { head in
      if tail.seen[head.replica] != nil { return true }
      left -= 1
      return left >= 0
    }
  }

  /// Sets the clock back to the latest stamp that was read, because later ones were given to commits that were not written.
  func resetClock() {
    assert(
      readers.values.allSatisfy { $0.tail.lastStamp <= clock.last },
      "the clock is never behind a commit that was read")
    if let last = readers.values.map(\.tail.lastStamp).max() { clock = HybridClock(last: last) }
  }
}
