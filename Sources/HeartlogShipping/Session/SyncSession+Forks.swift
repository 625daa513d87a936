import Heartlog
import HeartlogFormat

extension SyncSession {
  /// Finds the last common commits of forked streams, and the ends that only one of the two stores knows.
  func findEnds(_ list: StreamList) throws(HeartlogError) -> [StreamEnd] {
    var provable: Set<Int> = []
    for index in list.entries.indices where try mayEnd(list.entries[index]) { provable.insert(index) }
    var ends = provable.sorted().compactMap { index in
      list.entries[index].end.map { StreamEnd(stream: index, commit: $0, rootAfter: nil) }
    }
    // The streams are bisected in parallel. `low` is common, `high` is not.
    var searches = provable.sorted().filter { list.entries[$0].isParted && !list.entries[$0].isPassedOver }
      .map { (stream: $0, low: UInt64(0), high: list.entries[$0].lowerCommit) }
    while searches.contains(where: { $0.high - $0.low > 1 }) {
      let open = searches.indices.filter { searches[$0].high - searches[$0].low > 1 }
      let positions = open.map { index in
        let search = searches[index]
        return ProbePosition(stream: search.stream, commit: search.low + (search.high - search.low) / 2)
      }
      try writer.write(.probe(positions))
      guard case .roots(let roots) = try reader.read(.roots), roots.count == positions.count else {
        throw .peer("a different number of roots than requested")
      }
      for (index, (position, root)) in zip(open, zip(positions, roots)) {
        if try self.root(of: list.entries[position.stream], at: position.commit) == root {
          searches[index].low = position.commit
        } else {
          searches[index].high = position.commit
        }
      }
    }
    for search in searches {
      let after = try root(of: list.entries[search.stream], at: search.high)
      ends.append(StreamEnd(stream: search.stream, commit: search.low, rootAfter: after))
    }
    return ends.sorted { $0.stream < $1.stream }
  }

  /// The streams that are signed and that one of the ends may want to end.
  func evidenceToAskFor(_ list: StreamList) -> [Int] {
    list.entries.indices.filter { index in
      let entry = list.entries[index]
      guard let mine = entry.mine, let theirs = entry.theirs, !entry.isPassedOver,
        mine.checkpoint != nil || theirs.checkpoint != nil
      else { return false }
      return entry.isParted || mine.isEnded != theirs.isEnded
    }
  }

  /// This end's proof that the device of a stream signed two histories; empty if there is none.
  func evidence(_ stream: Int, _ list: StreamList) throws(HeartlogError) -> ShippedEvidence {
    let entry = list.entries[stream]
    var proof = try store.evidence(of: entry.replica)
    if proof == nil, let theirs = entry.theirCheckpoint, theirs != entry.mine?.checkpoint {
      proof = try store.forkProof(of: theirs)
      if let proof, !takesNothing, !options.isDryRun { try store.keep(proof) }
    }
    return ShippedEvidence(stream: stream, proof: proof.map { ProofFile.fork($0).bytes } ?? [])
  }

  /// Verifies and keeps the proofs that the other end showed.
  func take(_ shown: [ShippedEvidence], in list: inout StreamList) throws(HeartlogError) {
    for evidence in shown where !evidence.proof.isEmpty {
      guard evidence.stream < list.entries.count, case .fork(let proof)? = try? ProofFile(evidence.proof),
        proof.replica == list.entries[evidence.stream].replica
      else { throw .peer("evidence that proves nothing of its stream") }
      list.entries[evidence.stream].isProvenFork = true
      if !takesNothing, !options.isDryRun { try store.keep(proof) }
    }
  }

  /// Whether one of this end's streams may end: it is unsigned, or its device is proven to have signed two histories. That holds in every
  /// version, whatever the other end says or leaves out.
  private func mayEnd(_ entry: StreamList.Entry) throws(HeartlogError) -> Bool {
    guard entry.mine?.checkpoint != nil, !entry.isProvenFork else { return true }
    return try store.evidence(of: entry.replica) != nil
  }

  /// Leaves streams alone that their devices signed and that are said to be forked without proof.
  func passOverUnproven(_ streams: [Int], in list: inout StreamList) {
    for stream in streams where !list.entries[stream].isProvenFork {
      let entry = list.entries[stream]
      guard let mine = entry.mine, mine.checkpoint != nil || entry.theirs?.checkpoint != nil else { continue }
      if let kept = try? store.evidence(of: entry.replica), kept.replica == entry.replica { continue }
      list.entries[stream].isPassedOver = true
      attempts.tally.skipped(
        SyncReport.SkippedStream(
          replica: entry.replica, name: mine.name, firstCommit: mine.commit.next, cause: .unsigned,
          reason:
            "one of the two stores says that it has ended, and nothing proves that its device signed two histories"
        ))
    }
  }

  /// Ends streams where the calling end found that they end. Both ends process the same list.
  func end(_ ends: [StreamEnd], of list: StreamList) throws(HeartlogError) {
    guard !ends.isEmpty else { throw .peer("no stream that ends") }
    var last = -1
    for end in ends {
      guard end.stream > last, end.stream < list.entries.count, let mine = list.entries[end.stream].mine,
        let theirs = list.entries[end.stream].theirs, end.commit <= list.entries[end.stream].lowerCommit
      else { throw .peer("an end of a stream that does not end there") }
      last = end.stream
      let entry = list.entries[end.stream]
      guard try mayEnd(entry) else {
        throw .peer("an end of a stream whose device did not sign two histories")
      }
      if let rootAfter = end.rootAfter {
        // The calling end has looked up the roots; the serving end checks for itself that they differ.
        let own = try root(of: entry, at: end.commit + 1)
        guard role == .calling || own != rootAfter else {
          throw .peer("a fork after commit \(end.commit), where there is none")
        }
      } else {
        let isKnown =
          (mine.isEnded && entry.myCommit == end.commit) || (theirs.isEnded && theirs.commit == end.commit)
        guard isKnown else { throw .peer("an end of a stream that neither end knows to be forked") }
      }
      if mine.isEnded, entry.myCommit == end.commit { continue }
      try endOwn(entry, mine, after: end.commit)
    }
  }

  /// Ends one of this end's streams, and reports a fork if commits after the end exist here.
  private func endOwn(
    _ entry: StreamList.Entry, _ mine: StreamHead, after commit: UInt64
  ) throws(HeartlogError) {
    let last = CommitNumber(rawValue: commit)
    try store.endStream(entry.replica, after: last)
    if mine.commit > last {
      attempts.tally.found(
        SyncReport.Fork(replica: entry.replica, name: mine.name, lastCommon: last, isEnded: true))
    }
  }

  /// Ends those of this end's streams that the peer knows to be forked. Used when the peer cannot be written.
  ///
  /// - Returns: Whether there were any.
  func endKnown(_ list: StreamList) throws(HeartlogError) -> Bool {
    var hasEnded = false
    for entry in list.entries {
      guard let mine = entry.mine, let end = entry.end, entry.theirs?.isEnded == true,
        end == entry.theirCommit, !(mine.isEnded && entry.myCommit == end), try mayEnd(entry)
      else { continue }
      try endOwn(entry, mine, after: end)
      hasEnded = true
    }
    return hasEnded
  }

  /// Reports forks without ending them, which takes a sync in both directions. Used when one of the ends may
  /// not be written.
  func passOver(_ list: StreamList) {
    for entry in list.entries where entry.isParted {
      attempts.tally.found(
        SyncReport.Fork(
          replica: entry.replica, name: entry.mine?.name ?? "", lastCommon: nil, isEnded: false))
    }
  }

  private func root(of entry: StreamList.Entry, at commit: UInt64) throws(HeartlogError) -> RootPrefix? {
    try store.streamRoot(of: entry.replica, at: CommitNumber(rawValue: commit)).map { RootPrefix($0) }
  }
}
