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
    return block.commits().allSatisfy { commit in
      commit.records.allSatisfy { record in
        guard case .withheld(let hash) = record else { return true }
        return hashes[commit.stamp.rawValue]?.contains(hash) ?? false
      }
    }
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
      commits[index] = commits[index].withholding([place.index: place.hash])
    }
    return block.redacted(to: commits, runs: runs[block.replica] ?? [:])
  }
}
