import Heartlog

/// One end of a dialogue that brings two stores to know the same commits: see docs/shipping.md.
///
/// What comes is received run by run, so that a session that breaks off has lost nothing, and the next one goes on there.
public struct SyncSession: Sendable {
  /// The two ends are the same but for who speaks first.
  public enum Role: Sendable {
    /// Speaks first, and settles forks.
    case calling
    /// Answers.
    case serving
  }

  /// How often a dialogue may begin again because forks were found: each time ends some, and they become no more.
  private static let roundsMax = 8

  let store: any ShippedStreams
  let role: Role
  let options: SyncOptions
  let link: Link
  let reader: MessageReader
  let writer: MessageWriter
  let tally: SessionTally

  /// One end, ready to run once.
  ///
  /// - Parameters:
  ///   - store: this end's.
  ///   - role: one end is the one that asks, the other the one that serves.
  ///   - options: how the sync is held.
  ///   - channel: to the other end; the caller closes it when `run` has returned.
  public init(
    _ store: any ShippedStreams, over channel: any ByteChannel, role: Role,
    options: SyncOptions = SyncOptions()
  ) {
    self.store = store
    self.role = role
    self.options = options
    link = Link(channel, options: options)
    reader = MessageReader(link)
    writer = MessageWriter(link)
    tally = SessionTally(options.progress)
  }

  /// Holds the dialogue.
  ///
  /// - Throws: `HeartlogError`; `timedOut` where the peer is silent, `peer` for what is no dialogue, `inputOutput` where the
  ///   channel breaks, and what the store throws. Both stores are sound after each of them.
  public func run() throws(HeartlogError) -> SyncReport {
    do throws(HeartlogError) {
      switch role {
      case .calling: return try call()
      case .serving: return try serve()
      }
    } catch {
      tellPeer(error)
      throw error
    }
  }

  // MARK: - The calling end

  private func call() throws(HeartlogError) -> SyncReport {
    for _ in 0..<Self.roundsMax {
      let mine = try heads()
      var own = greeting
      own.own = mine.firstIndex { $0.replica == store.replica }
      try writer.write(
        .heads(.init(greeting: own, heads: mine.map { ShippedHead(replica: $0.replica, place: .init($0)) })))
      guard case .answer(let answer) = try reader.read(.answer, answering: mine.count) else { continue }
      let theirs = answer.greeting
      guard theirs.isServing, !theirs.isPull, !theirs.isDryRun else {
        throw .peer("an answer from an end that does not serve")
      }
      let list = try StreamList.calling(answer, store: store, mine: mine)
      let report = try begin(list, theirs)
      let writesBoth = !options.isPull && !theirs.isReadOnly && !options.isDryRun
      if writesBoth {
        let ends = try findEnds(list)
        if !ends.isEmpty {
          try writer.write(.ends(ends))
          try end(ends, of: list)
          continue
        }
      } else {
        passOver(list)
        if !options.isDryRun, try endKnown(list) { continue }
      }
      let wants = options.isDryRun ? [] : list.entries.indices.filter { list.entries[$0].wanted != nil }
      try writer.write(.wants(Array(wants)))
      guard case .wants(let theirWants) = try reader.read(.wants) else { continue }
      if !writesBoth, !theirWants.isEmpty { throw .peer("wants where nothing is given") }
      return try exchange(list, wants: Array(wants), theirWants: theirWants, report)
    }
    throw HeartlogError(.peer, "the two ends find new forks again and again")
  }

  // MARK: - The serving end

  private func serve() throws(HeartlogError) -> SyncReport {
    var current: (list: StreamList, greeting: Message.Greeting, report: SyncReport)?
    var rounds = 0
    // A bisection halves 2^53 at most; more questions than that are no bisection.
    var probesLeft = 64 * Self.roundsMax
    while true {
      let message =
        if current == nil { try reader.read(.heads) } else { try reader.read(.heads, .probe, .ends, .wants) }
      switch (message, current) {
      case (.heads(let heads), _):
        rounds += 1
        guard rounds <= Self.roundsMax else { throw .peer("a dialogue that begins again and again") }
        guard !heads.greeting.isServing else { throw .peer("what it was sent, or another end that serves") }
        if let own = heads.greeting.own, own >= heads.heads.count { throw .peer("a place past the list") }
        let (list, answer) = try StreamList.serving(
          heads.heads, store: store, mine: try self.heads(), greeting: greeting)
        try writer.write(.answer(answer))
        current = (list, heads.greeting, try begin(list, heads.greeting))
      case (.probe(let places), .some(let now)):
        probesLeft -= 1
        guard probesLeft >= 0 else { throw .peer("probes without end") }
        try writer.write(.roots(try roots(at: places, of: now.list)))
      case (.ends(let ends), .some(let now)):
        guard !now.greeting.isPull, !now.greeting.isDryRun, !options.isReadOnly else {
          throw .peer("streams that are to end where nothing may be written")
        }
        try end(ends, of: now.list)
        current = nil
      case (.wants(let theirWants), .some(let now)):
        let takes = !now.greeting.isPull && !now.greeting.isDryRun && !options.isReadOnly
        let wants = takes ? now.list.entries.indices.filter { now.list.entries[$0].wanted != nil } : []
        if now.greeting.isDryRun, !theirWants.isEmpty { throw .peer("wants in a dry run") }
        try writer.write(.wants(wants))
        var report = now.report
        report.isDryRun = now.greeting.isDryRun
        return try exchange(now.list, wants: wants, theirWants: theirWants, report)
      default: throw .peer("a message out of turn")
      }
    }
  }

  private func roots(at places: [StreamPlace], of list: StreamList) throws(HeartlogError) -> [RootPrefix] {
    var roots: [RootPrefix] = []
    for place in places {
      guard place.stream < list.entries.count, place.commit >= 1,
        let root = try store.streamRoot(
          of: list.entries[place.stream].replica, at: CommitNumber(rawValue: place.commit))
      else { throw .peer("a probe of a commit that is not there") }
      roots.append(RootPrefix(root))
    }
    return roots
  }

  // MARK: - Both

  private var greeting: Message.Greeting {
    Message.Greeting(
      isServing: role == .serving, isPull: role == .calling && options.isPull,
      isDryRun: role == .calling && options.isDryRun, isReadOnly: role == .serving && options.isReadOnly,
      wallTime: options.clock())
  }

  private func heads() throws(HeartlogError) -> [StreamHead] {
    let heads = try store.streamHeads()
    guard heads.count <= Message.streamsMax else {
      throw HeartlogError(.invalid, "a store of \(heads.count) streams, a sync takes \(Message.streamsMax)")
    }
    return heads
  }

  private func begin(_ list: StreamList, _ theirs: Message.Greeting) throws(HeartlogError) -> SyncReport {
    var report = SyncReport()
    report.isDryRun = options.isDryRun
    report.streams = list.entries.count
    report.peerClockAheadMilliseconds = theirs.wallTime - options.clock()
    if let own = theirs.own {
      guard own < list.entries.count else { throw .peer("a place past the list") }
      report.peer = list.entries[own].replica
      report.peerName = list.entries[own].mine?.name
    }
    return report
  }

  private func tellPeer(_ error: HeartlogError) {
    switch error.code {
    // The peer said so itself, or cannot hear it.
    case .timedOut: writer.writeFailure(.later, error.message)
    case .peer: writer.writeFailure(.dialogue, error.message)
    case .newerFormat:
      if role == .serving { writer.writeLast(.versions(least: Message.version, most: Message.version)) }
    case .locked: writer.writeFailure(.later, error.message)
    // What the store says names places that are no business of the peer's.
    default: writer.writeFailure(.store, "its store failed (\(error.code.rawValue))")
    }
  }
}
