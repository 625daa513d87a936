import Heartlog
import HeartlogFormat

/// A head as it is announced to the other end.
struct ShippedHead: Hashable {
  struct Position: Hashable {
    var commit: UInt64
    var isEnded: Bool
    /// Meaningless if `commit` is 0.
    var root: RootPrefix
    /// The checkpoint that the sender has; `nil` for an unsigned stream.
    var checkpoint: CheckpointName?

    init(commit: UInt64, isEnded: Bool, root: RootPrefix, checkpoint: CheckpointName? = nil) {
      self.commit = commit
      self.isEnded = isEnded
      self.checkpoint = checkpoint
      self.root = commit == 0 ? RootPrefix(word: 0) : root
    }

    init(_ head: StreamHead) {
      self.init(
        commit: head.commit.rawValue, isEnded: head.isEnded, root: RootPrefix(head.root),
        checkpoint: head.checkpoint.map(CheckpointName.init))
    }

    /// Whether the stream has ended there as it has here.
    func isEnded(like head: StreamHead) -> Bool {
      isEnded && head.isEnded && commit == head.commit.rawValue
    }
  }

  let replica: ReplicaID
  let position: Position
}

extension FavoritesStore {
  /// The heads that are announced to another store, and of the streams that are kept out because there are too many, why.
  func announcedHeads(
    atMost most: Int
  ) throws(HeartlogError) -> (heads: [StreamHead], left: [SyncReport.SkippedStream]) {
    let dropped = Set(try droppedReplicas())
    let all = try streamHeads().filter { !dropped.contains($0.replica) }
    var heads = all
    var left: [SyncReport.SkippedStream] = []
    // More streams are received only if they branched, or come from a backup.
    while heads.count > most, let index = heads.lastIndex(where: { $0.replica != replica }) {
      let head = heads.remove(at: index)
      left.append(
        SyncReport.SkippedStream(
          replica: head.replica, name: head.name, firstCommit: CommitNumber(rawValue: 1), cause: .full,
          reason: "the store has \(all.count) streams, and a sync takes at most \(most)"))
    }
    return (heads, left)
  }
}

/// What an end needs to know of a stream, beside its runs.
struct StreamFacts: Hashable {
  /// The place in the list.
  let stream: Int
  /// The sender's checkpoint.
  var checkpoint: ShippedCheckpoint?
  /// The proof that its device signed two histories.
  var evidence: [UInt8]?
  /// Where it ends.
  var end: CommitRoot?
  /// Where the two ends have different histories: the sender's roots at rising commits.
  var roots: [CommitRoot] = []

  /// What a store with this head tells one with that position.
  init(
    _ stream: Int, of head: StreamHead, for theirs: ShippedHead.Position?, isParted: Bool,
    from store: FavoritesStore
  ) throws(HeartlogError) {
    self.stream = stream
    if let signed = head.checkpoint, CheckpointName(signed) != theirs?.checkpoint,
      // An older one tells only whether there are two histories.
      isParted || signed.checkpoint.size >= theirs?.checkpoint?.size ?? 0
    {
      checkpoint = ShippedCheckpoint(signed)
    }
    if let theirs, isParted || (head.isEnded || theirs.isEnded) && !theirs.isEnded(like: head),
      let proof = try store.evidence(of: head.replica)
    {
      evidence = ProofFile.fork(proof).bytes
    }
  }

  init(_ stream: Int) { self.stream = stream }

  var isEmpty: Bool { self == StreamFacts(stream) }

  /// The bytes that it takes in a message, or some more.
  var byteCount: Int {
    64 + (checkpoint?.note.bytes.count ?? 0) + (evidence?.count ?? 0) + 16 * roots.count
  }
}

/// The root of a stream after a commit.
struct CommitRoot: Hashable {
  let commit: UInt64
  /// Meaningless if `commit` is 0.
  let root: RootPrefix
}

/// A checkpoint whose signature was not verified.
struct ShippedCheckpoint: Hashable {
  let key: PublicKey
  let note: SignedNote
}

extension ShippedCheckpoint {
  init(_ checkpoint: SignedCheckpoint) { self.init(key: checkpoint.key, note: checkpoint.note) }

  /// The checkpoint, with its signature verified.
  ///
  /// - Throws: `peer` if the owner of the stream did not sign it.
  func verified(of replica: ReplicaID) throws(HeartlogError) -> SignedCheckpoint {
    let signed: SignedCheckpoint
    do { signed = try SignedCheckpoint(note, key: key) } catch { throw .peer(error.reason) }
    guard signed.checkpoint.replica == replica else { throw .peer("a checkpoint of another stream") }
    return signed
  }
}

/// A stream that one of the two ends has.
struct PeerStream {
  let replica: ReplicaID
  let mine: StreamHead?
  let theirs: ShippedHead.Position?
  /// What the other end told of it.
  var facts: StreamFacts?
  /// The other end's checkpoint, verified.
  var checkpoint: SignedCheckpoint?

  var myCommit: UInt64 { mine?.commit.rawValue ?? 0 }
  var theirCommit: UInt64 { theirs?.commit ?? 0 }
  /// The other end's roots, where the two ends have different histories.
  var roots: [CommitRoot] { facts?.roots ?? [] }
  var isParted: Bool { !roots.isEmpty }
}

/// What tells two copies of a checkpoint apart: how many commits it covers, and the first eight bytes of the note's hash.
struct CheckpointName: Hashable, Sendable {
  let size: UInt64
  let note: RootPrefix
}

extension CheckpointName {
  init(_ checkpoint: SignedCheckpoint) {
    self.init(
      size: checkpoint.checkpoint.size, note: RootPrefix(SHA256Hasher.digest(of: checkpoint.note.bytes)))
  }
}
