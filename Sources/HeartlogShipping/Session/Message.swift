import Heartlog

/// A message of the dialogue: see docs/shipping.md.
enum Message: Hashable {
  /// The versions that the sender speaks, where it was greeted in another.
  case versions(least: UInt8, most: UInt8)
  /// What the calling end has.
  case heads(Heads)
  /// What the serving end has, beside what the calling end has.
  case answer(Answer)
  /// Places of which the roots are asked for.
  case probe([StreamPlace])
  /// The roots asked for, in that order.
  case roots([RootPrefix])
  /// Streams that end.
  case ends([StreamEnd])
  /// The streams whose missing commits are asked for, by their places in the list, rising.
  case wants([Int])
  case run(ShippedRun)
  /// All that was wanted was received, and is durable: commits and events that were new.
  case done(commits: UInt64, events: UInt64)
  /// The sender gives up: an `ErrorCode`, and a sentence.
  case failed(ErrorCode, String)

  static let version: UInt8 = 1
  /// Streams of one end.
  static let streamsMax = 4_096
  /// Streams of both ends together.
  static let listMax = 2 * streamsMax
  static let sentenceBytesMax = 1_024

  /// What an end says of itself before it says what it has.
  struct Greeting: Hashable {
    static let magic: [UInt8] = Array("HLS".utf8)

    var isServing = false
    var isPull = false
    var isDryRun = false
    var isReadOnly = false
    /// The place of its own stream in the list; nil where it has none.
    var own: Int?
    var wallTime: Milliseconds = 0
  }

  struct Heads: Hashable {
    var greeting: Greeting
    /// Sorted by replica, without duplicates: places 0… of the list.
    var heads: [ShippedHead]
  }

  struct Answer: Hashable {
    var greeting: Greeting
    /// For each of the calling end's.
    var states: [State]
    /// Streams that the calling end does not have, sorted by replica: the list's further places.
    var heads: [ShippedHead]

    enum State: Hashable {
      case same
      case none
      /// `isParted`: the roots differ at the calling end's head.
      case other(ShippedHead.Place, isParted: Bool)
    }
  }

  enum ErrorCode: UInt8 {
    /// The store cannot be read or written.
    case store = 1
    /// What came was no part of the dialogue.
    case dialogue = 2
    /// Try again later.
    case later = 3
  }
}

/// A head as it is announced.
struct ShippedHead: Hashable {
  struct Place: Hashable {
    var commit: UInt64
    var isEnded: Bool
    /// Of no meaning where `commit` is 0.
    var root: RootPrefix

    init(commit: UInt64, isEnded: Bool, root: RootPrefix) {
      self.commit = commit
      self.isEnded = isEnded
      self.root = commit == 0 ? RootPrefix(word: 0) : root
    }

    init(_ head: StreamHead) {
      self.init(commit: head.commit.rawValue, isEnded: head.isEnded, root: RootPrefix(head.root))
    }
  }

  let replica: ReplicaID
  let place: Place
}

/// A commit of a stream of the list.
struct StreamPlace: Hashable {
  let stream: Int
  let commit: UInt64
}

/// Where a stream ends.
struct StreamEnd: Hashable {
  let stream: Int
  /// The last commit that both ends keep; 0 for none.
  let commit: UInt64
  /// The sender's root at the commit after it, where the ends differ there; nil where one end knows already that the stream
  /// ends.
  let rootAfter: RootPrefix?
}

/// A run in the dialogue.
struct ShippedRun: Hashable {
  let stream: Int
  let firstCommit: UInt64
  let commitCount: Int
  /// Told once, where the receiver does not have the stream.
  let name: String?
  let root: Digest
  let body: [UInt8]
}
