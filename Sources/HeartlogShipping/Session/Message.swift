import Heartlog
import HeartlogFormat

/// A message of the dialogue. The format is specified in docs/shipping.md.
enum Message: Hashable {
  /// The versions that the sender speaks; the reply to a greeting in another version.
  case versions(least: UInt8, most: UInt8)
  /// What the calling end has.
  case heads(Heads)
  /// What the serving end has, compared with the heads of the calling end.
  case answer(Answer)
  /// Asks for the roots at these commits.
  case probe([ProbePosition])
  /// The roots that were asked for, in the same order.
  case roots([RootPrefix])
  /// Streams to end.
  case ends([StreamEnd])
  /// The checkpoints that the other end does not have.
  case checkpoints([ShippedCheckpoint])
  /// Forked streams, each with the proof that its device signed two histories, as far as the sender has one.
  case evidence([ShippedEvidence])
  /// The streams whose missing commits are asked for: their indexes in the list, rising.
  case wants([Int])
  case run(ShippedRun)
  /// The sender has received all that it wanted, durably; the numbers of commits and events that were new.
  case done(commits: UInt64, events: UInt64)
  /// The sender gives up: an `ErrorCode`, and a sentence.
  case failed(ErrorCode, String)
  // Of a pairing, which is specified in docs/encryption.md.
  /// What an end of a pairing says about itself.
  case pairing(PairingGreeting)
  /// What the device that is to be admitted announces: the bytes of a `Member`.
  case member([UInt8])
  /// The object of a key epoch.
  case epoch([UInt8])
  /// The epoch under which the sender writes.
  case head(EpochID)
  /// The sender admits nobody, or is not to be admitted: a sentence.
  case refused(String)

  /// The newest version that this program speaks.
  static let version: UInt8 = 2
  /// The oldest one: without vaults and checkpoints.
  static let versionMin: UInt8 = 1
  static let versions = versionMin...version
  static let checkpointsBytesMax = 32 << 20
  static let evidenceBytesMax = 8 << 20
  /// The most streams that one end may have.
  static let streamsMax = Limits.streamsMax
  /// The most streams that both ends may have together.
  static let listMax = 2 * streamsMax
  static let sentenceBytesMax = 1_024

  /// What an end says about itself before its heads.
  struct Greeting: Hashable {
    static let magic: [UInt8] = Array("HLS".utf8)

    var version = Message.version
    var isServing = false
    var isPull = false
    var isDryRun = false
    var isReadOnly = false
    /// The index of the sender's own stream in the list; `nil` if it has none.
    var own: Int?
    var wallTime: Milliseconds = 0
    /// The vault of the sender's store; `nil` if it has none, and in version 1.
    var vault: VaultMembership?
    /// Whether a person asked the calling end to join the other's vault.
    var joins = false
  }

  struct Heads: Hashable {
    var greeting: Greeting
    /// Sorted by replica, without duplicates: the list from index 0 on.
    var heads: [ShippedHead]
  }

  struct Answer: Hashable {
    var greeting: Greeting
    /// One state for each of the calling end's heads.
    var states: [State]
    /// Streams that the calling end does not have, sorted by replica: the rest of the list.
    var heads: [ShippedHead]

    enum State: Hashable {
      case same
      case none
      /// `isParted`: the roots differ at the calling end's head.
      case other(ShippedHead.Position, isParted: Bool)
    }
  }

  enum ErrorCode: UInt8 {
    /// The store cannot be read or written.
    case store = 1
    /// The received bytes are no part of the dialogue.
    case dialogue = 2
    /// Try again later.
    case later = 3
    /// The receiver was removed from the vault.
    case removed = 4
  }
}

/// A head as it is announced to the other end.
struct ShippedHead: Hashable {
  struct Position: Hashable {
    var commit: UInt64
    var isEnded: Bool
    /// Meaningless if `commit` is 0.
    var root: RootPrefix
    /// The checkpoint that the sender has; `nil` for an unsigned stream, and in version 1.
    var checkpoint: CheckpointName?

    init(commit: UInt64, isEnded: Bool, root: RootPrefix, checkpoint: CheckpointName? = nil) {
      self.commit = commit
      self.isEnded = isEnded
      self.checkpoint = checkpoint
      self.root = commit == 0 ? RootPrefix(word: 0) : root
    }

    init(_ head: StreamHead, version: UInt8) {
      self.init(
        commit: head.commit.rawValue, isEnded: head.isEnded, root: RootPrefix(head.root),
        checkpoint: version >= 2 ? head.checkpoint.map(CheckpointName.init) : nil)
    }
  }

  let replica: ReplicaID
  let position: Position
}

/// A commit of a stream in the list.
struct ProbePosition: Hashable {
  let stream: Int
  let commit: UInt64
}

/// The end of a forked stream.
struct StreamEnd: Hashable {
  let stream: Int
  /// The last commit that both ends keep; 0 for none.
  let commit: UInt64
  /// The sender's root at the commit after it, if the two ends differ there; `nil` if one end already knows
  /// that the stream ends.
  let rootAfter: RootPrefix?
}

/// A run in the dialogue.
struct ShippedRun: Hashable {
  let stream: Int
  let firstCommit: UInt64
  let commitCount: Int
  /// Sent once, with the first run, if the receiver does not have the stream.
  let name: String?
  let root: Digest
  /// What leads from the tree after the run to the sender's checkpoint: see `RunProof`. Empty for an unsigned stream; `nil` in version 1.
  let extensionRoots: [Digest]?
  let body: [UInt8]
}
