import HeartlogEvents

/// What the commits of one stream had seen of the others, as they say it: each new entry with the commit that brought it.
struct SeenCommits: Sendable {
  struct Entry: BitwiseCopyable {
    /// The commit of the stream itself.
    let commit: UInt64
    /// The commit of the other stream that it had seen.
    let seen: UInt64
  }

  /// By the other replica; both numbers of the entries rise.
  private(set) var entries: [ReplicaSlot: PagedTable<Entry>] = [:]

  init() {}

  /// Those of a snapshot.
  init(_ entries: [ReplicaSlot: PagedTable<Entry>]) { self.entries = entries }

  var replicas: some Collection<ReplicaSlot> { entries.keys }

  /// Takes note that `commit` had seen `seen` of `other`.
  mutating func note(_ commit: UInt64, saw seen: UInt64, of other: ReplicaSlot) {
    let new = Entry(commit: commit, seen: seen)
    let list = entries[other] ?? PagedTable()
    var place = list.count
    while place > 0, list[place - 1].commit >= commit { place -= 1 }
    entries[other, default: PagedTable()].insert(new, at: place)
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
    // Only a snapshot that lies has entries that do not rise.
    return lower..<max(lower, upper)
  }

  /// The last commit of `other` that the stream had seen by `commit`, as far as it says so itself; 0 for none.
  func seen(of other: ReplicaSlot, by commit: UInt64) -> UInt64 {
    guard let entries = entries[other], entries.count > 0 else { return 0 }
    let last = entries[entries.count - 1]
    if last.commit <= commit { return last.seen }
    let later = Self.place(behind: commit, in: entries)
    return later == 0 ? 0 : entries[later - 1].seen
  }

  /// The place of the first entry that a later commit brought.
  private static func place(behind commit: UInt64, in entries: PagedTable<Entry>) -> Int {
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
