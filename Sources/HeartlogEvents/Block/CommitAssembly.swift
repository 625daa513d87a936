/// Assembles commits of a block, each on request. A string is created at the first use of a text.
package struct CommitAssembly {
  private let block: ColumnBlock
  private let columns: BlockColumns
  /// A cursor before the first event of the commit at `index`.
  private var events: BlockEvents
  private var index: Int
  private var items: [String?]

  package init(_ block: ColumnBlock) {
    self.block = block
    columns = block.columns
    events = BlockEvents(block, at: block.start)
    index = block.commitIndices.lowerBound
    items = [String?](repeating: nil, count: columns.items.count)
  }

  /// The commit at an index of the block, after those requested before.
  package mutating func commit(at next: Int) -> Commit {
    let commits = columns.commits
    precondition(next >= index, "a commit that was passed")
    if next > index { events.pass(commits.eventCount(in: index..<next)) }
    index = next + 1
    let eventCount = commits.eventCount(at: next)
    var records: [EventRecord] = []
    records.reserveCapacity(eventCount)
    for _ in 0..<eventCount { records.append(nextRecord()) }
    return Commit(
      replica: block.replica, number: block.number(at: next), firstSequence: block.sequence(at: next),
      stamp: commits.stamps[next], wallTime: commits.wallTimes[next], origin: commits.origin(at: next),
      heads: commits.heads[next] ?? [], unknownMembers: commits.members[next] ?? [], records: records)
  }

  private mutating func nextRecord() -> EventRecord {
    defer { events.pass() }
    if let placeholder = events.placeholder { return placeholder }
    guard let action = events.header.action else { preconditionFailure("an event without an action") }
    let item = events.itemIndex
    return .event(
      Event(
        library: columns.libraries[Int(columns.items[item].library)], item: id(of: item), action: action,
        favoritedDate: events.favoritedDate, fields: events.fields, unknownMembers: events.unknownMembers))
  }

  private mutating func id(of item: Int) -> String {
    if let id = items[item] { return id }
    let id = columns.texts.string(columns.items[item].id)
    items[item] = id
    return id
  }
}
