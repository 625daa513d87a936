/// Assembles commits of a block, each on request.
package struct CommitAssembly: IteratorProtocol {
  private let block: ColumnBlock
  /// A cursor before the first event of the commit at `index`.
  private var events: BlockEvents
  private var index: Int

  package init(_ block: ColumnBlock) {
    self.block = block
    events = BlockEvents(block)
    index = block.commitIndices.lowerBound
  }

  /// The commit after the one requested last; nil at the end of the block.
  package mutating func next() -> Commit? {
    index < block.commitIndices.upperBound ? commit(at: index) : nil
  }

  /// The commit at an index of the block, after those requested before.
  package mutating func commit(at next: Int) -> Commit {
    let commits = block.columns.commits
    precondition(next >= index, "a commit that was passed")
    if next > index { events.pass(commits.eventCount(in: index..<next)) }
    index = next + 1
    let eventCount = commits.eventCount(at: next)
    var records: [EventRecord] = []
    records.reserveCapacity(eventCount)
    for _ in 0..<eventCount {
      records.append(events.placeholder ?? .event(Event(copying: events)))
      events.pass()
    }
    return Commit(
      replica: block.replica, number: block.number(at: next), firstSequence: block.sequence(at: next),
      stamp: commits.stamps[next], wallTime: commits.wallTimes[next], origin: commits.origin(at: next),
      heads: commits.heads[next] ?? [], unknownMembers: commits.members[next] ?? [], records: records)
  }
}
