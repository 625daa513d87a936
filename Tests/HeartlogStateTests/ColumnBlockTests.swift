import HeartlogFormat
import HeartlogState
import TestSupport
import Testing

@Suite("Blocks in columns and their commits make one state")
struct ColumnBlockTests {
  /// What no encoding takes is withheld instead.
  private func sound(_ commit: Commit) -> Commit {
    Commit(
      replica: commit.replica, number: commit.number, firstSequence: commit.firstSequence,
      stamp: commit.stamp, wallTime: commit.wallTime, heads: commit.heads,
      records: commit.records.map { record in
        guard case .event(let event) = record, event.action == .changed, event.fields.isEmpty else {
          return record
        }
        return .withheld(SHA256Hasher.digest(of: [2]))
      })
  }

  /// The streams of a history, each cut into blocks at random.
  private func blocks(
    _ history: [Commit], _ generator: inout SeededGenerator
  ) throws -> [(columns: ColumnBlock, commits: [Commit])] {
    var blocks: [(ColumnBlock, [Commit])] = []
    let streams = Dictionary(grouping: history, by: \.replica).sorted { $0.key < $1.key }
    for (replica, commits) in streams {
      var rest = commits.sorted { $0.number < $1.number }[...]
      while let first = rest.first {
        let run = Array(rest.prefix(Int.random(in: 1...12, using: &generator)))
        rest = rest.dropFirst(run.count)
        let secret = SegmentSecret(
          firstCommit: CommitNumber(rawValue: 1), kind: .whole(SHA256Hasher.digest(of: [1])))
        let bytes = try BlockEncoding.encode(
          Block(replica: replica, firstCommit: first.number, secrets: [secret], commits: run))
        let columns = try bytes.withUnsafeBytes {
          try BlockEncoding.decodeColumns(
            $0, replica: replica, firstCommit: first.number, commitCount: run.count)
        }
        blocks.append((columns, run))
      }
    }
    return blocks
  }

  private func expectEqual(_ a: FavoritesState, _ b: FavoritesState, _ context: String) {
    #expect(a.digest == b.digest, "\(context)")
    #expect(a.heads == b.heads, "\(context)")
    #expect(a.eventCount == b.eventCount, "\(context)")
    #expect(a.commitCount == b.commitCount, "\(context)")
    #expect(a.lastStamp == b.lastStamp, "\(context)")
    #expect(a.libraries == b.libraries, "\(context)")
    #expect(a.conflicts == b.conflicts, "\(context)")
    for library in History.libraries {
      #expect(a.counts(of: library) == b.counts(of: library), "\(context)")
      #expect(a.all(in: library) == b.all(in: library), "\(context)")
      for item in History.items {
        #expect(
          a.membershipPosition(of: item, in: library) == b.membershipPosition(of: item, in: library),
          "\(context)")
      }
    }
  }

  @Test(
    "in any order, again, in part, and beside commits", arguments: 1...40 as ClosedRange<UInt64>)
  func generated(seed: UInt64) throws {
    print("column state: seed \(seed)")
    var generator = SeededGenerator(seed: seed &* 31)
    let history = History(seed: seed, commitCount: 120).commits.map(sound)
    let blocks = try blocks(history, &generator)
    var arrivals = blocks + blocks.filter { _ in generator.isTrue(oneIn: 3) }
    arrivals.shuffle(using: &generator)
    var direct = FavoritesState()
    var through = FavoritesState()
    for (columns, commits) in arrivals {
      let first = Int.random(in: 0..<commits.count, using: &generator)
      let last = Int.random(in: first..<commits.count, using: &generator)
      let cut = columns.cut(to: commits[first].number...commits[last].number)
      var newCount = 0
      var changed = (direct: 0, through: 0)
      changed.direct = direct.countingChanges { newCount = $0.apply(cut) }
      var expectedCount = 0
      changed.through = through.countingChanges { state in
        for commit in commits[first...last] where state.apply(commit) { expectedCount += 1 }
      }
      #expect(newCount == expectedCount)
      #expect(changed.direct == changed.through)
      if generator.isTrue(oneIn: 4), let commit = commits.randomElement(using: &generator) {
        #expect(direct.apply(commit) == through.apply(commit))
      }
    }
    expectEqual(direct, through, "seed \(seed), in part")
    for (columns, _) in blocks { direct.apply(columns) }
    for commit in history { through.apply(commit) }
    expectEqual(direct, through, "seed \(seed), whole")
    var inPlace = FavoritesState()
    for commit in history.shuffled(using: &generator) + history.prefix(20) {
      var bytes: [UInt8] = []
      try RowEncoding.append(commit, to: &bytes)
      try bytes.withUnsafeBytes { bytes in
        let row = try CommitRow(bytes, replica: commit.replica, number: commit.number)
        let isNew = !inPlace.heads.contains(Head(replica: commit.replica, commit: commit.number))
        let wasApplied = inPlace.apply([row]).isEmpty
        #expect(isNew || !wasApplied)
      }
    }
    expectEqual(inPlace, through, "seed \(seed), rows in place")
    #expect(direct.conflicts == NaiveModel(history).conflicts, "seed \(seed)")
  }
}
