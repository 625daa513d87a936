import Heartlog
import HeartlogFormat

/// The calling end of a sync between two stores: the other one is a place, from which this one receives, and to which it gives what is missing
/// there.
extension SyncPass {
  /// What the last list said, by stream.
  private typealias Files = [ReplicaID: [FolderFile]]

  /// Exchanges commits until both stores have the same ones, as far as the options allow.
  mutating func run(with peer: PeerPlace) throws(HeartlogError) -> SyncReport {
    isBetweenStores = true
    report.isDryRun = options.isDryRun
    var listed: Files?
    do throws(HeartlogError) {
      var round = 0
      while try exchange(with: peer, round, &listed) {
        round += 1
        guard round < PeerHost.roundsMax else {
          throw HeartlogError(.peer, "the two ends keep finding new forks")
        }
      }
    } catch {
      guard error.isEarlyEnd else { throw error }
      report.unfinished = try unfinished(listed)
    }
    report.skipped += try peer.unsent()
    report.peerDamage = peer.damage
    report.received.bytes = peer.bytes.read
    report.sent.bytes = peer.bytes.written
    let done = peer.done
    if !options.isDryRun {
      report.received.events = receivedEvents
      report.sent.commits = report.unfinished == nil ? done.commits : progress.sentCommits
      report.sent.events = report.unfinished == nil ? done.events : nil
    }
    report.peerName = try report.peer.flatMap { (peer) throws(HeartlogError) in try head(of: peer)?.name }
    report.noteClocks(of: receivedStreams.sorted(), in: store, now: options.clock())
    report.noteClock(
      of: report.peer, called: report.peerName, ahead: report.peerClockAheadMilliseconds ?? 0)
    return report
  }

  /// Receives what the other store has, and gives what it lacks.
  ///
  /// - Returns: Whether there may be more, because streams went another way.
  private mutating func exchange(
    with peer: PeerPlace, _ round: Int, _ listed: inout Files?
  ) throws(HeartlogError) -> Bool {
    if !options.isDryRun {
      try skippingIfDamaged(store.replica, try store.streamHeads()) { (round) throws(HeartlogError) in
        try round.prepareToShip()
      }
    }
    memory.catalogue = ObjectCatalogue()
    try memory.catalogue.update(from: place, options)
    let listing = FolderListing(memory.catalogue)
    let files = Dictionary(grouping: listing.files, by: \.stream)
    let theirs = peer.greeting
    let list = peer.list
    report.noteGreeting(theirs, of: peer.peer, now: options.clock())
    report.streams = list.count
    for stream in peer.left { skip(stream) }
    try store.refuseRemoved(peer.peer)
    let takesNothing = store.corruption != nil
    let mine = store.vault.map {
      VaultAgreement.Side(
        membership: $0, isEmpty: list.allSatisfy { $0.myCommit == 0 }, joins: options.joinsVault)
    }
    try store.agreeOnVault(
      mine, theirs, isEmpty: list.allSatisfy { $0.theirCommit == 0 },
      isWritten: !options.isDryRun && !takesNothing)
    listed = files
    let heads = list.compactMap(\.mine)
    let streams = Set(files.keys).union(heads.map(\.replica)).sorted()
    let gives = !options.isPull && !theirs.isReadOnly
    if options.isDryRun {
      try plan(streams, files, heads)
      return false
    }
    if round == 0 { try expect(files, heads, gives) }
    endsForks = gives && !takesNothing
    hasParted = false
    disputed = []
    try receive(streams, files, listing, heads)
    var hasOthers = false
    if gives { hasOthers = try give(to: peer, files, heads) }
    try peer.confirm()
    if hasParted || hasOthers || round == 0 && gives && !disputed.isEmpty { return true }
    for head in heads where disputed.contains(head.replica) {
      skip(
        SyncReport.SkippedStream(
          replica: head.replica, name: head.name, firstCommit: head.commit.next, cause: .unsigned,
          reason:
            "one of the two stores says that it has ended, and nothing proves that its device signed two histories"
        ))
    }
    try report.nameHeld(heads, in: store, signingFailure: signingFailure)
    return false
  }

  /// Says how many commits there are to move.
  private mutating func expect(
    _ files: Files, _ heads: [StreamHead], _ gives: Bool
  ) throws(HeartlogError) {
    progress.commitsToReceive = try commitsToReceive(files)
    progress.commitsToSend = gives ? try commitsToSend(files, heads) : 0
    options.progress?(progress)
  }

  private func commitsToSend(_ files: Files, _ heads: [StreamHead]) throws(HeartlogError) -> UInt64 {
    var sum: UInt64 = 0
    for head in heads {
      for range in try missing(of: head, files: files[head.replica] ?? []) {
        sum = Self.sum(sum, range.upperBound - range.lowerBound + 1)
      }
    }
    return sum
  }

  private func unfinished(_ listed: Files?) throws(HeartlogError) -> SyncReport.Unfinished {
    var unfinished = SyncReport.Unfinished()
    guard let listed else { return unfinished }
    unfinished.commitsToReceive = try commitsToReceive(listed)
    unfinished.commitsToSend = progress.commitsToSend - min(progress.commitsToSend, progress.sentCommits)
    return unfinished
  }

  // MARK: - Giving

  /// Gives what the other store lacks.
  ///
  /// - Returns: Whether there are streams that neither end had when they told what they have.
  private mutating func give(
    to peer: PeerPlace, _ files: Files, _ heads: [StreamHead]
  ) throws(HeartlogError) -> Bool {
    var hasOthers = false
    for head in try store.announcedHeads(atMost: options.streamsMax).heads {
      guard let (index, stream) = peer.place(of: head.replica) else {
        hasOthers = true
        continue
      }
      try skippingIfDamaged(head.replica, heads) { (round) throws(HeartlogError) in
        var facts = try StreamFacts(
          index, of: head, for: stream.theirs, isParted: stream.isParted, from: round.store)
        if stream.facts?.evidence != nil { facts.evidence = nil }
        if head.isEnded, stream.theirs?.isEnded(like: head) != true {
          facts.end = CommitRoot(commit: head.commit.rawValue, root: RootPrefix(head.root))
        }
        if !facts.isEmpty { try peer.give(.facts([facts])) }
        for range in try round.missing(of: head, files: files[head.replica] ?? []) {
          try round.give(head, range, index, to: peer)
        }
      }
    }
    return hasOthers
  }

  private mutating func give(
    _ head: StreamHead, _ commits: ClosedRange<UInt64>, _ stream: Int, to peer: PeerPlace
  ) throws(HeartlogError) {
    var after = commits.lowerBound - 1
    while after < commits.upperBound {
      try options.checkTime()
      let run = try ShippedRun(stream, of: head, after: after, upTo: commits.upperBound, from: store)
      try peer.give(.run(run))
      after = run.lastCommit
      progress.sentCommits += UInt64(run.commitCount)
      options.progress?(progress)
    }
  }
}
