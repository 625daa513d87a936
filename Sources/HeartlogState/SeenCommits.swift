import HeartlogEvents

/// What the commits of one stream had seen of the others, as they say it: each new entry with the commit that brought it.
struct SeenCommits: Sendable {
  private struct Entry: Sendable {
    /// The commit of the stream itself.
    let commit: UInt64
    /// The commit of the other stream that it had seen.
    let seen: UInt64
  }

  /// By the other replica; both numbers of the entries rise.
  private var entries: [ReplicaSlot: [Entry]] = [:]

  var replicas: some Collection<ReplicaSlot> { entries.keys }

  /// Takes note that `commit` had seen `seen` of `other`.
  mutating func note(_ commit: UInt64, saw seen: UInt64, of other: ReplicaSlot) {
    let place = entries[other]?.lastIndex { $0.commit < commit }.map { $0 + 1 } ?? 0
    entries[other, default: []].insert(Entry(commit: commit, seen: seen), at: place)
  }

  /// The commits around `commit` at which the stream had seen the same of all others, as far as it says so itself.
  func span(around commit: UInt64) -> Range<UInt64> {
    var lower: UInt64 = 0
    var upper = UInt64.max
    for list in entries.values {
      let later = Self.place(behind: commit, in: list)
      if later > 0 { lower = max(lower, list[later - 1].commit) }
      if later < list.count { upper = min(upper, list[later].commit) }
    }
    return lower..<upper
  }

  /// The last commit of `other` that the stream had seen by `commit`, as far as it says so itself; 0 for none.
  func seen(of other: ReplicaSlot, by commit: UInt64) -> UInt64 {
    guard let entries = entries[other], let last = entries.last else { return 0 }
    if last.commit <= commit { return last.seen }
    let later = Self.place(behind: commit, in: entries)
    return later == 0 ? 0 : entries[later - 1].seen
  }

  /// The place of the first entry that a later commit brought.
  private static func place(behind commit: UInt64, in entries: [Entry]) -> Int {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].commit <= commit { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
