import Heartlog
import HeartlogFormat

/// A message between a store that syncs and the store at the other end of a channel. The format is specified in docs/shipping.md.
enum Message: Hashable {
  /// What the calling end has: it asks what the serving end has that it lacks.
  case heads(Heads)
  /// What the serving end has, compared with the heads of the calling end.
  case answer(Answer)
  /// Asks for runs.
  case wants([Want])
  /// A run that was asked for; from the calling end, one to store.
  case run(ShippedRun)
  /// The rest of what was asked for cannot be read: a sentence.
  case unreadable(String)
  /// What the serving end needs to know of streams, before their runs.
  case facts([StreamFacts])
  /// The calling end has sent all that it has for now, and asks what became of it.
  case last
  /// What the serving end has taken since the first heads.
  case done(Done)
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

  /// The version of all greetings.
  static let version: UInt8 = 1
  static let factsBytesMax = 32 << 20
  /// The most streams that one end may have.
  static let streamsMax = Limits.streamsMax
  /// The most streams that both ends may have together.
  static let listMax = 2 * streamsMax
  static let sentenceBytesMax = 1_024

  /// What an end says about itself before its heads.
  struct Greeting: Hashable {
    static let magic: [UInt8] = Array("HLS".utf8)

    var isServing = false
    var isPull = false
    var isDryRun = false
    var isReadOnly = false
    /// The index of the sender's own stream in the list; `nil` if it has none.
    var own: Int?
    var wallTime: Milliseconds = 0
    /// The vault of the sender's store; `nil` if it has none.
    var vault: VaultMembership?
    /// Whether a person asked the calling end to join the other's vault.
    var joins = false
  }

  struct Heads: Hashable {
    var greeting: Greeting
    /// Sorted by replica, without duplicates: the list from index 0 on.
    var heads: [ShippedHead]
    /// The streams whose roots at earlier commits are asked for, rising: the calling end has another history of them.
    var parted: [Int] = []
  }

  struct Answer: Hashable {
    var greeting: Greeting
    /// One state for each of the calling end's heads.
    var states: [State]
    /// Streams that the calling end does not have, sorted by replica: the rest of the list.
    var heads: [ShippedHead]
    var facts: [StreamFacts] = []
    /// What is damaged in the store, as a sentence; empty for a sound one.
    var damage = ""

    enum State: Hashable {
      case same
      case none
      case other(ShippedHead.Position)
    }
  }

  /// What is asked for of a stream.
  struct Want: Hashable {
    let stream: Int
    let commits: ClosedRange<UInt64>
  }

  /// What became of what the calling end has sent.
  struct Done: Hashable {
    var commits: UInt64 = 0
    var events: UInt64 = 0
    /// By place in the list: the notes that the calling end showed, with the serving end's signature.
    var cosigned: [Int: SignedNote] = [:]
  }

  enum ErrorCode: UInt8 {
    /// The store cannot be read or written.
    case store = 1
    /// The received bytes are none that may come there.
    case dialogue = 2
    /// Try again later.
    case later = 3
    /// The receiver was removed from the vault, or neither end can admit the other to one.
    case refused = 4
    /// The sender does not speak the version of what was received.
    case version = 5
  }
}

/// A run of a stream in the list.
struct ShippedRun: Hashable {
  let stream: Int
  let firstCommit: UInt64
  let commitCount: Int
  /// Sent with the first commit of a stream, and only with it.
  let name: String?
  let root: Digest
  /// What leads from the tree after the run to the sender's checkpoint: see `RunProof`. Empty for an unsigned stream.
  let extensionRoots: [Digest]
  let body: [UInt8]

  var lastCommit: UInt64 { firstCommit + UInt64(commitCount) - 1 }

  /// The run as the content of a run file.
  ///
  /// - Parameter signed: the sender's checkpoint of the stream.
  func file(of replica: ReplicaID, called name: String, _ signed: SignedCheckpoint?) -> RunFile {
    let proof = signed.map { RunProof(checkpoint: $0, extensionRoots: extensionRoots) }
    return RunFile(
      replica: replica, name: name, firstCommit: firstCommit,
      runs: [
        StreamRun(
          replica: replica, name: name, firstCommit: CommitNumber(rawValue: firstCommit),
          commitCount: commitCount, body: body, root: root, proof: proof)
      ])
  }
}

extension ShippedRun {
  /// Reads the next run of a stream, not beyond `last`.
  ///
  /// - Throws: `corrupt` if the stream does not continue up to `last`.
  init(
    _ stream: Int, of head: StreamHead, after: UInt64, upTo last: UInt64, from store: FavoritesStore
  ) throws(HeartlogError) {
    let run = try store.nextRun(of: head.replica, after: after, upTo: last)
    self.stream = stream
    firstCommit = run.firstCommit.rawValue
    commitCount = run.commitCount
    name = after == 0 ? run.name : nil
    root = run.root
    body = run.body
    extensionRoots =
      try head.checkpoint.map { (signed) throws(HeartlogError) in
        try store.treeExtension(
          of: head.replica, from: run.lastCommit.rawValue, to: signed.checkpoint.size)
      } ?? []
  }
}

extension FavoritesStore {
  /// Reads the next run of a stream, not beyond `last`.
  ///
  /// - Throws: `corrupt` if the stream does not continue up to `last`.
  func nextRun(of replica: ReplicaID, after: UInt64, upTo last: UInt64) throws(HeartlogError) -> StreamRun {
    let last = CommitNumber(rawValue: last)
    if let run = try streamRun(of: replica, after: after, upTo: last), run.firstCommit.rawValue == after + 1,
      run.commitCount >= 1, run.lastCommit <= last
    {
      return run
    }
    // What is wrong with the files says where.
    throw try damage(of: replica, after: after, upTo: last)?.error
      ?? HeartlogError(
        .corrupt, "the stream of \(replica) does not continue after commit \(after) up to its head \(last)")
  }
}

/// A message outside of a dialogue, for whoever looks at its bytes only.
package struct DecodedMessage: Hashable {
  private let message: Message

  /// Decodes a payload.
  ///
  /// - Parameter answering: the number of streams that the calling end announced; an answer has a state for each.
  /// - Throws: an error for anything that is not a message of this kind.
  package init(kind: UInt8, payload: [UInt8], answering: Int) throws {
    guard let kind = Message.Kind(rawValue: kind) else { throw MalformedError("a message of kind \(kind)") }
    message = try Message(kind, payload: payload, answering: answering)
  }

  /// The payload, encoded again.
  package var payload: [UInt8] { message.payload() }
}

extension Message {
  /// The start of the sentence with which an end reports that its store is damaged.
  private static let damageStart = "its store is damaged"

  /// The sentence for a damaged store: what is damaged, where in the store's folder, and what to do.
  static func damage(_ error: HeartlogError) -> String {
    let located = HeartlogError(
      error.code, error.message, file: error.file.map(inFolder), offset: error.offset, commits: error.commits)
    let what = error.file.map { located.description.replacing($0, with: inFolder($0)) } ?? located.description
    return cut(
      "\(damageStart): \(what). Run \"heartlog --store DIR verify\" there, and then \"heartlog --store DIR repair\""
    )
  }

  /// The part of a path inside the store's folder. The peer is not told where the folder is.
  private static func inFolder(_ path: String) -> String {
    let parts = path.split(separator: "/")
    let start = parts.lastIndex { $0 == "replicas" || $0 == "snapshots" } ?? max(0, parts.count - 1)
    return parts[start...].joined(separator: "/")
  }

  /// Cuts a sentence to the most bytes that a message allows, at a character boundary.
  static func cut(_ sentence: String) -> String {
    var cut = sentence[...]
    while cut.utf8.count > sentenceBytesMax { cut.removeLast() }
    return String(cut)
  }
}
