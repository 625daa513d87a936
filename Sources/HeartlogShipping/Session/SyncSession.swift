import Heartlog

/// One end of a dialogue after which two stores have the same commits. The protocol is specified in
/// docs/shipping.md.
///
/// Each run is stored as it arrives. A session that breaks off loses nothing, and the next one continues from
/// there.
public struct SyncSession: Sendable {
  /// The role of an end; it decides which end sends the first message.
  public enum Role: Sendable {
    /// Sends the first message, and resolves forks.
    case calling
    /// Answers.
    case serving
  }

  /// The most times a dialogue may start again because forks were found. Each round ends some, so their
  /// number falls.
  private static let roundsMax = 8

  let store: any ShippedStreams
  let role: Role
  let options: SyncOptions
  let link: MonitoredChannel
  let reader: MessageReader
  let writer: MessageWriter
  let attempts: SyncAttempts

  /// Creates one end, which can run once.
  ///
  /// - Parameters:
  ///   - store: the store at this end.
  ///   - channel: the channel to the other end; the caller closes it after `run` has returned.
  ///   - role: one end calls, and the other serves.
  ///   - options: options for the sync.
  public init(
    _ store: FavoritesStore, over channel: any ByteChannel, role: Role,
    options: SyncOptions = SyncOptions()
  ) {
    self.init(
      streams: store, over: channel, role: role, options: options, attempts: SyncAttempts(options.progress))
  }

  /// Creates one end of anything that ships streams.
  package init(
    _ store: any ShippedStreams, over channel: any ByteChannel, role: Role,
    options: SyncOptions = SyncOptions()
  ) {
    self.init(
      streams: store, over: channel, role: role, options: options, attempts: SyncAttempts(options.progress))
  }

  /// Creates one end of one of the dialogues of a sync.
  init(
    streams store: any ShippedStreams, over channel: any ByteChannel, role: Role, options: SyncOptions,
    attempts: SyncAttempts
  ) {
    self.store = store
    self.role = role
    self.options = options
    link = MonitoredChannel(channel, options: options)
    reader = MessageReader(link)
    writer = MessageWriter(link)
    self.attempts = attempts
  }

  /// Runs the dialogue. If its deadline comes first, or it is cancelled, the report says what is left.
  ///
  /// - Throws: `HeartlogError`; `timedOut` if the peer is silent, `peer` if it sends something that is no
  ///   part of a dialogue, `inputOutput` if the channel breaks, and what the store throws. Both stores are
  ///   sound after any of these.
  public func run() throws(HeartlogError) -> SyncReport {
    try store.traced { () throws(HeartlogError) in try runDialogue() }
  }

  private func runDialogue() throws(HeartlogError) -> SyncReport {
    do throws(HeartlogError) {
      switch role {
      case .calling: return try call()
      case .serving: return try serve()
      }
    } catch {
      writer.writeFailure(error, versions: role == .serving ? Message.versions : nil)
      attempts.brokeOff(read: link.bytesRead, written: link.bytesWritten)
      guard error.isEarlyEnd else { throw error }
      return attempts.reportSoFar()
    }
  }

  // MARK: - The calling end

  private func call() throws(HeartlogError) -> SyncReport {
    if !options.isDryRun { try prepareToShip() }
    for _ in 0..<Self.roundsMax {
      let (mine, kept) = try heads(attempts.version)
      var own = greeting(attempts.version)
      own.own = mine.firstIndex { $0.replica == store.replica }
      do throws(HeartlogError) {
        try writer.write(
          .heads(
            .init(
              greeting: own,
              heads: mine.map { ShippedHead(replica: $0.replica, position: .init($0, version: own.version)) })
          ))
      } catch {
        throw reason(for: error, reading: .answer)
      }
      let reply = try reader.read(.answer, answering: mine.count)
      if case .versions(let least, let most) = reply { throw speakOlder(least, most) }
      guard case .answer(let answer) = reply else { continue }
      let theirs = answer.greeting
      guard theirs.isServing, !theirs.isPull, !theirs.isDryRun, theirs.version == own.version else {
        throw .peer("an answer from a peer that does not serve")
      }
      // Only the answer shows what the serving end lacks. If that cannot be read, announce less.
      guard try canGive(mine, lacking: answer) else { continue }
      var list = passingOver(
        try StreamList.calling(answer, store: store, mine: mine), kept)
      let report = try begin(list, theirs)
      try refuseRemoved(report.peer, list)
      try meet(theirs, list)
      if own.version >= 2, list.hasNewCheckpoints {
        try writer.write(.checkpoints(list.checkpointsToShow))
        guard case .checkpoints(let shown) = try reader.read(.checkpoints) else { continue }
        try note(shown, in: &list)
      } else {
        try note([], in: &list)
      }
      let disputed = evidenceToAskFor(list)
      if own.version >= 2, !disputed.isEmpty {
        try writer.write(
          .evidence(try disputed.map { (stream) throws(HeartlogError) in try evidence(stream, list) }))
        guard case .evidence(let shown) = try reader.read(.evidence) else { continue }
        try take(shown, in: &list)
        passOverUnproven(disputed, in: &list)
      }
      let writesBoth = !options.isPull && !theirs.isReadOnly && !options.isDryRun && !takesNothing
      if writesBoth {
        let ends = try findEnds(list)
        if !ends.isEmpty {
          try writer.write(.ends(ends))
          try end(ends, of: list)
          continue
        }
      } else {
        passOver(list)
        if !options.isDryRun, !takesNothing, try endKnown(list) { continue }
      }
      let wants = options.isDryRun ? [] : wants(of: list)
      try writer.write(.wants(wants))
      guard case .wants(let theirWants) = try reader.read(.wants) else { continue }
      if options.isPull || options.isDryRun || theirs.isReadOnly, !theirWants.isEmpty {
        throw .peer("wants where nothing is given")
      }
      return try exchange(list, wants: wants, theirWants: theirWants, report)
    }
    throw HeartlogError(.peer, "the two ends keep finding new forks")
  }

  // MARK: - The serving end

  private func serve() throws(HeartlogError) -> SyncReport {
    var current: (list: StreamList, greeting: Message.Greeting, report: SyncReport)?
    // What the calling end has said in this round. It says each of these once, so that no dialogue goes on for ever.
    var said: Set<Message.Kind> = []
    var rounds = 0
    // A bisection halves at most 2^53 commits; a peer that asks more often than that is not bisecting.
    var probesLeft = 64 * Self.roundsMax
    while true {
      let message =
        if current == nil {
          try reader.read(.heads)
        } else {
          try reader.read(.heads, .checkpoints, .evidence, .probe, .ends, .wants)
        }
      if [.checkpoints, .evidence].contains(message.kind) {
        guard said.insert(message.kind).inserted else {
          throw .peer("a message of kind \(message.kind.rawValue) said twice")
        }
      }
      switch (message, current) {
      case (.heads(let heads), _):
        rounds += 1
        said = []
        guard rounds <= Self.roundsMax else { throw .peer("a dialogue that starts again too often") }
        guard !heads.greeting.isServing else { throw .peer("an echo, or another end that serves") }
        if let own = heads.greeting.own, own >= heads.heads.count { throw .peer("a place past the list") }
        if !heads.greeting.isDryRun { try prepareToShip() }
        let version = heads.greeting.version
        var (mine, kept) = try self.heads(version)
        let theirs = Dictionary(heads.heads.map { ($0.replica, $0.position.commit) }) { first, _ in first }
        if try !canGive(mine, behind: { theirs[$0] ?? 0 }) { (mine, kept) = try self.heads(version) }
        let (answered, answer) = try StreamList.serving(
          heads, store: store, mine: mine, greeting: greeting(version))
        var list = passingOver(answered, kept)
        try writer.write(.answer(answer))
        let report = try begin(list, heads.greeting)
        try refuseRemoved(report.peer, list)
        try meet(heads.greeting, list)
        if heads.greeting.version < 2 || !list.hasNewCheckpoints { try note([], in: &list) }
        current = (list, heads.greeting, report)
      case (.checkpoints(let shown), .some(var now)):
        guard now.list.hasNewCheckpoints else { throw .peer("checkpoints where none are new") }
        try writer.write(.checkpoints(now.list.checkpointsToShow))
        try note(shown, in: &now.list, isPeerDryRun: now.greeting.isDryRun)
        current = now
      case (.evidence(let shown), .some(var now)):
        let streams = shown.map(\.stream)
        guard streams.allSatisfy({ $0 < now.list.entries.count }) else {
          throw .peer("a place past the list")
        }
        try take(shown, in: &now.list)
        try writer.write(
          .evidence(try streams.map { (stream) throws(HeartlogError) in try evidence(stream, now.list) }))
        passOverUnproven(streams, in: &now.list)
        current = now
      case (.probe(let positions), .some(let now)):
        probesLeft -= 1
        guard probesLeft >= 0 else { throw .peer("too many probes") }
        try writer.write(.roots(try roots(at: positions, of: now.list)))
      case (.ends(let ends), .some(let now)):
        guard !now.greeting.isPull, !now.greeting.isDryRun, !takesNothing else {
          throw .peer("streams that are to end where nothing may be written")
        }
        try end(ends, of: now.list)
        current = nil
      case (.wants(let theirWants), .some(let now)):
        let takes = !now.greeting.isPull && !now.greeting.isDryRun
        let wants = takes ? wants(of: now.list) : []
        if now.greeting.isDryRun, !theirWants.isEmpty { throw .peer("requests in a dry run") }
        try writer.write(.wants(wants))
        var report = now.report
        report.isDryRun = now.greeting.isDryRun
        return try exchange(now.list, wants: wants, theirWants: theirWants, report)
      default: throw .peer("a message out of turn")
      }
    }
  }

  private func roots(
    at positions: [ProbePosition], of list: StreamList
  ) throws(HeartlogError) -> [RootPrefix] {
    var roots: [RootPrefix] = []
    for position in positions {
      guard position.stream < list.entries.count, position.commit >= 1,
        let root = try store.streamRoot(
          of: list.entries[position.stream].replica, at: CommitNumber(rawValue: position.commit))
      else { throw .peer("a probe of a commit that does not exist") }
      roots.append(RootPrefix(root))
    }
    return roots
  }

  // MARK: - Both ends

  private func greeting(_ version: UInt8) -> Message.Greeting {
    Message.Greeting(
      version: version,
      isServing: role == .serving, isPull: role == .calling && options.isPull,
      isDryRun: role == .calling && options.isDryRun, isReadOnly: role == .serving && takesNothing,
      wallTime: options.clock(), vault: store.vault, joins: role == .calling && options.joinsVault)
  }

  /// The error for a peer that speaks other versions. If there is an older one in common, the next dialogue speaks it.
  private func speakOlder(_ least: UInt8, _ most: UInt8) -> HeartlogError {
    if least <= most, (Message.versionMin..<attempts.version).contains(most) { attempts.speak(most) }
    return .otherVersions(min(least, most)...most)
  }

  // MARK: - Vaults and checkpoints

  /// Signs the own stream. If it cannot be read, what was signed before is still shipped, and the damage is reported.
  private func prepareToShip() throws(HeartlogError) {
    do throws(HeartlogError) { attempts.note(signingFailure: try store.prepareToShip()) } catch {
      guard error.code == .corrupt else { throw error }
      let replica = store.replica
      let head = try store.streamHead(of: replica)
      attempts.bound(replica, store.name, at: head?.commit.rawValue ?? 0, because: error)
    }
  }

  /// Ends a dialogue with a device that was removed from the vault, and says so to it.
  private func refuseRemoved(_ peer: ReplicaID?, _ list: StreamList) throws(HeartlogError) {
    guard let peer, let keys = store.vaultKeys, store.vault?.id.isEncrypted == true else { return }
    do throws(HeartlogError) { try Keyring(of: keys).checkNotRemoved(peer) } catch {
      guard error.code == .noKey else { throw error }
      let head = list.entries.first { $0.replica == peer }?.theirCommit ?? 0
      writer.writeFailure(.removed, "\(error.message); \(head) commits are there")
      throw error
    }
  }

  /// Agrees on a vault with the other end, and joins it.
  private func meet(_ theirs: Message.Greeting, _ list: StreamList) throws(HeartlogError) {
    guard theirs.version >= 2 else { return }
    let mine = store.vault.map {
      VaultAgreement.Side(
        membership: $0, isEmpty: list.entries.allSatisfy { $0.myCommit == 0 },
        joins: role == .calling && options.joinsVault)
    }
    let other = theirs.vault.map {
      VaultAgreement.Side(
        membership: $0, isEmpty: list.entries.allSatisfy { $0.theirCommit == 0 }, joins: theirs.joins)
    }
    guard let vault = try VaultAgreement(mine, other).vault, let other = theirs.vault,
      !options.isDryRun, !theirs.isDryRun, !takesNothing
    else { return }
    try store.join(vault, with: other)
  }

  /// Verifies the checkpoints that the other end showed, and takes those whose commits are here.
  private func note(
    _ shown: [ShippedCheckpoint], in list: inout StreamList, isPeerDryRun: Bool = false
  ) throws(HeartlogError) {
    try list.note(shown)
    for index in list.entries.indices {
      let entry = list.entries[index]
      guard let mine = entry.mine, mine.checkpoint != nil || entry.theirCheckpoint != nil else { continue }
      let isBehind = entry.theirCommit > entry.myCommit
      if entry.theirCheckpoint == nil, isBehind || entry.isParted {
        list.entries[index].isPassedOver = true
        // A peer that has received commits but not their checkpoint yet is behind; one with other commits is not honest.
        attempts.tally.skipped(
          SyncReport.SkippedStream(
            replica: entry.replica, name: mine.name, firstCommit: mine.commit.next,
            cause: entry.isParted ? .unsigned : .waiting,
            reason: "the device signs its commits, and the peer has some that it did not sign"))
      }
    }
    guard !takesNothing, !options.isDryRun else { return }
    for index in list.entries.indices {
      let entry = list.entries[index]
      guard let mine = entry.mine, mine.checkpoint == nil, let signed = entry.theirCheckpoint, !isPeerDryRun
      else { continue }
      if mine.isEnded {
        // Somebody said that it ended. Its owner signed what comes after.
        guard entry.theirs?.isEnded == false, signed.checkpoint.size > mine.commit.rawValue,
          try store.evidence(of: entry.replica) == nil
        else { continue }
      } else {
        guard entry.isParted else { continue }
        // Only what the owner signed counts, not what the peer says of it.
        guard
          let root = try store.streamRoot(
            of: entry.replica, at: CommitNumber(rawValue: signed.checkpoint.size)),
          root != signed.checkpoint.root
        else {
          list.entries[index].isPassedOver = true
          continue
        }
      }
      // The history that the owner signed keeps the stream's name.
      try store.setAside(entry.replica)
      attempts.tally.found(
        SyncReport.Fork(
          replica: entry.replica, name: mine.name, lastCommon: CommitNumber(rawValue: 0), isEnded: false))
      // The other end was told of the history that is gone: the next dialogue asks for the signed one.
      list.entries[index].isPassedOver = true
      if role == .calling {
        attempts.startAgain()
        throw HeartlogError(.locked, "an unsigned history of \(entry.replica) was set aside")
      }
    }
    for checkpoint in shown {
      if let signed = list.entries[checkpoint.stream].theirCheckpoint {
        _ = try store.take(signed, at: options.clock())
      }
    }
  }

  /// Whether this end receives nothing. A damaged store cannot be written.
  var takesNothing: Bool { options.isReadOnly || store.corruption != nil }

  /// What to ask for. Streams that a damaged store cannot take are reported as skipped.
  private func wants(of list: StreamList) -> [Int] {
    let wanted = list.wanted
    if !takesNothing { return wanted }
    if let damage = corruptionReason { skip(wanted.map { list.entries[$0] }, because: damage) }
    return []
  }

  private var corruptionReason: String? {
    store.corruption.map { "this store is damaged, and takes nothing: \($0.error)" }
  }

  /// Reports that the rest of some streams is not taken.
  private func skip(_ entries: [StreamList.Entry], because reason: String) {
    for entry in entries {
      attempts.tally.skipped(
        SyncReport.SkippedStream(
          replica: entry.replica, name: entry.mine?.name ?? "",
          firstCommit: CommitNumber(rawValue: entry.myCommit + 1), cause: .damaged, reason: reason))
    }
  }

  /// Checks whether the commits that the other end lacks can be read, and records how far if they cannot.
  ///
  /// - Parameter known: the last commit of a stream that the other end has.
  /// - Returns: Whether all of them can be read.
  private func canGive(
    _ mine: [StreamHead], behind known: (ReplicaID) -> UInt64
  ) throws(HeartlogError) -> Bool {
    var canAll = true
    for head in mine {
      try link.checkTime()
      let after = known(head.replica)
      guard after < head.commit.rawValue,
        let finding = try store.damage(of: head.replica, after: after, upTo: head.commit)
      else { continue }
      let first = finding.error.commits?.lowerBound.rawValue ?? after + 1
      attempts.bound(
        head.replica, head.name, at: min(first - 1, head.commit.rawValue - 1), because: finding.error
      )
      canAll = false
    }
    return canAll
  }

  private func canGive(
    _ mine: [StreamHead], lacking answer: Message.Answer
  ) throws(HeartlogError) -> Bool {
    var known: [ReplicaID: UInt64] = [:]
    for (head, state) in zip(mine, answer.states) {
      known[head.replica] =
        switch state {
        case .same: head.commit.rawValue
        case .none: 0
        case .other(let position, _): position.commit
        }
    }
    return try canGive(mine, behind: { known[$0] ?? 0 })
  }

  /// A stream that is kept out of a dialogue.
  private struct KeptStream {
    let head: StreamHead
    /// Whether there are more streams than an end may announce. Otherwise the stream is partial, and the dialogue of version 1.
    let isTooMany: Bool
  }

  private func passingOver(_ list: StreamList, _ kept: [KeptStream]) -> StreamList {
    var list = list
    for index in list.entries.indices {
      let entry = list.entries[index]
      let found = kept.first { $0.head.replica == entry.replica }
      list.entries[index].isPassedOver = found != nil || attempts.passesOver(entry.replica)
      guard let found, !found.isTooMany, entry.theirCommit > found.head.commit.rawValue else { continue }
      let head = found.head
      attempts.tally.skipped(
        SyncReport.SkippedStream(
          replica: head.replica, name: head.name, firstCommit: head.commit.next, cause: .waiting,
          reason:
            "this store has only some of its content, and the peer's Heartlog is too old to know of that"))
    }
    return list
  }

  /// The root at a commit; `nil` if it cannot be read.
  private func soundRoot(of replica: ReplicaID, at commit: CommitNumber) throws(HeartlogError) -> Digest? {
    do throws(HeartlogError) { return try store.streamRoot(of: replica, at: commit) } catch {
      guard error.code == .corrupt else { throw error }
      return nil
    }
  }

  /// The heads of this end, lowered to what can be read, and those that are kept out of a dialogue of this version.
  private func heads(_ version: UInt8) throws(HeartlogError) -> (shown: [StreamHead], kept: [KeptStream]) {
    let heads = try readableHeads()
    var shown = heads
    var kept: [KeptStream] = []
    // More streams are received only if they branched, or come from a backup.
    while shown.count > Message.streamsMax,
      let index = shown.lastIndex(where: { $0.replica != store.replica })
    {
      let head = shown.remove(at: index)
      kept.append(KeptStream(head: head, isTooMany: true))
      attempts.tally.skipped(
        SyncReport.SkippedStream(
          replica: head.replica, name: head.name, firstCommit: CommitNumber(rawValue: 1), cause: .full,
          reason: "the store has \(heads.count) streams, and a sync takes at most \(Message.streamsMax)"))
    }
    return (shown, kept)
  }

  private func readableHeads() throws(HeartlogError) -> [StreamHead] {
    var heads = try store.streamHeads()
    for (replica, commit) in attempts.bounds {
      guard let index = heads.firstIndex(where: { $0.replica == replica }),
        heads[index].commit.rawValue > commit
      else { continue }
      let head = heads.remove(at: index)
      let last = CommitNumber(rawValue: commit)
      guard commit > 0, let root = try soundRoot(of: replica, at: last) else { continue }
      heads.insert(
        StreamHead(replica: replica, name: head.name, commit: last, root: root),
        at: index)
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
    attempts.begin(report)
    return report
  }
}
