import Heartlog

/// What is known for certain: each commit is what it was when it was first seen, wherever and whenever it is seen again.
struct Ledger {
  private var commits: [ReplicaID: [CommitNumber: Commit]] = [:]
  private var roots: [ReplicaID: [CommitNumber: Digest]] = [:]
  /// What a process had of other streams before it wrote a commit.
  private var seen: [ReplicaID: [CommitNumber: [Head]]] = [:]
  /// Events that somebody erased, or began to.
  private var erased: Set<String> = []
  /// Writes of which nothing was written.
  private var refused: Set<String> = []

  /// Notes that a write ended with an error which says that nothing was written.
  mutating func noteRefused(_ origin: String) { refused.insert(origin) }

  /// Items that were asked to be erased: afterwards their events may be missing anywhere.
  mutating func noteErasing(_ item: String) { erased.insert(item) }

  /// Notes what the writer of a commit had seen.
  mutating func note(_ heads: [Head], before commit: Commit) {
    seen[commit.replica, default: [:]][commit.number] = heads
  }

  /// Checks that a commit says what its writer had seen.
  func checkHeads(of commit: Commit, by rule: MergeRule) throws(Violation) {
    for head in seen[commit.replica]?[commit.number] ?? []
    where !rule.hadSeen(head, when: commit.replica, wrote: commit.number) {
      throw Violation("commit \(commit.number) of \(commit.replica) does not know of \(head)")
    }
  }

  /// The notes that were ever written of an item in a library, or up to some commits.
  func notes(of item: String, in library: String, upTo heads: [Head]? = nil) -> [String] {
    let last = heads.map { Dictionary(uniqueKeysWithValues: $0.map { ($0.replica, $0.commit) }) }
    return commits.values.flatMap(\.values).flatMap { commit -> [String] in
      if let last, last[commit.replica].map({ $0 < commit.number }) ?? true { return [] }
      return
        commit.records.compactMap(\.event).filter { $0.item == item && $0.library == library }
        .flatMap { $0.fields.compactMap { if case .string(let text) = $0.value { text } else { nil } } }
    }
  }

  /// Compares a commit with what is known of it.
  mutating func check(_ commit: Commit) throws(Violation) {
    if let origin = commit.origin, refused.contains(origin) {
      throw Violation("the write \(origin) is there, and was refused")
    }
    guard let known = commits[commit.replica]?[commit.number] else {
      commits[commit.replica, default: [:]][commit.number] = commit
      return
    }
    guard
      known.stamp == commit.stamp, known.firstSequence == commit.firstSequence, known.heads == commit.heads,
      known.wallTime == commit.wallTime, known.origin == commit.origin,
      known.records.count == commit.records.count
    else { throw Violation("commit \(commit.number) of \(commit.replica) has changed") }
    for (index, (before, now)) in zip(known.records, commit.records).enumerated() where before != now {
      switch (before, now) {
      case (.event(let event), .withheld) where erased.contains(event.item): continue
      case (.withheld, .event(let event)) where erased.contains(event.item):
        // Seen first on a device that is without it.
        commits[commit.replica]?[commit.number] = commit
      default:
        throw Violation("event \(index) of commit \(commit.number) of \(commit.replica) has changed")
      }
    }
  }

  /// Forgets what only one device had and may have lost.
  mutating func forget(_ replica: ReplicaID, after last: CommitNumber) {
    commits[replica] = commits[replica]?.filter { $0.key <= last }
    roots[replica] = roots[replica]?.filter { $0.key <= last }
    seen[replica] = seen[replica]?.filter { $0.key <= last }
  }

  /// Compares the root of a history with what it was before.
  mutating func check(root: Digest, of replica: ReplicaID, at commit: CommitNumber) throws(Violation) {
    guard let known = roots[replica]?[commit] else {
      roots[replica, default: [:]][commit] = root
      return
    }
    if known != root { throw Violation("the history of \(replica) up to commit \(commit) has another root") }
  }

}

/// A promise that was not kept.
struct Violation: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
