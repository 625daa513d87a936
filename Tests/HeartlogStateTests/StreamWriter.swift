import HeartlogFormat

/// One replica that writes commits by hand: numbers without gaps, stamps as told or one after the other.
struct StreamWriter {
  let replica: ReplicaID
  private var number: UInt64 = 1
  private var sequence: UInt64 = 1
  var clock = HybridClock()
  /// What it heard of others since its last commit.
  private var newHeads: [ReplicaID: CommitNumber] = [:]
  private var heads: [ReplicaID: CommitNumber] = [:]

  init(_ low: UInt64) { replica = ReplicaID(high: 0, low: low) }

  /// Hears of another's commits up to this one.
  mutating func hear(_ commit: Commit) {
    clock.receive(commit.stamp)
    guard commit.replica != replica, commit.number > heads[commit.replica] ?? CommitNumber(rawValue: 0) else {
      return
    }
    heads[commit.replica] = commit.number
    newHeads[commit.replica] = commit.number
  }

  mutating func commit(at wallTime: Milliseconds, _ records: [EventRecord]) -> Commit {
    defer {
      newHeads = [:]
      number += 1
      sequence += UInt64(records.count)
    }
    return Commit(
      replica: replica, number: CommitNumber(rawValue: number),
      firstSequence: SequenceNumber(rawValue: sequence),
      stamp: clock.next(wallTime: wallTime) ?? .last, wallTime: wallTime,
      heads: newHeads.map { Head(replica: $0.key, commit: $0.value) }.sorted { $0.replica < $1.replica },
      records: records)
  }

  mutating func commit(at wallTime: Milliseconds, _ events: Event...) -> Commit {
    commit(at: wallTime, events.map { .event($0) })
  }
}

extension Event {
  /// A terse event of library "papers".
  static func paper(
    _ item: String, _ action: Action, date: Milliseconds? = nil, _ fields: [Field] = []
  ) -> Event {
    Event(library: "papers", item: item, action: action, favoritedDate: date, fields: fields)
  }
}
