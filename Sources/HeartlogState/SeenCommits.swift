import HeartlogFormat

/// The commits of other streams that the commits of one stream had seen. Each entry is stored with the commit that introduced it.
struct SeenCommits: Sendable {
  struct Entry: BitwiseCopyable {
    /// A commit of the stream itself.
    let commit: UInt64
    /// The commit of the other stream that it had seen.
    let seen: UInt64
  }

  /// By the other replica. Both numbers of the entries ascend.
  private(set) var entries: [ReplicaSlot: PagedTable<Entry>] = [:]

  init() {}

  /// Creates the entries from a snapshot.
  init(_ entries: [ReplicaSlot: PagedTable<Entry>]) { self.entries = entries }

  var replicas: some Collection<ReplicaSlot> { entries.keys }

  /// Records that `commit` had seen `seen` of `other`.
  mutating func note(_ commit: UInt64, saw seen: UInt64, of other: ReplicaSlot) {
    let new = Entry(commit: commit, seen: seen)
    let list = entries[other] ?? PagedTable()
    var index = list.count
    while index > 0, list[index - 1].commit >= commit { index -= 1 }
    entries[other, default: PagedTable()].insert(new, at: index)
  }

  /// Returns the range of commits around `commit` that had seen the same commits of all others, according to the stream itself.
  func span(around commit: UInt64) -> Range<UInt64> {
    var lower: UInt64 = 0
    var upper = UInt64.max
    for list in entries.values {
      let later = Self.index(behind: commit, in: list)
      if later > 0 { lower = max(lower, list[later - 1].commit) }
      if later < list.count { upper = min(upper, list[later].commit) }
    }
    // Only a malformed snapshot has entries that do not ascend.
    return lower..<max(lower, upper)
  }

  /// Returns the last commit of `other` that the stream had seen by `commit`, according to the stream itself; 0 for none.
  func seen(of other: ReplicaSlot, by commit: UInt64) -> UInt64 {
    guard let entries = entries[other], entries.count > 0 else { return 0 }
    let last = entries[entries.count - 1]
    if last.commit <= commit { return last.seen }
    let later = Self.index(behind: commit, in: entries)
    return later == 0 ? 0 : entries[later - 1].seen
  }

  /// Returns the index of the first entry that a later commit introduced.
  private static func index(behind commit: UInt64, in entries: PagedTable<Entry>) -> Int {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].commit <= commit { low = middle + 1 } else { high = middle }
    }
    return low
  }

  func loadAll() { for list in entries.values { list.loadAll() } }
}
