/// The events that a store withholds, and how their content is left out of blocks. Source: docs/format.md, "Erased events".
package struct WithheldEvents: Sendable {
  /// The hashes, by the stamp of the commit.
  private var hashes: [UInt64: Set<EventHash>] = [:]
  /// The runs whose secrets lead to the salt of a withheld event, by stream and by the first commit of their segment.
  private var runs: [ReplicaID: [CommitNumber: Set<UInt32>]] = [:]

  /// Withholds nothing.
  package init() {}

  /// Withholds these events, and copies of them in branches of their streams.
  package init(_ events: some Sequence<ErasedEvent>) { for event in events { insert(event) } }

  private mutating func insert(_ event: ErasedEvent) {
    hashes[event.stamp.rawValue, default: []].insert(event.hash)
    let run = (event.commit.rawValue - event.segment.rawValue) / SegmentSecret.commitsPerRun
    guard let run = UInt32(exactly: run) else { return }
    runs[event.replica, default: [:]][event.segment, default: []].insert(run)
  }

  /// Whether events of a stream are withheld.
  package func hasEvents(of replica: ReplicaID) -> Bool { runs[replica] != nil }

  /// Whether nothing is withheld.
  package var isEmpty: Bool { hashes.isEmpty }

  /// Whether a commit may contain withheld events.
  package func affects(_ commit: CommitHeader) -> Bool { hashes[commit.stamp.rawValue] != nil }

  /// Whether the secret of an open segment leads to the salt of a withheld event.
  package func affectsSegment(of replica: ReplicaID, from first: CommitNumber) -> Bool {
    runs[replica]?[first] != nil
  }

  /// Whether a block may contain withheld events, or the secret of one.
  package func affects(_ block: ColumnBlock) -> Bool {
    if isEmpty { return false }
    if let runs = runs[block.replica], block.secrets.contains(where: { runs[$0.firstCommit] != nil }) {
      return true
    }
    let stamps = block.columns.commits.stamps
    return block.commitIndices.contains { hashes[stamps[$0].rawValue] != nil }
  }

  /// Where withheld events stand with their content, among commits of one stream.
  ///
  /// - Parameter secrets: those that cover the commits.
  package func contents(
    of commits: [Commit], secrets: [SegmentSecret]
  ) -> [(place: ErasedEvent, event: Event)] {
    var salts = Salts(secrets)
    var hasher = SHA256Hasher()
    var found: [(place: ErasedEvent, event: Event)] = []
    for commit in commits {
      guard let hashes = hashes[commit.stamp.rawValue] else { continue }
      for (index, record) in commit.records.enumerated() {
        // What other kinds of events say is needed by every store.
        guard case .event(let event) = record,
          let place = ErasedEvent(of: commit, at: index, salts: &salts, hasher: &hasher),
          hashes.contains(place.hash)
        else { continue }
        found.append((place, event))
      }
    }
    return found
  }

  /// Whether a block has no withheld event but these.
  package func explains(_ block: ColumnBlock) -> Bool {
    guard block.columns.hasWithheldEvents else { return true }
    return block.commits().allSatisfy { unexplainedCount(in: $0) == 0 }
  }

  /// The number of withheld events of a commit that are none of these.
  package func unexplainedCount(in commit: Commit) -> Int {
    var count = 0
    commit.contents.forEach { content in
      guard case .withheld(let hash) = content else { return }
      if hashes[commit.stamp.rawValue]?.contains(hash) != true { count += 1 }
    }
    return count
  }

  /// A block without the content of withheld events: see `redacted` of a block of commits.
  package func redacted(_ block: ColumnBlock) -> Block? { affects(block) ? redacted(Block(block)) : nil }

  /// A block without the content of withheld events, and without the secrets that lead to their salts. All other hashes can still be
  /// computed.
  ///
  /// - Returns: nil if the block contains none of it.
  package func redacted(_ block: Block) -> Block? {
    var commits = block.commits
    for (place, _) in contents(of: commits, secrets: block.secrets) {
      let index = Int(place.commit.rawValue - block.firstCommit.rawValue)
      assert(commits[index].number == place.commit, "the numbers of commits are contiguous")
      commits[index] = commits[index].withholding([place.index: place.hash])
    }
    return block.redacted(to: commits, runs: runs[block.replica] ?? [:])
  }
}

extension Block {
  /// The block as a store keeps it: without what was erased, and without secrets that no event with content confirms.
  package func reduced(without erased: WithheldEvents) -> Block {
    let block = erased.redacted(self) ?? self
    // A secret remains only if an event with content confirms it.
    return block.redacted(to: block.commits) ?? block
  }

  /// The block with the same commits of which some events are withheld, without the secrets that lead to their salts.
  ///
  /// - Parameter runs: more runs whose secrets are left out, by the first commit of their segment.
  /// - Returns: nil if nothing changes.
  func redacted(to commits: [Commit], runs: [CommitNumber: Set<UInt32>] = [:]) -> Block? {
    assert(commits.count == self.commits.count, "withholding leaves out no commit")
    var salts = Salts(secrets)
    var hasher = SHA256Hasher()
    var remaining: [SegmentSecret] = []
    for (index, secret) in secrets.enumerated() {
      let end = index + 1 < secrets.count ? secrets[index + 1].firstCommit.rawValue : .max
      let covered = commits.filter { $0.number >= secret.firstCommit && $0.number.rawValue < end }
      var runs = runs[secret.firstCommit] ?? []
      for commit in covered where commit.withheldCount > 0 {
        if let run = secret.run(of: commit.number) { runs.insert(run) }
      }
      remaining.append(runs.isEmpty ? secret : secret.redacted(runs, of: covered, &salts, &hasher))
    }
    guard commits != self.commits || remaining != secrets else { return nil }
    return Block(
      replica: replica, firstCommit: firstCommit, headsAtStart: headsAtStart, secrets: remaining,
      commits: commits)
  }
}

extension Commit {
  /// The number of withheld events.
  var withheldCount: Int {
    var count = 0
    contents.forEach { if $0.isWithheld { count += 1 } }
    return count
  }

  /// The commit with only the hashes of some events, by index.
  func withholding(_ hashes: [Int: EventHash]) -> Commit {
    var records = records
    for (index, hash) in hashes { records[index] = .withheld(hash) }
    return with(records)
  }

  /// The same commit with other records.
  func with(_ records: [EventRecord]) -> Commit {
    Commit(
      replica: replica, number: number, firstSequence: firstSequence, stamp: stamp, wallTime: wallTime,
      origin: origin, heads: heads, unknownMembers: unknownMembers, records: records)
  }
}

extension SegmentSecret {
  /// What remains of the secret for a block: of some runs only the salts of the events that have content.
  ///
  /// - Parameter commits: the commits of the block that the secret covers.
  fileprivate func redacted(
    _ withheld: Set<UInt32>, of commits: [Commit], _ salts: inout Salts, _ hasher: inout SHA256Hasher
  ) -> SegmentSecret {
    var remaining: [RunSecret] = []
    var index = 0
    while index < commits.count {
      guard let run = run(of: commits[index].number) else { break }
      var commitsOfRun: [Commit] = []
      while index < commits.count, self.run(of: commits[index].number) == run {
        commitsOfRun.append(commits[index])
        index += 1
      }
      if !withheld.contains(run) {
        if let secret = secret(of: run, &hasher) { remaining.append(secret) }
        continue
      }
      var left: [EventSalt] = []
      for commit in commitsOfRun {
        for (event, record) in commit.records.enumerated() where !record.isWithheld {
          if let salt = salts.salt(commit: commit.number, event: event, hasher: &hasher) {
            left.append(EventSalt(commit: commit.number, event: event, salt: salt))
          }
        }
      }
      if !left.isEmpty { remaining.append(RunSecret(run: run, kind: .salts(left))) }
    }
    assert(zip(remaining, remaining.dropFirst()).allSatisfy { $0.run < $1.run }, "runs are sorted")
    return SegmentSecret(firstCommit: firstCommit, kind: .runs(remaining))
  }

  private func secret(of run: UInt32, _ hasher: inout SHA256Hasher) -> RunSecret? {
    switch kind {
    case .whole(let secret):
      RunSecret(run: run, kind: .whole(Salts.runSecret(run, segmentSecret: secret, hasher: &hasher)))
    case .runs(let runs): runs.first { $0.run == run }
    }
  }
}
