import Heartlog
import HeartlogFormat

/// The streams of both ends of a session, in the order in which both ends number them: first the calling
/// end's, then those that only the serving end has.
struct StreamList {
  struct Entry {
    let replica: ReplicaID
    let mine: StreamHead?
    let theirs: ShippedHead.Position?
    /// The other end's checkpoint, with a valid signature or the same as this end's.
    var theirCheckpoint: SignedCheckpoint?
    /// Whether the roots differ at the lower of the two heads.
    var isParted: Bool
    /// Whether the stream is skipped because it is damaged: nothing of it is asked for, and it is not ended.
    var isPassedOver = false
    /// Whether the other end has shown that the stream's device signed two histories.
    var isProvenFork = false

    var myCommit: UInt64 { mine?.commit.rawValue ?? 0 }
    var theirCommit: UInt64 { theirs?.commit ?? 0 }
    var lowerCommit: UInt64 { min(myCommit, theirCommit) }

    /// The commits that this end wants; `nil` if it wants none.
    var wanted: ClosedRange<UInt64>? {
      isParted || isPassedOver ? nil : Self.missing(from: myCommit, mine?.isEnded, theirCommit)
    }

    /// The commits that the other end may want; `nil` if there are none.
    var offered: ClosedRange<UInt64>? {
      isParted ? nil : Self.missing(from: theirCommit, theirs?.isEnded, myCommit)
    }

    private static func missing(from own: UInt64, _ isEnded: Bool?, _ other: UInt64) -> ClosedRange<UInt64>? {
      isEnded != true && other > own ? own + 1...other : nil
    }

    /// Where the stream has to end, if one end knows that it is forked and the other does not yet.
    var end: UInt64? {
      guard let mine, let theirs, !isParted, !isPassedOver else { return nil }
      let ends = [mine.isEnded ? myCommit : nil, theirs.isEnded ? theirs.commit : nil].compactMap { $0 }
      guard let end = ends.min(), myCommit >= end, theirCommit >= end else { return nil }
      let isKnown = mine.isEnded && myCommit == end && theirs.isEnded && theirCommit == end
      return isKnown ? nil : end
    }
  }

  var entries: [Entry]
  /// The version of the dialogue.
  let version: UInt8

  /// The indexes of the streams of which the other end has more.
  var wanted: [Int] { entries.indices.filter { entries[$0].wanted != nil } }

  /// Compares the calling end's heads at the serving end, and returns the list and the answer.
  static func serving(
    _ heads: Message.Heads, store: any ShippedStreams, mine: [StreamHead], greeting: Message.Greeting
  ) throws(HeartlogError) -> (list: StreamList, answer: Message.Answer) {
    let byReplica = Dictionary(uniqueKeysWithValues: mine.map { ($0.replica, $0) })
    let called = Set(heads.heads.map(\.replica))
    var entries: [Entry] = []
    var states: [Message.Answer.State] = []
    for head in heads.heads {
      let own = byReplica[head.replica]
      var entry = Entry(replica: head.replica, mine: own, theirs: head.position, isParted: false)
      if let own {
        entry.isParted = try parts(store, own, from: head.position)
        let position = ShippedHead.Position(own, version: greeting.version)
        states.append(position == head.position ? .same : .other(position, isParted: entry.isParted))
      } else {
        states.append(.none)
      }
      entries.append(entry)
    }
    let others = mine.filter { !called.contains($0.replica) }
    entries += others.map { Entry(replica: $0.replica, mine: $0, theirs: nil, isParted: false) }
    var greeting = greeting
    greeting.own = entries.firstIndex { $0.replica == store.replica }
    let answer = Message.Answer(
      greeting: greeting, states: states,
      heads: others.map { ShippedHead(replica: $0.replica, position: .init($0, version: greeting.version)) })
    return (StreamList(entries: entries, version: greeting.version), answer)
  }

  /// Builds the list at the calling end from the answer.
  static func calling(
    _ answer: Message.Answer, store: any ShippedStreams, mine: [StreamHead]
  ) throws(HeartlogError) -> StreamList {
    var entries: [Entry] = []
    for (own, state) in zip(mine, answer.states) {
      var entry: Entry
      switch state {
      case .none: entry = Entry(replica: own.replica, mine: own, theirs: nil, isParted: false)
      case .same:
        entry = Entry(
          replica: own.replica, mine: own, theirs: .init(own, version: answer.greeting.version),
          isParted: false)
      case .other(let position, let isParted):
        entry = Entry(replica: own.replica, mine: own, theirs: position, isParted: isParted)
        // Each end can look up roots only at commits up to its own head.
        if !isParted { entry.isParted = try parts(store, own, from: position) }
      }
      entries.append(entry)
    }
    let own = Set(mine.map(\.replica))
    for head in answer.heads {
      guard !own.contains(head.replica) else { throw .peer("a stream that is in the list twice") }
      entries.append(Entry(replica: head.replica, mine: nil, theirs: head.position, isParted: false))
    }
    return StreamList(entries: entries, version: answer.greeting.version)
  }

  /// Whether the commits of `own` differ from those that lead to `position`; false if `own` is shorter and
  /// this cannot be determined.
  private static func parts(
    _ store: any ShippedStreams, _ own: StreamHead, from position: ShippedHead.Position
  ) throws(HeartlogError) -> Bool {
    guard position.commit > 0, position.commit <= own.commit.rawValue else { return false }
    if position.commit == own.commit.rawValue { return position.root != RootPrefix(own.root) }
    let root = try store.streamRoot(of: own.replica, at: CommitNumber(rawValue: position.commit))
    return root.map { RootPrefix($0) } != position.root
  }
}
