import HeartlogEvents

extension FavoritesState {
  /// Applies the commits of a block, as `apply` does one after the other, without any of them being made.
  ///
  /// - Returns: how many of them had not been applied before.
  @discardableResult
  public mutating func apply(_ block: ColumnBlock) -> Int {
    var new: [ClosedRange<CommitNumber>] = []
    apply(block, new: &new)
    return new.reduce(0) { $0 + Int($1.upperBound.rawValue - $1.lowerBound.rawValue) + 1 }
  }

  /// Applies the commits of a block.
  ///
  /// - Parameter new: gets those that had not been applied before.
  package mutating func apply(_ block: ColumnBlock, new: inout [ClosedRange<CommitNumber>]) {
    var player = BlockPlayer(block)
    let replica = replicas.intern(block.replica)
    let commits = block.columns.commits
    let stamps = commits.stamps.span
    let wallTimes = commits.wallTimes.span
    let eventStarts = commits.eventStarts.span
    var firstNew: CommitNumber?
    var nextWithHeads = commits.heads.firstPlace(from: block.places.lowerBound)
    for place in block.places {
      let number = block.number(at: place)
      let eventCount = Int(eventStarts[place + 1] - eventStarts[place])
      let stamp = stamps[place]
      let sequence = block.sequence(at: place)
      var heads: [Head] = []
      if nextWithHeads < commits.heads.places.count, Int(commits.heads.places[nextWithHeads]) == place {
        heads = commits.heads.values[nextWithHeads]
        nextWithHeads += 1
      }
      let isNew = begin(
        number, of: replica, stamp: stamp, firstSequence: sequence, eventCount: eventCount, heads: heads)
      guard isNew else {
        if let first = firstNew { new.append(first...block.number(at: place - 1)) }
        firstNew = nil
        player.skip(eventCount)
        continue
      }
      if firstNew == nil { firstNew = number }
      var position = WritePosition(stamp: stamp.rawValue, sequence: sequence.rawValue, replica: replica)
      for _ in 0..<eventCount {
        player.playNext(at: position, wallTime: wallTimes[place], on: &self)
        position.sequence += 1
      }
    }
    if let first = firstNew { new.append(first...block.lastCommit) }
    player.countEvents(in: &self)
  }
}
