import Heartlog
import HeartlogFormat
import Synchronization

extension SyncSession {
  /// Sends what the other end wants and receives what this end wants, concurrently, until both are done.
  func exchange(
    _ list: StreamList, wants: [Int], theirWants: [Int], _ begun: SyncReport
  ) throws(HeartlogError) -> SyncReport {
    var offers: [Offer] = []
    for stream in theirWants {
      guard stream < list.entries.count, let commits = list.entries[stream].offered else {
        throw .peer("a request for a stream with nothing new")
      }
      offers.append(Offer(stream: stream, commits: commits))
    }
    var report = begun
    let toReceive = Self.sum(wants.compactMap { list.entries[$0].wanted })
    let toSend = Self.sum(offers.map(\.commits))
    attempts.tally.expect(toReceive: toReceive, toSend: toSend)

    let name = try sendAndReceive(offers, wants: wants, of: list, peer: begun.peer)
    try showCosigned(wants, of: list)
    try sayLastWord()
    let done = try readDone(list, &report)
    if !takesNothing, !options.isDryRun { report.applyErasures(in: store) }
    attempts.tally.complete(&report)
    try report.nameHeld(list.entries.compactMap(\.mine), in: store, signingFailure: attempts.signingFailure)
    report.peerName = report.peerName ?? name
    report.sent.commits = done.commits
    report.sent.events = done.events
    noteClocks(of: wants.map { list.entries[$0].replica }, &report)
    if report.isDryRun {
      report.received.commits = Self.sum(list.entries.compactMap(\.wanted))
      report.received.events = nil
      report.sent.commits = options.isPull ? 0 : Self.sum(list.entries.compactMap(\.offered))
      report.sent.events = nil
    }
    report.received.bytes = link.bytesRead + attempts.bytes.read
    report.sent.bytes = link.bytesWritten + attempts.bytes.written
    return report
  }

  /// Sends on another thread, and receives on this one.
  ///
  /// - Returns: The peer's name, if it was received.
  private func sendAndReceive(
    _ offers: [Offer], wants: [Int], of list: StreamList, peer: ReplicaID?
  ) throws(HeartlogError) -> String? {
    let sending = Sending()
    var thread: WorkerThread?
    if !offers.isEmpty {
      let send: @Sendable () -> Void = {
        sending.finish { () throws(HeartlogError) in try self.send(offers, of: list) }
      }
      if options.sendsFirst {
        send()
      } else {
        thread = try WorkerThread(send)
      }
    }
    let name: String?
    do throws(HeartlogError) {
      name = try receive(wants, of: list, peer: peer)
    } catch {
      link.fail(error)
      thread?.join()
      throw error
    }
    thread?.join()
    if let error = sending.error { throw reason(for: error, reading: .done) }
    return name
  }

  /// Tells the peer that everything was received, or what is wrong.
  private func sayLastWord() throws(HeartlogError) {
    if let refused = attempts.tally.refused {
      writer.writeFailure(.dialogue, "\(refused.reason), in the stream of \(refused.replica)")
    } else if role == .serving, let damage = store.corruption?.error ?? attempts.damage {
      // A damaged store of the calling end is not reported to the peer: the caller's own report contains it.
      writer.writeFailure(.store, Message.damage(damage))
    } else {
      try sayDone()
    }
  }

  /// Reads how much the other end has taken. An end with a damaged store reports that instead, and takes
  /// nothing.
  private func readDone(
    _ list: StreamList, _ report: inout SyncReport
  ) throws(HeartlogError) -> (commits: UInt64, events: UInt64) {
    do throws(HeartlogError) {
      var message = try reader.read(.done, .checkpoints)
      if case .checkpoints(let shown) = message {
        try takeCosigned(shown, of: list)
        message = try reader.read(.done)
      }
      guard case .done(let commits, let events) = message else { return (0, 0) }
      return (commits, events)
    } catch {
      guard role == .calling, let damage = error.peerDamage else { throw error }
      report.peerDamage = damage
      return (0, 0)
    }
  }

  /// Shows the checkpoints that this end cosigned after it received their commits.
  private func showCosigned(_ wants: [Int], of list: StreamList) throws(HeartlogError) {
    guard wants.contains(where: { list.entries[$0].theirCheckpoint != nil }) else { return }
    let heads = try store.streamHeads()
    let cosigned = wants.compactMap { stream -> ShippedCheckpoint? in
      let entry = list.entries[stream]
      let mine = heads.first { $0.replica == entry.replica }?.checkpoint
      guard let mine, mine.checkpoint == entry.theirCheckpoint?.checkpoint, mine != entry.theirCheckpoint
      else {
        return nil
      }
      return ShippedCheckpoint(stream: stream, mine)
    }
    guard !cosigned.isEmpty else { return }
    do throws(HeartlogError) { try writer.write(.checkpoints(cosigned)) } catch {
      throw reason(for: error, reading: .done)
    }
  }

  /// Takes the cosignatures of the other end for checkpoints that this end showed.
  private func takeCosigned(_ shown: [ShippedCheckpoint], of list: StreamList) throws(HeartlogError) {
    for checkpoint in shown {
      guard checkpoint.stream < list.entries.count,
        let mine = list.entries[checkpoint.stream].mine?.checkpoint, checkpoint.key == mine.key,
        checkpoint.note.text == mine.note.text
      else { throw .peer("a cosigned checkpoint that it was not shown") }
      let signed: SignedCheckpoint
      do { signed = try SignedCheckpoint(checkpoint.note, key: checkpoint.key) } catch {
        throw .peer(error.reason)
      }
      if !takesNothing { _ = try store.take(signed, at: options.clock()) }
    }
  }

  private func sayDone() throws(HeartlogError) {
    let appended = attempts.tally.appended
    do throws(HeartlogError) {
      try writer.write(.done(commits: appended.commits, events: appended.events))
    } catch {
      throw reason(for: error, reading: .done)
    }
  }

  /// The reason why a write failed. A peer that hung up may have sent its reason, so this reads it.
  func reason(for error: HeartlogError, reading kind: Message.Kind) -> HeartlogError {
    guard error.code == .inputOutput else { return error }
    do throws(HeartlogError) { _ = try reader.read(kind) } catch { return error }
    return error
  }

  private static func sum(_ ranges: [ClosedRange<UInt64>]) -> UInt64 {
    ranges.reduce(0) { $0 &+ ($1.upperBound - $1.lowerBound + 1) }
  }

  // MARK: - Sending

  /// Commits that the other end asked for.
  private struct Offer {
    let stream: Int
    let commits: ClosedRange<UInt64>
  }

  /// The outcome of the sending thread.
  private final class Sending: Sendable {
    private let failure = Mutex<HeartlogError?>(nil)

    func finish(_ body: () throws(HeartlogError) -> Void) {
      do throws(HeartlogError) { try body() } catch { failure.withLock { $0 = $0 ?? error } }
    }

    var error: HeartlogError? { failure.withLock { $0 } }
  }

  private func send(_ offers: [Offer], of list: StreamList) throws(HeartlogError) {
    for offer in offers {
      let (stream, commits) = (offer.stream, offer.commits)
      let entry = list.entries[stream]
      var after = commits.lowerBound - 1
      // Sent only if the receiver does not have the stream yet.
      var name = entry.theirs == nil ? entry.mine?.name : nil
      while after < commits.upperBound {
        try link.checkTime()
        let run = try runToSend(of: entry, after: after, upTo: commits.upperBound)
        // A failed write is not passed to the receiving thread: that thread may still read why the peer hung
        // up.
        try writer.write(
          .run(
            ShippedRun(
              stream: stream, firstCommit: run.firstCommit.rawValue, commitCount: run.commitCount, name: name,
              root: run.root,
              extensionRoots: try extensionRoots(of: run, entry, list.version),
              body: run.body)))
        name = nil
        after = run.lastCommit.rawValue
        attempts.tally.sent(commits: run.commitCount)
      }
    }
  }

  /// What proves to the receiver that the owner signed a run; `nil` in version 1, empty for an unsigned stream.
  private func extensionRoots(
    of run: StreamRun, _ entry: StreamList.Entry, _ version: UInt8
  ) throws(HeartlogError) -> [Digest]? {
    guard version >= 2 else { return nil }
    guard let signed = entry.mine?.checkpoint else { return [] }
    return try store.treeExtension(
      of: entry.replica, from: run.lastCommit.rawValue, to: signed.checkpoint.size)
  }

  /// The next run to send. If the store has none, the receiving thread is told, too.
  private func runToSend(
    of entry: StreamList.Entry, after: UInt64, upTo last: UInt64
  ) throws(HeartlogError) -> StreamRun {
    let replica = entry.replica
    do throws(HeartlogError) {
      guard let run = try store.streamRun(of: replica, after: after, upTo: CommitNumber(rawValue: last)),
        run.firstCommit.rawValue == after + 1, run.commitCount >= 1, run.lastCommit.rawValue <= last
      else {
        throw HeartlogError(
          .corrupt, "the stream of \(replica) does not continue after commit \(after) up to its head \(last)")
      }
      return run
    } catch {
      if error.code == .corrupt || error.code == .inputOutput {
        attempts.bound(replica, entry.mine?.name ?? "", at: after, because: error)
      }
      link.fail(error)
      throw error
    }
  }

  // MARK: - Receiving

  /// - Returns: The name of the peer, if its own stream was received.
  private func receive(
    _ wants: [Int], of list: StreamList, peer: ReplicaID?
  ) throws(HeartlogError) -> String? {
    var peerName: String?
    var waiting = WaitingRuns()
    var ends: [ReplicaID: CommitNumber] = [:]
    for stream in wants {
      let entry = list.entries[stream]
      guard let wanted = entry.wanted, let theirs = entry.theirs else { continue }
      var next = wanted.lowerBound
      var name = entry.mine?.name
      // Once set, the rest of this stream is read but not taken; the streams after it are.
      var isSkipped = false
      while next <= wanted.upperBound {
        guard case .run(let run) = try readRun(of: entry, name, next) else { continue }
        name = run.name ?? name
        let received = try check(run, stream, entry, next, theirs, name)
        next = received.lastCommit.rawValue + 1
        if isSkipped {
          waiting.add(received)
          continue
        }
        let outcome = try store.receive(received)
        attempts.tally.received(commits: run.commitCount, outcome)
        switch outcome {
        case .appended, .known: break
        case .gap:
          throw HeartlogError(.inputOutput, "the stream of \(entry.replica) became shorter during the sync")
        case .diverged:
          isSkipped = true
          try skip(received)
        case .waiting(let reason):
          isSkipped = true
          waiting.begin(with: received)
          attempts.tally.skipped(received, .waiting, reason)
        case .refused(let reason):
          isSkipped = true
          attempts.tally.skipped(received, .clock, reason)
        case .unsigned(let reason):
          isSkipped = true
          attempts.tally.skipped(received, .unsigned, reason)
        case .full(let reason):
          isSkipped = true
          attempts.tally.skipped(received, .full, reason)
        }
      }
      if !isSkipped, let signed = entry.theirCheckpoint { _ = try store.take(signed, at: options.clock()) }
      if entry.replica == peer { peerName = name }
      if theirs.isEnded {
        let end = CommitNumber(rawValue: theirs.commit)
        if isSkipped { ends[entry.replica] = end } else { try store.endStream(entry.replica, after: end) }
      }
    }
    try resolve(waiting, ends: ends)
    return peerName
  }

  /// Passes runs that had to wait to the store again, after all others were received.
  ///
  /// - Parameter ends: the ends of streams that have ended and of which a run had to wait.
  private func resolve(_ waiting: WaitingRuns, ends: [ReplicaID: CommitNumber]) throws(HeartlogError) {
    for (replica, resolution) in try waiting.resolve(in: store).sorted(by: { $0.key < $1.key }) {
      for (run, outcome) in resolution.taken { attempts.tally.received(commits: run.commitCount, outcome) }
      switch resolution.stop {
      case nil:
        attempts.tally.resumed(replica)
        if let signed = resolution.taken.last?.run.proof?.checkpoint {
          _ = try store.take(signed, at: options.clock())
        }
        if let end = ends[replica] { try store.endStream(replica, after: end) }
      case (let run, .unsigned(let reason))?: attempts.tally.skipped(run, .unsigned, reason)
      case (let run, .refused(let reason))?: attempts.tally.skipped(run, .clock, reason)
      case (let run, .full(let reason))?: attempts.tally.skipped(run, .full, reason)
      case (let run, .waiting(let reason))?: attempts.tally.skipped(run, .waiting, reason)
      case (let run, _)?:
        attempts.tally.skipped(run, .waiting, "this store has different commits there by now")
      }
    }
  }

  /// Reports the devices whose clocks are far ahead: those of the received streams, and the peer.
  private func noteClocks(of replicas: [ReplicaID], _ report: inout SyncReport) {
    report.noteClocks(of: replicas, in: store, now: options.clock())
    report.noteClock(of: report.peer, called: report.peerName, ahead: report.peerClockAheadMilliseconds ?? 0)
  }

  /// Reads the next run. If the other end breaks off because it cannot read that run, the next dialogue skips
  /// the stream.
  private func readRun(
    of entry: StreamList.Entry, _ name: String?, _ next: UInt64
  ) throws(HeartlogError) -> Message {
    try link.checkTime()
    do throws(HeartlogError) { return try reader.read(.run) } catch {
      if let damage = error.peerDamage {
        attempts.passOver(
          entry.replica, name: name ?? "", from: next, because: "the peer cannot read it: \(damage)")
      }
      throw error
    }
  }

  /// Records why a stream is skipped after a run that did not lead to its root.
  private func skip(_ run: StreamRun) throws(HeartlogError) {
    // Before the run both ends had the same commits. Only commits written here since then can be a fork,
    // which the next sync ends.
    if try store.streamRoot(of: run.replica, at: run.firstCommit) != nil {
      attempts.tally.found(
        SyncReport.Fork(replica: run.replica, name: run.name, lastCommon: nil, isEnded: false))
    } else {
      attempts.tally.skipped(
        run, .refused,
        "commits \(run.firstCommit) to \(run.lastCommit) do not lead to the root that came with them")
    }
  }

  /// Checks a run against what was wanted and announced.
  private func check(
    _ run: ShippedRun, _ stream: Int, _ entry: StreamList.Entry, _ next: UInt64,
    _ theirs: ShippedHead.Position, _ name: String?
  ) throws(HeartlogError) -> StreamRun {
    guard run.stream == stream, run.firstCommit == next else {
      throw .peer("commits from \(run.firstCommit) on that were not requested")
    }
    guard let name else { throw .peer("a new stream without its name") }
    let received = StreamRun(
      replica: entry.replica, name: name, firstCommit: CommitNumber(rawValue: run.firstCommit),
      commitCount: run.commitCount, body: run.body, root: run.root,
      proof: entry.theirCheckpoint.map {
        RunProof(checkpoint: $0, extensionRoots: run.extensionRoots ?? [])
      })
    guard received.lastCommit.rawValue <= theirs.commit else {
      throw .peer("commits beyond what it announced")
    }
    guard received.lastCommit.rawValue < theirs.commit || RootPrefix(run.root) == theirs.root else {
      throw .peer("commits that do not lead to the root it announced")
    }
    return received
  }
}
