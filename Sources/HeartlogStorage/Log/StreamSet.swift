import HeartlogEvents
import HeartlogFiles

/// What was read of each stream, what damage was found, and the identity of the writer of the own stream.
///
/// Guarded by the log's monitor.
final class StreamSet {
  private let directory: StoreDirectory

  var identity: StoreIdentity { didSet { knownOwn = nil } }
  var readers: [ReplicaID: StreamReader] = [:] { didSet { knownOwn = nil } }
  /// The reader of the own stream, if it was already looked up.
  @exclusivity(unchecked) private var knownOwn: StreamReader?
  /// The findings that end the sound part of each stream.
  var ends: [ReplicaID: Finding] = [:]
  /// What snapshots record about the log, including snapshots from which it could not be opened.
  var snapshots: [SnapshotClaim]
  /// What recovery of the store did since it was opened.
  var reports: [Finding] = []
  /// The tails of received streams, as far as this process wrote them.
  var receivedTails: [ReplicaID: SegmentWriter] = [:]

  init(_ directory: StoreDirectory, identity: StoreIdentity, snapshots: [SnapshotClaim]) {
    self.directory = directory
    self.identity = identity
    self.snapshots = snapshots
  }

  /// The reader of the own stream, which may still be empty.
  var own: StreamReader {
    if let knownOwn { return knownOwn }
    let reader = readers[identity.replica] ?? StreamReader(directory, replica: identity.replica)
    if readers[identity.replica] == nil { readers[identity.replica] = reader }
    knownOwn = reader
    return reader
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
        guard ends[position.replica]?.verdict != .corrupt else { return nil }
        let reader = readers[position.replica]
        let next = reader?.tail.next ?? CommitNumber(rawValue: 1)
        guard next <= position.commit, reader?.isEnded != true else { return nil }
        return (claim, .missing(next...position.commit, of: position.replica, knownFrom: claim.file))
      }
    }
  }

  /// Damage found in the parts that were read so far, and what recovery did.
  var findings: [Finding] {
    let lost = Set(ends.values.filter { $0.verdict == .lost }.map(\.replica))
    return reports + ends.sorted { $0.key < $1.key }.map(\.value)
      + missing.map(\.finding).filter { !lost.contains($0.replica) }
  }

  /// The heads of other replicas that the own stream, up to `tail`, has not named yet.
  func newHeads(after tail: StreamTail) -> [Head] {
    let heads = readers.values.compactMap { reader -> Head? in
      guard reader.replica != identity.replica, let head = reader.tail.head,
        head.rawValue > tail.seen[reader.replica]?.rawValue ?? 0
      else { return nil }
      return Head(replica: reader.replica, commit: head)
    }
    return heads.sorted { $0.replica < $1.replica }
  }

  /// The latest stamp that was read.
  var lastStamp: HybridTimestamp? { readers.values.map(\.tail.lastStamp).max() }
}
