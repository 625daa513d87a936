import HeartlogFormat

extension FavoritesState {
  /// Applies the commits of a block, as `apply` does one after the other, without creating any of them.
  ///
  /// - Returns: the number of commits that had not been applied before.
  @discardableResult
  package mutating func apply(_ block: ColumnBlock) -> Int {
    var new: [ClosedRange<CommitNumber>] = []
    apply(block, new: &new)
    return new.reduce(0) { $0 + Int($1.upperBound.rawValue - $1.lowerBound.rawValue) + 1 }
  }

  /// Applies the commits of a block.
  ///
  /// All commits are recorded first. Then their events are written, with each library and item looked up once: two short loops
  /// are faster than one that does both, and the result of a write does not depend on which later commits are known.
  ///
  /// - Parameter new: receives the commits that had not been applied before.
  package mutating func apply(_ block: ColumnBlock, new: inout [ClosedRange<CommitNumber>]) {
    let replica = replicas.intern(block.replica)
    let runs = begin(block, of: replica)
    guard !runs.isEmpty else { return }
    var player = BlockApplier(block, by: replica)
    for run in runs {
      player.play(run, on: &self)
      let first = block.number(at: run.lowerBound)
      let last = block.number(at: run.upperBound - 1)
      if let before = new.last, before.upperBound.next == first {
        new[new.count - 1] = before.lowerBound...last
      } else {
        new.append(first...last)
      }
      if block.columns.hasUnknownEvents {
        for commit in block.cut(to: first...last).commits() { noteErasing(commit) }
      }
    }
  }

  /// Records the commits of a block. Returns the indices of those that had not been applied before.
  private mutating func begin(_ block: ColumnBlock, of replica: ReplicaSlot) -> [Range<Int>] {
    let commits = block.columns.commits
    var number = block.firstCommit
    var sequence = block.firstSequence.rawValue
    var runs: [Range<Int>] = []
    let indices = block.commitIndices
    var firstNew = indices.lowerBound
    var nextHeads = commits.heads.firstIndex(from: indices.lowerBound)
    var indexOfHeads = commits.heads.commitIndex(at: nextHeads)
    var index = indices.lowerBound
    while index < indices.upperBound {
      // Up to the next commit that has seen something new, all can be recorded at once.
      let quiet = index..<(indexOfHeads < 0 ? indices.upperBound : min(indexOfHeads, indices.upperBound))
      if !quiet.isEmpty, beginRun(quiet, number, sequence, of: replica, commits) {
        number = CommitNumber(rawValue: number.rawValue + UInt64(quiet.count))
        sequence += UInt64(commits.eventCount(in: quiet))
        index = quiet.upperBound
        continue
      }
      var heads: [Head] = []
      if index == indexOfHeads {
        heads = commits.heads.values[nextHeads]
        nextHeads += 1
        indexOfHeads = commits.heads.commitIndex(at: nextHeads)
      }
      let commit = block.header(at: index)
      let isNew = begin(commit, heads: heads, of: replica)
      number = number.next
      sequence += UInt64(commit.eventCount)
      if !isNew {
        if firstNew < index { runs.append(firstNew..<index) }
        firstNew = index + 1
      }
      index += 1
    }
    if firstNew < indices.upperBound { runs.append(firstNew..<indices.upperBound) }
    return runs
  }

  /// Records commits that follow each other and have seen nothing new; false if they are not next.
  private mutating func beginRun(
    _ indices: Range<Int>, _ number: CommitNumber, _ sequence: UInt64, of replica: ReplicaSlot,
    _ commits: CommitColumns
  ) -> Bool {
    let lastStamp = commits.stamps[indices.upperBound - 1]
    let eventStarts = commits.eventStarts[indices.lowerBound...indices.upperBound]
    let isNoted = replicas.note(
      from: number, of: replica, lastStamp: lastStamp, firstSequence: SequenceNumber(rawValue: sequence),
      eventStarts: eventStarts.span)
    if isNoted {
      noteRun(commits: indices.count, events: commits.eventCount(in: indices), lastStamp: lastStamp)
    }
    return isNoted
  }
}
